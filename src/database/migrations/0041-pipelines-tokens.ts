/** Marks team tokens that pipelines got in exchange: these can't create other credentials. */
import type { Migration } from "./migration.ts";

export const pipelinesTokens: Migration = {
  name: "0041-pipelines-tokens",
  kind: "adds",
  // Not a foreign key: a token works until it expires, even if its trust is deleted.
  statements: [`ALTER TABLE tokens ADD COLUMN identity_trust_id TEXT`],
};
