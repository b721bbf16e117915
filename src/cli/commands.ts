/** The table of commands, in the order of `cadastre help`; also defines `migrate` and `version`. */
import { openRegister } from "../service.ts";
import { version } from "../version.ts";
import { createAgentPoolCommand } from "./agent-pools.ts";
import { agentCommand } from "./agent.ts";
import { backupCommand, restoreCommand, verifyBackupCommand } from "./backups.ts";
import type { Command } from "./command.ts";
import { fetchEngineCommand, listEnginesCommand, removeEngineCommand } from "./engines.ts";
import { adoptContentsCommand, moveContentsCommand } from "./contents.ts";
import { exportCommand, importCommand } from "./import-export.ts";
import { healthCommand } from "./health.ts";
import { listJobsCommand, runJobCommand } from "./jobs.ts";
import { listKeysCommand, rotateIdentityKeyCommand, rotateKeyCommand } from "./keys.ts";
import { databaseSettings } from "./database.ts";
import { serveCommand } from "./serve.ts";
import { createTokenCommand, listTokensCommand, revokeTokenCommand } from "./tokens.ts";
import { createUserCommand, listUsersCommand, setPasswordCommand } from "./users.ts";

const migrateCommand: Command = {
  name: "migrate",
  summary: "Migrate the database to the schema of this version",
  settings: databaseSettings,
  details: [
    "Creates the database if it doesn't exist. 'cadastre serve' also migrates when it starts; run this command first to check that an upgrade works before you start any server.",
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
  listEnginesCommand,
  fetchEngineCommand,
  removeEngineCommand,
  listJobsCommand,
  runJobCommand,
  moveContentsCommand,
  adoptContentsCommand,
  // Must come before `backup`: commands are matched by prefix.
  verifyBackupCommand,
  backupCommand,
  restoreCommand,
  importCommand,
  exportCommand,
  healthCommand,
  versionCommand,
];
