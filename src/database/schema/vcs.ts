/** Webhooks from VCS providers (deliveries), their outcomes (events), and commit statuses. `dueMs` is the database's clock. */

/** A push, tag or pull request as a provider sent it: a delivery. Stored as long as the provider may send it again. */
export interface VcsDeliveryTable {
  id: string;
  organizationId: string;
  oauthClientId: string;
  deliveryKey: string;
  position: number;
  /** JSON: a `VcsRepositoryEvent`. The column is older than that name. */
  happening: string;
  createdAt: string;
}

/** The outcome of a delivery in one workspace, or an event of the connection itself. */
export interface VcsEventTable {
  id: string;
  organizationId: string;
  /** Null where a webhook could not be created. */
  workspaceId: string | null;
  oauthClientId: string | null;
  /** Null where a workspace was connected. */
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
  /** Null once it is processed. */
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
  /** Separated by spaces. */
  webhookIds: string | null;
  /** The number of the client's secret with which it was created. */
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
  dueMs: number | null;
}
