/** Pure rules of reserved tag keys. */
import { grant, type Granted } from "../../../access/granted.ts";
import { organizationPermissionNeeds, organizationPermissions } from "../../../access/permissions.ts";
import type { ReservedTagKeyTable } from "../../../database/schema/workspaces.ts";
import type { CreateAttributes, UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { stored } from "../../shared/changes.ts";
import type { ReservedTagKeyView, reservedTagKeys } from "./definition.ts";

export function newReservedTagKey(
  { key, disableOverrides = false }: CreateAttributes<typeof reservedTagKeys>,
  facts: Pick<ReservedTagKeyTable, "id" | "organizationId" | "createdAt">,
): ReservedTagKeyTable {
  return { ...facts, key, disableOverrides: stored(disableOverrides), updatedAt: facts.createdAt, version: 1 };
}

/** Attributes as the table stores them; absent stays absent. */
export function toColumns({ key, disableOverrides }: UpdateAttributes<typeof reservedTagKeys>): {
  key?: string | undefined;
  disableOverrides?: number | undefined;
} {
  return { key, disableOverrides: stored(disableOverrides) };
}

/** Raises `forbidden`, or `not-found` where the caller may not know of the organization. */
export function grantReservedTagKey(reserved: ReservedTagKeyView): Granted<ReservedTagKeyView, "can-update"> {
  return grant(reserved, {
    thing: "reserved tag key",
    permission: "can-update",
    visible: reserved.standing.member,
    allowed: organizationPermissions(reserved.standing)["can-update"],
    needs: organizationPermissionNeeds["can-update"] ?? "ownership of the organization",
  });
}

export function keyTaken(): Fault {
  return attributeFault("key", "Key has already been taken");
}
