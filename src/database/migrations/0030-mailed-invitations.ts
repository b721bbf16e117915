/** Notifications with a secret, such as an invitation link, and those outside of organizations. */
import type { Migration } from "./migration.ts";

export const mailedInvitations: Migration = {
  name: "0030-mailed-invitations",
  statements: [
    `CREATE TABLE notices_of_all (
      id TEXT PRIMARY KEY,
      organization_id TEXT REFERENCES organizations (id) ON DELETE CASCADE,
      kind TEXT NOT NULL,
      subject_id TEXT NOT NULL,
      event_name TEXT NOT NULL,
      destination TEXT NOT NULL,
      place TEXT,
      content TEXT NOT NULL,
      secret BYTES,
      once_key TEXT,
      state TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      due_ms INTEGER NOT NULL,
      response TEXT,
      created_at TEXT NOT NULL,
      finished_at TEXT,
      version INTEGER NOT NULL
    )`,
    `INSERT INTO notices_of_all (id, organization_id, kind, subject_id, event_name, destination, place, content, once_key, state,
        attempts, due_ms, response, created_at, finished_at, version)
      SELECT id, organization_id, kind, subject_id, event_name, destination, place, content, once_key, state, attempts, due_ms,
        response, created_at, finished_at, version
      FROM notices`,
    `DROP TABLE notices`,
    `ALTER TABLE notices_of_all RENAME TO notices`,
    `CREATE INDEX notices_of ON notices (organization_id, subject_id, created_at, id)`,
    `CREATE INDEX notices_waiting ON notices (due_ms, id, destination) WHERE state = 'waiting'`,
    `CREATE UNIQUE INDEX notices_once ON notices (once_key) WHERE once_key IS NOT NULL`,
    `CREATE INDEX notices_finished ON notices (finished_at) WHERE finished_at IS NOT NULL`,
  ],
};
