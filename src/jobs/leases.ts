/** What is done for locks that end by themselves. */
import { endLeases } from "../resources/register/workspaces/upkeep.ts";
import type { Job } from "./job.ts";

/** Everybody sees such a workspace as unlocked already; those who wait for its state or its lock need not come by for that. */
export const endedLeases: Job = {
  name: "ended-leases",
  doc: "ends locks whose lease is over: takes their state over, and gives the next run its turn.",
  everyMs: 5_000,
  run: endLeases,
};
