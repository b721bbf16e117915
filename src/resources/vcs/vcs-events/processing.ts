/** Processes events, one at a time per workspace. After each transaction, any server can continue with the event. */
import { AppError } from "../../../kernel/errors.ts";
import { nowMs } from "../../../kernel/time.ts";
import { loadWorkspace } from "../../register/workspaces/reads.ts";
import { executionModeOf, type WorkspaceView } from "../../register/workspaces/view.ts";
import { ApiFault, openConnection, repositoryOf, gitSandboxOptionsOf } from "../connections.ts";
import { FetchFault } from "../fetching/faults.ts";
import { changedFiles, defaultBranchOf, type CommitRange } from "../fetching/fetch.ts";
import { runInSlots } from "../slots.ts";
import { decide, type TriggerFacts, type TriggerDecision, type TriggerSettings } from "../triggers/decide.ts";
import { type VcsRepositoryEvent, refOf } from "../triggers/repository-event.ts";
import { type VcsEventContext, ignoreEvent, endUndecidedEvent, labelOfEvent } from "./outcomes.ts";
import { fetchConfiguration } from "./starting.ts";
import {
  deleteOldEvents,
  findDueEvents,
  hasManualRun,
  lockUndecided,
  postponeEvent,
  type UndecidedEvent,
} from "./store.ts";
import type { JobContext } from "../../shared/job-context.ts";

const slots = 4;
const perConnectionMax = 2;
const retentionMs = 90 * 24 * 3600 * 1000;
/** Before each retry; the event fails after the last. */
const retryDelaysMs = [2_000, 10_000, 60_000];

export async function processEvents(job: JobContext): Promise<number> {
  const { context, capability, signal, step } = job;
  const handled = await runInSlots<UndecidedEvent>(
    {
      slots,
      next: async (inProgress) => {
        const using = inProgress.map(({ oauthClientId }) => oauthClientId ?? "");
        const isFull = (id: string) => using.filter((each) => each === id).length >= perConnectionMax;
        const busy = {
          workspaceIds: inProgress.map(({ workspaceId }) => workspaceId ?? ""),
          oauthClientIds: [...new Set(using)].filter(isFull),
        };
        const found = await findDueEvents(context.database.reader, busy, slots * 4);
        return found.filter(({ oauthClientId }) => {
          if (isFull(oauthClientId ?? "")) return false;
          using.push(oauthClientId ?? "");
          return true;
        });
      },
      work: (event) => processEvent(job, event),
    },
    signal,
  );
  const before = new Date(nowMs() - retentionMs).toISOString();
  if (!signal.aborted) await step((tx) => deleteOldEvents(tx, capability, before, 1000));
  return handled;
}

async function processEvent(job: JobContext, event: UndecidedEvent): Promise<void> {
  try {
    await processOnce(job, event);
  } catch (error) {
    if (job.signal.aborted) return;
    const waitMs = retryDelaysMs[event.attempts];
    const isFinal = (error instanceof FetchFault || error instanceof ApiFault) && error.isFinal;
    const sentence = sentenceOf(error);
    if (isFinal || waitMs === undefined || error instanceof AppError)
      await endUndecidedEvent(job, event, { outcome: "failed", why: sentence });
    else await postpone(job, event, sentence, waitMs);
    if (!isExpected(error)) throw error;
  }
}

const isExpected = (error: unknown): error is Error =>
  error instanceof FetchFault || error instanceof ApiFault || error instanceof AppError;

const sentenceOf = (error: unknown): string =>
  isExpected(error) ? error.message.replace(/\.$/, "") : "an internal error occurred; see the server's log";

async function postpone(
  { capability, step }: JobContext,
  event: UndecidedEvent,
  why: string,
  waitMs: number,
): Promise<void> {
  const attempts = event.attempts + 1;
  const detail = `${labelOfEvent(event)} will be retried; attempt ${attempts} failed: ${why}`;
  await step(async (tx) => {
    if ((await lockUndecided(tx, event.id)) !== undefined)
      await postponeEvent(tx, capability, event.id, { attempts, detail, waitMs });
  });
}

async function processOnce(job: JobContext, event: UndecidedEvent): Promise<void> {
  const { context } = job;
  const tx = context.database.reader;
  const workspace = await loadWorkspace(tx, context, { workspaceId: event.workspaceId ?? "" });
  const connection = await openConnection(tx, context, workspace.vcsOauthTokenId);
  const isOtherRepository = workspace.vcsIdentifier?.toLowerCase() !== event.repository.toLowerCase();
  const isOtherConnection =
    connection === undefined || (event.oauthClientId !== null && event.oauthClientId !== connection.id);
  if (isOtherRepository || isOtherConnection)
    return ignoreEvent(job, event, "the workspace is no longer connected to this repository by this connection");
  const eventContext: VcsEventContext = { event, workspace, connection };
  if (event.repositoryEventJson === null) return processConnection(job, eventContext);
  const repositoryEvent = JSON.parse(event.repositoryEventJson) as VcsRepositoryEvent;
  const decision = await decideWithFacts(job, eventContext, repositoryEvent);
  if (decision.action === "ignore") return ignoreEvent(job, event, decision.why);
  await fetchConfiguration(job, eventContext, repositoryEvent, decision);
}

/** For a workspace that was just connected. */
async function processConnection(job: JobContext, eventContext: VcsEventContext): Promise<void> {
  const { workspace, event } = eventContext;
  if (executionModeOf(workspace) === "local")
    return ignoreEvent(job, event, "the workspace has the execution mode local, so its configuration is not fetched");
  const why =
    workspace.vcsTagsRegex !== null
      ? "the workspace has a tags-regex, so only tags start runs"
      : "queue-all-runs is false";
  const startsRun = workspace.queueAllRuns === 1 && workspace.vcsTagsRegex === null;
  await fetchConfiguration(
    job,
    eventContext,
    undefined,
    startsRun ? { action: "run" } : { action: "configuration", why },
  );
}

async function decideWithFacts(
  job: JobContext,
  { event, workspace, connection }: VcsEventContext,
  repositoryEvent: VcsRepositoryEvent,
): Promise<Exclude<TriggerDecision, { readonly action: "lookup" }>> {
  const { context, signal } = job;
  const settings = triggerSettingsOf(workspace);
  let facts: TriggerFacts = {
    hasManualRun:
      workspace.queueAllRuns === 1 ||
      (await hasManualRun(context.database.reader, workspace.id, workspace.organizationId)),
    plansForkPullRequests: context.options.plansForks ?? false,
  };
  for (;;) {
    const decision = decide(repositoryEvent, settings, facts);
    if (decision.action !== "lookup") return decision;
    const repository = await repositoryOf(context, connection, event.repository);
    const gitSandbox = gitSandboxOptionsOf(context, signal);
    if (decision.fact === "default-branch")
      facts = { ...facts, defaultBranch: await defaultBranchOf(gitSandbox, repository) };
    else
      facts = { ...facts, files: await filesOf(() => changedFiles(gitSandbox, repository, rangeOf(repositoryEvent))) };
  }
}

/** Null counts as a match: an unnecessary run does less harm than a missing one. */
async function filesOf(findFiles: () => Promise<readonly string[]>): Promise<readonly string[] | null> {
  try {
    return await findFiles();
  } catch (error) {
    if (error instanceof FetchFault) return null;
    throw error;
  }
}

/** A new branch is compared with the default branch, and a pull request with its merge base. */
function rangeOf(repositoryEvent: VcsRepositoryEvent): CommitRange {
  const after = { sha: repositoryEvent.sha, ref: refOf(repositoryEvent) };
  if (repositoryEvent.kind === "pull-request") {
    const target = { sha: repositoryEvent.targetSha ?? undefined, ref: `refs/heads/${repositoryEvent.target}` };
    return { head: after, target };
  }
  const before = repositoryEvent.kind === "push" ? (repositoryEvent.before ?? repositoryEvent.defaultBranch) : null;
  if (before === null || (repositoryEvent.kind === "push" && before === repositoryEvent.branch))
    throw new FetchFault("nothing_to_compare", "there is no commit to compare with");
  return { before, after };
}

function triggerSettingsOf(workspace: WorkspaceView): TriggerSettings {
  const list = (json: string) => JSON.parse(json) as string[];
  return {
    executionMode: executionModeOf(workspace),
    branch: workspace.vcsBranch,
    tagsRegex: workspace.vcsTagsRegex,
    fileTriggersEnabled: workspace.fileTriggersEnabled === 1,
    triggerPrefixes: list(workspace.triggerPrefixes),
    triggerPatterns: list(workspace.triggerPatterns),
    workingDirectory: workspace.workingDirectory,
    speculativeEnabled: workspace.speculativeEnabled === 1,
    queueAllRuns: workspace.queueAllRuns === 1,
  };
}
