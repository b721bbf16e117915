/** A session that was started with a token ends with it. */
import type { Migration } from "./migration.ts";

export const sessionsByTokens: Migration = {
  name: "0029-sessions-by-tokens",
  kind: "adds",
  statements: [
    // Not a foreign key, because a backup restores the session before the token; the lookup checks whether the token exists.
    `ALTER TABLE tokens ADD COLUMN begun_by_id TEXT`,
    `CREATE INDEX tokens_begun_by ON tokens (begun_by_id) WHERE begun_by_id IS NOT NULL`,
  ],
};
