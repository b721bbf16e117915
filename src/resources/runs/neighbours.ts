/** What runs and their configurations do where workspaces are unlocked, deleted and shown. */
import type { Neighbours } from "../shared/neighbours.ts";
import { currentConfigurations } from "./configuration-versions/reads.ts";
import { livingRuns, runsBeside } from "./runs/reads.ts";
import { cutOff, released } from "./runs/writes.ts";
import { readmesOf } from "./workspace-readmes/reads.ts";

type Ours = "workspaceReleased" | "livingRuns" | "workspaceLeaves" | "runsOf" | "configurationsOf" | "readmesOf";

export const runNeighbours: Pick<Neighbours, Ours> = {
  workspaceReleased: (tx, context, workspace, state) => {
    const { id: workspaceId, organizationId, currentRunStatus } = workspace;
    return released(tx, context, { workspaceId, organizationId, currentRunStatus }, state, workspace);
  },
  livingRuns: async (tx, workspace) => (await livingRuns(tx, workspace)).map(({ id }) => id),
  workspaceLeaves: cutOff,
  runsOf: runsBeside,
  configurationsOf: currentConfigurations,
  readmesOf,
};
