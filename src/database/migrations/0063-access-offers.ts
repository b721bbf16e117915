/** Access offers, and the teams that can take and approve them. */
import type { Migration } from "./migration.ts";

export const accessOffers: Migration = {
  name: "0063-access-offers",
  kind: "adds",
  writersKnow: "0042-official-document",
  statements: [
    // The last writer can be a user, a team or the organization, and can be deleted while the offer stays.
    `CREATE TABLE access_offers (
      id TEXT PRIMARY KEY,
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      name_key TEXT NOT NULL,
      description TEXT,
      changes TEXT NOT NULL,
      duration_seconds_max INTEGER NOT NULL,
      approvals TEXT NOT NULL,
      enabled INTEGER NOT NULL,
      writer_kind TEXT NOT NULL,
      writer_id TEXT NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX access_offers_name ON access_offers (organization_id, name_key)`,
    `CREATE TABLE access_offer_teams (
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      access_offer_id TEXT NOT NULL REFERENCES access_offers (id) ON DELETE CASCADE,
      kind TEXT NOT NULL,
      team_id TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
      PRIMARY KEY (access_offer_id, kind, team_id)
    )`,
    `CREATE INDEX access_offer_teams_of_organization ON access_offer_teams (organization_id, access_offer_id)`,
    `CREATE INDEX access_offer_teams_team ON access_offer_teams (team_id, access_offer_id)`,
  ],
  recordsChanges: { access_offers: "organization_id", access_offer_teams: "organization_id" },
};
