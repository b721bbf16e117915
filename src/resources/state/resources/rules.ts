/** Maps a state's instances to rows of managed resources. */
import type { StateResourceTable, StateVersionTable } from "../../../database/schema/state.ts";
import { newId } from "../../../kernel/ids.ts";
import type { StateInstance } from "../../../statefile/state-resources.ts";

/** PostgreSQL can't index longer addresses. */
const addressMax = 600;

/** `insertResources` replaces the ids and times of resources that the previous version has. */
export function newResources(
  { id, organizationId, createdAt }: Pick<StateVersionTable, "id" | "organizationId" | "createdAt">,
  instances: readonly StateInstance[],
): StateResourceTable[] {
  // A duplicate address makes a state invalid; the first one wins.
  const byAddress = new Map<string, StateInstance>();
  for (const instance of instances) {
    const { address } = instance;
    if (!byAddress.has(address) && address.length <= addressMax) byAddress.set(address, instance);
  }
  return [...byAddress.values()].map((instance) => ({
    ...instance,
    id: newId("resources"),
    organizationId,
    stateVersionId: id,
    modifiedByStateVersionId: id,
    createdAt,
    updatedAt: createdAt,
  }));
}
