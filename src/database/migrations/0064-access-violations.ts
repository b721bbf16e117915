/** Violations of access rules that a job found; who gave each grant and seat, and by which access request. */
import type { Migration } from "./migration.ts";

const given = (table: string) => [
  `ALTER TABLE ${table} ADD COLUMN granted_by_id TEXT`,
  `ALTER TABLE ${table} ADD COLUMN access_request_id TEXT`,
];

export const accessViolations: Migration = {
  name: "0064-access-violations",
  kind: "adds",
  writersKnow: "0042-official-document",
  statements: [
    ...given("team_projects"),
    ...given("team_workspaces"),
    ...given("team_members"),
    `CREATE TABLE access_violation_scans (
      organization_id TEXT PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
      requested INTEGER NOT NULL,
      completed INTEGER NOT NULL,
      computed_ms INTEGER
    )`,
    // The subject's columns are null but those of its kind; with it, the row goes.
    `CREATE TABLE access_violations (
      id TEXT PRIMARY KEY,
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      access_rule_id TEXT NOT NULL REFERENCES access_rules (id) ON DELETE CASCADE,
      kind TEXT NOT NULL,
      subject_id TEXT NOT NULL,
      team_project_id TEXT REFERENCES team_projects (id) ON DELETE CASCADE,
      team_workspace_id TEXT REFERENCES team_workspaces (id) ON DELETE CASCADE,
      token_id TEXT REFERENCES tokens (id) ON DELETE CASCADE,
      team_id TEXT,
      membership_id TEXT,
      since TEXT NOT NULL,
      FOREIGN KEY (team_id, membership_id) REFERENCES team_members (team_id, membership_id) ON DELETE CASCADE
    )`,
    `CREATE UNIQUE INDEX access_violations_subject ON access_violations (organization_id, subject_id, access_rule_id)`,
    `CREATE INDEX access_violations_newest ON access_violations (organization_id, since, id)`,
    `CREATE INDEX access_violations_of_rule ON access_violations (access_rule_id, since, id)`,
    `CREATE INDEX access_violations_of_team_project ON access_violations (team_project_id)`,
    `CREATE INDEX access_violations_of_team_workspace ON access_violations (team_workspace_id)`,
    `CREATE INDEX access_violations_of_token ON access_violations (token_id)`,
    `CREATE INDEX access_violations_of_seat ON access_violations (team_id, membership_id)`,
  ],
  online: [{ index: `CREATE INDEX team_members_in_order ON team_members (organization_id, team_id, membership_id)` }],
  recordsChanges: { access_violation_scans: "organization_id", access_violations: "organization_id" },
};
