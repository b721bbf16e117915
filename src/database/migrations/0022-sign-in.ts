/** What people sign in with. Sessions are tokens of a kind of their own. */
import type { Migration } from "./migration.ts";

export const signIn: Migration = {
  name: "0022-sign-in",
  statements: [
    // Apart from users, whose rows are read all the time and shown: a hash is read to be compared, and for nothing else.
    `CREATE TABLE passwords (
      user_id TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
      hash TEXT NOT NULL,
      changed_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
  ],
};
