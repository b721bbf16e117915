/**
 * Declares for each table which audit event a write of a row requires, or why none is needed.
 * `resources/shared/audit-events/required.ts` refuses a commit without the event.
 */
import type { Schema } from "./schema.ts";

export interface AuditRule<Row> {
  /** The column with the id of the event's subject (the row's own, or its parent's) → the subject's type. */
  readonly by: { readonly [Column in keyof Row]?: string | readonly string[] };
  /** What needs no event: columns such as counters and timestamps, or every insert or delete. */
  readonly quiet?: readonly ((keyof Row & string) | "insert" | "delete")[];
  /** Further subjects for rows that are created or deleted together with their parent. */
  readonly together?: { readonly [Column in keyof Row]?: string | readonly string[] };
  /** By type of another event in the transaction: the columns that it covers, or all. */
  readonly with?: { readonly [SubjectType: string]: readonly (keyof Row & string)[] | "all" };
}

/** Columns of a workspace that follow from other resources, which have events of their own. */
const ofState = ["currentStateVersionId", "stateEncrypted", "latestChangeAt", "autoDestroyStatus"] as const;
const ofConfiguration = ["currentConfigurationVersionId", "readmeConfigurationVersionId"] as const;
const ofRun = ["currentRunId", "currentRunStatus", "currentRunCreatedAt", "autoDestroyAt"] as const;
const ofLock = [
  "lockedByType",
  "lockedById",
  "lockedByName",
  "lockedReason",
  "lockedAt",
  "lockExpiresAt",
  "lockLeaseSeconds",
] as const;
const ofRepository = [
  "vcsIdentifier",
  "vcsBranch",
  "vcsIngressSubmodules",
  "vcsTagsRegex",
  "vcsOauthTokenId",
  "vcsGithubAppInstallationId",
] as const;

/** A rule for each table, or the reason for having none. `required.ts` lists columns that need no event in any table. */
export const auditRules: { readonly [Table in keyof Schema]: AuditRule<Schema[Table]> | string } = {
  meta: "facts about the database, changed by the operator",
  migrations: "the schema's own history",
  jobs: "leases and counters of background jobs",
  accessVersions: "counted by triggers",
  auditEvents: "the events themselves",

  users: { by: { id: "users" } },
  passwords: { by: { userId: "users" } },
  identityTrusts: { by: { id: "identity-trusts" } },
  ssoProviders: { by: { id: "sso-providers" } },
  ssoIdentities: { by: { userId: "users" } },
  ssoSessions: { by: { tokenId: "sessions" } },
  ssoReplies: "nonces",
  invitations: {
    by: {},
    quiet: ["delete"],
    with: { invitations: "all", "organization-memberships": "all", users: "all" },
  },
  authorizations: { by: { id: "authorizations" }, quiet: ["delete"] },
  organizations: { by: { id: "organizations" }, quiet: ["projectCount", "operations"] },
  organizationTokenTtlPolicies: {
    by: { id: "organization-token-ttl-policies" },
    together: { organizationId: "organizations" },
  },
  moduleConsumers: { by: { organizationId: "organizations" } },
  organizationMemberships: { by: { id: "organization-memberships" }, together: { organizationId: "organizations" } },
  teams: { by: { id: "teams" }, quiet: ["usersCount"], together: { organizationId: "organizations" } },
  teamMembers: {
    by: { teamId: "teams", membershipId: "organization-memberships" },
    together: { organizationId: "organizations" },
  },
  tokens: { by: { id: ["authentication-tokens", "sessions"] }, quiet: ["lastUsedAt"] },

  projects: {
    by: { id: "projects" },
    quiet: ["workspaceCount", "teamCount"],
    together: { organizationId: "organizations" },
  },
  teamProjects: { by: { id: "team-projects" } },
  workspaces: {
    by: { id: "workspaces" },
    quiet: ["runsCount", "runFailures", "planDurationAverage", "applyDurationAverage", "resourceCount", "outputIds"],
    with: {
      vars: ["varIds"],
      projects: ["projectId"],
      tags: ["tagNames"],
      "configuration-versions": ofConfiguration,
      "state-versions": ofState,
      runs: [...ofRun, ...ofLock, ...ofState, ...ofConfiguration],
      "assessment-results": ["currentAssessmentResultId", "lastAssessmentResultAt"],
      // The resource that a workspace was connected with is deleted.
      "ssh-keys": ["sshKeyId"],
      "oauth-tokens": ofRepository,
      "oauth-clients": ofRepository,
    },
  },
  teamWorkspaces: { by: { id: "team-workspaces" } },
  remoteStateConsumers: { by: { workspaceId: "workspaces" } },
  tags: { by: { id: "tags" }, quiet: ["instanceCount"], with: { workspaces: "all" } },
  workspaceTags: { by: { workspaceId: "workspaces", tagId: "tags" } },
  tagBindings: { by: { workspaceId: "workspaces", projectId: "projects" } },
  reservedTagKeys: { by: { id: "reserved-tag-keys" } },
  dataRetentionPolicies: { by: { id: "data-retention-policies" } },

  varsets: { by: { id: "varsets" }, quiet: ["linkedCount"] },
  varsetWorkspaces: { by: { varsetId: "varsets" } },
  varsetProjects: { by: { varsetId: "varsets" } },
  vars: { by: { id: "vars" } },

  sshKeys: { by: { id: "ssh-keys" } },
  agentPools: { by: { id: "agent-pools" } },
  agentPoolScopes: { by: { agentPoolId: "agent-pools" }, with: { workspaces: "all", projects: "all" } },
  agentTokens: { by: { id: "authentication-tokens" }, quiet: ["lastUsedAt"] },
  siteAgentPools: { by: { id: "agent-pools" } },
  oauthClients: { by: { id: "oauth-clients" }, quiet: ["linkedCount"] },
  oauthClientProjects: { by: { oauthClientId: "oauth-clients" } },
  oauthTokens: {
    by: { id: "oauth-tokens" },
    together: { oauthClientId: "oauth-clients" },
    with: { "oauth-clients": ["secret"] },
  },
  engineVersions: { by: { id: "terraform-versions" } },
  notificationConfigurations: { by: { id: "notification-configurations" }, quiet: ["lastDelivery"] },
  notificationConfigurationMembers: {
    by: { notificationConfigurationId: "notification-configurations" },
    with: { "organization-memberships": "all" },
  },
  auditWebhooks: { by: { id: "audit-webhooks" }, quiet: ["lastDelivery"] },
  notices: "an outbox of notifications that other changes cause",
  auditNotices: "the outbox of the audit log itself",

  stateVersions: {
    by: { id: "state-versions" },
    // A job reads these from a large state later.
    quiet: [
      "superseded",
      "encrypted",
      "format",
      "engineVersion",
      "modules",
      "providers",
      "resources",
      "resourcesProcessed",
      "resourceCount",
      "outputIds",
    ],
    with: { workspaces: ["intermediate"], runs: ["intermediate"] },
  },
  stateVersionOutputs: "read out of a state version",
  stateResources: "read out of a state version",
  contents: "the bytes of audited resources",
  contentChunks: "the bytes of audited resources",

  configurationVersions: { by: { id: "configuration-versions" }, with: { runs: ["approvedAt"] } },
  runs: { by: { id: "runs" } },
  runPhases: {
    by: { id: ["plans", "applies"] },
    // Reported by the agent during execution.
    quiet: ["heardMs", "engineStarted", "logBytes", "logEnded", "generatedConfiguration"],
    with: { runs: "all" },
  },
  runLogChunks: "a piece of a log, many a second",
  runEvents: "a history itself",
  comments: { by: { id: "comments" } },
  runTriggers: { by: { id: "run-triggers" } },
  runTriggerFirings: "work that an apply leaves to a job",
  agents: { by: { id: "agents" }, quiet: ["status", "engines", "lastPingMs", "lastPingAt"] },
  siteOperations: "inserted once, when the first agent of the site registers",
  assessmentResults: { by: { id: "assessment-results" }, quiet: ["delete"], together: { runId: "runs" } },
  identityKeys: { by: {}, quiet: ["insert"], with: { "identity-keys": "all" } },

  importLinks: "the progress of an import",
  vcsDeliveries: "received from a provider",
  vcsEvents: "a history itself",
  vcsWebhooks: "follows from connected workspaces",
  vcsStatuses: "follows from a run",
};
