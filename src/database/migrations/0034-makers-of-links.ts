/** Who made a link: it ends where somebody else makes more of the invitation than its maker could. */
import type { Migration } from "./migration.ts";

export const makersOfLinks: Migration = {
  name: "0034-makers-of-links",
  kind: "adds",
  // As the trail names whoever does something, who may be gone by now; null for those of before.
  statements: [`ALTER TABLE invitations ADD COLUMN made_by_id TEXT`],
};
