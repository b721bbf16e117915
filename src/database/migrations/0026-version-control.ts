/** VCS: webhooks from providers and their results, webhooks at providers, and commit statuses. */
import type { Migration } from "./migration.ts";

export const versionControl: Migration = {
  name: "0026-version-control",
  statements: [
    `ALTER TABLE oauth_clients ADD COLUMN webhook_secret BYTES`,
    `ALTER TABLE oauth_clients ADD COLUMN webhook_secret_number INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE oauth_clients ADD COLUMN former_webhook_secret BYTES`,
    `ALTER TABLE oauth_clients ADD COLUMN former_webhook_secret_until TEXT`,

    // Providers ignore the case of repositories.
    `CREATE INDEX workspaces_repository ON workspaces (vcs_oauth_token_id, lower(vcs_identifier))
      WHERE vcs_oauth_token_id IS NOT NULL`,

    `CREATE TABLE vcs_deliveries (
      id TEXT PRIMARY KEY,
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      oauth_client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
      delivery_key TEXT NOT NULL,
      position INTEGER NOT NULL,
      happening TEXT NOT NULL,
      created_at TEXT NOT NULL
    )`,
    `CREATE UNIQUE INDEX vcs_deliveries_key ON vcs_deliveries (oauth_client_id, delivery_key, position)`,
    `CREATE INDEX vcs_deliveries_age ON vcs_deliveries (created_at)`,
    `CREATE INDEX vcs_deliveries_organization ON vcs_deliveries (organization_id)`,

    `CREATE TABLE vcs_events (
      id TEXT PRIMARY KEY,
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      workspace_id TEXT REFERENCES workspaces (id) ON DELETE CASCADE,
      oauth_client_id TEXT,
      delivery_id TEXT,
      kind TEXT NOT NULL,
      repository TEXT NOT NULL,
      branch TEXT,
      tag TEXT,
      pull_request INTEGER,
      commit_sha TEXT,
      outcome TEXT,
      detail TEXT NOT NULL,
      configuration_version_id TEXT,
      run_id TEXT,
      attempts INTEGER NOT NULL,
      due_ms INTEGER,
      created_at TEXT NOT NULL,
      decided_at TEXT,
      version INTEGER NOT NULL
    )`,
    `CREATE INDEX vcs_events_organization ON vcs_events (organization_id, created_at, id)`,
    `CREATE INDEX vcs_events_workspace ON vcs_events (workspace_id, created_at, id)`,
    `CREATE INDEX vcs_events_commit ON vcs_events (workspace_id, commit_sha)`,
    `CREATE INDEX vcs_events_pull_request ON vcs_events (workspace_id, pull_request) WHERE pull_request IS NOT NULL`,
    `CREATE INDEX vcs_events_waiting ON vcs_events (due_ms) WHERE outcome IS NULL`,
    `CREATE INDEX vcs_events_age ON vcs_events (created_at)`,

    `CREATE TABLE vcs_webhooks (
      id TEXT PRIMARY KEY,
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      oauth_client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
      repository TEXT NOT NULL,
      webhook_ids TEXT,
      secret_number INTEGER NOT NULL,
      attempts INTEGER NOT NULL,
      due_ms INTEGER NOT NULL,
      created_at TEXT NOT NULL
    )`,
    `CREATE UNIQUE INDEX vcs_webhooks_repository ON vcs_webhooks (oauth_client_id, repository)`,
    `CREATE INDEX vcs_webhooks_due ON vcs_webhooks (due_ms)`,
    `CREATE INDEX vcs_webhooks_organization ON vcs_webhooks (organization_id)`,

    `CREATE TABLE vcs_statuses (
      run_id TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      oauth_token_id TEXT NOT NULL REFERENCES oauth_tokens (id) ON DELETE CASCADE,
      repository TEXT NOT NULL,
      sha TEXT NOT NULL,
      state TEXT,
      attempts INTEGER NOT NULL,
      due_ms INTEGER
    )`,
    `CREATE INDEX vcs_statuses_due ON vcs_statuses (due_ms) WHERE due_ms IS NOT NULL`,
    `CREATE INDEX vcs_statuses_organization ON vcs_statuses (organization_id)`,
    `CREATE INDEX vcs_statuses_token ON vcs_statuses (oauth_token_id)`,
  ],
};
