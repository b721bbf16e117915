/** What runs do where workspaces are unlocked, deleted and shown. */
import type { Neighbours } from "../shared/neighbours.ts";
import { livingRuns, runsBeside } from "./runs/reads.ts";
import { cutOff, released } from "./runs/writes.ts";

export const runNeighbours: Pick<Neighbours, "workspaceReleased" | "livingRuns" | "workspaceLeaves" | "runsOf"> = {
  workspaceReleased: (tx, context, workspace, state) => {
    const { id: workspaceId, organizationId, currentRunStatus } = workspace;
    return released(tx, context, { workspaceId, organizationId, currentRunStatus }, state, workspace);
  },
  livingRuns: async (tx, workspace) => (await livingRuns(tx, workspace)).map(({ id }) => id),
  workspaceLeaves: cutOff,
  runsOf: runsBeside,
};
