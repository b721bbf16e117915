/** The access version of an organization. Triggers raise it, so that no change of access can miss it. */
import type { Migration } from "./migration.ts";

export const accessVersions: Migration = {
  name: "0012-access-versions",
  statements: [
    // A separate row, so that changes of access don't wait for changes of settings. `raised_in` limits it to once per transaction.
    `CREATE TABLE access_versions (
      organization_id TEXT PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
      version INTEGER NOT NULL,
      raised_in INTEGER NOT NULL
    )`,
    `INSERT INTO access_versions (organization_id, version, raised_in) SELECT id, 0, 0 FROM organizations`,
    `CREATE INDEX organization_token_ttl_policies_ages ON organization_token_ttl_policies (token_type, max_ttl_ms)`,
  ],
  raisesAccess: {
    organizations: ["user_tokens_enabled", "allow_force_delete_workspaces", "is_disabled", "max_ttl_enabled"],
    organization_token_ttl_policies: ["max_ttl_ms"],
    organization_memberships: ["user_id", "status"],
    teams: ["organization_access", "visibility", "is_owners", "allow_member_token_management"],
    team_members: ["team_id", "user_id"],
    team_projects: ["team_id", "project_id", "permissions"],
    team_workspaces: ["team_id", "workspace_id", "permissions"],
  },
};
