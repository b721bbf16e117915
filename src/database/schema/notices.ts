/** Whom to tell of what, the outbox from which it is delivered, and the webhooks of the audit trail. Flags are 0 or 1. */

export interface NotificationConfigurationTable {
  id: string;
  organizationId: string;
  /** One of the three: what it is subscribed to; the same id once more in `subscribableId`. */
  workspaceId: string | null;
  projectId: string | null;
  teamId: string | null;
  subscribableId: string;
  name: string;
  /** `generic`, `slack`, `microsoft-teams` or `email`. */
  destinationType: string;
  /** Who is called: a host, or `email`. What is delivered at once to one of them is limited. */
  destination: string;
  enabled: number;
  /** Sealed for `notification_configurations/ID/url` and `…/token`. */
  url: Uint8Array | null;
  token: Uint8Array | null;
  /** JSON arrays of strings. */
  triggers: string;
  emailAddresses: string;
  /** JSON: what the last attempt was answered with. */
  lastDelivery: string | null;
  createdAt: string;
  updatedAt: string;
  version: number;
}

/** Whom to send mail: members, or people who are only invited. */
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
  /** Sealed for `audit_webhooks/ID/url` and `…/token`. */
  url: Uint8Array;
  token: Uint8Array | null;
  destination: string;
  /** JSON array of strings. */
  events: string;
  lockHeldLongerThan: string;
  lastDelivery: string | null;
  createdAt: string;
  updatedAt: string;
  version: number;
}

/** Something that somebody is to be told, or was. */
export interface NoticeTable {
  id: string;
  /** Null for what concerns the whole register. */
  organizationId: string | null;
  /** Who carries it: `notification`, `audit-webhook` or `invitation`. */
  kind: string;
  /** What it goes by: the id of a configuration or a webhook. */
  subjectId: string;
  eventName: string;
  destination: string;
  /** Where it happened, as `ORGANIZATION/WORKSPACE`, by the names of the time; null for what has no such place. */
  place: string | null;
  /** JSON, as it was when it happened. */
  content: string;
  /** Sealed for `notices/ID/secret`; null where there is none, and once it has ended. */
  secret: Uint8Array | null;
  /** There is never a second one with the same key; null where that does not matter. */
  onceKey: string | null;
  /** `waiting`, `delivered` or `failed`. */
  state: string;
  attempts: number;
  /** From when on it may be tried, by the database's clock. */
  dueMs: number;
  response: string | null;
  createdAt: string;
  finishedAt: string | null;
  version: number;
}

/** An event of the audit trail that some webhook of its organization may want. */
export interface AuditNoticeTable {
  auditEventId: string;
  organizationId: string;
  createdAt: string;
}
