/** Configurations, runs with their phases, logs, events and triggers, and agents. Flags are 0 or 1; `…Ms` is the database's clock. */

export interface ConfigurationVersionTable {
  id: string;
  organizationId: string;
  workspaceId: string;
  /** The order of creation within a workspace, which timestamps don't give. */
  position: number;
  source: string;
  status: string;
  /** JSON: `{ "queued-at": … }`, with past statuses only. */
  statusTimestamps: string;
  autoQueueRuns: number;
  speculative: number;
  provisional: number;
  error: string | null;
  errorMessage: string | null;
  uploadExpiresAt: string;
  size: number;
  hasReadme: number;
  /** The commit's document id, and its attributes as JSON; null for a manual upload. */
  ingressId: string | null;
  ingress: string | null;
  createdByKind: string | null;
  createdById: string | null;
  createdByName: string | null;
  createdByTokenId: string | null;
  createdAt: string;
  /** When somebody with apply permission uploaded it or confirmed a run of it, or when its commit was fetched. */
  approvedAt: string | null;
  version: number;
}

export interface RunTable {
  id: string;
  organizationId: string;
  workspaceId: string;
  position: number;
  status: string;
  statusTimestamps: string;
  /** `plan_and_apply`, `plan_only`, `refresh_only`, `destroy` … */
  operation: string;
  message: string;
  source: string;
  triggerReason: string;
  isDestroy: number;
  refresh: number;
  refreshOnly: number;
  planOnly: number;
  savePlan: number;
  /** Requested and allowed. */
  autoApply: number;
  /** At creation; 1 for schedules, triggers and VCS. */
  creatorMayApply: number;
  allowEmptyApply: number;
  allowConfigGeneration: number;
  debuggingMode: number;
  structured: number;
  /** JSON arrays of strings. */
  targetAddrs: string | null;
  replaceAddrs: string | null;
  policyPaths: string | null;
  invokeActionAddrs: string | null;
  /** JSON `[{ key, value }]`, encrypted for `runs/ID/variables`. */
  variables: Uint8Array | null;
  /** The variable snapshot: JSON, encrypted for `runs/ID/pinned_variables`; reduced to sensitive variables when the run ends. */
  pinnedVariables: Uint8Array | null;
  engine: string;
  engineVersion: string;
  /** `remote` or `agent`, as of creation. */
  executionMode: string;
  agentPoolId: string | null;
  configurationVersionId: string | null;
  inputStateVersionId: string | null;
  planId: string;
  applyId: string;
  hasChanges: number;
  canceledAt: string | null;
  forceCancelAvailableAt: string | null;
  forceCanceledAt: string | null;
  confirmedById: string | null;
  createdByKind: string | null;
  createdById: string | null;
  createdByName: string | null;
  causedByRunId: string | null;
  chainLength: number;
  commitSha: string | null;
  createdAt: string;
  endedAt: string | null;
  version: number;
}

export interface RunPhaseTable {
  id: string;
  organizationId: string;
  workspaceId: string;
  runId: string;
  kind: string;
  status: string;
  statusTimestamps: string;
  hasChanges: number;
  generatedConfiguration: number;
  resourceAdditions: number;
  resourceChanges: number;
  resourceDestructions: number;
  resourceImports: number;
  actionInvocations: number;
  errorMessage: string | null;
  backingDataStatus: string;
  logBytes: number;
  logEnded: number;
  /** Set once the log is in the object store. */
  logContentId: string | null;
  /** 1: the log has ended and waits for the job `contents`. */
  logUnmoved: number;
  /** An agent pool's id, or `site`. */
  pool: string;
  engine: string;
  engineVersion: string;
  /** Lower goes first: 0 for an apply, 1 for a plan that can be applied, 2 for a plan only. */
  rank: number;
  /** Null while it can't be claimed. */
  queuedMs: number | null;
  /** The number of claims; reports of earlier attempts are refused. */
  attempt: number;
  agentId: string | null;
  agentName: string | null;
  agentPoolName: string | null;
  claimedMs: number | null;
  /** The last report of the agent. */
  heardMs: number | null;
  /** 1: must never be given to another agent. */
  engineStarted: number;
  /** Null, `cancel` or `kill`. */
  signal: string | null;
  tokenHash: string | null;
  createdAt: string;
  version: number;
}

export interface RunLogChunkTable {
  organizationId: string;
  phaseId: string;
  attempt: number;
  start: number;
  length: number;
  bytes: Uint8Array;
}

export interface RunEventTable {
  id: string;
  organizationId: string;
  runId: string;
  position: number;
  action: string;
  description: string | null;
  actorKind: string | null;
  actorId: string | null;
  actorName: string | null;
  commentId: string | null;
  createdAt: string;
}

export interface CommentTable {
  id: string;
  organizationId: string;
  runId: string;
  body: string;
  runEventId: string;
  createdAt: string;
}

export interface RunTriggerTable {
  id: string;
  organizationId: string;
  workspaceId: string;
  sourceableId: string;
  createdAt: string;
  version: number;
}

export interface RunTriggerFiringTable {
  organizationId: string;
  runId: string;
  createdAt: string;
}

/** Outside of organizations: its agents serve workspaces in remote mode. */
export interface SiteAgentPoolTable {
  id: string;
  name: string;
  nameKey: string;
  createdAt: string;
  version: number;
  /** Of the agent that registered last, as in `agents`; null before the first. */
  offeredEngines: string | null;
  /** 1 if that agent fetches engines. */
  offeredFetching: number | null;
  offeredMs: number | null;
}

export interface AgentTable {
  id: string;
  organizationId: string | null;
  agentPoolId: string | null;
  siteAgentPoolId: string | null;
  name: string;
  /** `idle`, `busy`, `exited` or `errored`, as last reported; `unknown` is computed. */
  status: string;
  ipAddress: string;
  agentVersion: string;
  /** JSON: `{ "terraform": ["1.5.7"], "tofu": [] }`. */
  engines: string;
  /** Empty if it fetches no engines. JSON: `{ "terraform 1.99.0": "why it can't be fetched at the moment" }`. */
  fetching: string;
  lastPingMs: number;
  lastPingAt: string;
  createdAt: string;
  version: number;
}

/** One row since runs can be executed for all organizations, or none. */
export interface SiteOperationTable {
  name: string;
  createdAt: string;
}

export interface AssessmentResultTable {
  id: string;
  organizationId: string;
  workspaceId: string;
  runId: string;
  /** The result is hidden until the plan has ended. */
  finished: number;
  drifted: number;
  succeeded: number;
  errorMsg: string | null;
  resourcesDrifted: number;
  resourcesUndrifted: number;
  checksPassed: number;
  checksFailed: number;
  checksErrored: number;
  checksUnknown: number;
  createdAt: string;
  version: number;
}

/** The newest key signs; older ones are published until their signatures have expired. */
export interface IdentityKeyTable {
  id: string;
  publicKey: string;
  privateKey: Uint8Array;
  createdAt: string;
}
