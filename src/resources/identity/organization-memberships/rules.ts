/** Pure rules of organization memberships. */
import { type Actor, isSiteAdmin } from "../../../access/actor.ts";
import type { OrganizationMembershipTable, UserTable } from "../../../database/schema/identity.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { organizationMemberships } from "./definition.ts";
import type { AddressLookup } from "./store.ts";

export function newMembership(
  attributes: CreateAttributes<typeof organizationMemberships>,
  organizationId: string,
  userId: string | null,
): OrganizationMembershipTable {
  return {
    ...createdColumns(organizationMemberships, attributes),
    id: newId("organization-memberships"),
    organizationId,
    userId,
    status: userId === null ? "invited" : "active",
    createdAt: now(),
    version: 1,
  };
}

/** Adding a user who signs in through another organization's SSO provider would lock them out: they must accept first (decision 0122). */
export function immediateMember(
  actor: Actor,
  { user, signsInElsewhere }: Pick<AddressLookup, "user" | "signsInElsewhere">,
): UserTable | undefined {
  return signsInElsewhere && !isSiteAdmin(actor) ? undefined : user;
}

export function managedFaults(user: Pick<UserTable, "managedById"> | undefined, organizationId: string): Fault[] {
  if (user === undefined || user.managedById === null || user.managedById === organizationId) return [];
  return [
    attributeFault(
      "email",
      "Email belongs to a user whose address was verified only by another organization's provider. Ask a site admin to set the address on the user",
    ),
  ];
}
