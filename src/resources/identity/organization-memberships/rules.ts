/** Pure rules of memberships. */
import type { OrganizationMembershipTable } from "../../../database/schema/identity.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { organizationMemberships } from "./definition.ts";

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
