/** A migration with steps, and a process that applies it: `node test/support/migrating.ts ADDRESS`. */
import { openDatabase } from "../../src/database/engines/open.ts";
import { migrate, migrations } from "../../src/database/migrate.ts";
import type { Migration } from "../../src/database/migrations/migration.ts";

export const fillColour: Migration = {
  name: "9990-colour",
  kind: "adds",
  writersKnow: migrations.at(-1)?.name ?? "",
  statements: [
    `CREATE TABLE painted (id TEXT PRIMARY KEY, shade INTEGER NOT NULL)`,
    `ALTER TABLE users ADD COLUMN colour TEXT`,
  ],
  online: [
    { index: `CREATE INDEX users_colour ON users (colour, id)` },
    { table: "users", set: "colour = 'grey'", where: "colour IS NULL" },
    { index: `CREATE UNIQUE INDEX users_colour_email ON users (colour, email_key)` },
    { index: `CREATE INDEX users_only ON users (colour DESC)`, engine: "postgres" },
  ],
};

if (process.argv[1] === import.meta.filename) {
  const database = openDatabase(process.argv[2] ?? "");
  await migrate(database, [...migrations, fillColour], (line) => process.stdout.write(`${line}\n`));
  await database.close();
}
