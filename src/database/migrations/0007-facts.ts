/** Versions of what other documents show of a row: its name, or inherited defaults. */
import type { Migration } from "./migration.ts";

export const facts: Migration = {
  name: "0007-facts",
  statements: [
    `ALTER TABLE organizations ADD COLUMN facts_version INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE organizations ADD COLUMN defaults_version INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE projects ADD COLUMN defaults_version INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE workspaces ADD COLUMN facts_version INTEGER NOT NULL DEFAULT 0`,
  ],
};
