/** What is done for runs without anybody asking. */
import { assess } from "../resources/runs/assessment-results/assessing.ts";
import { destroyDue, remindOfDestroys } from "../resources/runs/auto-destroy/schedule.ts";
import { fireTriggers } from "../resources/runs/run-triggers/firing.ts";
import { triggeringJob } from "../resources/runs/run-triggers/writes.ts";
import { discardOldSavedPlans } from "../resources/runs/runs/upkeep.ts";
import type { Job } from "./job.ts";

/** Woken by whoever ends an apply; what is due is only what a server left behind that ended in the middle. */
export const runTriggering: Job = {
  name: triggeringJob,
  doc: "starts runs in the workspaces that follow one that was applied.",
  everyMs: 5_000,
  run: fireTriggers,
};

export const scheduledDestroys: Job = {
  name: "scheduled-destroys",
  doc: "starts the destruction of workspaces whose time has come.",
  everyMs: 30_000,
  run: destroyDue,
};

export const destroyReminders: Job = {
  name: "destroy-reminders",
  doc: "reminds those who want it of workspaces that are destroyed within 24 and within 12 hours.",
  everyMs: 300_000,
  run: remindOfDestroys,
};

/** Nobody waits for it: it makes room. */
export const savedPlans: Job = {
  name: "saved-plans",
  doc: "discards plans that were saved 14 days ago and never confirmed.",
  everyMs: 3_600_000,
  run: discardOldSavedPlans,
};

export const assessments: Job = {
  name: "assessments",
  doc: "compares workspaces with what is really there, about once a day; in the hosted edition.",
  everyMs: 60_000,
  run: assess,
};
