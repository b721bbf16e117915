/** Configurations, runs with their phases, logs, events and triggers, and the agents that execute. Flags are 0 or 1. */

export interface ConfigurationVersionTable {
  id: string;
  organizationId: string;
  workspaceId: string;
  /** Counts up within a workspace: the order in which they were made, which times alone would not tell. */
  position: number;
  source: string;
  status: string;
  /** JSON: `{ "queued-at": … }`; what has not happened is not there. */
  statusTimestamps: string;
  autoQueueRuns: number;
  speculative: number;
  provisional: number;
  /** A word for machines, and a sentence. */
  error: string | null;
  errorMessage: string | null;
  uploadExpiresAt: string;
  size: number;
  hasReadme: number;
  /** The commit that it comes from: the id of its document, and its attributes as JSON; null when sent by hand. */
  ingressId: string | null;
  ingress: string | null;
  /** Who made it; all null for nobody. */
  createdByKind: string | null;
  createdById: string | null;
  createdByName: string | null;
  createdByTokenId: string | null;
  createdAt: string;
  /** When its archive came from, or a run with it was confirmed by, somebody who may apply; or a commit was fetched. Null until then. */
  approvedAt: string | null;
  version: number;
}

export interface RunTable {
  id: string;
  organizationId: string;
  workspaceId: string;
  /** Counts up within a workspace: the order in which runs are admitted. */
  position: number;
  status: string;
  /** JSON: `{ "planning-at": … }`; what has not happened is not there. */
  statusTimestamps: string;
  /** What `filter[operation]` finds it by: `plan_and_apply`, `plan_only`, `refresh_only`, `destroy` … */
  operation: string;
  message: string;
  source: string;
  triggerReason: string;
  isDestroy: number;
  refresh: number;
  refreshOnly: number;
  planOnly: number;
  savePlan: number;
  /** As it is in force: not asked for alone, but also allowed. */
  autoApply: number;
  /** Whether its creator was allowed to apply when it was made; 1 for schedules, triggers and version control. */
  creatorMayApply: number;
  allowEmptyApply: number;
  allowConfigGeneration: number;
  debuggingMode: number;
  /** Whether the engine speaks JSON lines. */
  structured: number;
  /** JSON arrays of strings; null when none were sent. */
  targetAddrs: string | null;
  replaceAddrs: string | null;
  policyPaths: string | null;
  invokeActionAddrs: string | null;
  /** JSON `[{ key, value }]`, sealed for `runs/ID/variables`. */
  variables: Uint8Array | null;
  /** The variables in force when it was admitted, JSON, sealed for `runs/ID/pinned_variables`; gone with its end. */
  pinnedVariables: Uint8Array | null;
  /** `terraform` or `tofu`, and the exact version. */
  engine: string;
  engineVersion: string;
  /** `remote` or `agent`, as it was when the run was made; the pool of the latter. */
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
  /** Who made it; all null for nobody: a schedule, or another run. */
  createdByKind: string | null;
  createdById: string | null;
  createdByName: string | null;
  /** The run whose apply caused it, and how many such steps there were. */
  causedByRunId: string | null;
  chainLength: number;
  /** Of the configuration's commit; what `search[commit]` finds it by. */
  commitSha: string | null;
  createdAt: string;
  /** When it reached a final status. */
  endedAt: string | null;
  version: number;
}

/** A plan or an apply. While it is to be executed it is also the job that an agent claims. */
export interface RunPhaseTable {
  id: string;
  organizationId: string;
  workspaceId: string;
  runId: string;
  /** `plan` or `apply`. */
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
  /** Why it failed, in a sentence; null where the log tells. */
  errorMessage: string | null;
  /** `present`, or what became of its log and of what the engine said in JSON. */
  backingDataStatus: string;
  /** Bytes of the log so far, with its first and last mark; whether the last was written. */
  logBytes: number;
  logEnded: number;
  /** Who may claim it: an agent pool's id, or `site`. */
  pool: string;
  engine: string;
  engineVersion: string;
  /** Lower goes first: 0 an apply, 1 a plan that may be applied, 2 a plan alone. */
  rank: number;
  /** Since when it is claimable, by the database's clock; null while it is not. */
  queuedMs: number | null;
  /** How often it was claimed; a report of another attempt than this is refused. */
  attempt: number;
  agentId: string | null;
  agentName: string | null;
  agentPoolName: string | null;
  claimedMs: number | null;
  /** When its agent was last heard of, by the database's clock. */
  heardMs: number | null;
  /** Whether the engine was started: then it is never given to another agent. */
  engineStarted: number;
  /** What its agent is to do: null, `cancel` or `kill`. */
  signal: string | null;
  /** The SHA-256 of the token of this attempt; null when there is none. */
  tokenHash: string | null;
  createdAt: string;
  version: number;
}

export interface RunLogChunkTable {
  organizationId: string;
  phaseId: string;
  /** Which claim of the phase it was written under. */
  attempt: number;
  /** The offset of its first byte in the log. */
  start: number;
  length: number;
  /** Sealed for `run_log_chunks/PHASE/START`. */
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

/** Every apply of the source starts a run in the workspace. */
export interface RunTriggerTable {
  id: string;
  organizationId: string;
  workspaceId: string;
  sourceableId: string;
  createdAt: string;
  version: number;
}

/** An apply that is to start runs in the workspaces that follow its own. */
export interface RunTriggerFiringTable {
  organizationId: string;
  runId: string;
  createdAt: string;
}

/** A pool of no organization: its agents serve workspaces in remote mode. */
export interface SiteAgentPoolTable {
  id: string;
  name: string;
  nameKey: string;
  createdAt: string;
  version: number;
}

export interface AgentTable {
  id: string;
  /** Null for an agent of a site pool. */
  organizationId: string | null;
  agentPoolId: string | null;
  siteAgentPoolId: string | null;
  name: string;
  /** As it said last: `idle`, `busy`, `exited` or `errored`; `unknown` follows from the time. */
  status: string;
  ipAddress: string;
  agentVersion: string;
  /** JSON: `{ "terraform": ["1.5.7"], "tofu": [] }`. */
  engines: string;
  lastPingMs: number;
  lastPingAt: string;
  createdAt: string;
  version: number;
}

/** Since when something can execute for all organizations, those to come included: one row, or none. */
export interface SiteOperationTable {
  name: string;
  createdAt: string;
}

export interface AssessmentResultTable {
  id: string;
  organizationId: string;
  workspaceId: string;
  /** The plan that it is made from. */
  runId: string;
  /** Whether that has ended: until then nothing of it is shown. */
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

/** Signs the identities of runs. The newest signs; older ones are published until what they signed has expired. */
export interface IdentityKeyTable {
  id: string;
  /** JSON: the public key as a JWK with its `kid`. */
  publicKey: string;
  /** PKCS #8, sealed for `identity_keys/ID/private_key`. */
  privateKey: Uint8Array;
  createdAt: string;
}
