/** When a workspace was locked, and the lock's lease. */
import type { Migration } from "./migration.ts";

export const lockLeases: Migration = {
  name: "0016-lock-leases",
  statements: [
    `ALTER TABLE workspaces ADD COLUMN locked_at TEXT`,
    `ALTER TABLE workspaces ADD COLUMN lock_expires_at TEXT`,
    `ALTER TABLE workspaces ADD COLUMN lock_lease_seconds INTEGER`,
    `UPDATE workspaces SET locked_at = coalesce(
      (SELECT max(e.created_at) FROM audit_events AS e
        WHERE e.organization_id = workspaces.organization_id AND e.subject_id = workspaces.id
          AND e.action = 'workspaces.lock'),
      updated_at)
    WHERE locked_by_type IS NOT NULL`,
    `CREATE INDEX workspaces_locked ON workspaces (organization_id, locked_at) WHERE locked_at IS NOT NULL`,
    `CREATE INDEX workspaces_leased ON workspaces (lock_expires_at) WHERE lock_expires_at IS NOT NULL`,
    `CREATE INDEX workspaces_held ON workspaces (locked_by_type, locked_at, lock_expires_at)
      WHERE locked_by_type IS NOT NULL`,
  ],
};
