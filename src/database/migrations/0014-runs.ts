/** Configurations, runs and agents. Contents no longer belong to states only. */
import type { Migration } from "./migration.ts";

const ofOrganization = "organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE";
const ofWorkspace = "workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE";
const ofRun = "run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE";

export const runs: Migration = {
  name: "0014-runs",
  statements: [
    `CREATE TABLE configuration_versions (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      ${ofWorkspace},
      position INTEGER NOT NULL,
      source TEXT NOT NULL,
      status TEXT NOT NULL,
      status_timestamps TEXT NOT NULL,
      auto_queue_runs INTEGER NOT NULL,
      speculative INTEGER NOT NULL,
      provisional INTEGER NOT NULL,
      error TEXT,
      error_message TEXT,
      upload_expires_at TEXT NOT NULL,
      size INTEGER NOT NULL,
      has_readme INTEGER NOT NULL,
      ingress_id TEXT,
      ingress TEXT,
      created_by_kind TEXT,
      created_by_id TEXT,
      created_by_name TEXT,
      created_by_token_id TEXT,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX configuration_versions_of_workspace ON configuration_versions (workspace_id, position)`,
    `CREATE INDEX configuration_versions_newest ON configuration_versions (organization_id, workspace_id, position)`,
    // For jobs: pending uploads of all organizations, and uploaded ones by age.
    `CREATE INDEX configuration_versions_awaited ON configuration_versions (upload_expires_at) WHERE status = 'pending'`,
    `CREATE INDEX configuration_versions_kept ON configuration_versions (organization_id, created_at, id)
      WHERE status IN ('uploaded', 'backing_data_soft_deleted')`,

    `CREATE TABLE runs (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      ${ofWorkspace},
      position INTEGER NOT NULL,
      status TEXT NOT NULL,
      status_timestamps TEXT NOT NULL,
      operation TEXT NOT NULL,
      message TEXT NOT NULL,
      source TEXT NOT NULL,
      trigger_reason TEXT NOT NULL,
      is_destroy INTEGER NOT NULL,
      refresh INTEGER NOT NULL,
      refresh_only INTEGER NOT NULL,
      plan_only INTEGER NOT NULL,
      save_plan INTEGER NOT NULL,
      auto_apply INTEGER NOT NULL,
      allow_empty_apply INTEGER NOT NULL,
      allow_config_generation INTEGER NOT NULL,
      debugging_mode INTEGER NOT NULL,
      structured INTEGER NOT NULL,
      target_addrs TEXT,
      replace_addrs TEXT,
      policy_paths TEXT,
      invoke_action_addrs TEXT,
      variables BYTES,
      pinned_variables BYTES,
      engine TEXT NOT NULL,
      engine_version TEXT NOT NULL,
      execution_mode TEXT NOT NULL,
      agent_pool_id TEXT,
      configuration_version_id TEXT,
      input_state_version_id TEXT,
      plan_id TEXT NOT NULL,
      apply_id TEXT NOT NULL,
      has_changes INTEGER NOT NULL,
      canceled_at TEXT,
      force_cancel_available_at TEXT,
      force_canceled_at TEXT,
      confirmed_by_id TEXT,
      created_by_kind TEXT,
      created_by_id TEXT,
      created_by_name TEXT,
      caused_by_run_id TEXT,
      chain_length INTEGER NOT NULL,
      commit_sha TEXT,
      created_at TEXT NOT NULL,
      ended_at TEXT,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX runs_of_workspace ON runs (workspace_id, position)`,
    `CREATE INDEX runs_newest ON runs (organization_id, workspace_id, position)`,
    // A workspace's default list, without plan-only runs.
    `CREATE INDEX runs_that_may_apply ON runs (organization_id, workspace_id, position) WHERE plan_only = 0`,
    `CREATE INDEX runs_of_organization ON runs (organization_id, created_at, id)`,
    // Unfinished runs: the queues of workspaces and organizations.
    `CREATE INDEX runs_unfinished ON runs (organization_id, workspace_id, position) WHERE ended_at IS NULL`,
    // For a workspace's statistics.
    `CREATE INDEX runs_ended ON runs (organization_id, workspace_id, ended_at)
      WHERE plan_only = 0 AND status IN ('applied', 'errored')`,
    // For site admins, across organizations.
    `CREATE INDEX runs_of_site ON runs (created_at, id)`,
    `CREATE INDEX runs_configuration ON runs (configuration_version_id)`,

    `CREATE TABLE run_phases (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      ${ofWorkspace},
      ${ofRun},
      kind TEXT NOT NULL,
      status TEXT NOT NULL,
      status_timestamps TEXT NOT NULL,
      has_changes INTEGER NOT NULL,
      generated_configuration INTEGER NOT NULL,
      resource_additions INTEGER NOT NULL,
      resource_changes INTEGER NOT NULL,
      resource_destructions INTEGER NOT NULL,
      resource_imports INTEGER NOT NULL,
      action_invocations INTEGER NOT NULL,
      error_message TEXT,
      log_bytes INTEGER NOT NULL,
      log_ended INTEGER NOT NULL,
      pool TEXT NOT NULL,
      engine TEXT NOT NULL,
      engine_version TEXT NOT NULL,
      rank INTEGER NOT NULL,
      queued_ms INTEGER,
      attempt INTEGER NOT NULL,
      agent_id TEXT,
      agent_name TEXT,
      agent_pool_name TEXT,
      claimed_ms INTEGER,
      heard_ms INTEGER,
      engine_started INTEGER NOT NULL,
      signal TEXT,
      token_hash TEXT,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX run_phases_of_run ON run_phases (run_id, kind)`,
    `CREATE INDEX run_phases_organization ON run_phases (organization_id, workspace_id)`,
    // For agents, across organizations: the next phase of a pool.
    `CREATE INDEX run_phases_queued ON run_phases (pool, rank, queued_ms, id) WHERE status = 'queued'`,
    `CREATE INDEX run_phases_line ON run_phases (organization_id, rank, queued_ms, id) WHERE status = 'queued'`,
    `CREATE INDEX run_phases_running ON run_phases (heard_ms) WHERE status = 'running'`,
    `CREATE INDEX run_phases_executed ON run_phases (organization_id) WHERE status = 'running'`,
    `CREATE UNIQUE INDEX run_phases_token ON run_phases (token_hash) WHERE token_hash IS NOT NULL`,

    `CREATE TABLE run_log_chunks (
      ${ofOrganization},
      phase_id TEXT NOT NULL REFERENCES run_phases (id) ON DELETE CASCADE,
      attempt INTEGER NOT NULL,
      start INTEGER NOT NULL,
      length INTEGER NOT NULL,
      bytes BYTES NOT NULL,
      PRIMARY KEY (phase_id, start)
    )`,
    `CREATE INDEX run_log_chunks_organization ON run_log_chunks (organization_id)`,

    `CREATE TABLE run_events (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      ${ofRun},
      position INTEGER NOT NULL,
      action TEXT NOT NULL,
      description TEXT,
      actor_kind TEXT,
      actor_id TEXT,
      actor_name TEXT,
      comment_id TEXT,
      created_at TEXT NOT NULL
    )`,
    `CREATE UNIQUE INDEX run_events_of_run ON run_events (run_id, position)`,
    `CREATE INDEX run_events_organization ON run_events (organization_id, run_id)`,
    `CREATE TABLE comments (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      ${ofRun},
      body TEXT NOT NULL,
      run_event_id TEXT NOT NULL,
      created_at TEXT NOT NULL
    )`,
    `CREATE INDEX comments_of_run ON comments (run_id, created_at, id)`,
    `CREATE INDEX comments_organization ON comments (organization_id, run_id)`,

    `CREATE TABLE run_triggers (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      ${ofWorkspace},
      sourceable_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX run_triggers_pair ON run_triggers (workspace_id, sourceable_id)`,
    `CREATE INDEX run_triggers_outbound ON run_triggers (sourceable_id)`,
    `CREATE INDEX run_triggers_organization ON run_triggers (organization_id, workspace_id, created_at)`,
    // Applied runs whose run triggers a job has to fire.
    `CREATE TABLE run_trigger_firings (
      ${ofOrganization},
      run_id TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
      created_at TEXT NOT NULL
    )`,
    `CREATE INDEX run_trigger_firings_oldest ON run_trigger_firings (created_at)`,
    `CREATE INDEX run_trigger_firings_organization ON run_trigger_firings (organization_id)`,

    `CREATE TABLE site_agent_pools (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      name_key TEXT NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX site_agent_pools_name ON site_agent_pools (name_key)`,
    `CREATE TABLE agent_tokens_of_both (
      id TEXT PRIMARY KEY,
      organization_id TEXT REFERENCES organizations (id) ON DELETE CASCADE,
      agent_pool_id TEXT REFERENCES agent_pools (id) ON DELETE CASCADE,
      site_agent_pool_id TEXT REFERENCES site_agent_pools (id) ON DELETE CASCADE,
      hash TEXT NOT NULL,
      description TEXT NOT NULL,
      created_by_id TEXT NOT NULL,
      created_at TEXT NOT NULL,
      last_used_at TEXT,
      version INTEGER NOT NULL
    )`,
    `INSERT INTO agent_tokens_of_both (id, organization_id, agent_pool_id, hash, description, created_by_id, created_at, last_used_at, version)
      SELECT id, organization_id, agent_pool_id, hash, description, created_by_id, created_at, last_used_at, version FROM agent_tokens`,
    `DROP TABLE agent_tokens`,
    `ALTER TABLE agent_tokens_of_both RENAME TO agent_tokens`,
    `CREATE UNIQUE INDEX agent_tokens_hash ON agent_tokens (hash)`,
    `CREATE INDEX agent_tokens_newest ON agent_tokens (organization_id, agent_pool_id, created_at, id)`,
    `CREATE INDEX agent_tokens_of_pool ON agent_tokens (agent_pool_id)`,
    `CREATE INDEX agent_tokens_of_site_pool ON agent_tokens (site_agent_pool_id, created_at, id)`,

    `CREATE TABLE agents (
      id TEXT PRIMARY KEY,
      organization_id TEXT REFERENCES organizations (id) ON DELETE CASCADE,
      agent_pool_id TEXT REFERENCES agent_pools (id) ON DELETE CASCADE,
      site_agent_pool_id TEXT REFERENCES site_agent_pools (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      status TEXT NOT NULL,
      ip_address TEXT NOT NULL,
      agent_version TEXT NOT NULL,
      engines TEXT NOT NULL,
      last_ping_ms INTEGER NOT NULL,
      last_ping_at TEXT NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE INDEX agents_of_pool ON agents (organization_id, agent_pool_id, created_at, id)`,
    `CREATE INDEX agents_of_agent_pool ON agents (agent_pool_id)`,
    `CREATE INDEX agents_of_site_pool ON agents (site_agent_pool_id, created_at, id)`,
    `CREATE INDEX agents_age ON agents (last_ping_ms)`,

    // One row from the time at which runs could first be executed for every organization; never deleted.
    `CREATE TABLE site_operations (
      name TEXT PRIMARY KEY,
      created_at TEXT NOT NULL
    )`,

    `CREATE TABLE assessment_results (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      ${ofWorkspace},
      ${ofRun},
      finished INTEGER NOT NULL,
      drifted INTEGER NOT NULL,
      succeeded INTEGER NOT NULL,
      error_msg TEXT,
      resources_drifted INTEGER NOT NULL,
      resources_undrifted INTEGER NOT NULL,
      checks_passed INTEGER NOT NULL,
      checks_failed INTEGER NOT NULL,
      checks_errored INTEGER NOT NULL,
      checks_unknown INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE INDEX assessment_results_underway ON assessment_results (workspace_id) WHERE finished = 0`,
    `CREATE INDEX assessment_results_of_run ON assessment_results (run_id)`,
    `CREATE INDEX assessment_results_newest ON assessment_results (organization_id, workspace_id, created_at, id)`,

    `CREATE TABLE identity_keys (
      id TEXT PRIMARY KEY,
      public_key TEXT NOT NULL,
      private_key BYTES NOT NULL,
      created_at TEXT NOT NULL
    )`,

    // Columns for a workspace's document, updated with each change, so that it needs no further statement.
    `ALTER TABLE workspaces ADD COLUMN current_configuration_version_id TEXT`,
    `ALTER TABLE workspaces ADD COLUMN readme_configuration_version_id TEXT`,
    `ALTER TABLE workspaces ADD COLUMN runs_count INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE workspaces ADD COLUMN run_failures INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE workspaces ADD COLUMN plan_duration_average INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE workspaces ADD COLUMN apply_duration_average INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE workspaces ADD COLUMN current_assessment_result_id TEXT`,
    `ALTER TABLE workspaces ADD COLUMN last_assessment_result_at TEXT`,
    // For the job that destroys due workspaces, across organizations.
    `CREATE INDEX workspaces_auto_destroy_at ON workspaces (auto_destroy_at) WHERE auto_destroy_at IS NOT NULL`,
    `CREATE INDEX workspaces_auto_destroy_duration ON workspaces (organization_id, id)
      WHERE auto_destroy_activity_duration IS NOT NULL AND inherits_project_auto_destroy = 0`,
    `ALTER TABLE workspaces ADD COLUMN engine TEXT`,
    // Whether runs can be executed, or ever could: then engines on laptops leave them to the service.
    `ALTER TABLE organizations ADD COLUMN operations INTEGER NOT NULL DEFAULT 0`,

    `DROP INDEX state_contents_of_version`,
    `DROP INDEX state_contents_complete`,
    `DROP INDEX state_contents_unfinished`,
    `DROP INDEX state_contents_orphaned`,
    `ALTER TABLE state_contents RENAME TO contents`,
    `ALTER TABLE state_chunks RENAME TO content_chunks`,
    `ALTER TABLE contents ADD COLUMN configuration_version_id TEXT REFERENCES configuration_versions (id) ON DELETE SET NULL`,
    `ALTER TABLE contents ADD COLUMN run_id TEXT REFERENCES runs (id) ON DELETE SET NULL`,
    `CREATE INDEX contents_of_state_version ON contents (state_version_id)`,
    `CREATE INDEX contents_of_configuration_version ON contents (configuration_version_id) WHERE configuration_version_id IS NOT NULL`,
    `CREATE INDEX contents_of_run ON contents (run_id) WHERE run_id IS NOT NULL`,
    `CREATE UNIQUE INDEX contents_complete ON contents (state_version_id, kind) WHERE complete = 1 AND state_version_id IS NOT NULL`,
    `CREATE UNIQUE INDEX contents_of_configuration_complete ON contents (configuration_version_id, kind)
      WHERE complete = 1 AND configuration_version_id IS NOT NULL`,
    `CREATE UNIQUE INDEX contents_of_run_complete ON contents (run_id, kind) WHERE complete = 1 AND run_id IS NOT NULL`,
    `CREATE INDEX contents_unfinished ON contents (touched_at) WHERE complete = 0`,
    `CREATE INDEX contents_orphaned ON contents (id)
      WHERE state_version_id IS NULL AND configuration_version_id IS NULL AND run_id IS NULL`,
  ],
};
