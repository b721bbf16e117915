/** The one table of commands, in the order in which help lists them. */
import { createAgentPoolCommand } from "./agent-pools.ts";
import { agentCommand } from "./agent.ts";
import { backup, restore, verify } from "./backups.ts";
import type { Command } from "./command.ts";
import { healthCommand } from "./health.ts";
import { rotateIdentityKeyCommand } from "./identity-keys.ts";
import { listKeysCommand, rotateKeyCommand } from "./keys.ts";
import { exportCommand } from "./exports.ts";
import { importCommand } from "./imports.ts";
import { listJobsCommand, runJobCommand } from "./jobs.ts";
import { migrateCommand } from "./migrate.ts";
import { serveCommand } from "./serve.ts";
import { createTokenCommand, listTokensCommand, revokeTokenCommand } from "./tokens.ts";
import { createUserCommand, listUsersCommand, setPasswordCommand } from "./users.ts";
import { versionCommand } from "./version.ts";

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
