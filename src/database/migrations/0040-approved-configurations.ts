/** Marks configurations and runs that somebody with apply permission approved: only these are applied automatically. */
import type { Migration } from "./migration.ts";

export const approvedConfigurations: Migration = {
  name: "0040-approved-configurations",
  kind: "adds",
  statements: [
    `ALTER TABLE configuration_versions ADD COLUMN approved_at TEXT`,
    `ALTER TABLE runs ADD COLUMN creator_may_apply INTEGER NOT NULL DEFAULT 0`,
    `UPDATE configuration_versions SET approved_at = created_at WHERE ingress IS NOT NULL`,
    // A run of it was confirmed in its own workspace, or its uploader was allowed to auto-apply there.
    `UPDATE configuration_versions SET approved_at = created_at WHERE approved_at IS NULL AND EXISTS (
      SELECT 1 FROM runs WHERE runs.configuration_version_id = configuration_versions.id
        AND runs.workspace_id = configuration_versions.workspace_id
        AND ((runs.confirmed_by_id IS NOT NULL AND runs.is_destroy = 0 AND runs.refresh_only = 0 AND runs.variables IS NULL
            AND (runs.target_addrs IS NULL OR runs.target_addrs = '[]'))
          OR (runs.auto_apply = 1 AND runs.created_by_id = configuration_versions.created_by_id)))`,
    `CREATE INDEX state_versions_intermediate ON state_versions (workspace_id) WHERE intermediate = 1`,
  ],
};
