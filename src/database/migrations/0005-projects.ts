/** Execution defaults of projects, state sharing within a project, and the permissions for both. */
import type { Migration } from "./migration.ts";

export const projects: Migration = {
  name: "0005-projects",
  statements: [
    // No foreign key, because pools are created after projects: both setting and deleting a pool lock its row.
    `ALTER TABLE projects ADD COLUMN default_execution_mode TEXT`,
    `ALTER TABLE projects ADD COLUMN default_agent_pool_id TEXT`,
    `CREATE INDEX projects_agent_pool ON projects (organization_id, default_agent_pool_id) WHERE default_agent_pool_id IS NOT NULL`,

    `ALTER TABLE workspaces ADD COLUMN project_remote_state INTEGER NOT NULL DEFAULT 0`,

    `CREATE INDEX tag_bindings_of_projects ON tag_bindings (organization_id, key, value, project_id) WHERE project_id IS NOT NULL`,

    // Adds the bits that levels imply: variable-sets, policy-overrides, delegate-policy-overrides. Custom permissions stay unchanged.
    `UPDATE team_projects SET version = version + 1, permissions = permissions |
      CASE access WHEN 'read' THEN 1048576 WHEN 'write' THEN 3145728 ELSE 7340032 END WHERE access <> 'custom'`,
    `UPDATE team_workspaces SET version = version + 1, permissions = permissions | 4194304 WHERE access = 'admin'`,
    `UPDATE teams SET version = version + 1, organization_access = organization_access | 65536 WHERE is_owners = 1`,
  ],
};
