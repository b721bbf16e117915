/** Which resources were imported from which of another server. */
import type { Migration } from "./migration.ts";

export const imports: Migration = {
  name: "0019-imports",
  statements: [
    // `our_id` is not a foreign key: an import stays recorded after a deletion, so that it is not repeated.
    `CREATE TABLE import_links (
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      source TEXT NOT NULL,
      kind TEXT NOT NULL,
      source_id TEXT NOT NULL,
      our_id TEXT NOT NULL,
      created_at TEXT NOT NULL,
      PRIMARY KEY (organization_id, source, kind, source_id)
    )`,
  ],
};
