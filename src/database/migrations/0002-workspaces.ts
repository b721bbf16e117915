/** Workspaces with team access, tags, consumers and retention policies, and their connections. */
import type { Migration } from "./migration.ts";

const ofOrganization = "organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE";

export const workspaces: Migration = {
  name: "0002-workspaces",
  statements: [
    `CREATE TABLE ssh_keys (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      name TEXT NOT NULL,
      name_key TEXT NOT NULL,
      value BYTES NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX ssh_keys_name ON ssh_keys (organization_id, name_key)`,

    `CREATE TABLE agent_pools (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      name TEXT NOT NULL,
      name_key TEXT NOT NULL,
      organization_scoped INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX agent_pools_name ON agent_pools (organization_id, name_key)`,
    `CREATE TABLE agent_pool_scopes (
      ${ofOrganization},
      agent_pool_id TEXT NOT NULL REFERENCES agent_pools (id) ON DELETE CASCADE,
      kind TEXT NOT NULL,
      target_id TEXT NOT NULL,
      PRIMARY KEY (agent_pool_id, kind, target_id)
    )`,
    `CREATE INDEX agent_pool_scopes_target ON agent_pool_scopes (organization_id, target_id)`,

    `CREATE TABLE oauth_clients (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      name TEXT,
      service_provider TEXT NOT NULL,
      api_url TEXT NOT NULL,
      http_url TEXT NOT NULL,
      key TEXT,
      secret BYTES,
      rsa_public_key TEXT,
      organization_scoped INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE INDEX oauth_clients_newest ON oauth_clients (organization_id, created_at, id)`,
    `CREATE TABLE oauth_tokens (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      oauth_client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
      uid TEXT NOT NULL,
      service_provider_user TEXT NOT NULL,
      secret BYTES,
      ssh_key BYTES,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE INDEX oauth_tokens_client ON oauth_tokens (organization_id, oauth_client_id, created_at, id)`,
    `CREATE INDEX oauth_tokens_of_client ON oauth_tokens (oauth_client_id)`,

    `CREATE TABLE engine_versions (
      id TEXT PRIMARY KEY,
      engine_version TEXT NOT NULL,
      url TEXT,
      sha TEXT,
      official INTEGER NOT NULL,
      enabled INTEGER NOT NULL,
      beta INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX engine_versions_version ON engine_versions (engine_version)`,

    `CREATE TABLE workspaces (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      project_id TEXT NOT NULL REFERENCES projects (id),
      name TEXT NOT NULL,
      name_key TEXT NOT NULL,
      description TEXT,
      allow_destroy_plan INTEGER NOT NULL,
      assessments_enabled INTEGER NOT NULL,
      auto_apply INTEGER NOT NULL,
      auto_apply_run_trigger INTEGER NOT NULL,
      auto_destroy_at TEXT,
      auto_destroy_activity_duration TEXT,
      inherits_project_auto_destroy INTEGER NOT NULL,
      auto_destroy_status TEXT,
      execution_mode TEXT,
      agent_pool_id TEXT REFERENCES agent_pools (id),
      overwrites_execution_mode INTEGER NOT NULL,
      overwrites_agent_pool INTEGER NOT NULL,
      file_triggers_enabled INTEGER NOT NULL,
      trigger_prefixes TEXT NOT NULL,
      trigger_patterns TEXT NOT NULL,
      global_remote_state INTEGER NOT NULL,
      queue_all_runs INTEGER NOT NULL,
      speculative_enabled INTEGER NOT NULL,
      structured_run_output_enabled INTEGER NOT NULL,
      source TEXT NOT NULL,
      source_name TEXT,
      source_url TEXT,
      engine_version TEXT NOT NULL,
      working_directory TEXT,
      vcs_identifier TEXT,
      vcs_branch TEXT,
      vcs_ingress_submodules INTEGER NOT NULL,
      vcs_tags_regex TEXT,
      vcs_oauth_token_id TEXT REFERENCES oauth_tokens (id),
      vcs_github_app_installation_id TEXT,
      ssh_key_id TEXT REFERENCES ssh_keys (id),
      locked_by_type TEXT,
      locked_by_id TEXT,
      locked_by_name TEXT,
      locked_reason TEXT,
      tag_names TEXT NOT NULL,
      resource_count INTEGER NOT NULL,
      current_state_version_id TEXT,
      current_run_id TEXT,
      current_run_status TEXT,
      current_run_created_at TEXT,
      latest_change_at TEXT NOT NULL,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX workspaces_name ON workspaces (organization_id, name)`,
    `CREATE INDEX workspaces_walk ON workspaces (organization_id, name, id, project_id)`,
    `CREATE INDEX workspaces_search ON workspaces (organization_id, name_key, name, id, project_id)`,
    `CREATE INDEX workspaces_project ON workspaces (organization_id, project_id, name, id, name_key)`,
    `CREATE INDEX workspaces_change ON workspaces (organization_id, latest_change_at, id)`,
    `CREATE INDEX workspaces_run ON workspaces (organization_id, current_run_created_at, id)`,
    `CREATE INDEX workspaces_ssh_key ON workspaces (organization_id, ssh_key_id)`,
    `CREATE INDEX workspaces_agent_pool ON workspaces (organization_id, agent_pool_id)`,
    `CREATE INDEX workspaces_oauth_token ON workspaces (organization_id, vcs_oauth_token_id)`,
    `CREATE INDEX workspaces_of_project ON workspaces (project_id)`,
    `CREATE INDEX workspaces_of_agent_pool ON workspaces (agent_pool_id)`,
    `CREATE INDEX workspaces_of_oauth_token ON workspaces (vcs_oauth_token_id)`,
    `CREATE INDEX workspaces_of_ssh_key ON workspaces (ssh_key_id)`,

    `CREATE TABLE team_workspaces (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
      team_id TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
      access TEXT NOT NULL,
      permissions INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX team_workspaces_workspace ON team_workspaces (organization_id, workspace_id, team_id)`,
    `CREATE INDEX team_workspaces_team ON team_workspaces (organization_id, team_id, workspace_id, permissions)`,
    `CREATE INDEX team_workspaces_of_workspace ON team_workspaces (workspace_id)`,
    `CREATE INDEX team_workspaces_of_team ON team_workspaces (team_id)`,

    `CREATE TABLE remote_state_consumers (
      ${ofOrganization},
      workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
      consumer_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
      created_at TEXT NOT NULL,
      PRIMARY KEY (workspace_id, consumer_id)
    )`,
    `CREATE INDEX remote_state_consumers_consumer ON remote_state_consumers (consumer_id)`,

    `CREATE TABLE tags (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      name TEXT NOT NULL,
      instance_count INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX tags_name ON tags (organization_id, name)`,
    `CREATE TABLE workspace_tags (
      ${ofOrganization},
      workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
      tag_id TEXT NOT NULL REFERENCES tags (id) ON DELETE CASCADE,
      created_at TEXT NOT NULL,
      PRIMARY KEY (workspace_id, tag_id)
    )`,
    `CREATE INDEX workspace_tags_tag ON workspace_tags (organization_id, tag_id, workspace_id)`,
    `CREATE INDEX workspace_tags_of_tag ON workspace_tags (tag_id)`,

    `CREATE TABLE tag_bindings (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      workspace_id TEXT REFERENCES workspaces (id) ON DELETE CASCADE,
      project_id TEXT REFERENCES projects (id) ON DELETE CASCADE,
      key TEXT NOT NULL,
      value TEXT NOT NULL,
      created_at TEXT NOT NULL
    )`,
    `CREATE UNIQUE INDEX tag_bindings_workspace ON tag_bindings (workspace_id, key)`,
    `CREATE UNIQUE INDEX tag_bindings_project ON tag_bindings (project_id, key)`,
    `CREATE INDEX tag_bindings_key ON tag_bindings (organization_id, key, value, workspace_id)`,

    `CREATE TABLE reserved_tag_keys (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      key TEXT NOT NULL,
      disable_overrides INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX reserved_tag_keys_key ON reserved_tag_keys (organization_id, key)`,

    `CREATE TABLE data_retention_policies (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      workspace_id TEXT REFERENCES workspaces (id) ON DELETE CASCADE,
      kind TEXT NOT NULL,
      delete_older_than_n_days INTEGER,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE INDEX data_retention_policies_of ON data_retention_policies (organization_id, workspace_id)`,
    `CREATE UNIQUE INDEX data_retention_policies_organization ON data_retention_policies (organization_id) WHERE workspace_id IS NULL`,
    `CREATE UNIQUE INDEX data_retention_policies_workspace ON data_retention_policies (workspace_id)`,
  ],
};
