/**
 * The creator of an invitation link: the link ends when somebody else extends the invitation beyond the creator's permissions.
 */
import type { Migration } from "./migration.ts";

export const makersOfLinks: Migration = {
  name: "0034-makers-of-links",
  kind: "adds",
  // The id as in the audit log, whose user may be deleted by now; null for earlier links.
  statements: [`ALTER TABLE invitations ADD COLUMN made_by_id TEXT`],
};
