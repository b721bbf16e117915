/** Notification configurations, the outbox of notifications, and audit webhooks. */
import type { Migration } from "./migration.ts";

export const notices: Migration = {
  name: "0027-notices",
  statements: [
    `CREATE TABLE notification_configurations (
      id TEXT PRIMARY KEY,
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      workspace_id TEXT REFERENCES workspaces (id) ON DELETE CASCADE,
      project_id TEXT REFERENCES projects (id) ON DELETE CASCADE,
      team_id TEXT REFERENCES teams (id) ON DELETE CASCADE,
      subscribable_id TEXT NOT NULL,
      name TEXT NOT NULL,
      destination_type TEXT NOT NULL,
      destination TEXT NOT NULL,
      enabled INTEGER NOT NULL,
      url BYTES,
      token BYTES,
      triggers TEXT NOT NULL,
      email_addresses TEXT NOT NULL,
      last_delivery TEXT,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE INDEX notification_configurations_of ON notification_configurations (organization_id, subscribable_id, created_at, id)`,
    `CREATE INDEX notification_configurations_of_teams ON notification_configurations (organization_id) WHERE team_id IS NOT NULL`,
    `CREATE INDEX notification_configurations_workspace ON notification_configurations (workspace_id)`,
    `CREATE INDEX notification_configurations_project ON notification_configurations (project_id)`,
    `CREATE INDEX notification_configurations_team ON notification_configurations (team_id)`,

    `CREATE TABLE notification_configuration_users (
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      notification_configuration_id TEXT NOT NULL REFERENCES notification_configurations (id) ON DELETE CASCADE,
      user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
      PRIMARY KEY (notification_configuration_id, user_id)
    )`,
    `CREATE INDEX notification_configuration_users_organization ON notification_configuration_users (organization_id)`,
    `CREATE INDEX notification_configuration_users_user ON notification_configuration_users (user_id)`,

    `CREATE TABLE audit_webhooks (
      id TEXT PRIMARY KEY,
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      name_key TEXT NOT NULL,
      enabled INTEGER NOT NULL,
      url BYTES NOT NULL,
      destination TEXT NOT NULL,
      token BYTES,
      events TEXT NOT NULL,
      lock_held_longer_than TEXT NOT NULL,
      last_delivery TEXT,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX audit_webhooks_name ON audit_webhooks (organization_id, name_key)`,

    // No foreign keys, so that deleting a workspace stays one short transaction.
    `CREATE TABLE notices (
      id TEXT PRIMARY KEY,
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      kind TEXT NOT NULL,
      subject_id TEXT NOT NULL,
      event_name TEXT NOT NULL,
      destination TEXT NOT NULL,
      place TEXT,
      content TEXT NOT NULL,
      once_key TEXT,
      state TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      due_ms INTEGER NOT NULL,
      response TEXT,
      created_at TEXT NOT NULL,
      finished_at TEXT,
      version INTEGER NOT NULL
    )`,
    `CREATE INDEX notices_of ON notices (organization_id, subject_id, created_at, id)`,
    `CREATE INDEX notices_waiting ON notices (due_ms, id, destination) WHERE state = 'waiting'`,
    `CREATE UNIQUE INDEX notices_once ON notices (once_key) WHERE once_key IS NOT NULL`,
    `CREATE INDEX notices_finished ON notices (finished_at) WHERE finished_at IS NOT NULL`,

    // Filled by a trigger, so that no event is missed.
    `CREATE TABLE audit_notices (
      audit_event_id TEXT PRIMARY KEY,
      organization_id TEXT NOT NULL,
      created_at TEXT NOT NULL
    )`,
    `CREATE INDEX audit_notices_oldest ON audit_notices (created_at, audit_event_id)`,
  ],
  only: {
    sqlite: [
      `CREATE TRIGGER audit_events_noticed AFTER INSERT ON audit_events
        WHEN EXISTS (SELECT 1 FROM audit_webhooks WHERE organization_id = NEW.organization_id AND enabled = 1)
        BEGIN
          INSERT INTO audit_notices (audit_event_id, organization_id, created_at)
          VALUES (NEW.id, NEW.organization_id, NEW.created_at);
        END`,
    ],
    postgres: [
      `CREATE FUNCTION notice_audit_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO audit_notices (audit_event_id, organization_id, created_at)
        SELECT NEW.id, NEW.organization_id, NEW.created_at
        WHERE EXISTS (SELECT 1 FROM audit_webhooks WHERE organization_id = NEW.organization_id AND enabled = 1);
        RETURN NULL;
      END $$`,
      `CREATE TRIGGER audit_events_noticed AFTER INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION notice_audit_event()`,
    ],
  },
};
