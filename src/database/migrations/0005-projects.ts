/** Projects with execution defaults of their own, state that a project shares within itself, and the permissions of both. */
import type { Migration } from "./migration.ts";

export const projects: Migration = {
  name: "0005-projects",
  statements: [
    // Null where the organization's default is followed. Pools are created after projects, so that nothing refers to them
    // here: who names one holds its row, and so does who deletes it.
    `ALTER TABLE projects ADD COLUMN default_execution_mode TEXT`,
    `ALTER TABLE projects ADD COLUMN default_agent_pool_id TEXT`,
    `CREATE INDEX projects_agent_pool ON projects (organization_id, default_agent_pool_id) WHERE default_agent_pool_id IS NOT NULL`,

    `ALTER TABLE workspaces ADD COLUMN project_remote_state INTEGER NOT NULL DEFAULT 0`,

    // Workspaces have many more bindings than projects.
    `CREATE INDEX tag_bindings_of_projects ON tag_bindings (organization_id, key, value, project_id) WHERE project_id IS NOT NULL`,

    // What levels imply, and what the owners hold, is stored: they get the bits of variable-sets (read, write), of
    // policy-overrides, and of delegate-policy-overrides. Sets that were chosen one by one stay as they were.
    `UPDATE team_projects SET version = version + 1, permissions = permissions |
      CASE access WHEN 'read' THEN 1048576 WHEN 'write' THEN 3145728 ELSE 7340032 END WHERE access <> 'custom'`,
    `UPDATE team_workspaces SET version = version + 1, permissions = permissions | 4194304 WHERE access = 'admin'`,
    `UPDATE teams SET version = version + 1, organization_access = organization_access | 65536 WHERE is_owners = 1`,
  ],
};
