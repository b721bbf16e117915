/** Contents can be in an object store; logs become contents when their run has ended. */
import type { Migration } from "./migration.ts";

export const objects: Migration = {
  name: "0050-objects",
  kind: "adds",
  writersKnow: "0042-official-document",
  statements: [
    // Null: the chunks are in the database.
    `ALTER TABLE contents ADD COLUMN place TEXT`,
    `ALTER TABLE contents ADD COLUMN object TEXT`,
    `ALTER TABLE contents ADD COLUMN object_bytes INTEGER`,
    `ALTER TABLE contents ADD COLUMN key_id TEXT`,
    // Of a log, whose chunks are compressed one by one: their encrypted sizes, joined by commas.
    `ALTER TABLE contents ADD COLUMN chunk_sizes TEXT`,

    `ALTER TABLE run_phases ADD COLUMN log_content_id TEXT`,
    `ALTER TABLE run_phases ADD COLUMN log_unmoved INTEGER NOT NULL DEFAULT 0`,

    // Objects that no content uses: being written, or to be deleted.
    `CREATE TABLE unattached_objects (
      place TEXT NOT NULL,
      name TEXT NOT NULL,
      status TEXT NOT NULL,
      since TEXT NOT NULL,
      PRIMARY KEY (place, name)
    )`,
    `CREATE INDEX unattached_objects_since ON unattached_objects (place, status, since)`,
  ],
  online: [
    { index: `CREATE INDEX contents_object ON contents (place, object) WHERE place IS NOT NULL` },
    { index: `CREATE INDEX run_phases_log_unmoved ON run_phases (id) WHERE log_unmoved <> 0` },
  ],
};
