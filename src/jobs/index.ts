/** Lists every background job; the resources implement them. */
import { backupIfDue, type BackupSchedule } from "../backup/schedule.ts";
import type { Tx } from "../database/database.ts";
import { auditWebhookSender, auditWebhookKind } from "../resources/connections/audit-webhooks/sender.ts";
import { enqueueAuditNotifications } from "../resources/connections/audit-webhooks/enqueue.ts";
import { notificationSender } from "../resources/connections/notification-configurations/sender.ts";
import { notificationKind } from "../resources/connections/notification-configurations/writes.ts";
import { removeExpiredTokens } from "../resources/identity/authentication-tokens/writes.ts";
import { removeOldAuthorizations } from "../resources/identity/authorizations/writes.ts";
import { requestMailKind, requestMailSender } from "../resources/governance/access-requests/notifications.ts";
import { invitationSender, invitationKind } from "../resources/identity/invitations/sender.ts";
import { removeExpiredInvitations } from "../resources/identity/invitations/writes.ts";
import { emptyClosedOrganizations } from "../resources/identity/organizations/emptying.ts";
import { closedOrganizationsJob } from "../resources/identity/organizations/writes.ts";
import { removeEndedTeamMemberships } from "../resources/identity/organization-memberships/writes.ts";
import { recordLapsedRequests } from "../resources/governance/access-requests/maintenance.ts";
import { expireLeases } from "../resources/register/workspaces/maintenance.ts";
import { findViolations } from "../resources/governance/access-violations/scan.ts";
import { accessViolationJob } from "../resources/governance/access-violations/writes.ts";
import { resolveLostJobs } from "../resources/runs/agent-jobs/lost-jobs.ts";
import { removeVanishedAgents } from "../resources/runs/agents/writes.ts";
import { runAssessments } from "../resources/runs/assessment-results/assessment-job.ts";
import { startDueDestroys, sendDestroyReminders } from "../resources/runs/auto-destroy/schedule.ts";
import { failExpiredUploads, deleteExpiredArchives } from "../resources/runs/configuration-versions/cleanup.ts";
import { fireTriggers } from "../resources/runs/run-triggers/firing.ts";
import { runTriggerJob } from "../resources/runs/run-triggers/writes.ts";
import { discardOldSavedPlans } from "../resources/runs/runs/saved-plan-expiry.ts";
import { plainLog } from "../resources/runs/phases/logs.ts";
import { moveEndedLogs } from "../resources/runs/phases/moved-logs.ts";
import { contentCleanupJob, contentsJob } from "../resources/shared/contents/contents.ts";
import { deleteUnattachedObjects } from "../resources/shared/contents/object-cleanup.ts";
import { objectReader } from "../resources/shared/contents/backup-objects.ts";
import { deleteUnattachedChunks } from "../resources/shared/contents/unattached-chunks.ts";
import { collectSiteStatistics } from "../resources/shared/site-statistics.ts";
import { type NotificationSenders, deliverNotifications } from "../resources/shared/outbox/delivery.ts";
import { notificationsJob } from "../resources/shared/outbox/writes.ts";
import { removeExpiredTeamAccess } from "../resources/sharing/team-access/maintenance.ts";
import { processingJob } from "../resources/state/state-versions/arrival/parsing.ts";
import {
  enforceRetention,
  parseLargeStates,
  removeAbandonedUploads,
  removeSupersededResources,
} from "../resources/state/state-versions/maintenance/maintenance.ts";
import { sendStatuses } from "../resources/vcs/commit-statuses/sending.ts";
import { vcsEventJob } from "../resources/vcs/vcs-events/receipt.ts";
import { processEvents } from "../resources/vcs/vcs-events/processing.ts";
import { syncWebhooks, webhookJob } from "../resources/vcs/webhooks/sync.ts";
import type { ContentPlace } from "../resources/shared/contents/content-place.ts";
import { inBatches, type BackgroundJob } from "./job.ts";
import type { JobContext } from "../resources/shared/job-context.ts";

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

export const notificationSenders: NotificationSenders = {
  [notificationKind]: notificationSender,
  [auditWebhookKind]: auditWebhookSender,
  [invitationKind]: invitationSender,
  [requestMailKind]: requestMailSender,
};

/**
 * For a job that other code wakes, the interval only covers retries and stopped servers. Names are stored in the database, so they stay
 * even where the code now uses other words.
 */
export const jobs: readonly BackgroundJob[] = [
  {
    name: processingJob,
    doc: "parses the outputs and resources of large states.",
    everyMs: 10 * secondMs,
    run: parseLargeStates,
  },
  {
    name: "retention",
    doc: "deletes state versions and configuration archives that are older than the data retention policies allow.",
    everyMs: hourMs,
    run: async (work) => (await enforceRetention(work)) + (await deleteExpiredArchives(work)),
  },
  {
    name: contentCleanupJob,
    doc: "discards states and configurations that were never uploaded, and deletes unreferenced contents.",
    everyMs: 5 * minuteMs,
    run: async (work) => {
      const removed = (await failExpiredUploads(work)) + (await removeAbandonedUploads(work));
      // With a place, the job of the contents does that.
      return removed + (work.context.options.contentPlace === undefined ? await deleteUnattachedChunks(work) : 0);
    },
  },
  {
    name: closedOrganizationsJob,
    doc: "deletes everything in organizations that were deleted.",
    everyMs: minuteMs,
    run: emptyClosedOrganizations,
  },
  {
    name: "superseded-resources",
    doc: "deletes the resource lists of states that are no longer current.",
    everyMs: 5 * minuteMs,
    run: removeSupersededResources,
  },
  {
    name: "expired-tokens",
    doc: "deletes expired tokens, sign-in links and codes.",
    everyMs: hourMs,
    run: removeExpired,
  },
  {
    // The workspace already counts as unlocked; the job is for callers that wait for its state or its lock.
    name: "ended-leases",
    doc: "releases locks whose lease has expired, adopts their state, and starts the next run.",
    everyMs: 5 * secondMs,
    run: expireLeases,
  },
  {
    // Expired access no longer grants anything; the job records its end.
    name: "ended-access",
    doc: "deletes expired team access and team memberships.",
    everyMs: minuteMs,
    run: removeEndedAccess,
  },
  {
    // Each organization hourly, and after a change of its access rules.
    name: accessViolationJob,
    doc: "finds existing access that the access rules of an organization would refuse today.",
    everyMs: minuteMs,
    run: findViolations,
  },
  {
    name: runTriggerJob,
    doc: "starts the runs that run triggers cause after an apply.",
    everyMs: 5 * secondMs,
    run: fireTriggers,
  },
  {
    // Nobody can decide them any more; the job records their end.
    name: "lapsed-requests",
    doc: "records which access requests have lapsed.",
    everyMs: minuteMs,
    run: recordLapsedRequests,
  },
  {
    name: "lost-jobs",
    doc: "ends or requeues plans and applies whose agent is lost or that exceed their timeout.",
    everyMs: 5 * secondMs,
    run: resolveLostJobs,
  },
  {
    name: "vanished-agents",
    doc: "deletes agents that were last seen more than a day ago.",
    everyMs: hourMs,
    run: (work) => inBatches(work, 100, (tx, limit) => removeVanishedAgents(tx, work, limit)),
  },
  {
    name: "scheduled-destroys",
    doc: "starts destroy runs of workspaces that are due for auto-destroy.",
    everyMs: 30 * secondMs,
    run: startDueDestroys,
  },
  {
    name: "destroy-reminders",
    doc: "sends reminders of auto-destroy runs within 24 and within 12 hours.",
    everyMs: 5 * minuteMs,
    run: sendDestroyReminders,
  },
  {
    name: "saved-plans",
    doc: "discards saved plans that were not confirmed within 14 days.",
    everyMs: hourMs,
    run: discardOldSavedPlans,
  },
  {
    name: "assessments",
    doc: "starts a health assessment of each workspace about once a day; in the hosted edition.",
    everyMs: minuteMs,
    run: runAssessments,
  },
  {
    name: vcsEventJob,
    doc: "processes pushes, tags and pull requests: fetches code and starts runs.",
    everyMs: 5 * secondMs,
    run: processEvents,
  },
  {
    name: "commit-statuses",
    doc: "reports commit statuses to VCS providers.",
    everyMs: 5 * secondMs,
    run: sendStatuses,
  },
  {
    name: webhookJob,
    doc: "creates and deletes webhooks at VCS providers.",
    everyMs: 5 * minuteMs,
    run: syncWebhooks,
  },
  {
    name: notificationsJob,
    doc: "delivers notifications, audit webhooks and invitation mails.",
    everyMs: 5 * secondMs,
    run: (work) => deliverNotifications(work, notificationSenders),
  },
  {
    // Separate from delivery, which can take long.
    name: "audit-notices",
    doc: "queues deliveries of audit webhooks for new audit events and for locks that are held too long.",
    everyMs: 5 * secondMs,
    run: enqueueAuditNotifications,
  },
  {
    name: "figures",
    doc: "counts the register's totals for the metrics: bytes, expiring tokens, workspaces.",
    everyMs: 10 * minuteMs,
    run: collectSiteStatistics,
  },
  {
    name: "counters",
    doc: "merges the counter differences of tags and run statuses on PostgreSQL.",
    everyMs: minuteMs,
    run: (work) => inBatches(work, 10_000, (tx, size) => tx.dialect.counts.mergeDifferences(tx.db, size)),
  },
  {
    name: "changes",
    doc: "trims the table that records which organizations have changed, for the response cache.",
    everyMs: minuteMs,
    run: (work) => inBatches(work, 50_000, (tx, size) => tx.dialect.trimChanges(tx.db, size)),
  },
];

async function removeExpired(work: JobContext): Promise<number> {
  const { context, capability } = work;
  const removeAll = (batch: (tx: Tx, limit: number) => Promise<number>) => inBatches(work, 500, batch);
  return (
    (await removeAll((tx, limit) => removeExpiredTokens(tx, context, capability, limit))) +
    (await removeAll((tx, limit) => removeExpiredInvitations(tx, capability, limit))) +
    (await removeAll((tx, limit) => removeOldAuthorizations(tx, capability, limit)))
  );
}

async function removeEndedAccess({ context, capability, signal, step }: JobContext): Promise<number> {
  let handled = 0;
  for (const removeBatch of [removeEndedTeamMemberships, ...removeExpiredTeamAccess])
    while (!signal.aborted) {
      const count = await step((tx) => removeBatch(tx, context, capability, 100));
      if (count === 0) break;
      handled += count;
    }
  return handled;
}

/** A short interval, so that a failed backup is retried soon; it writes rarely. */
export const backupJobSummary: Pick<BackgroundJob, "name" | "doc" | "everyMs"> = {
  name: "backup",
  doc: "writes a backup into the configured directory, verifies it, and deletes the oldest.",
  everyMs: minuteMs,
};

export const contentsJobSummary: Pick<BackgroundJob, "name" | "doc" | "everyMs"> = {
  name: contentsJob,
  doc: "moves the logs of ended runs to the object store, and deletes objects that nothing needs any more.",
  everyMs: 10 * secondMs,
};

/** Only where contents are in an object store. */
export const contentJobs = (place: ContentPlace | undefined): BackgroundJob[] =>
  place === undefined
    ? []
    : [
        {
          ...contentsJobSummary,
          run: async (work) => {
            const damaged = new Map<string, unknown>();
            const moved = await moveEndedLogs(
              work,
              (vault, log) => plainLog(work.context.database.reader, vault, log),
              damaged,
            );
            const removed = await removeAbandonedUploads(work);
            const discarded = await deleteUnattachedChunks(work);
            const deleted = await deleteUnattachedObjects(work);
            const [failure] = damaged.values();
            if (failure !== undefined) throw failure;
            return moved + removed + discarded + deleted;
          },
        },
      ];

export interface BackupSettings {
  readonly backupDirectory: string | undefined;
  readonly backupEveryHours: number;
  readonly backupKeep: number;
}

export function backupJobs(settings: BackupSettings, version: string): BackgroundJob[] {
  const { backupDirectory: directory, backupEveryHours: everyHours, backupKeep: keep } = settings;
  return directory === undefined ? [] : [backupJob({ directory, everyHours, keep }, version)];
}

export const backupJob = (schedule: BackupSchedule, version: string): BackgroundJob => ({
  ...backupJobSummary,
  run: ({ context: { database, vault, options }, signal, step }) =>
    backupIfDue({ database, vault, readObject: objectReader(options.contentPlace), signal, step }, schedule, version),
});
