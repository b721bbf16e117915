/** What agent pools do where workspaces and projects go. */
import type { Neighbours } from "../shared/neighbours.ts";
import { forgetScopeTarget } from "./agent-pools/writes.ts";

export const connectionNeighbours: Pick<Neighbours, "placeRemoved"> = { placeRemoved: forgetScopeTarget };
