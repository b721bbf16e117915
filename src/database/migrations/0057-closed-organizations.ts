/** A deleted organization is closed at once, and emptied by a job. */
import type { Migration } from "./migration.ts";

export const closedOrganizations: Migration = {
  name: "0057-closed-organizations",
  kind: "adds",
  writersKnow: "0042-official-document",
  statements: [
    `ALTER TABLE organizations ADD COLUMN closed_at TEXT`,
    // PostgreSQL expands the columns: a migration that adds one to organizations must replace the view.
    `CREATE VIEW open_organizations AS SELECT * FROM organizations WHERE closed_at IS NULL`,
  ],
  online: [{ index: `CREATE INDEX organizations_closed ON organizations (closed_at, id) WHERE closed_at IS NOT NULL` }],
};
