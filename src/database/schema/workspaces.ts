/** Workspaces, team access to them, tags, consumers and retention policies. Flags are 0 or 1. */

export interface WorkspaceTable {
  id: string;
  organizationId: string;
  projectId: string;
  name: string;
  /** Folded for searches; the name itself is unique including case. */
  nameKey: string;
  description: string | null;
  allowDestroyPlan: number;
  assessmentsEnabled: number;
  autoApply: number;
  autoApplyRunTrigger: number;
  /** Set explicitly; one that follows from a duration is computed on reading. */
  autoDestroyAt: string | null;
  autoDestroyActivityDuration: string | null;
  inheritsProjectAutoDestroy: number;
  autoDestroyStatus: string | null;
  /** Null for the default of the project or organization. */
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
  /** Sorted and joined by commas. */
  tagNames: string;
  resourceCount: number;
  /** 1: the engine encrypted the current state, so that the resource count is meaningless. */
  stateEncrypted: number;
  currentStateVersionId: string | null;
  currentRunId: string | null;
  currentRunStatus: string | null;
  currentRunCreatedAt: string | null;
  latestChangeAt: string;
  createdAt: string;
  updatedAt: string;
  version: number;
  /** Joined by commas. */
  outputIds: string;
  varIds: string;
  projectRemoteState: number;
  /** Raised by changes that other documents show (`shared/versions.ts`). */
  factsVersion: number;
  currentConfigurationVersionId: string | null;
  readmeConfigurationVersionId: string | null;
  runsCount: number;
  runFailures: number;
  planDurationAverage: number;
  applyDurationAverage: number;
  currentAssessmentResultId: string | null;
  lastAssessmentResultAt: string | null;
  /** `terraform` or `tofu`; null for the site's default. */
  engine: string | null;
  lockedAt: string | null;
  lockExpiresAt: string | null;
  lockLeaseSeconds: number | null;
}

export interface TeamWorkspaceTable {
  id: string;
  organizationId: string;
  workspaceId: string;
  teamId: string;
  access: string;
  permissions: number;
  expiresAt: string | null;
  reason: string | null;
  /** The user or team that granted it; null for the organization's token, and for records from before the column. */
  grantedById: string | null;
  /** The access request that last gave permissions or a later end. */
  accessRequestId: string | null;
  createdAt: string;
  version: number;
}

export interface RemoteStateConsumerTable {
  organizationId: string;
  workspaceId: string;
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

/** Exactly one of the two ids is set. */
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

/** `workspaceId` is null for the organization's policy. */
export interface DataRetentionPolicyTable {
  id: string;
  organizationId: string;
  workspaceId: string | null;
  kind: string;
  deleteOlderThanNDays: number | null;
  createdAt: string;
  version: number;
}
