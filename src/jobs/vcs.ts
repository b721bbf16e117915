/** What is done for version control: what arrives is worked off, commits are told of, and webhooks are kept as they are needed. */
import { tellStatuses } from "../resources/vcs/commit-statuses/telling.ts";
import { workingOffJob } from "../resources/vcs/vcs-events/receipt.ts";
import { workOff } from "../resources/vcs/vcs-events/working-off.ts";
import { keepWebhooks, webhookJob } from "../resources/vcs/webhooks/keeping.ts";
import type { Job } from "./job.ts";

/** Woken by whatever arrives; what is due is what is tried again, or what a server left behind that ended in the middle. */
export const vcsEventsJob: Job = {
  name: workingOffJob,
  doc: "decides what pushes, tags and pull requests do: fetches code and starts runs.",
  everyMs: 5_000,
  run: workOff,
};

export const commitStatuses: Job = {
  name: "commit-statuses",
  doc: "tells providers of version control what becomes of commits.",
  everyMs: 5_000,
  run: tellStatuses,
};

export const vcsWebhooks: Job = {
  name: webhookJob,
  doc: "makes and removes webhooks at providers of version control.",
  everyMs: 300_000,
  run: keepWebhooks,
};
