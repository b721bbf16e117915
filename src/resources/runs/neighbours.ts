/** What runs and their configurations do where workspaces are unlocked, deleted and shown. */
import type { Neighbours } from "../shared/neighbours.ts";
import { currentConfigurations } from "./configuration-versions/reads.ts";
import { livingRuns, runsBeside } from "./runs/reads.ts";
import { cutOff, released } from "./runs/lifecycle.ts";
import { readmesOf } from "./workspace-readmes.ts";

type Ours = "workspaceReleased" | "livingRuns" | "workspaceLeaves" | "runsOf" | "configurationsOf" | "readmesOf";

export const runNeighbours: Pick<Neighbours, Ours> = {
  workspaceReleased: released,
  livingRuns,
  workspaceLeaves: cutOff,
  runsOf: runsBeside,
  configurationsOf: currentConfigurations,
  readmesOf,
};
