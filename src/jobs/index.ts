/** The explicit list of background jobs. What each does is in its resource; here it gets a name and a rhythm. */
import { lostJobs, vanishedAgents } from "./agents.ts";
import { endedAccess } from "./ended-access.ts";
import { expiredTokens } from "./expired-tokens.ts";
import { counters, figures } from "./figures.ts";
import type { Job } from "./job.ts";
import { endedLeases } from "./leases.ts";
import { auditNotices, notices } from "./notices.ts";
import { assessments, destroyReminders, runTriggering, savedPlans, scheduledDestroys } from "./runs.ts";
import { commitStatuses, vcsEventsJob, vcsWebhooks } from "./vcs.ts";
import { abandonedUploads, retention, stateProcessing, supersededResources } from "./states.ts";

export const jobs: readonly Job[] = [
  stateProcessing,
  retention,
  abandonedUploads,
  supersededResources,
  expiredTokens,
  endedLeases,
  endedAccess,
  runTriggering,
  lostJobs,
  vanishedAgents,
  scheduledDestroys,
  destroyReminders,
  savedPlans,
  assessments,
  vcsEventsJob,
  commitStatuses,
  vcsWebhooks,
  notices,
  auditNotices,
  figures,
  counters,
];
