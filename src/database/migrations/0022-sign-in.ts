/** Passwords. */
import type { Migration } from "./migration.ts";

export const signIn: Migration = {
  name: "0022-sign-in",
  statements: [
    // Separate from users, so that reading a user never reads a hash.
    `CREATE TABLE passwords (
      user_id TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
      hash TEXT NOT NULL,
      changed_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
  ],
};
