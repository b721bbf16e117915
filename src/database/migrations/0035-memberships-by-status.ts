/** An index of memberships by status, to find the few invited people among all members. */
import type { Migration } from "./migration.ts";

export const membershipsByStatus: Migration = {
  name: "0035-memberships-by-status",
  kind: "adds",
  statements: [
    `CREATE INDEX organization_memberships_status ON organization_memberships (organization_id, status, created_at, id)`,
  ],
};
