/** Facts about the database, identity, projects with team access, and the audit log. */
import type { Migration } from "./migration.ts";

export const foundation: Migration = {
  name: "0001-foundation",
  statements: [
    `CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)`,

    `CREATE TABLE users (
      id TEXT PRIMARY KEY,
      username TEXT NOT NULL,
      username_key TEXT NOT NULL,
      email TEXT NOT NULL,
      email_key TEXT NOT NULL,
      unconfirmed_email TEXT,
      is_site_admin INTEGER NOT NULL,
      is_service_account INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX users_username ON users (username_key)`,
    `CREATE UNIQUE INDEX users_email ON users (email_key)`,
    `CREATE INDEX users_newest ON users (created_at, id)`,

    `CREATE TABLE organizations (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      name_key TEXT NOT NULL,
      email TEXT NOT NULL,
      default_execution_mode TEXT NOT NULL,
      default_agent_pool_id TEXT,
      allow_force_delete_workspaces INTEGER NOT NULL,
      assessments_enforced INTEGER NOT NULL,
      collaborator_auth_policy TEXT NOT NULL,
      cost_estimation_enabled INTEGER NOT NULL,
      session_remember INTEGER,
      session_timeout INTEGER,
      owners_team_saml_role_id TEXT,
      send_passing_statuses_for_untriggered_speculative_plans INTEGER NOT NULL,
      aggregated_commit_status_enabled INTEGER NOT NULL,
      speculative_plan_management_enabled INTEGER NOT NULL,
      default_project_id TEXT NOT NULL,
      project_count INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX organizations_name ON organizations (name_key)`,

    `CREATE TABLE organization_memberships (
      id TEXT PRIMARY KEY,
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
      email TEXT NOT NULL,
      email_key TEXT NOT NULL,
      status TEXT NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX organization_memberships_email ON organization_memberships (organization_id, email_key)`,
    `CREATE UNIQUE INDEX organization_memberships_user ON organization_memberships (organization_id, user_id)`,
    `CREATE INDEX organization_memberships_newest ON organization_memberships (organization_id, created_at, id)`,
    `CREATE INDEX organization_memberships_of_user ON organization_memberships (user_id, organization_id)`,
    `CREATE INDEX organization_memberships_invited ON organization_memberships (email_key, status)`,

    `CREATE TABLE teams (
      id TEXT PRIMARY KEY,
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      name_key TEXT NOT NULL,
      is_owners INTEGER NOT NULL,
      visibility TEXT NOT NULL,
      sso_team_id TEXT,
      allow_member_token_management INTEGER NOT NULL,
      organization_access INTEGER NOT NULL,
      users_count INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX teams_name ON teams (organization_id, name_key)`,

    `CREATE TABLE team_members (
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      team_id TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
      membership_id TEXT NOT NULL REFERENCES organization_memberships (id) ON DELETE CASCADE,
      user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
      created_at TEXT NOT NULL,
      PRIMARY KEY (team_id, membership_id)
    )`,
    `CREATE INDEX team_members_user ON team_members (organization_id, user_id, team_id)`,
    `CREATE INDEX team_members_of_user ON team_members (user_id)`,
    `CREATE INDEX team_members_of_membership ON team_members (membership_id)`,

    `CREATE TABLE tokens (
      id TEXT PRIMARY KEY,
      kind TEXT NOT NULL,
      user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
      team_id TEXT REFERENCES teams (id) ON DELETE CASCADE,
      organization_id TEXT REFERENCES organizations (id) ON DELETE CASCADE,
      is_legacy INTEGER NOT NULL,
      hash TEXT NOT NULL,
      description TEXT,
      created_by_id TEXT,
      created_at TEXT NOT NULL,
      expired_at TEXT,
      last_used_at TEXT,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX tokens_hash ON tokens (hash)`,
    `CREATE INDEX tokens_user ON tokens (user_id, created_at, id)`,
    `CREATE INDEX tokens_team ON tokens (team_id, created_at, id)`,
    `CREATE INDEX tokens_organization ON tokens (organization_id, kind, created_at, id)`,

    `CREATE TABLE projects (
      id TEXT PRIMARY KEY,
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      name_key TEXT NOT NULL,
      description TEXT,
      auto_destroy_activity_duration TEXT,
      is_default INTEGER NOT NULL,
      workspace_count INTEGER NOT NULL,
      team_count INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX projects_name_key ON projects (organization_id, name_key)`,
    `CREATE INDEX projects_name ON projects (organization_id, name, id)`,
    `CREATE INDEX projects_counts ON projects (organization_id, id, workspace_count)`,
    `CREATE INDEX projects_newest ON projects (organization_id, created_at, id)`,

    `CREATE TABLE team_projects (
      id TEXT PRIMARY KEY,
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
      team_id TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
      access TEXT NOT NULL,
      permissions INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX team_projects_project ON team_projects (organization_id, project_id, team_id)`,
    `CREATE INDEX team_projects_team ON team_projects (organization_id, team_id, project_id, permissions)`,
    `CREATE INDEX team_projects_of_project ON team_projects (project_id)`,
    `CREATE INDEX team_projects_of_team ON team_projects (team_id)`,

    `CREATE TABLE audit_events (
      id TEXT PRIMARY KEY,
      organization_id TEXT,
      actor_kind TEXT NOT NULL,
      actor_id TEXT NOT NULL,
      actor_name TEXT NOT NULL,
      token_id TEXT,
      action TEXT NOT NULL,
      subject_type TEXT NOT NULL,
      subject_id TEXT NOT NULL,
      before TEXT,
      after TEXT,
      request_id TEXT NOT NULL,
      created_at TEXT NOT NULL
    )`,
    `CREATE INDEX audit_events_newest ON audit_events (organization_id, created_at, id)`,
    `CREATE INDEX audit_events_actor ON audit_events (organization_id, actor_id, created_at, id)`,
    `CREATE INDEX audit_events_subject ON audit_events (organization_id, subject_id, created_at, id)`,
    `CREATE INDEX audit_events_action ON audit_events (organization_id, action, created_at, id)`,
  ],
  appendOnly: ["audit_events"],
};
