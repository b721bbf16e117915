/** The one table of commands, in the order in which help lists them, with the two that are shortest. */
import { openRegister } from "../service.ts";
import { version } from "../version.ts";
import { createAgentPoolCommand } from "./agent-pools.ts";
import { agentCommand } from "./agent.ts";
import { backup, restore, verify } from "./backups.ts";
import type { Command } from "./command.ts";
import { exportCommand, importCommand } from "./moving.ts";
import { healthCommand } from "./health.ts";
import { listJobsCommand, runJobCommand } from "./jobs.ts";
import { listKeysCommand, rotateIdentityKeyCommand, rotateKeyCommand } from "./keys.ts";
import { registerSettings } from "./register.ts";
import { serveCommand } from "./serve.ts";
import { createTokenCommand, listTokensCommand, revokeTokenCommand } from "./tokens.ts";
import { createUserCommand, listUsersCommand, setPasswordCommand } from "./users.ts";

/** The one command besides `serve` and `restore` that changes the schema of the database. */
const migrateCommand: Command = {
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

const versionCommand: Command = {
  name: "version",
  summary: "Print the version",
  run: async ({ terminal }) => terminal.out(version),
};

export const commands: readonly Command[] = [
  serveCommand,
  agentCommand,
  migrateCommand,
  createUserCommand,
  setPasswordCommand,
  listUsersCommand,
  createTokenCommand,
  listTokensCommand,
  revokeTokenCommand,
  rotateIdentityKeyCommand,
  listKeysCommand,
  rotateKeyCommand,
  createAgentPoolCommand,
  listJobsCommand,
  runJobCommand,
  // Before the command whose name it begins with.
  verify,
  backup,
  restore,
  importCommand,
  exportCommand,
  healthCommand,
  versionCommand,
];
