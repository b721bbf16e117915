/** Invitation links, and authorization codes for CLIs. */
import type { Migration } from "./migration.ts";

export const invitationLinks: Migration = {
  name: "0025-invitation-links",
  statements: [
    `CREATE TABLE invitations (
      id TEXT PRIMARY KEY,
      hash TEXT NOT NULL,
      organization_id TEXT REFERENCES organizations (id) ON DELETE CASCADE,
      membership_id TEXT REFERENCES organization_memberships (id) ON DELETE CASCADE,
      user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
      confirms_email INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      expires_at TEXT NOT NULL
    )`,
    `CREATE UNIQUE INDEX invitations_hash ON invitations (hash)`,
    `CREATE INDEX invitations_ending ON invitations (expires_at)`,
    `CREATE UNIQUE INDEX invitations_membership ON invitations (membership_id)`,
    `CREATE UNIQUE INDEX invitations_user ON invitations (user_id)`,
    `CREATE INDEX invitations_organization ON invitations (organization_id)`,

    `CREATE TABLE authorizations (
      id TEXT PRIMARY KEY,
      hash TEXT NOT NULL,
      user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      client_id TEXT NOT NULL,
      redirect_uri TEXT NOT NULL,
      code_challenge TEXT NOT NULL,
      name TEXT NOT NULL,
      token_expires_at TEXT,
      token_id TEXT,
      created_at TEXT NOT NULL,
      expires_at TEXT NOT NULL
    )`,
    `CREATE UNIQUE INDEX authorizations_hash ON authorizations (hash)`,
    `CREATE INDEX authorizations_ending ON authorizations (created_at)`,
    `CREATE INDEX authorizations_user ON authorizations (user_id)`,
  ],
};
