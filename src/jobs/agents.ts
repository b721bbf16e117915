/** What is done for runs whose agents vanish: their jobs are decided, and they themselves forgotten. */
import { decideLostJobs } from "../resources/runs/agent-jobs/lost.ts";
import { forgetVanished } from "../resources/runs/agents/writes.ts";
import { inBatches, type Job } from "./job.ts";

const secondMs = 1000;

export const lostJobs: Job = {
  name: "lost-jobs",
  doc: "decides plans and applies whose agent was not heard of, or that take too long.",
  everyMs: 5 * secondMs,
  run: decideLostJobs,
};

export const vanishedAgents: Job = {
  name: "vanished-agents",
  doc: "forgets agents that were not heard of for a day.",
  everyMs: 3600 * secondMs,
  run: (work) => inBatches(work, 100, (tx, limit) => forgetVanished(tx, work, limit)),
};
