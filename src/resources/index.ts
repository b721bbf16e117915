/** Every resource of the register, explicitly. */
import type { Resource } from "../jsonapi/define.ts";
import { adminOrganizationResource } from "./identity/admin-organizations/operations.ts";
import { authorizationResource } from "./identity/authorizations/operations.ts";
import { invitationResource } from "./identity/invitations/operations.ts";
import { organizationTokenTtlPolicyResource } from "./identity/organization-token-ttl-policies/operations.ts";
import { connectionNeighbours } from "./connections/neighbours.ts";
import { registerNeighbours } from "./register/neighbours.ts";
import type { Neighbours } from "./shared/neighbours.ts";
import { stateNeighbours } from "./state/neighbours.ts";
import { accessExplanationResource } from "./sharing/access-explanations/operations.ts";
import { accessPreviewResource } from "./sharing/access-previews/operations.ts";
import { agentPoolResource } from "./connections/agent-pools/operations.ts";
import { siteAgentPoolResource } from "./connections/site-agent-pools/operations.ts";
import { agentTokenResource } from "./connections/agent-tokens/operations.ts";
import { auditEventResource } from "./identity/audit-events/operations.ts";
import { auditTrailResource } from "./identity/audit-trails/operations.ts";
import { authenticationTokenResource } from "./identity/authentication-tokens/operations.ts";
import { deleteOlderPolicyResource, dontDeletePolicyResource } from "./register/data-retention-policies/operations.ts";
import { configurationVersionResource } from "./runs/configuration-versions/operations.ts";
import { ingressAttributesResource } from "./runs/ingress-attributes/operations.ts";
import { workspaceReadmes } from "./runs/workspace-readmes/definition.ts";
import { entitlementSetResource } from "./site/entitlement-sets.ts";
import { featureSetResource, subscriptionResource } from "./site/subscriptions.ts";
import { logResource } from "./runs/logs/operations.ts";
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
import { effectiveTagBindingResource } from "./register/effective-tag-bindings/operations.ts";
import { tagBindingResource } from "./register/tag-bindings/operations.ts";
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
import { agentJobResource } from "./runs/agent-jobs/operations.ts";
import { agentResource } from "./runs/agents/operations.ts";
import { applyResource } from "./runs/phases/applies/operations.ts";
import { planResource } from "./runs/phases/plans/operations.ts";
import { commentResource } from "./runs/comments/operations.ts";
import { planOutputResource } from "./runs/plan-outputs/operations.ts";
import { runEventResource } from "./runs/run-events/operations.ts";
import { runNeighbours } from "./runs/neighbours.ts";
import { organizationCapacityResource } from "./runs/organization-capacities/operations.ts";
import { assessmentResultResource } from "./runs/assessment-results/operations.ts";
import { runStreamResource } from "./runs/run-streams/operations.ts";
import { runTriggerResource } from "./runs/run-triggers/operations.ts";
import { runResource } from "./runs/runs/operations.ts";
import { taskStageResource } from "./runs/task-stages.ts";
import { vcsNeighbours } from "./vcs/neighbours.ts";
import { branchResource, repositoryResource } from "./vcs/repositories/operations.ts";
import { vcsEventResource } from "./vcs/vcs-events/operations.ts";
import { varResource } from "./variables/vars/operations.ts";
import { varsetResource } from "./variables/varsets/operations.ts";
import { workspaceMoveResource } from "./register/workspace-moves/operations.ts";
import { workspaceOutputs } from "./state/state-version-outputs/definition.ts";
import { workspaceResource } from "./register/workspaces/operations.ts";

/** Their own functions carry out what is previewed. */
const accessPreviews = accessPreviewResource([
  teamProjectResource,
  teamWorkspaceResource,
  teamResource,
  organizationMembershipResource,
  workspaceMoveResource,
  workspaceResource,
]);

export const resources: readonly Resource<Context>[] = [
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
  accessPreviews,
  reachResource,
  accessHolderResource,
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
  sshKeyResource,
  agentPoolResource,
  siteAgentPoolResource,
  agentTokenResource,
  agentResource,
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

/** What the rooms above do where something below happens. */
export const neighbours: Neighbours = {
  ...registerNeighbours,
  ...connectionNeighbours,
  ...stateNeighbours,
  ...runNeighbours,
  ...vcsNeighbours,
};

/** Types that a relationship names and that are still to be built; their relationships are empty until then. */
export const foreignTypes: readonly string[] = [
  "cost-estimates",
  "plan-exports",
  "policy-checks",
  "stacks",
  "workspace-run-alerts",
];
