/** Every resource of the register, explicitly. */
import type { Resource } from "../jsonapi/define.ts";
import { auditEventResource } from "./audit-events/operations.ts";
import { authenticationTokenResource } from "./authentication-tokens/operations.ts";
import { entitlementSetResource } from "./entitlement-sets/operations.ts";
import { organizationMembershipResource } from "./organization-memberships/operations.ts";
import { organizationResource } from "./organizations/operations.ts";
import { projectResource } from "./projects/operations.ts";
import type { Context } from "./shared/context.ts";
import { teamResource } from "./teams/operations.ts";
import { userResource } from "./users/operations.ts";

export const resources: readonly Resource<Context>[] = [
  organizationResource,
  entitlementSetResource,
  organizationMembershipResource,
  userResource,
  authenticationTokenResource,
  teamResource,
  projectResource,
  auditEventResource,
];

/** Types that a relationship names and that are still to be built; their relationships are empty until then. */
export const foreignTypes: readonly string[] = ["agent-pools"];
