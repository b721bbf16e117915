/** Which team tokens pipelines were given in exchange for their own: these create no other credentials. */
import type { Migration } from "./migration.ts";

export const pipelinesTokens: Migration = {
  name: "0041-pipelines-tokens",
  kind: "adds",
  // No foreign key: a token works until it expires, also when its trust has been deleted.
  statements: [`ALTER TABLE tokens ADD COLUMN identity_trust_id TEXT`],
};
