/** Access rules in Cedar, and how many of an organization's are enabled, which the statements that lock it read. */
import type { Migration } from "./migration.ts";

export const accessRules: Migration = {
  name: "0061-access-rules",
  kind: "adds",
  writersKnow: "0042-official-document",
  statements: [
    `CREATE TABLE access_rules (
      id TEXT PRIMARY KEY,
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      name_key TEXT NOT NULL,
      description TEXT,
      policy TEXT NOT NULL,
      message TEXT,
      enforcement TEXT NOT NULL,
      enabled INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX access_rules_name ON access_rules (organization_id, name_key)`,
    `ALTER TABLE organizations ADD COLUMN enabled_rule_count INTEGER NOT NULL DEFAULT 0`,
  ],
  only: {
    sqlite: [],
    // SQLite expands the view's columns when it reads it.
    postgres: [`CREATE OR REPLACE VIEW open_organizations AS SELECT * FROM organizations WHERE closed_at IS NULL`],
  },
  recordsChanges: { access_rules: "organization_id" },
};
