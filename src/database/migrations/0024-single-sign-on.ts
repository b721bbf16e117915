/** People who are known elsewhere: providers of single sign-on, who is whom there, and places in teams that come from groups. */
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
    // Of the whole site: whoever signs in chooses by name.
    `CREATE UNIQUE INDEX sso_providers_name ON sso_providers (name_key)`,
    `CREATE INDEX sso_providers_organization ON sso_providers (organization_id, name_key)`,
    // By the issuer too: a subject is only known together with whoever names it, and a provider's issuer may be changed.
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
    // Each way back from a provider is gone once; what is remembered of it goes with time.
    `CREATE TABLE sso_replies (
      hash TEXT PRIMARY KEY,
      expires_at TEXT NOT NULL
    )`,
    `CREATE INDEX sso_replies_expiry ON sso_replies (expires_at)`,
    // Without a foreign key: teams count their people, so whoever removes a provider takes these out one team at a time.
    `ALTER TABLE team_members ADD COLUMN sso_provider_id TEXT`,
    `ALTER TABLE team_members ADD COLUMN sso_group TEXT`,
    `CREATE INDEX team_members_sso ON team_members (sso_provider_id, user_id) WHERE sso_provider_id IS NOT NULL`,
    // Across organizations: a provider of the site brings people into whichever of them names one of their groups.
    `CREATE INDEX teams_sso ON teams (sso_team_id, organization_id) WHERE sso_team_id IS NOT NULL`,
    // Kept when the organization goes: that its provider spoke for somebody does not end with it.
    `ALTER TABLE users ADD COLUMN managed_by_id TEXT`,
  ],
};
