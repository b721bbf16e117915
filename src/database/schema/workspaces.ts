/** Workspaces, the access of teams to them, and what hangs on them. Flags are 0 or 1 on both engines. */

export interface WorkspaceTable {
  id: string;
  organizationId: string;
  projectId: string;
  name: string;
  /** The name as searches see it; the name itself is unique with its case. */
  nameKey: string;
  description: string | null;
  allowDestroyPlan: number;
  assessmentsEnabled: number;
  autoApply: number;
  autoApplyRunTrigger: number;
  /** Chosen by somebody; one that follows from a duration is computed when read. */
  autoDestroyAt: string | null;
  autoDestroyActivityDuration: string | null;
  inheritsProjectAutoDestroy: number;
  autoDestroyStatus: string | null;
  /** Null where the default of the project, or of the organization, is followed. */
  executionMode: string | null;
  agentPoolId: string | null;
  overwritesExecutionMode: number;
  overwritesAgentPool: number;
  fileTriggersEnabled: number;
  /** JSON arrays of strings. */
  triggerPrefixes: string;
  triggerPatterns: string;
  globalRemoteState: number;
  queueAllRuns: number;
  speculativeEnabled: number;
  structuredRunOutputEnabled: number;
  source: string;
  sourceName: string | null;
  sourceUrl: string | null;
  engineVersion: string;
  workingDirectory: string | null;
  vcsIdentifier: string | null;
  vcsBranch: string | null;
  vcsIngressSubmodules: number;
  vcsTagsRegex: string | null;
  vcsOauthTokenId: string | null;
  vcsGithubAppInstallationId: string | null;
  sshKeyId: string | null;
  /** Null while unlocked; `users`, `teams` or `runs`. */
  lockedByType: string | null;
  lockedById: string | null;
  lockedByName: string | null;
  lockedReason: string | null;
  /** Sorted and joined by commas, kept with every change of the workspace's tags. */
  tagNames: string;
  resourceCount: number;
  /** Whether the engine encrypted the current state: then nobody knows what is managed, and the count says nothing. */
  stateEncrypted: number;
  currentStateVersionId: string | null;
  currentRunId: string | null;
  currentRunStatus: string | null;
  currentRunCreatedAt: string | null;
  latestChangeAt: string;
  createdAt: string;
  updatedAt: string;
  version: number;
  /** Ids joined by commas: the outputs of the current state version, and the variables. */
  outputIds: string;
  varIds: string;
  projectRemoteState: number;
  /** Raised by what other documents show of it (`shared/versions.ts`). */
  factsVersion: number;
  currentConfigurationVersionId: string | null;
  /** The one whose readme is the workspace's. */
  readmeConfigurationVersionId: string | null;
  /** Figures over the latest runs, written with the end of each. */
  runsCount: number;
  runFailures: number;
  planDurationAverage: number;
  applyDurationAverage: number;
  currentAssessmentResultId: string | null;
  lastAssessmentResultAt: string | null;
  /** `terraform` or `tofu`; null follows the site. */
  engine: string | null;
  /** Since when the lock is held; null while unlocked. */
  lockedAt: string | null;
  /** When the lock's lease ends, and how long it was given for; null for a lock without one. */
  lockExpiresAt: string | null;
  lockLeaseSeconds: number | null;
}

export interface TeamWorkspaceTable {
  id: string;
  organizationId: string;
  workspaceId: string;
  teamId: string;
  access: string;
  /** What the record gives, as bits (`access/permission-set.ts`). */
  permissions: number;
  /** As a team-project record's. */
  expiresAt: string | null;
  reason: string | null;
  createdAt: string;
  version: number;
}

export interface RemoteStateConsumerTable {
  organizationId: string;
  workspaceId: string;
  /** The workspace that may read the state. */
  consumerId: string;
  createdAt: string;
}

export interface TagTable {
  id: string;
  organizationId: string;
  name: string;
  instanceCount: number;
  createdAt: string;
  version: number;
}

export interface WorkspaceTagTable {
  organizationId: string;
  workspaceId: string;
  tagId: string;
  createdAt: string;
}

/** A key with a value on a workspace or a project: exactly one of the two ids is set. */
export interface TagBindingTable {
  id: string;
  organizationId: string;
  workspaceId: string | null;
  projectId: string | null;
  key: string;
  value: string;
  createdAt: string;
}

export interface ReservedTagKeyTable {
  id: string;
  organizationId: string;
  key: string;
  disableOverrides: number;
  createdAt: string;
  updatedAt: string;
  version: number;
}

/** On a workspace, or on the whole organization where `workspaceId` is null. */
export interface DataRetentionPolicyTable {
  id: string;
  organizationId: string;
  workspaceId: string | null;
  /** The JSON:API type. */
  kind: string;
  deleteOlderThanNDays: number | null;
  createdAt: string;
  version: number;
}
