/** Pure rules of managed resources: what a state's instances become. */
import type { StateResourceTable, StateVersionTable } from "../../../database/schema/state.ts";
import { newId } from "../../../kernel/ids.ts";
import type { StateInstance } from "../../../statefile/state-resources.ts";

/** An index of PostgreSQL holds no longer ones. */
const addressMax = 600;

/** As if each were new; what the version before had too is carried over when they are written. */
export function newResources(
  { id, organizationId, createdAt }: Pick<StateVersionTable, "id" | "organizationId" | "createdAt">,
  instances: readonly StateInstance[],
): StateResourceTable[] {
  // A state that names an address twice is broken; the first one stands.
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
