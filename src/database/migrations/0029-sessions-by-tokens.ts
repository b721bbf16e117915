/** A session that a token began is no more than that token: it ends with it. */
import type { Migration } from "./migration.ts";

export const sessionsByTokens: Migration = {
  name: "0029-sessions-by-tokens",
  kind: "adds",
  statements: [
    // No foreign key: a backup loads a session before the token that began it, and the look-up asks whether that is there.
    `ALTER TABLE tokens ADD COLUMN begun_by_id TEXT`,
    // Of all organizations: whoever removes a token ends what it began.
    `CREATE INDEX tokens_begun_by ON tokens (begun_by_id) WHERE begun_by_id IS NOT NULL`,
  ],
};
