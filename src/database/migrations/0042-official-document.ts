/** What the official OpenAPI document asks for beside: data of plans and applies that can be deleted, and the default project first in lists. */
import type { Migration } from "./migration.ts";

export const officialDocument: Migration = {
  name: "0042-official-document",
  kind: "adds",
  statements: [
    `ALTER TABLE run_phases ADD COLUMN backing_data_status TEXT NOT NULL DEFAULT 'present'`,
    `CREATE INDEX projects_default_first ON projects (organization_id, is_default, created_at, id)`,
  ],
};
