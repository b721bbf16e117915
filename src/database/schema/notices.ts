/** Notification configurations, notifications (the outbox), and audit webhooks. Flags are 0 or 1; `dueMs` is the database's clock. */

export interface NotificationConfigurationTable {
  id: string;
  organizationId: string;
  /** Exactly one of the three is set; `subscribableId` has the same id. */
  workspaceId: string | null;
  projectId: string | null;
  teamId: string | null;
  subscribableId: string;
  name: string;
  /** `generic`, `slack`, `microsoft-teams` or `email`. */
  destinationType: string;
  /** The host, or `email`. Concurrent deliveries to one destination are limited. */
  destination: string;
  enabled: number;
  url: Uint8Array | null;
  token: Uint8Array | null;
  /** JSON arrays of strings. */
  triggers: string;
  emailAddresses: string;
  lastDelivery: string | null;
  createdAt: string;
  updatedAt: string;
  version: number;
}

export interface NotificationConfigurationMemberTable {
  organizationId: string;
  notificationConfigurationId: string;
  membershipId: string;
}

export interface AuditWebhookTable {
  id: string;
  organizationId: string;
  name: string;
  nameKey: string;
  enabled: number;
  url: Uint8Array;
  token: Uint8Array | null;
  destination: string;
  events: string;
  lockHeldLongerThan: string;
  lastDelivery: string | null;
  createdAt: string;
  updatedAt: string;
  version: number;
}

/** A notification to deliver. The table was named before the type. */
export interface NotificationTable {
  id: string;
  organizationId: string | null;
  /** `notification`, `audit-webhook` or `invitation`. */
  kind: string;
  subjectId: string;
  eventName: string;
  destination: string;
  /** `ORGANIZATION/WORKSPACE`, by their names at the time. */
  place: string | null;
  content: string;
  /** Encrypted for `notices/ID/secret`; null after the delivery. */
  secret: Uint8Array | null;
  /** Prevents duplicates: unique; null where they don't matter. */
  onceKey: string | null;
  state: string;
  attempts: number;
  dueMs: number;
  response: string | null;
  createdAt: string;
  finishedAt: string | null;
  version: number;
}

/** An audit event for which notifications are still to be created. */
export interface AuditNotificationTable {
  auditEventId: string;
  organizationId: string;
  createdAt: string;
}
