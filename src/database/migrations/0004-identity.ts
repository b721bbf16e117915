/** Whether an organization accepts user tokens. */
import type { Migration } from "./migration.ts";

export const identity: Migration = {
  name: "0004-identity",
  statements: [`ALTER TABLE organizations ADD COLUMN user_tokens_enabled INTEGER NOT NULL DEFAULT 1`],
};
