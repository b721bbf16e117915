/** Every resource of the register, explicitly. */
import type { Resource } from "../jsonapi/define.ts";
import { accessExplanationResource } from "./access-explanations/operations.ts";
import { agentPoolResource } from "./agent-pools/operations.ts";
import { auditEventResource } from "./audit-events/operations.ts";
import { authenticationTokenResource } from "./authentication-tokens/operations.ts";
import { deleteOlderPolicyResource, dontDeletePolicyResource } from "./data-retention-policies/operations.ts";
import { entitlementSetResource } from "./entitlement-sets/operations.ts";
import { featureSetResource } from "./feature-sets/operations.ts";
import { oauthClientResource } from "./oauth-clients/operations.ts";
import { oauthTokenResource } from "./oauth-tokens/operations.ts";
import { organizationMembershipResource } from "./organization-memberships/operations.ts";
import { organizationResource } from "./organizations/operations.ts";
import { projectResource } from "./projects/operations.ts";
import { remoteStateConsumerResource } from "./remote-state-consumers/operations.ts";
import { managedResourceResource } from "./resources/operations.ts";
import { reservedTagKeyResource } from "./reserved-tag-keys/operations.ts";
import type { Context } from "./shared/context.ts";
import { sshKeyResource } from "./ssh-keys/operations.ts";
import { subscriptionResource } from "./subscriptions/operations.ts";
import { stateVersionOutputResource } from "./state-version-outputs/operations.ts";
import { stateVersionResource } from "./state-versions/operations.ts";
import { effectiveTagBindingResource } from "./effective-tag-bindings/operations.ts";
import { tagBindingResource } from "./tag-bindings/operations.ts";
import { tagResource } from "./tags/operations.ts";
import { teamProjectResource } from "./team-projects/operations.ts";
import { teamWorkspaceResource } from "./team-workspaces/operations.ts";
import { teamResource } from "./teams/operations.ts";
import { terraformVersionResource } from "./terraform-versions/operations.ts";
import { userResource } from "./users/operations.ts";
import { varResource } from "./vars/operations.ts";
import { varsetResource } from "./varsets/operations.ts";
import { workspaceMoveResource } from "./workspace-moves/operations.ts";
import { workspaceOutputs } from "./workspace-outputs/definition.ts";
import { workspaceResource } from "./workspaces/operations.ts";

export const resources: readonly Resource<Context>[] = [
  organizationResource,
  entitlementSetResource,
  organizationMembershipResource,
  userResource,
  authenticationTokenResource,
  teamResource,
  projectResource,
  workspaceResource,
  workspaceMoveResource,
  teamProjectResource,
  teamWorkspaceResource,
  accessExplanationResource,
  stateVersionResource,
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
  oauthClientResource,
  oauthTokenResource,
  terraformVersionResource,
  featureSetResource,
  subscriptionResource,
  auditEventResource,
];

/** Types that a relationship names and that are still to be built; their relationships are empty until then. */
export const foreignTypes: readonly string[] = [
  "assessment-results",
  "configuration-versions",
  "runs",
  "workspace-readme",
];
