/** Every background job, with its name and its interval. What each does is in its resource. */
import { backupIfDue, type Schedule } from "../backup/schedule.ts";
import type { Tx } from "../database/database.ts";
import { auditCourier, auditKind } from "../resources/connections/audit-webhooks/courier.ts";
import { postAuditNotices } from "../resources/connections/audit-webhooks/fan-out.ts";
import { notificationCourier } from "../resources/connections/notification-configurations/courier.ts";
import { notificationKind } from "../resources/connections/notification-configurations/writes.ts";
import { removeExpiredTokens } from "../resources/identity/authentication-tokens/writes.ts";
import { removeOldAuthorizations } from "../resources/identity/authorizations/writes.ts";
import { invitationCourier, invitationKind } from "../resources/identity/invitations/courier.ts";
import { removeEndedInvitations } from "../resources/identity/invitations/writes.ts";
import { tidyMemberships } from "../resources/identity/organization-memberships/writes.ts";
import { endLeases } from "../resources/register/workspaces/upkeep.ts";
import { decideLostJobs } from "../resources/runs/agent-jobs/lost.ts";
import { forgetVanished } from "../resources/runs/agents/writes.ts";
import { assess } from "../resources/runs/assessment-results/assessing.ts";
import { destroyDue, remindOfDestroys } from "../resources/runs/auto-destroy/schedule.ts";
import { giveUpUnsent, removeOutlivedConfigurations } from "../resources/runs/configuration-versions/upkeep.ts";
import { fireTriggers } from "../resources/runs/run-triggers/firing.ts";
import { triggeringJob } from "../resources/runs/run-triggers/writes.ts";
import { discardOldSavedPlans } from "../resources/runs/runs/upkeep.ts";
import { cleaningJob } from "../resources/shared/contents/contents.ts";
import { takeFigures } from "../resources/shared/figures.ts";
import { type Couriers, deliverNotices } from "../resources/shared/outbox/delivery.ts";
import { noticesJob } from "../resources/shared/outbox/writes.ts";
import { tidyTeamAccess } from "../resources/sharing/team-access/upkeep.ts";
import { processingJob } from "../resources/state/state-versions/arrival/reading.ts";
import {
  enforceRetention,
  readLargeStates,
  removeAbandonedUploads,
  removeSupersededResources,
} from "../resources/state/state-versions/upkeep/upkeep.ts";
import { tellStatuses } from "../resources/vcs/commit-statuses/telling.ts";
import { workingOffJob } from "../resources/vcs/vcs-events/receipt.ts";
import { workOff } from "../resources/vcs/vcs-events/working-off.ts";
import { keepWebhooks, webhookJob } from "../resources/vcs/webhooks/keeping.ts";
import { inBatches, type Job } from "./job.ts";
import type { JobWork } from "../resources/shared/job-work.ts";

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** How each kind of notice is delivered. */
export const couriers: Couriers = {
  [notificationKind]: notificationCourier,
  [auditKind]: auditCourier,
  [invitationKind]: invitationCourier,
};

/** Where a job is woken by what it works on, its interval is only for what is tried again, or for what a stopped server left behind. */
export const jobs: readonly Job[] = [
  {
    name: processingJob,
    doc: "reads the outputs and resources of large states.",
    everyMs: 10 * secondMs,
    run: readLargeStates,
  },
  {
    name: "retention",
    doc: "removes state versions, and archives of configurations, that are older than the data retention policies allow.",
    everyMs: hourMs,
    run: async (work) => (await enforceRetention(work)) + (await removeOutlivedConfigurations(work)),
  },
  {
    name: cleaningJob,
    doc: "gives up states and configurations that were announced and never sent, and removes contents that nothing leads to.",
    everyMs: 5 * minuteMs,
    run: async (work) => (await giveUpUnsent(work)) + (await removeAbandonedUploads(work)),
  },
  {
    name: "superseded-resources",
    doc: "removes the list of resources of states that are no longer in force.",
    everyMs: 5 * minuteMs,
    run: removeSupersededResources,
  },
  {
    name: "expired-tokens",
    doc: "removes tokens that have expired, and links and codes of signing in that have ended.",
    everyMs: hourMs,
    run: removeExpired,
  },
  {
    // Such a workspace counts as unlocked already; this is for those who wait for its state or its lock.
    name: "ended-leases",
    doc: "ends locks whose lease is over: takes their state over, and gives the next run its turn.",
    everyMs: 5 * secondMs,
    run: endLeases,
  },
  {
    // Ended access grants nothing any more; this records its end and makes room.
    name: "ended-access",
    doc: "removes team access and places in teams that have ended.",
    everyMs: minuteMs,
    run: removeEndedAccess,
  },
  {
    name: triggeringJob,
    doc: "starts runs in the workspaces that follow one that was applied.",
    everyMs: 5 * secondMs,
    run: fireTriggers,
  },
  {
    name: "lost-jobs",
    doc: "decides plans and applies whose agent was not heard of, or that take too long.",
    everyMs: 5 * secondMs,
    run: decideLostJobs,
  },
  {
    name: "vanished-agents",
    doc: "forgets agents that were not heard of for a day.",
    everyMs: hourMs,
    run: (work) => inBatches(work, 100, (tx, limit) => forgetVanished(tx, work, limit)),
  },
  {
    name: "scheduled-destroys",
    doc: "starts the destruction of workspaces whose time has come.",
    everyMs: 30 * secondMs,
    run: destroyDue,
  },
  {
    name: "destroy-reminders",
    doc: "reminds those who want it of workspaces that are destroyed within 24 and within 12 hours.",
    everyMs: 5 * minuteMs,
    run: remindOfDestroys,
  },
  {
    name: "saved-plans",
    doc: "discards plans that were saved 14 days ago and never confirmed.",
    everyMs: hourMs,
    run: discardOldSavedPlans,
  },
  {
    name: "assessments",
    doc: "compares workspaces with what is really there, about once a day; in the hosted edition.",
    everyMs: minuteMs,
    run: assess,
  },
  {
    name: workingOffJob,
    doc: "decides what pushes, tags and pull requests do: fetches code and starts runs.",
    everyMs: 5 * secondMs,
    run: workOff,
  },
  {
    name: "commit-statuses",
    doc: "tells providers of version control what becomes of commits.",
    everyMs: 5 * secondMs,
    run: tellStatuses,
  },
  {
    name: webhookJob,
    doc: "makes and removes webhooks at providers of version control.",
    everyMs: 5 * minuteMs,
    run: keepWebhooks,
  },
  {
    name: noticesJob,
    doc: "tells those who have subscribed of what happened.",
    everyMs: 5 * secondMs,
    run: (work) => deliverNotices(work, couriers),
  },
  {
    // Apart from delivery, which may take long.
    name: "audit-notices",
    doc: "finds out which webhooks want which events of the audit trail, and which locks are held for too long.",
    everyMs: 5 * secondMs,
    run: postAuditNotices,
  },
  {
    name: "figures",
    doc: "counts what the metrics tell of the whole register: bytes, tokens that end soon, workspaces.",
    everyMs: 10 * minuteMs,
    run: takeFigures,
  },
  {
    name: "counters",
    doc: "adds up the differences by which PostgreSQL notes how many workspaces have a key-value tag or a status.",
    everyMs: minuteMs,
    run: (work) => inBatches(work, 10_000, (tx, size) => tx.dialect.counts.addUp(tx.db, size)),
  },
];

async function removeExpired(work: JobWork): Promise<number> {
  const { context, capability } = work;
  const each = (batch: (tx: Tx, limit: number) => Promise<number>) => inBatches(work, 500, batch);
  return (
    (await each((tx, limit) => removeExpiredTokens(tx, context, capability, limit))) +
    (await each((tx, limit) => removeEndedInvitations(tx, capability, limit))) +
    (await each((tx, limit) => removeOldAuthorizations(tx, capability, limit)))
  );
}

async function removeEndedAccess({ context, capability, signal, step }: JobWork): Promise<number> {
  let handled = 0;
  // Each step is about one organization.
  for (const tidy of [tidyMemberships, ...tidyTeamAccess])
    while (!signal.aborted) {
      const count = await step((tx) => tidy(tx, context, capability, 100));
      if (count === 0) break;
      handled += count;
    }
  return handled;
}

/** Backups on a schedule. It looks often and makes one rarely, so that one that failed is tried again soon. */
export const backupFacts: Pick<Job, "name" | "doc" | "everyMs"> = {
  name: "backup",
  doc: "writes a backup into the folder that is set for them, reads it back, and removes the oldest.",
  everyMs: minuteMs,
};

export interface BackupSettings {
  readonly backupDirectory: string | undefined;
  readonly backupEveryHours: number;
  readonly backupKeep: number;
}

/** None where no folder is set. */
export function backupJobs(settings: BackupSettings, version: string): Job[] {
  const { backupDirectory: directory, backupEveryHours: everyHours, backupKeep: keep } = settings;
  return directory === undefined ? [] : [backupJob({ directory, everyHours, keep }, version)];
}

export const backupJob = (schedule: Schedule, version: string): Job => ({
  ...backupFacts,
  run: ({ context: { database, vault }, signal, step }) =>
    backupIfDue({ database, vault, signal, step }, schedule, version),
});
