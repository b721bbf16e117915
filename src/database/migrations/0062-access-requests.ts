/** Access requests, and which request an audit event belongs to. */
import type { Migration } from "./migration.ts";

const ofOrganization = "organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE";
const ofRequest = "request_id TEXT NOT NULL REFERENCES access_requests (id) ON DELETE CASCADE";

export const accessRequests: Migration = {
  name: "0062-access-requests",
  kind: "adds",
  writersKnow: "0042-official-document",
  statements: [
    `CREATE TABLE access_requests (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      requester_id TEXT NOT NULL,
      offer_id TEXT,
      status TEXT NOT NULL,
      reason TEXT NOT NULL,
      changes TEXT NOT NULL,
      duration_seconds INTEGER,
      lapses_at TEXT NOT NULL,
      decided_at TEXT,
      decided_by_id TEXT,
      decision_comment TEXT,
      effects TEXT,
      rules TEXT NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE INDEX access_requests_newest ON access_requests (organization_id, created_at, id)`,
    `CREATE INDEX access_requests_status ON access_requests (organization_id, status, created_at, id)`,
    `CREATE INDEX access_requests_requester ON access_requests (organization_id, requester_id, created_at, id)`,
    `CREATE INDEX access_requests_pending ON access_requests (organization_id, requester_id) WHERE status = 'pending'`,
    `CREATE INDEX access_requests_lapsing ON access_requests (lapses_at, id) WHERE status = 'pending'`,
    `CREATE TABLE access_request_requirements (
      ${ofOrganization},
      ${ofRequest},
      number INTEGER NOT NULL,
      kind TEXT NOT NULL,
      subject_id TEXT NOT NULL,
      project_id TEXT,
      mask INTEGER NOT NULL,
      ends_at TEXT,
      PRIMARY KEY (request_id, number)
    )`,
    `CREATE INDEX access_request_requirements_organization ON access_request_requirements (organization_id)`,
    `CREATE TABLE access_request_parties (
      ${ofOrganization},
      ${ofRequest},
      role TEXT NOT NULL,
      subject_id TEXT NOT NULL,
      PRIMARY KEY (request_id, role, subject_id)
    )`,
    `CREATE INDEX access_request_parties_organization ON access_request_parties (organization_id)`,
    `ALTER TABLE organizations ADD COLUMN access_request_lapse_seconds INTEGER NOT NULL DEFAULT 604800`,
    `ALTER TABLE audit_events ADD COLUMN access_request_id TEXT`,
  ],
  only: {
    sqlite: [],
    postgres: [`CREATE OR REPLACE VIEW open_organizations AS SELECT * FROM organizations WHERE closed_at IS NULL`],
  },
  recordsChanges: {
    access_requests: "organization_id",
    access_request_requirements: "organization_id",
    access_request_parties: "organization_id",
  },
};
