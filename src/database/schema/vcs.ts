/** Webhooks from VCS providers, their results, and commit statuses. */

/** One event in a repository, as a provider sent it; stored as long as it may be sent again. */
export interface VcsDeliveryTable {
  id: string;
  organizationId: string;
  oauthClientId: string;
  deliveryKey: string;
  position: number;
  /** JSON: a `Happening`. */
  happening: string;
  createdAt: string;
}

/** The result of an event in one workspace. */
export interface VcsEventTable {
  id: string;
  organizationId: string;
  /** Null for events without a single workspace: a webhook that could not be created. */
  workspaceId: string | null;
  oauthClientId: string | null;
  /** Null for events without a delivery: a workspace that was connected. */
  deliveryId: string | null;
  /** `push`, `tag`, `pull-request`, `connection`, `webhook` or `status`. */
  kind: string;
  repository: string;
  branch: string | null;
  tag: string | null;
  pullRequest: number | null;
  commitSha: string | null;
  /** `started`, `ignored` or `failed`; null until it is processed. */
  outcome: string | null;
  detail: string;
  configurationVersionId: string | null;
  runId: string | null;
  attempts: number;
  /** When it is due, by the database's clock; null once it is processed. */
  dueMs: number | null;
  createdAt: string;
  decidedAt: string | null;
  version: number;
}

export interface VcsWebhookTable {
  id: string;
  organizationId: string;
  oauthClientId: string;
  repository: string;
  /** The provider's ids, separated by spaces; null while there is none. */
  webhookIds: string | null;
  /** The client's secret with which it was created. */
  secretNumber: number;
  attempts: number;
  dueMs: number;
  createdAt: string;
}

export interface VcsStatusTable {
  runId: string;
  organizationId: string;
  oauthTokenId: string;
  repository: string;
  sha: string;
  state: string | null;
  attempts: number;
  /** Null once nothing is left to report. */
  dueMs: number | null;
}
