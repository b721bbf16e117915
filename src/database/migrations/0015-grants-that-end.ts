/** Expiry and reason of team access and team memberships. */
import type { Migration } from "./migration.ts";

const given = ["team_members", "team_projects", "team_workspaces"] as const;

export const grantsThatEnd: Migration = {
  name: "0015-grants-that-end",
  statements: [
    ...given.flatMap((table) => [
      `ALTER TABLE ${table} ADD COLUMN expires_at TEXT`,
      `ALTER TABLE ${table} ADD COLUMN reason TEXT`,
      `CREATE INDEX ${table}_ending ON ${table} (expires_at) WHERE expires_at IS NOT NULL`,
    ]),
    `CREATE INDEX team_members_ending_in_team ON team_members (team_id, expires_at) WHERE expires_at IS NOT NULL`,
    `CREATE INDEX team_projects_ending_on_project ON team_projects (project_id, expires_at) WHERE expires_at IS NOT NULL`,
    `DROP INDEX team_members_user`,
    `CREATE INDEX team_members_user ON team_members (organization_id, user_id, team_id, expires_at)`,
    `DROP INDEX team_projects_team`,
    `CREATE INDEX team_projects_team ON team_projects (organization_id, team_id, project_id, permissions, expires_at)`,
    `DROP INDEX team_workspaces_team`,
    `CREATE INDEX team_workspaces_team ON team_workspaces (organization_id, team_id, workspace_id, permissions, expires_at)`,
  ],
  raisesAccessToo: Object.fromEntries(given.map((table) => [table, ["expires_at"]])),
};
