/** What is done for states and configurations without anybody asking: reading large states, and removing what has had its time. */
import { giveUpUnsent, removeOutlivedConfigurations } from "../resources/runs/configuration-versions/upkeep.ts";
import { cleaningJob } from "../resources/shared/contents/contents.ts";
import { processingJob } from "../resources/state/state-versions/arrival/reading.ts";
import {
  enforceRetention,
  readLargeStates,
  removeAbandonedUploads,
  removeSupersededResources,
} from "../resources/state/state-versions/upkeep/upkeep.ts";
import type { Job } from "./job.ts";

const minuteMs = 60_000;

/** Woken by whoever brings a large state; what is due is only what a server left behind that ended in the middle. */
export const stateProcessing: Job = {
  name: processingJob,
  doc: "reads the outputs and resources of large states.",
  everyMs: minuteMs / 6,
  run: readLargeStates,
};

export const retention: Job = {
  name: "retention",
  doc: "removes state versions, and archives of configurations, that are older than the data retention policies allow.",
  everyMs: 60 * minuteMs,
  run: async (work) => (await enforceRetention(work)) + (await removeOutlivedConfigurations(work)),
};

export const abandonedUploads: Job = {
  name: cleaningJob,
  doc: "gives up states and configurations that were announced and never sent, and removes contents that nothing leads to.",
  everyMs: 5 * minuteMs,
  run: async (work) => (await giveUpUnsent(work)) + (await removeAbandonedUploads(work)),
};

export const supersededResources: Job = {
  name: "superseded-resources",
  doc: "removes the list of resources of states that are no longer in force.",
  everyMs: 5 * minuteMs,
  run: removeSupersededResources,
};
