/**
 * The job that decides what events do: one at a time for each workspace, a few workspaces at once. Git runs between transactions, and
 * each transaction leaves the event in a state from which any server can continue.
 */
import { AppError } from "../../../kernel/errors.ts";
import { nowMs } from "../../../kernel/time.ts";
import { loadWorkspace } from "../../register/workspaces/reads.ts";
import { executionModeOf, type WorkspaceView } from "../../register/workspaces/view.ts";
import { ApiFault, openConnection, repositoryOf, workshopOf } from "../connections.ts";
import { FetchFault } from "../fetching/faults.ts";
import { changedFiles, defaultBranchOf, type Range } from "../fetching/fetch.ts";
import { inSlots } from "../slots.ts";
import { decide, type Known, type Verdict, type Watch } from "../triggers/decide.ts";
import { type Happening, refOf } from "../triggers/happening.ts";
import { type Doing, ignored, settle, subjectOf } from "./outcomes.ts";
import { takeConfiguration } from "./starting.ts";
import { deleteOlder, findDue, hasManualRun, lockUndecided, postponeEvent, type WaitingEvent } from "./store.ts";
import type { JobWork } from "../../shared/job-work.ts";

const slots = 4;
const perConnectionMax = 2;
const keptMs = 90 * 24 * 3600 * 1000;
/** Between attempts; after the last there is none. */
const waitsMs = [2_000, 10_000, 60_000];

export async function workOff(work: JobWork): Promise<number> {
  const { context, capability, signal, step } = work;
  const handled = await inSlots<WaitingEvent>(
    {
      slots,
      next: async (underway) => {
        const using = underway.map(({ oauthClientId }) => oauthClientId ?? "");
        const isFull = (id: string) => using.filter((each) => each === id).length >= perConnectionMax;
        const busy = {
          workspaceIds: underway.map(({ workspaceId }) => workspaceId ?? ""),
          oauthClientIds: [...new Set(using)].filter(isFull),
        };
        const found = await findDue(context.database.reader, busy, slots * 4);
        return found.filter(({ oauthClientId }) => {
          if (isFull(oauthClientId ?? "")) return false;
          using.push(oauthClientId ?? "");
          return true;
        });
      },
      work: (event) => workOn(work, event),
    },
    signal,
  );
  const before = new Date(nowMs() - keptMs).toISOString();
  if (!signal.aborted) await step((tx) => deleteOlder(tx, capability, before, 1000));
  return handled;
}

/** An event that fails is tried again later unless no attempt can succeed; later events do not wait for it. */
async function workOn(work: JobWork, event: WaitingEvent): Promise<void> {
  try {
    await workOnce(work, event);
  } catch (error) {
    if (work.signal.aborted) return;
    const waitMs = waitsMs[event.attempts];
    const isFinal = (error instanceof FetchFault || error instanceof ApiFault) && error.isFinal;
    const sentence = sentenceOf(error);
    if (isFinal || waitMs === undefined || error instanceof AppError)
      await settle(work, event, { outcome: "failed", why: sentence });
    else await postpone(work, event, sentence, waitMs);
    if (!isTold(error)) throw error;
  }
}

const isTold = (error: unknown): error is Error =>
  error instanceof FetchFault || error instanceof ApiFault || error instanceof AppError;

/** What is not ours to tell stays in the log. */
const sentenceOf = (error: unknown): string =>
  isTold(error) ? error.message.replace(/\.$/, "") : "something went wrong inside the service; its log tells more";

async function postpone(
  { capability, step }: JobWork,
  event: WaitingEvent,
  why: string,
  waitMs: number,
): Promise<void> {
  const attempts = event.attempts + 1;
  const detail = `${subjectOf(event)} is tried again, attempt ${attempts} failed: ${why}`;
  await step(async (tx) => {
    if ((await lockUndecided(tx, event.id)) !== undefined)
      await postponeEvent(tx, capability, event.id, { attempts, detail, waitMs });
  });
}

async function workOnce(work: JobWork, event: WaitingEvent): Promise<void> {
  const { context } = work;
  const tx = context.database.reader;
  const workspace = await loadWorkspace(tx, context, { workspaceId: event.workspaceId ?? "" });
  const connection = await openConnection(tx, context, workspace.vcsOauthTokenId);
  const isOther = workspace.vcsIdentifier?.toLowerCase() !== event.repository.toLowerCase();
  const isGone = connection === undefined || (event.oauthClientId !== null && event.oauthClientId !== connection.id);
  if (isOther || isGone)
    return ignored(work, event, "the workspace is not connected to this repository by this connection any more");
  const doing: Doing = { event, workspace, connection };
  if (event.happening === null) return connected(work, doing);
  const happening = JSON.parse(event.happening) as Happening;
  const verdict = await decided(work, doing, happening);
  if (verdict.action === "nothing") return ignored(work, event, verdict.why);
  if (verdict.action !== "ask") await takeConfiguration(work, doing, happening, verdict);
}

/** A workspace that was just connected begins with the tip of its branch; with a run, where all are to be queued. */
async function connected(work: JobWork, doing: Doing): Promise<void> {
  const { workspace, event } = doing;
  if (executionModeOf(workspace) === "local")
    return ignored(work, event, "the workspace has the execution mode local, so its configuration is not fetched");
  const why =
    workspace.vcsTagsRegex !== null
      ? "the workspace has a tags-regex, so only tags start runs"
      : "queue-all-runs is false";
  const runs = workspace.queueAllRuns === 1 && workspace.vcsTagsRegex === null;
  await takeConfiguration(work, doing, undefined, runs ? { action: "run" } : { action: "configuration", why });
}

/** Asks for what is missing, one after the other, until nothing is. */
async function decided(work: JobWork, { event, workspace, connection }: Doing, happening: Happening): Promise<Verdict> {
  const { context, signal } = work;
  const watch = watchOf(workspace);
  let known: Known = {
    hasManualRun:
      workspace.queueAllRuns === 1 ||
      (await hasManualRun(context.database.reader, workspace.id, workspace.organizationId)),
    plansForks: context.options.plansForks ?? false,
  };
  for (;;) {
    const verdict = decide(happening, watch, known);
    if (verdict.action !== "ask") return verdict;
    const repository = await repositoryOf(context, connection, event.repository);
    const gitSandbox = workshopOf(context, signal);
    if (verdict.what === "default-branch")
      known = { ...known, defaultBranch: await defaultBranchOf(gitSandbox, repository) };
    else known = { ...known, files: await filesOf(() => changedFiles(gitSandbox, repository, rangeOf(happening))) };
  }
}

/** What can't be found out counts as a match: a run too many does less harm than one too few. */
async function filesOf(look: () => Promise<readonly string[]>): Promise<readonly string[] | null> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof FetchFault) return null;
    throw error;
  }
}

/** A new branch is compared with the default one, a request with where it parted from the branch that it is to go to. */
function rangeOf(happening: Happening): Range {
  const after = { sha: happening.sha, ref: refOf(happening) };
  if (happening.kind === "pull-request") {
    const target = { sha: happening.targetSha ?? undefined, ref: `refs/heads/${happening.target}` };
    return { head: after, target };
  }
  const before = happening.kind === "push" ? (happening.before ?? happening.defaultBranch) : null;
  if (before === null || (happening.kind === "push" && before === happening.branch))
    throw new FetchFault("nothing_to_compare", "there is nothing to compare with");
  return { before, after };
}

function watchOf(workspace: WorkspaceView): Watch {
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
