/** What was brought from elsewhere: which of our things came from which of another server's. */
import type { Migration } from "./migration.ts";

export const imports: Migration = {
  name: "0019-imports",
  statements: [
    // `our_id` is no foreign key: that a thing was brought is still known when it is gone, so that it is not brought again.
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
