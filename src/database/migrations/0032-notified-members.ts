/** Recipients of a notification configuration's mail by membership, so that invited people can be named. */
import type { Migration } from "./migration.ts";

export const notifiedMembers: Migration = {
  name: "0032-notified-members",
  kind: "adds",
  statements: [
    // Replaces notification_configuration_users, which a later version drops.
    `CREATE TABLE notification_configuration_members (
      organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
      notification_configuration_id TEXT NOT NULL REFERENCES notification_configurations (id) ON DELETE CASCADE,
      membership_id TEXT NOT NULL REFERENCES organization_memberships (id) ON DELETE CASCADE,
      PRIMARY KEY (notification_configuration_id, membership_id)
    )`,
    `CREATE INDEX notification_configuration_members_organization ON notification_configuration_members (organization_id)`,
    `CREATE INDEX notification_configuration_members_membership ON notification_configuration_members (membership_id)`,
    `INSERT INTO notification_configuration_members (organization_id, notification_configuration_id, membership_id)
      SELECT named.organization_id, named.notification_configuration_id, m.id
      FROM notification_configuration_users AS named
      INNER JOIN organization_memberships AS m
        ON m.organization_id = named.organization_id AND m.user_id = named.user_id`,
  ],
};
