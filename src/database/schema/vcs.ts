/** What arrives from version control, what became of it, and what providers are told. */

/** One thing that happened in a repository, as a provider told it; kept for as long as it may be told again. */
export interface VcsDeliveryTable {
  id: string;
  organizationId: string;
  oauthClientId: string;
  /** What the provider calls the delivery. */
  deliveryKey: string;
  /** Which of the things that it tells of. */
  position: number;
  /** JSON: a `Happening`. */
  happening: string;
  createdAt: string;
}

/** What one of these did, or did not, in one workspace. */
export interface VcsEventTable {
  id: string;
  organizationId: string;
  /** Null for what concerns no single workspace: a webhook that could not be made. */
  workspaceId: string | null;
  oauthClientId: string | null;
  /** Null for what no delivery told of: a workspace that was connected. */
  deliveryId: string | null;
  /** `push`, `tag`, `pull-request`, `connection`, `webhook` or `status`. */
  kind: string;
  repository: string;
  branch: string | null;
  tag: string | null;
  pullRequest: number | null;
  commitSha: string | null;
  /** `started`, `ignored` or `failed`; null until it is decided. */
  outcome: string | null;
  /** The sentence. */
  detail: string;
  configurationVersionId: string | null;
  runId: string | null;
  attempts: number;
  /** When it is to be looked at, by the database's clock; null once it is decided. */
  dueMs: number | null;
  createdAt: string;
  decidedAt: string | null;
  version: number;
}

/** A webhook that was made, or is to be made, at the provider. */
export interface VcsWebhookTable {
  id: string;
  organizationId: string;
  oauthClientId: string;
  /** In lower case. */
  repository: string;
  /** What the provider calls it, or them, separated by blanks; null while there is none. */
  webhookIds: string | null;
  /** Which of the client's secrets it was made with. */
  secretNumber: number;
  attempts: number;
  dueMs: number;
  createdAt: string;
}

/** The status of a commit at its provider, which follows a run. */
export interface VcsStatusTable {
  runId: string;
  organizationId: string;
  oauthTokenId: string;
  repository: string;
  sha: string;
  /** What was told last. */
  state: string | null;
  attempts: number;
  /** Null once nothing more is to be told. */
  dueMs: number | null;
}
