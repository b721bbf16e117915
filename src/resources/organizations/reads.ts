/** What neighbours ask of organizations: the one they work in, with what the caller is there. */
import { grant, type Granted } from "../../access/granted.ts";
import {
  type OrganizationFlag,
  organizationPermissionNeeds,
  organizationPermissions,
} from "../../access/permissions.ts";
import type { Tx } from "../../database/database.ts";
import { notFound } from "../../kernel/errors.ts";
import type { Context } from "../shared/context.ts";
import type { OrganizationView } from "./definition.ts";
import { findOrganization } from "./store.ts";

export { type OrganizationRow, toOrganizationView } from "./store.ts";

/** Raises `not-found` where the caller may not know of the organization. */
export async function loadOrganization(
  tx: Tx,
  context: Pick<Context, "actor">,
  name: string,
  lock = false,
): Promise<OrganizationView> {
  const organization = await findOrganization(tx, context.actor, name, lock);
  if (organization === undefined || !organization.standing.member) throw notFound("organization");
  return organization;
}

/** Raises `forbidden`, or `not-found` where the caller may not know of the organization. */
export function grantOrganization<Permission extends OrganizationFlag>(
  organization: OrganizationView,
  permission: Permission,
  needs: string = organizationPermissionNeeds[permission] ?? "ownership of the organization",
): Granted<OrganizationView, Permission> {
  return grant(organization, {
    thing: "organization",
    permission,
    visible: organization.standing.member,
    allowed: organizationPermissions(organization.standing)[permission],
    needs,
  });
}
