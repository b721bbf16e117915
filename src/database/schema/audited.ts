/** Declares which audit event a write of each table requires; `resources/shared/audit-events/required.ts` enforces it. */
import type { Schema } from "./schema.ts";

export interface AuditRule<Row> {
  /** Column with the subject's id → the subject's type. */
  readonly subjects: { readonly [Column in keyof Row]?: string | readonly string[] };
  readonly needsNone?: readonly ((keyof Row & string) | "insert" | "delete")[];
  readonly orParents?: { readonly [Column in keyof Row]?: string | readonly string[] };
  /** Type of another event in the transaction → the columns that it covers. */
  readonly coveredBy?: { readonly [SubjectType: string]: readonly (keyof Row & string)[] | "all" };
}

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

const offeredEngines = ["offeredEngines", "offeredFetching", "offeredMs"] as const;

/** A rule, or the reason for having none. `required.ts` lists columns that need no event in any table. */
export const auditRules: { readonly [Table in keyof Schema]: AuditRule<Schema[Table]> | string } = {
  meta: "facts about the database, changed by the operator",
  migrations: "the schema's own history",
  jobs: "leases and counters of background jobs",
  accessVersions: "counted by triggers",
  auditEvents: "the events themselves",

  users: { subjects: { id: "users" } },
  passwords: { subjects: { userId: "users" } },
  identityTrusts: { subjects: { id: "identity-trusts" } },
  ssoProviders: { subjects: { id: "sso-providers" } },
  ssoIdentities: { subjects: { userId: "users" } },
  ssoSessions: { subjects: { tokenId: "sessions" } },
  ssoReplies: "nonces",
  invitations: {
    subjects: {},
    needsNone: ["delete"],
    coveredBy: { invitations: "all", "organization-memberships": "all", users: "all" },
  },
  authorizations: { subjects: { id: "authorizations" }, needsNone: ["delete"] },
  organizations: { subjects: { id: "organizations" }, needsNone: ["projectCount", "operations", "enabledRuleCount"] },
  openOrganizations: "a view, which is only read",
  organizationTokenTtlPolicies: {
    subjects: { id: "organization-token-ttl-policies" },
    orParents: { organizationId: "organizations" },
  },
  moduleConsumers: { subjects: { organizationId: "organizations" } },
  organizationMemberships: {
    subjects: { id: "organization-memberships" },
    orParents: { organizationId: "organizations" },
  },
  teams: { subjects: { id: "teams" }, needsNone: ["usersCount"], orParents: { organizationId: "organizations" } },
  teamMembers: {
    subjects: { teamId: "teams", membershipId: "organization-memberships" },
    orParents: { organizationId: "organizations" },
  },
  tokens: { subjects: { id: ["authentication-tokens", "sessions"] }, needsNone: ["lastUsedAt"] },

  projects: {
    subjects: { id: "projects" },
    needsNone: ["workspaceCount", "teamCount"],
    orParents: { organizationId: "organizations" },
  },
  teamProjects: { subjects: { id: "team-projects" } },
  accessOffers: { subjects: { id: "access-offers" } },
  accessOfferTeams: { subjects: { accessOfferId: "access-offers" } },
  workspaces: {
    subjects: { id: "workspaces" },
    needsNone: [
      "runsCount",
      "runFailures",
      "planDurationAverage",
      "applyDurationAverage",
      "resourceCount",
      "outputIds",
    ],
    coveredBy: {
      vars: ["varIds"],
      projects: ["projectId"],
      tags: ["tagNames"],
      "configuration-versions": ofConfiguration,
      "state-versions": ofState,
      runs: [...ofRun, ...ofLock, ...ofState, ...ofConfiguration],
      "assessment-results": ["currentAssessmentResultId", "lastAssessmentResultAt"],
      "ssh-keys": ["sshKeyId"],
      "oauth-tokens": ofRepository,
      "oauth-clients": ofRepository,
    },
  },
  teamWorkspaces: { subjects: { id: "team-workspaces" } },
  remoteStateConsumers: { subjects: { workspaceId: "workspaces" } },
  tags: { subjects: { id: "tags" }, needsNone: ["instanceCount"], coveredBy: { workspaces: "all" } },
  workspaceTags: { subjects: { workspaceId: "workspaces", tagId: "tags" } },
  tagBindings: { subjects: { workspaceId: "workspaces", projectId: "projects" } },
  accessRules: { subjects: { id: "access-rules" } },
  reservedTagKeys: { subjects: { id: "reserved-tag-keys" } },
  dataRetentionPolicies: { subjects: { id: "data-retention-policies" } },

  varsets: { subjects: { id: "varsets" }, needsNone: ["linkedCount"] },
  varsetWorkspaces: { subjects: { varsetId: "varsets" } },
  varsetProjects: { subjects: { varsetId: "varsets" } },
  vars: { subjects: { id: "vars" } },

  sshKeys: { subjects: { id: "ssh-keys" } },
  agentPools: { subjects: { id: "agent-pools" }, coveredBy: { agents: offeredEngines } },
  agentPoolScopes: { subjects: { agentPoolId: "agent-pools" }, coveredBy: { workspaces: "all", projects: "all" } },
  agentTokens: { subjects: { id: "authentication-tokens" }, needsNone: ["lastUsedAt"] },
  siteAgentPools: { subjects: { id: "agent-pools" }, coveredBy: { agents: offeredEngines } },
  oauthClients: { subjects: { id: "oauth-clients" }, needsNone: ["linkedCount"] },
  oauthClientProjects: { subjects: { oauthClientId: "oauth-clients" } },
  oauthTokens: {
    subjects: { id: "oauth-tokens" },
    orParents: { oauthClientId: "oauth-clients" },
    coveredBy: { "oauth-clients": ["secret"] },
  },
  engineVersions: { subjects: { id: "terraform-versions" } },
  notificationConfigurations: { subjects: { id: "notification-configurations" }, needsNone: ["lastDelivery"] },
  notificationConfigurationMembers: {
    subjects: { notificationConfigurationId: "notification-configurations" },
    coveredBy: { "organization-memberships": "all" },
  },
  auditWebhooks: { subjects: { id: "audit-webhooks" }, needsNone: ["lastDelivery"] },
  notices: "an outbox of notifications that other changes cause",
  auditNotices: "the outbox of the audit log itself",

  accessRequests: { subjects: { id: "access-requests" } },
  accessRequestRequirements: { subjects: { requestId: "access-requests" } },
  accessRequestParties: { subjects: { requestId: "access-requests" } },

  stateVersions: {
    subjects: { id: "state-versions" },
    // A job reads these from a large state later.
    needsNone: [
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
    coveredBy: { workspaces: ["intermediate"], runs: ["intermediate"] },
  },
  stateVersionOutputs: "read out of a state version",
  stateResources: "read out of a state version",
  contents: "the bytes of audited resources",
  contentChunks: "the bytes of audited resources",
  unattachedObjects: "the bytes of audited resources",

  configurationVersions: { subjects: { id: "configuration-versions" }, coveredBy: { runs: ["approvedAt"] } },
  runs: { subjects: { id: "runs" } },
  runPhases: {
    subjects: { id: ["plans", "applies"] },
    needsNone: [
      "heardMs",
      "engineStarted",
      "logBytes",
      "logEnded",
      "logContentId",
      "logUnmoved",
      "generatedConfiguration",
    ],
    coveredBy: { runs: "all" },
  },
  runLogChunks: "a piece of a log, many a second",
  runEvents: "a history itself",
  comments: { subjects: { id: "comments" } },
  runTriggers: { subjects: { id: "run-triggers" } },
  runTriggerFirings: "work that an apply leaves to a job",
  agents: { subjects: { id: "agents" }, needsNone: ["status", "engines", "fetching", "lastPingMs", "lastPingAt"] },
  siteOperations: "inserted once, when the first agent of the site registers",
  assessmentResults: { subjects: { id: "assessment-results" }, needsNone: ["delete"], orParents: { runId: "runs" } },
  identityKeys: { subjects: {}, needsNone: ["insert"], coveredBy: { "identity-keys": "all" } },

  importLinks: "the progress of an import",
  vcsDeliveries: "received from a provider",
  vcsEvents: "a history itself",
  vcsWebhooks: "follows from connected workspaces",
  vcsStatuses: "follows from a run",

  accessViolations: "computed from grants and rules",
  accessViolationScans: "the progress of a background job",
};
