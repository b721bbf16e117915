/** State versions with contents, outputs and resources, and the jobs table. */
import type { Migration } from "./migration.ts";

const ofOrganization = "organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE";

export const state: Migration = {
  name: "0003-state",
  statements: [
    // Ids joined by commas, so that a workspace's document needs no further statement.
    `ALTER TABLE workspaces ADD COLUMN output_ids TEXT NOT NULL DEFAULT ''`,
    `ALTER TABLE workspaces ADD COLUMN var_ids TEXT NOT NULL DEFAULT ''`,

    `CREATE TABLE state_versions (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
      position INTEGER NOT NULL,
      serial INTEGER NOT NULL,
      lineage TEXT,
      md5 TEXT NOT NULL,
      status TEXT NOT NULL,
      intermediate INTEGER NOT NULL,
      size INTEGER NOT NULL,
      format INTEGER,
      engine_version TEXT,
      resources_processed INTEGER NOT NULL,
      resource_count INTEGER NOT NULL,
      modules TEXT NOT NULL,
      providers TEXT NOT NULL,
      resources TEXT NOT NULL,
      output_ids TEXT NOT NULL,
      superseded INTEGER NOT NULL,
      upload_expires_at TEXT,
      has_json INTEGER NOT NULL,
      run_id TEXT,
      created_by_kind TEXT NOT NULL,
      created_by_id TEXT NOT NULL,
      created_by_name TEXT NOT NULL,
      created_by_token_id TEXT,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX state_versions_of_workspace ON state_versions (workspace_id, position)`,
    `CREATE INDEX state_versions_newest ON state_versions (organization_id, workspace_id, position)`,
    `CREATE INDEX state_versions_age ON state_versions (organization_id, created_at, id)`,
    `CREATE INDEX state_versions_pending ON state_versions (upload_expires_at) WHERE status = 'pending'`,
    `CREATE INDEX state_versions_unprocessed ON state_versions (created_at) WHERE resources_processed = 0 AND status = 'finalized'`,

    `CREATE INDEX state_versions_superseded ON state_versions (workspace_id) WHERE superseded = 1`,

    // No cascade: a job deletes contents a few chunks at a time, so that deleting a workspace stays one short transaction.
    `CREATE TABLE state_contents (
      id TEXT PRIMARY KEY,
      organization_id TEXT NOT NULL,
      state_version_id TEXT REFERENCES state_versions (id) ON DELETE SET NULL,
      kind TEXT NOT NULL,
      size INTEGER NOT NULL,
      md5 TEXT NOT NULL,
      chunk_count INTEGER NOT NULL,
      complete INTEGER NOT NULL,
      touched_at TEXT NOT NULL
    )`,
    `CREATE INDEX state_contents_of_version ON state_contents (state_version_id)`,
    `CREATE UNIQUE INDEX state_contents_complete ON state_contents (state_version_id, kind) WHERE complete = 1`,
    `CREATE INDEX state_contents_unfinished ON state_contents (touched_at) WHERE complete = 0`,
    `CREATE INDEX state_contents_orphaned ON state_contents (id) WHERE state_version_id IS NULL`,
    `CREATE TABLE state_chunks (
      organization_id TEXT NOT NULL,
      content_id TEXT NOT NULL REFERENCES state_contents (id),
      position INTEGER NOT NULL,
      bytes BYTES NOT NULL,
      PRIMARY KEY (content_id, position)
    )`,

    `CREATE TABLE state_version_outputs (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      state_version_id TEXT NOT NULL REFERENCES state_versions (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      sensitive INTEGER NOT NULL,
      type TEXT NOT NULL,
      detailed_type TEXT NOT NULL,
      value BYTES NOT NULL
    )`,
    `CREATE UNIQUE INDEX state_version_outputs_name ON state_version_outputs (state_version_id, name)`,
    `CREATE INDEX state_version_outputs_of ON state_version_outputs (organization_id, state_version_id, name)`,

    `CREATE TABLE state_resources (
      id TEXT NOT NULL,
      ${ofOrganization},
      state_version_id TEXT NOT NULL REFERENCES state_versions (id) ON DELETE CASCADE,
      address TEXT NOT NULL,
      name TEXT NOT NULL,
      name_index TEXT,
      type TEXT NOT NULL,
      module TEXT NOT NULL,
      provider TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      modified_by_state_version_id TEXT NOT NULL,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      PRIMARY KEY (state_version_id, address)
    )`,
    `CREATE INDEX state_resources_organization ON state_resources (organization_id)`,

    `CREATE INDEX tokens_expiry ON tokens (expired_at) WHERE expired_at IS NOT NULL`,

    // Times are the database's, in milliseconds, because servers' clocks differ.
    `CREATE TABLE jobs (
      name TEXT PRIMARY KEY,
      holder TEXT,
      lease_until_ms INTEGER NOT NULL,
      due_ms INTEGER NOT NULL,
      started_ms INTEGER,
      finished_ms INTEGER,
      succeeded_ms INTEGER,
      last_error TEXT,
      runs_total INTEGER NOT NULL,
      failures_total INTEGER NOT NULL,
      handled_total INTEGER NOT NULL
    )`,
  ],
};
