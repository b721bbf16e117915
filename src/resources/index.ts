/** Lists every resource, and connects the hooks and include loaders between modules. */
import type { MountedResource, ResourceDefinition } from "../jsonapi/define.ts";
import { agentPoolServes } from "./connections/agent-pools/reads.ts";
import { removeScopeTarget } from "./connections/agent-pools/writes.ts";
import { loadAgentToken } from "./connections/agent-tokens/reads.ts";
import { revokeAgentToken } from "./connections/agent-tokens/writes.ts";
import { mergeInvitedRecipients } from "./connections/notification-configurations/writes.ts";
import { oauthTokenServes } from "./connections/oauth-clients/reads.ts";
import { loadTokensOfClients } from "./connections/oauth-tokens/reads.ts";
import { loadMembershipsOfTeams } from "./identity/organization-memberships/reads.ts";
import { addFirstOwner } from "./identity/organization-memberships/writes.ts";
import { insertTokenTtlPolicies } from "./identity/organization-token-ttl-policies/writes.ts";
import { insertOwnersTeam } from "./identity/teams/writes.ts";
import { organizationsByName } from "./identity/organizations/reads.ts";
import { readableTeams } from "./identity/teams/reads.ts";
import { readableUsers } from "./identity/users/reads.ts";
import { readableProjects } from "./register/projects/reads.ts";
import { decrementTeamCounters, insertDefaultProject } from "./register/projects/writes.ts";
import { readableWorkspaces } from "./register/workspaces/reads.ts";
import { includedCommits, includedConfigurations } from "./runs/configuration-versions/reads.ts";
import { phasesOfRuns } from "./runs/phases/reads.ts";
import { findComments } from "./runs/run-events/store.ts";
import { unfinishedRunIds, readableRuns } from "./runs/runs/reads.ts";
import { engineOffers } from "./runs/agents/reads.ts";
import { auditRunsOfDeletedWorkspace, startNextRun } from "./runs/runs/lifecycle.ts";
import { loadOutputsOfStateVersions, loadOutputsOfWorkspaces } from "./state/state-version-outputs/reads.ts";
import { isStateProcessing, readableStateVersions } from "./state/state-versions/reads.ts";
import { discardPending, promoteState } from "./state/state-versions/writes.ts";
import { loadVarsOfSets } from "./variables/vars/reads.ts";
import { recordConnected } from "./vcs/vcs-events/writes.ts";
import { adminOrganizationResource } from "./identity/admin-organizations/operations.ts";
import { authorizationResource } from "./identity/authorizations/operations.ts";
import { accessViolationResource } from "./governance/access-violations/operations.ts";
import { readableAccessRules } from "./governance/access-rules/reads.ts";
import { requestViolationScan } from "./governance/access-violations/writes.ts";
import { invitationResource } from "./identity/invitations/operations.ts";
import { organizationTokenTtlPolicyResource } from "./identity/organization-token-ttl-policies/operations.ts";
import { enforceRules, matchRules } from "./governance/access-rules/enforcement.ts";
import { accessRuleResource } from "./governance/access-rules/operations.ts";
import type { Hooks } from "./shared/hooks.ts";
import type { IncludeLoader, LoadMany } from "./shared/includes.ts";
import { accessRequestResource } from "./governance/access-requests/operations.ts";
import { accessExplanationResource } from "./sharing/access-explanations/operations.ts";
import { notifyAccessRequest } from "./governance/access-requests/notifications.ts";
import { findOfferOfRequest } from "./governance/access-offers/writer.ts";
import { accessOfferResource } from "./governance/access-offers/operations.ts";
import { createChangeParser } from "./sharing/access-previews/changes.ts";
import { accessPreviewResource } from "./sharing/access-previews/operations.ts";
import { agentPoolResource } from "./connections/agent-pools/operations.ts";
import { siteAgentPoolResource } from "./connections/site-agent-pools/operations.ts";
import { agentTokenResource } from "./connections/agent-tokens/operations.ts";
import { auditEventResource } from "./identity/audit-events/operations.ts";
import { auditTrailResource } from "./identity/audit-trails/operations.ts";
import { authenticationTokenResource } from "./identity/authentication-tokens/operations.ts";
import { deleteOlderPolicyResource, dontDeletePolicyResource } from "./register/data-retention-policies/operations.ts";
import { configurationVersionResource, ingressAttributesResource } from "./runs/configuration-versions/operations.ts";
import { readmesOf, workspaceReadmes } from "./runs/workspace-readmes.ts";
import { entitlementSetResource } from "./site/entitlement-sets.ts";
import { featureSetResource, subscriptionResource } from "./site/subscriptions.ts";
import { deliveries } from "./connections/deliveries.ts";
import { auditWebhookResource } from "./connections/audit-webhooks/operations.ts";
import { notificationConfigurationResource } from "./connections/notification-configurations/operations.ts";
import { oauthClientResource } from "./connections/oauth-clients/operations.ts";
import { oauthTokenResource } from "./connections/oauth-tokens/operations.ts";
import { organizationMembershipResource } from "./identity/organization-memberships/operations.ts";
import { organizationResource } from "./identity/organizations/operations.ts";
import { projectResource } from "./register/projects/operations.ts";
import { accessHolderResource } from "./sharing/access-holders/operations.ts";
import { reachResource } from "./sharing/reach/operations.ts";
import { remoteStateConsumerResource } from "./state/remote-state-consumers/operations.ts";
import { managedResourceResource } from "./state/resources/operations.ts";
import { reservedTagKeyResource } from "./register/reserved-tag-keys/operations.ts";
import type { Context } from "./shared/context.ts";
import { sshKeyResource } from "./connections/ssh-keys/operations.ts";
import { stateVersionChangeResource } from "./state/state-version-changes/operations.ts";
import { stateVersionOutputResource } from "./state/state-version-outputs/operations.ts";
import { stateVersionResource } from "./state/state-versions/operations.ts";
import { effectiveTagBindingResource, tagBindingResource } from "./register/tag-bindings/operations.ts";
import { tagResource } from "./register/tags/operations.ts";
import { teamProjectResource } from "./sharing/team-access/team-projects/operations.ts";
import { teamWorkspaceResource } from "./sharing/team-access/team-workspaces/operations.ts";
import { teamResource } from "./identity/teams/operations.ts";
import { terraformVersionResource } from "./site/terraform-versions/operations.ts";
import { identityTrustResource } from "./identity/identity-trusts/operations.ts";
import { sessionResource } from "./identity/sessions/operations.ts";
import { signInOptionsResource } from "./identity/sign-in-options/operations.ts";
import { ssoProviderResource } from "./identity/sso-providers/operations.ts";
import { userResource } from "./identity/users/operations.ts";
import { agentPoolQueueResource } from "./runs/agent-pool-queues/operations.ts";
import { agentJobResource } from "./runs/agent-jobs/operations.ts";
import { agentResource } from "./runs/agents/operations.ts";
import { applyResource, logResource, planResource } from "./runs/phases/operations.ts";
import { planOutputResource } from "./runs/plan-outputs/operations.ts";
import { commentResource, runEventResource } from "./runs/run-events/operations.ts";
import { organizationCapacityResource } from "./runs/organization-capacities.ts";
import { assessmentResultResource } from "./runs/assessment-results/operations.ts";
import { runStreamResource } from "./runs/run-streams/operations.ts";
import { runTriggerResource } from "./runs/run-triggers/operations.ts";
import { runResource } from "./runs/runs/operations.ts";
import { taskStageResource } from "./runs/task-stages.ts";
import { branchResource, repositoryResource } from "./vcs/repositories/operations.ts";
import { vcsEventResource } from "./vcs/vcs-events/operations.ts";
import { varResource } from "./variables/vars/operations.ts";
import { varsetResource } from "./variables/varsets/operations.ts";
import { workspaceMoveResource } from "./register/workspace-moves/operations.ts";
import { workspaceOutputs } from "./state/state-version-outputs/definition.ts";
import { workspaceResource } from "./register/workspaces/operations.ts";

const parseAccessChanges = createChangeParser([
  teamProjectResource,
  teamWorkspaceResource,
  teamResource,
  organizationMembershipResource,
  workspaceMoveResource,
  workspaceResource,
]);

export const resources: readonly MountedResource<Context>[] = [
  organizationResource,
  adminOrganizationResource,
  organizationTokenTtlPolicyResource,
  entitlementSetResource,
  organizationMembershipResource,
  userResource,
  authenticationTokenResource,
  sessionResource,
  invitationResource,
  authorizationResource,
  identityTrustResource,
  signInOptionsResource,
  ssoProviderResource,
  teamResource,
  projectResource,
  workspaceResource,
  workspaceMoveResource,
  teamProjectResource,
  teamWorkspaceResource,
  accessExplanationResource,
  accessPreviewResource(parseAccessChanges),
  accessRequestResource(parseAccessChanges),
  accessOfferResource(parseAccessChanges),
  reachResource,
  accessHolderResource,
  accessViolationResource,
  stateVersionResource,
  stateVersionChangeResource,
  stateVersionOutputResource,
  { definition: workspaceOutputs, handlers: {} },
  managedResourceResource,
  remoteStateConsumerResource,
  deleteOlderPolicyResource,
  dontDeletePolicyResource,
  varResource,
  varsetResource,
  tagResource,
  tagBindingResource,
  effectiveTagBindingResource,
  reservedTagKeyResource,
  accessRuleResource,
  sshKeyResource,
  agentPoolResource,
  siteAgentPoolResource,
  agentTokenResource,
  agentResource,
  agentPoolQueueResource,
  agentJobResource,
  oauthClientResource,
  oauthTokenResource,
  notificationConfigurationResource,
  auditWebhookResource,
  { definition: deliveries, handlers: {} },
  configurationVersionResource,
  ingressAttributesResource,
  { definition: workspaceReadmes, handlers: {} },
  logResource,
  terraformVersionResource,
  featureSetResource,
  subscriptionResource,
  auditEventResource,
  auditTrailResource,
  runResource,
  organizationCapacityResource,
  planResource,
  applyResource,
  planOutputResource,
  runEventResource,
  runStreamResource,
  commentResource,
  taskStageResource,
  runTriggerResource,
  assessmentResultResource,
  vcsEventResource,
  repositoryResource,
  branchResource,
];

const loader = (definition: ResourceDefinition, loadMany: LoadMany): [string, IncludeLoader] => [
  definition.type,
  { definition, loadMany },
];

const loaders: ReadonlyMap<string, IncludeLoader> = new Map([
  loader(organizationResource.definition, organizationsByName),
  loader(userResource.definition, readableUsers),
  loader(teamResource.definition, readableTeams),
  loader(organizationMembershipResource.definition, loadMembershipsOfTeams),
  loader(projectResource.definition, readableProjects),
  loader(workspaceResource.definition, readableWorkspaces),
  loader(stateVersionResource.definition, readableStateVersions),
  loader(stateVersionOutputResource.definition, loadOutputsOfStateVersions),
  loader(workspaceOutputs, loadOutputsOfWorkspaces),
  loader(varResource.definition, loadVarsOfSets),
  loader(oauthTokenResource.definition, loadTokensOfClients),
  loader(runResource.definition, readableRuns),
  loader(planResource.definition, phasesOfRuns("plan")),
  loader(applyResource.definition, phasesOfRuns("apply")),
  loader(commentResource.definition, (tx, { actor }, ids) => findComments(tx, actor, { ids })),
  loader(configurationVersionResource.definition, includedConfigurations),
  loader(ingressAttributesResource.definition, includedCommits),
  loader(workspaceReadmes, readmesOf),
  loader(accessRuleResource.definition, readableAccessRules),
]);

export const hooks: Hooks = {
  organizations: {
    initializeOrganization: async (tx, by, organization, creatorId) => {
      await insertTokenTtlPolicies(tx, by, organization);
      await insertDefaultProject(tx, by, organization);
      const owners = await insertOwnersTeam(tx, by, organization, creatorId === undefined ? 0 : 1);
      if (creatorId !== undefined) await addFirstOwner(tx, by, owners, creatorId);
    },
    decrementTeamCounters,
    mergeInvitedRecipients,
  },
  scopes: { agentPoolServes, oauthTokenServes, removeScopeTarget },
  agentTokens: { loadAgentToken, revokeAgentToken },
  repositories: { recordConnected },
  states: { isStateProcessing, promoteState, discardPending },
  runs: {
    engineOffers,
    startNextRun,
    listUnfinished: unfinishedRunIds,
    auditRunsOfDeletedWorkspace,
  },
  accessRules: {
    enforceRules,
    matchRules,
  },
  accessViolations: { requestViolationScan },
  accessRequests: { notifyAccessRequest, findOfferOfRequest },
  loaders,
};

/** Not built yet; relationships of these types are empty. */
export const unimplementedTypes: readonly string[] = [
  "cost-estimates",
  "plan-exports",
  "policy-checks",
  "stacks",
  "workspace-run-alerts",
];
