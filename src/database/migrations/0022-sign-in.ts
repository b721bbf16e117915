/** Passwords. Sessions are tokens of their own kind. */
import type { Migration } from "./migration.ts";

export const signIn: Migration = {
  name: "0022-sign-in",
  statements: [
    // Separate from users, whose rows are read and shown all the time: hashes are read only to be compared.
    `CREATE TABLE passwords (
      user_id TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
      hash TEXT NOT NULL,
      changed_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
  ],
};
