/** Pure rules of memberships. */
import { type Actor, isSiteAdmin } from "../../../access/actor.ts";
import type { OrganizationMembershipTable, UserTable } from "../../../database/schema/identity.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { organizationMemberships } from "./definition.ts";
import type { AddressHolder } from "./store.ts";

/** Active at once for a user, and an invitation where nobody has the address yet. */
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

/**
 * The user who becomes a member without being asked. A provider of an organization signs in only people who are in no other one, so
 * a user who signs in by one has to accept first: otherwise any owner could lock them out. See docs/decisions/0122-whom-a-provider-speaks-for.md.
 */
export function memberAtOnce(
  actor: Actor,
  { user, signsInElsewhere }: Pick<AddressHolder, "user" | "signsInElsewhere">,
): UserTable | undefined {
  return signsInElsewhere && !isSiteAdmin(actor) ? undefined : user;
}

/** Whom another organization alone speaks for, by its own provider or by a link, may be anybody: the address is not proven to this one. */
export function managedFaults(user: Pick<UserTable, "managedById"> | undefined, organizationId: string): Fault[] {
  if (user === undefined || user.managedById === null || user.managedById === organizationId) return [];
  return [
    attributeFault(
      "email",
      "Email is known to another organization alone; a site admin confirms it by setting it on the user",
    ),
  ];
}
