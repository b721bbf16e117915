/** The creator of an invitation link: the link ends when another user extends the invitation beyond the creator's permissions. */
import type { Migration } from "./migration.ts";

export const makersOfLinks: Migration = {
  name: "0034-makers-of-links",
  kind: "adds",
  // As in the audit log, because the user may be deleted; null for earlier links.
  statements: [`ALTER TABLE invitations ADD COLUMN made_by_id TEXT`],
};
