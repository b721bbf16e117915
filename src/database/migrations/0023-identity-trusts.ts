/** Identity trusts: pipelines exchange their own tokens for temporary team tokens. */
import type { Migration } from "./migration.ts";

export const identityTrusts: Migration = {
  name: "0023-identity-trusts",
  statements: [
    `CREATE TABLE identity_trusts (
      id TEXT PRIMARY KEY,
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      team_id TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      name_key TEXT NOT NULL,
      issuer TEXT NOT NULL,
      audience TEXT NOT NULL,
      claims TEXT NOT NULL,
      token_seconds INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX identity_trusts_name ON identity_trusts (organization_id, name_key)`,
    `CREATE INDEX identity_trusts_issuer ON identity_trusts (organization_id, issuer)`,
    `CREATE INDEX identity_trusts_team ON identity_trusts (team_id)`,
  ],
};
