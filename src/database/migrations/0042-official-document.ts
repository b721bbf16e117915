/** The data behind plans and applies can be deleted, as the official OpenAPI document has it. */
import type { Migration } from "./migration.ts";

export const officialDocument: Migration = {
  name: "0042-official-document",
  kind: "adds",
  statements: [`ALTER TABLE run_phases ADD COLUMN backing_data_status TEXT NOT NULL DEFAULT 'present'`],
};
