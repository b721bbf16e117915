/**
 * Which audit event a transaction must record that writes a row of a table, or why none is needed.
 * `resources/shared/audit-events/required.ts` refuses to commit one without it.
 */
import type { Schema } from "./schema.ts";

export interface AuditRule<Row> {
  /** The column that holds the id of the event's subject (the row's own id, or its parent's) → the subject's type. */
  readonly by: { readonly [Column in keyof Row]?: string | readonly string[] };
  /** What needs no event: columns that count or say when, or that every row is inserted or deleted. */
  readonly quiet?: readonly ((keyof Row & string) | "insert" | "delete")[];
  /** As `by`, for rows that come or go together with another thing. */
  readonly together?: { readonly [Column in keyof Row]?: string | readonly string[] };
  /** Columns, or all, that need no event of their own where the transaction records one about another thing of this type. */
  readonly with?: { readonly [SubjectType: string]: readonly (keyof Row & string)[] | "all" };
}

/** Columns of a workspace that follow from other things, which have events of their own. */
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

/** Every table has a rule, or a reason. The columns of `quietColumns` need no event in any table. */
export const auditRules: { readonly [Table in keyof Schema]: AuditRule<Schema[Table]> | string } = {
  meta: "facts about the database, of the operator",
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
    // Figures of the latest runs, and what is read out of a state.
    quiet: ["runsCount", "runFailures", "planDurationAverage", "applyDurationAverage", "resourceCount", "outputIds"],
    with: {
      vars: ["varIds"],
      projects: ["projectId"],
      tags: ["tagNames"],
      "configuration-versions": ofConfiguration,
      "state-versions": ofState,
      runs: [...ofRun, ...ofLock, ...ofState, ...ofConfiguration],
      "assessment-results": ["currentAssessmentResultId", "lastAssessmentResultAt"],
      // What a workspace was connected by is removed.
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
  notices: "the outbox of what other changes cause",
  auditNotices: "the outbox of the audit trail itself",

  stateVersions: {
    by: { id: "state-versions" },
    // What a job reads out of a large state later.
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
  contents: "the bytes of what has an event",
  contentChunks: "the bytes of what has an event",

  configurationVersions: { by: { id: "configuration-versions" }, with: { runs: ["approvedAt"] } },
  runs: { by: { id: "runs" } },
  runPhases: {
    by: { id: ["plans", "applies"] },
    // What its agent reports while it is executed.
    quiet: ["heardMs", "engineStarted", "logBytes", "logEnded", "generatedConfiguration"],
    with: { runs: "all" },
  },
  runLogChunks: "a piece of a log, many a second",
  runEvents: "a history of its own",
  comments: { by: { id: "comments" } },
  runTriggers: { by: { id: "run-triggers" } },
  runTriggerFirings: "work that an apply leaves to a job",
  agents: { by: { id: "agents" }, quiet: ["status", "engines", "lastPingMs", "lastPingAt"] },
  siteOperations: "noted once, when the first agent of the site registers",
  assessmentResults: { by: { id: "assessment-results" }, quiet: ["delete"], together: { runId: "runs" } },
  identityKeys: { by: {}, quiet: ["insert"], with: { "identity-keys": "all" } },

  importLinks: "what an import remembers",
  vcsDeliveries: "received from a provider",
  vcsEvents: "a history of its own",
  vcsWebhooks: "follows from the workspaces that are connected",
  vcsStatuses: "follows from a run",
};
