/** Agents say whether they fetch engines, and which they can't fetch at the moment. */
import type { Migration } from "./migration.ts";

export const fetchedEngines: Migration = {
  name: "0059-fetched-engines",
  kind: "adds",
  writersKnow: "0042-official-document",
  statements: [`ALTER TABLE agents ADD COLUMN fetching TEXT NOT NULL DEFAULT ''`],
};
