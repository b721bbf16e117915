/** `cadastre migrate`: the one command besides `serve` and `restore` that changes the database's schema. */
import { openRegister } from "../service.ts";
import type { Command } from "./command.ts";
import { registerSettings } from "./register.ts";

export const migrateCommand: Command = {
  name: "migrate",
  summary: "Bring the database to the schema that this version needs",
  settings: registerSettings,
  details: [
    "Makes the database where there is none. 'cadastre serve' does the same when it starts; run this by itself to see an upgrade succeed before any server is started.",
    "Example: cadastre migrate --database sqlite:data/cadastre.db",
  ],
  async run({ terminal, settings }) {
    const { database, migrated } = await openRegister(settings(), (line) => terminal.note(line));
    await database.close();
    terminal.out(
      migrated.length === 0
        ? "The database is up to date."
        : `The database is up to date; applied ${migrated.join(", ")}.`,
    );
  },
};
