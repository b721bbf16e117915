/** Encrypted states, and resource lists that a job deletes. */
import type { Migration } from "./migration.ts";

export const stateUpkeep: Migration = {
  name: "0011-state",
  statements: [
    // Encrypted by the engine: resources are unknown. Copied to the workspace, so that its document needs no further statement.
    `ALTER TABLE state_versions ADD COLUMN encrypted INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE workspaces ADD COLUMN state_encrypted INTEGER NOT NULL DEFAULT 0`,

    // Kept after the owner's deletion, because its other rows are deleted before the content.
    `ALTER TABLE state_contents ADD COLUMN owner_id TEXT`,
    `UPDATE state_contents SET owner_id = state_version_id`,

    // No cascade: deleting a workspace with hundreds of thousands of resources stays one short transaction.
    `CREATE TABLE state_resources_unbound (
      id TEXT NOT NULL,
      organization_id TEXT NOT NULL,
      state_version_id TEXT NOT NULL,
      address TEXT NOT NULL,
      name TEXT NOT NULL,
      name_index TEXT,
      type TEXT NOT NULL,
      module TEXT NOT NULL,
      provider TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      modified_by_state_version_id TEXT NOT NULL,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      PRIMARY KEY (state_version_id, address)
    )`,
    `INSERT INTO state_resources_unbound (id, organization_id, state_version_id, address, name, name_index, type, module,
        provider, fingerprint, modified_by_state_version_id, created_at, updated_at)
      SELECT id, organization_id, state_version_id, address, name, name_index, type, module,
        provider, fingerprint, modified_by_state_version_id, created_at, updated_at FROM state_resources`,
    `DROP TABLE state_resources`,
    `ALTER TABLE state_resources_unbound RENAME TO state_resources`,
  ],
};
