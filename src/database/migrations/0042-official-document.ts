/** The data of plans and applies can be deleted, as in the official OpenAPI document. */
import type { Migration } from "./migration.ts";

export const officialDocument: Migration = {
  name: "0042-official-document",
  kind: "adds",
  statements: [`ALTER TABLE run_phases ADD COLUMN backing_data_status TEXT NOT NULL DEFAULT 'present'`],
};
