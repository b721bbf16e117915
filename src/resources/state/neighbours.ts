/** What state does where workspaces are unlocked, deleted and shown. */
import type { Neighbours } from "../shared/neighbours.ts";
import { outputsOfVersions } from "./state-version-outputs/reads.ts";
import { stateVersions } from "./state-versions/definition.ts";
import { isStateProcessing, readableStateVersions } from "./state-versions/reads.ts";
import { discardPending, settleState } from "./state-versions/writes.ts";
import { workspaceOutputs } from "./state-version-outputs/definition.ts";

export const stateNeighbours: Pick<
  Neighbours,
  "isStateProcessing" | "settleState" | "discardPendingStates" | "outputsOf" | "statesOf"
> = {
  isStateProcessing,
  settleState,
  discardPendingStates: discardPending,
  statesOf: async (tx, context, ids) => {
    const found = await readableStateVersions(tx, context, ids);
    return found.map((view) => ({ definition: stateVersions, view }));
  },
  outputsOf: async (tx, context, organizationId, stateVersionIds) => {
    const found = await outputsOfVersions(tx, context, { organizationId }, stateVersionIds);
    return found.map((view) => ({ definition: workspaceOutputs, view }));
  },
};
