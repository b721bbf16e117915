/**
 * Where our responses differ from the official OpenAPI document, each with the reason. The list may only shrink: a difference that
 * is not here fails the run, and so does an entry that nothing needs.
 */

export interface DocumentException {
  /** By operation id. */
  readonly operations: readonly string[];
  readonly detail: RegExp;
  /** The reason, as a sentence. */
  readonly reason: string;
}

export const documentExceptions: readonly DocumentException[] = [
  {
    operations: ["createTeam", "createAgentPool"],
    detail: /^answers 201,/,
    reason: "Creations respond with 201, unless the specification names another status.",
  },
  {
    operations: ["createTeamProject", "createTeamWorkspace"],
    detail: /^answers 200,/,
    reason: "According to the specification, creating team access responds with 200.",
  },
  {
    operations: ["changeRelatedWorkspaceTagBindings", "changeRelatedProjectTagBindings"],
    detail: /^answers 200,/,
    reason: "The Go client reads the bindings from the response, so it is 200 with the list.",
  },
  {
    operations: [
      "showPlanJson",
      "showRunPlanJson",
      "showRedactedPlanJson",
      "showPlanSchemas",
      "showRunPlanSchemas",
      "showErroredState",
      "showAssessmentJson",
      "showAssessmentSchemas",
    ],
    detail: /^answers 200/,
    reason: "The service stores these contents and responds with them; HCP Terraform redirects to a store with 307.",
  },
  {
    operations: ["listOrganizationRuns", "showRun", "createRun"],
    detail: /force-cancel-available-at must be string|relationships\/(confirmed-by|cost-estimate)\/data must be object/,
    reason:
      "The document omits null, although a run that nobody confirmed, or that can't be force-canceled, has no value.",
  },
  {
    operations: ["showIngressAttributes", "changePassword"],
    detail: /^ must have required property/,
    reason: "The document omits the `data` member, which every other operation has and the clients expect.",
  },
  {
    operations: ["replaceTeamToken"],
    detail: /^\/data must be array/,
    reason: "The document describes a list of tokens; a creation responds with the new token.",
  },
];

/** Documented attributes and relationships that we don't have. */
export interface AbsentMembers {
  readonly type: string;
  readonly attributes?: readonly string[];
  readonly relationships?: readonly string[];
  readonly reason: string;
}

const plans = "Organizations of a self-hosted service have no plan, trial or subscription.";
const noScim = "There is no SCIM.";
const noHyok = "There are no customer-managed encryption keys.";
const noStacks = "There are no stacks.";
const hcp = "It concerns the HCP platform.";
const byLink = "It has its own route, which is not linked from here.";

export const absentMembers: readonly AbsentMembers[] = [
  {
    type: "organizations",
    attributes: ["plan-expired", "plan-expires-at", "plan-is-trial", "plan-is-enterprise", "plan-identifier"],
    relationships: ["subscription"],
    reason: plans,
  },
  {
    type: "organizations",
    attributes: ["over-stacks-resource-limit", "stacks-default-execution-mode"],
    relationships: ["stacks-default-agent-pool"],
    reason: noStacks,
  },
  { type: "organizations", attributes: ["hcp-id", "is-in-degraded-mode"], reason: hcp },
  {
    type: "organizations",
    attributes: ["fair-run-queuing-enabled", "recoverable-items-enabled", "test-generation-enabled"],
    reason: "The service has no such setting.",
  },
  {
    type: "organizations",
    relationships: ["oauth-tokens", "authentication-token", "audit-trails-authentication-token"],
    reason: byLink,
  },
  { type: "organizations", relationships: ["primary-hyok-configuration"], reason: noHyok },
  {
    type: "organization-memberships",
    attributes: ["is-org-two-factor-required"],
    reason: "The service has no two-factor authentication of its own.",
  },
  { type: "organization-memberships", relationships: ["scim-identity"], reason: noScim },
  {
    type: "users",
    attributes: ["is-sso-login", "is-confirmed", "is-unified", "is-sudo", "enterprise-support", "has-linked-hcp"],
    reason: "It concerns HCP Terraform accounts.",
  },
  { type: "users", attributes: ["password"], reason: "Passwords are write-only." },
  {
    type: "users",
    attributes: ["has-git-hub-app-token"],
    relationships: ["github-app-oauth-tokens"],
    reason: "The service has no GitHub App.",
  },
  { type: "users", relationships: ["authenticated-resource"], reason: byLink },
  {
    type: "teams",
    attributes: ["scim-linked", "scim-group-name", "scim-updated-at", "scim-sync-paused"],
    reason: noScim,
  },
  { type: "teams", attributes: ["hcp-resource-name", "non-service-users-count"], reason: hcp },
  {
    type: "teams",
    relationships: ["users", "organization-memberships"],
    reason: "They are shown only with `include`, because a team can have very many.",
  },
  { type: "teams", relationships: ["authentication-tokens"], reason: byLink },
  {
    type: "projects",
    attributes: ["stacks-default-execution-mode"],
    relationships: ["stacks-default-agent-pool"],
    reason: noStacks,
  },
  { type: "projects", attributes: ["hcp-id"], reason: hcp },
  { type: "projects", relationships: ["effective-tag-bindings"], reason: byLink },
  {
    type: "workspaces",
    attributes: ["assessments-enabled"],
    reason: "According to the specification the self-hosted edition, which is tested here, does not have it.",
  },
  {
    type: "workspaces",
    attributes: ["effective-state-version-retention-desc", "effective-run-data-retention-desc"],
    reason: "The effective policy has its own route.",
  },
  {
    type: "state-versions",
    attributes: ["encrypted-state-download-url"],
    relationships: ["hyok-encrypted-data-key"],
    reason: noHyok,
  },
  {
    type: "state-versions",
    relationships: ["rollback-state-version"],
    reason: "It is only accepted in requests, for a rollback.",
  },
  { type: "state-versions", relationships: ["links"], reason: "The document lists the links as a relationship." },
  { type: "vars", relationships: ["workspace"], reason: "The workspace is `configurable`." },
  { type: "varsets", attributes: ["stack-count"], reason: noStacks },
  { type: "agent-pools", relationships: ["agents", "authentication-tokens"], reason: byLink },
  {
    type: "oauth-clients",
    attributes: ["updated-at", "uuid", "affected-workspaces", "affected-workspaces-count"],
    reason: "The service does not store it.",
  },
  { type: "oauth-clients", attributes: ["secret"], reason: "Secrets are write-only." },
  {
    type: "oauth-clients",
    attributes: ["ado-entra-tenant-id"],
    reason: "The service does not support this kind of connection.",
  },
  {
    type: "oauth-clients",
    relationships: ["agent-pool"],
    reason: "The service calls providers directly, and a connection has no pool.",
  },
  { type: "oauth-tokens", relationships: ["vcs-organizations"], reason: "The service does not list them." },
  {
    type: "notification-configurations",
    attributes: ["user-email-addresses", "external-email-addresses"],
    reason: "All addresses are in `email-addresses`.",
  },
  {
    type: "runs",
    relationships: ["triggering-source", "triggering-run", "canceled-by", "run-trigger-snapshots"],
    reason: "The run's events show this.",
  },
  {
    type: "plans",
    attributes: ["structured-run-output-enabled"],
    reason: "It is a setting of the workspace.",
  },
  { type: "plans", relationships: ["hyok-encrypted-data-key"], reason: noHyok },
  {
    type: "assessment-results",
    attributes: ["error-message"],
    relationships: ["workspace", "source"],
    reason: "The Go client reads `error-msg`, and reaches the result through the workspace.",
  },
  { type: "tag-bindings", attributes: ["created-at"], reason: "The service does not show when a binding was created." },
];
