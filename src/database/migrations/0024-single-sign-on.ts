/** Single sign-on: providers, identities, and team memberships by groups. */
import type { Migration } from "./migration.ts";

export const singleSignOn: Migration = {
  name: "0024-single-sign-on",
  statements: [
    `CREATE TABLE sso_providers (
      id TEXT PRIMARY KEY,
      organization_id TEXT REFERENCES organizations (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      name_key TEXT NOT NULL,
      issuer TEXT NOT NULL,
      client_id TEXT NOT NULL,
      client_secret BYTES NOT NULL,
      scopes TEXT NOT NULL,
      groups_claim TEXT,
      create_users INTEGER NOT NULL,
      assume_email_verified INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX sso_providers_name ON sso_providers (name_key)`,
    `CREATE INDEX sso_providers_organization ON sso_providers (organization_id, name_key)`,
    // With the issuer, because a subject is unique only per issuer, and a provider's issuer can change.
    `CREATE TABLE sso_identities (
      sso_provider_id TEXT NOT NULL REFERENCES sso_providers (id) ON DELETE CASCADE,
      issuer TEXT NOT NULL,
      subject TEXT NOT NULL,
      user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      created_at TEXT NOT NULL,
      PRIMARY KEY (sso_provider_id, issuer, subject)
    )`,
    `CREATE INDEX sso_identities_user ON sso_identities (user_id)`,
    `CREATE TABLE sso_sessions (
      token_id TEXT PRIMARY KEY REFERENCES tokens (id) ON DELETE CASCADE,
      sso_provider_id TEXT NOT NULL REFERENCES sso_providers (id) ON DELETE CASCADE,
      sign_out_url BYTES
    )`,
    `CREATE INDEX sso_sessions_provider ON sso_sessions (sso_provider_id)`,
    `CREATE TABLE sso_replies (
      hash TEXT PRIMARY KEY,
      expires_at TEXT NOT NULL
    )`,
    `CREATE INDEX sso_replies_expiry ON sso_replies (expires_at)`,
    // Not a foreign key: teams count their members, so removing a provider removes them one team at a time.
    `ALTER TABLE team_members ADD COLUMN sso_provider_id TEXT`,
    `ALTER TABLE team_members ADD COLUMN sso_group TEXT`,
    `CREATE INDEX team_members_sso ON team_members (sso_provider_id, user_id) WHERE sso_provider_id IS NOT NULL`,
    `CREATE INDEX teams_sso ON teams (sso_team_id, organization_id) WHERE sso_team_id IS NOT NULL`,
    // Kept when the organization is deleted, because its provider did verify the user.
    `ALTER TABLE users ADD COLUMN managed_by_id TEXT`,
  ],
};
