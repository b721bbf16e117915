/** Whether an engine encrypted a state before it sent it: then nobody here can tell what it manages. */
import type { Migration } from "./migration.ts";

export const encryptedState: Migration = {
  name: "0011-state",
  statements: [
    `ALTER TABLE state_versions ADD COLUMN encrypted INTEGER NOT NULL DEFAULT 0`,
    // Of the state in force, so that a workspace's document needs no further statement.
    `ALTER TABLE workspaces ADD COLUMN state_encrypted INTEGER NOT NULL DEFAULT 0`,
  ],
};
