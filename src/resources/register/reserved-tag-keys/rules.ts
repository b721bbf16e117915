/** Pure rules of reserved tag keys. */
import { authorize, type Granted } from "../../../access/granted.ts";
import { organizationPermissionNeeds, organizationPermissions } from "../../../access/permissions/organization.ts";
import type { ReservedTagKeyTable } from "../../../database/schema/workspaces.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { type ReservedTagKeyView, reservedTagKeys } from "./definition.ts";

export function newReservedTagKey(
  attributes: CreateAttributes<typeof reservedTagKeys>,
  identity: Pick<ReservedTagKeyTable, "id" | "organizationId" | "createdAt">,
): ReservedTagKeyTable {
  return {
    ...createdColumns(reservedTagKeys, attributes),
    ...identity,
    updatedAt: identity.createdAt,
    version: 1,
  };
}

/** Throws `forbidden`, or `not-found` for callers who are not members of the organization. */
export function authorizeReservedTagKey(reserved: ReservedTagKeyView): Granted<ReservedTagKeyView, "can-update"> {
  return authorize(reserved, {
    thing: "reserved tag key",
    permission: "can-update",
    visible: reserved.standing.member,
    allowed: organizationPermissions(reserved.standing)["can-update"],
    needs: organizationPermissionNeeds["can-update"] ?? "ownership of the organization",
  });
}

export function keyTakenFault(): Fault {
  return attributeFault("key", "Key has already been taken");
}
