/** From an event to a run: the commit is fetched, becomes a configuration, and with it a run begins or a plan. */
import type { Capability } from "../../../access/capability.ts";
import type { Tx } from "../../../database/database.ts";
import { AppError } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import { loadOrganization } from "../../identity/organizations/reads.ts";
import { loadWorkspace } from "../../register/workspaces/reads.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import { loadConfigurationVersion } from "../../runs/configuration-versions/reads.ts";
import type { Commit } from "../../runs/configuration-versions/rules.ts";
import { announceCommit, receiveCommit } from "../../runs/configuration-versions/upload.ts";
import { lockRun } from "../../runs/runs/reads.ts";
import { advance, createRun } from "../../runs/runs/lifecycle.ts";
import type { Context } from "../../shared/context.ts";
import { followRun } from "../commit-statuses/writes.ts";
import { repositoryOf, workshopOf } from "../connections.ts";
import { fetchCommit, type FetchedCommit } from "../fetching/fetch.ts";
import type { Verdict } from "../triggers/decide.ts";
import { type Happening, nobody, refOf } from "../triggers/happening.ts";
import { count, type Doing, end, type Ending, subjectOf } from "./outcomes.ts";
import { earlierRun, findEarlier, lockUndecided, outdatedRuns, updateEvent, type WaitingEvent } from "./store.ts";
import type { JobWork } from "../../shared/job-work.ts";

type Taking = Extract<Verdict, { action: "run" | "plan" | "configuration" }>;

/** Raises FetchFault, ApiFault, or what a configuration that is not taken is refused with. */
export async function takeConfiguration(
  work: JobWork,
  doing: Doing,
  happening: Happening | undefined,
  verdict: Taking,
): Promise<void> {
  const { context, signal } = work;
  const { event, workspace, connection } = doing;
  const isThere = await isUploaded(context, event.configurationVersionId);
  if (!isThere) {
    const repository = await repositoryOf(context, connection, event.repository);
    const wanted = { ...wantedOf(happening, workspace), withSubmodules: workspace.vcsIngressSubmodules === 1 };
    const taken = await fetchCommit(workshopOf(context, signal), repository, wanted, async (commit) => {
      const id = await work.step((tx) => announce(tx, work, doing, commitOf(doing, happening, commit), verdict));
      if (id !== undefined) await receiveCommit(work, id, commit.archive);
      return id !== undefined;
    });
    if (!taken) return;
  }
  await work.step((tx) => conclude(tx, work, doing, verdict));
}

async function isUploaded(context: Context, id: string | null): Promise<boolean> {
  return id !== null && (await loadConfigurationVersion(context.database.reader, context, id)).status === "uploaded";
}

/** The branch that a workspace follows, for one that was just connected. */
function wantedOf(happening: Happening | undefined, { vcsBranch }: WorkspaceView) {
  if (happening === undefined)
    return { sha: undefined, ref: vcsBranch === null ? undefined : `refs/heads/${vcsBranch}` };
  return { sha: happening.sha, ref: refOf(happening) };
}

/** Gives the id of the configuration that is to be filled; undefined where there is nothing to be done any more. */
async function announce(
  tx: Tx,
  { context, capability }: JobWork,
  { event }: Doing,
  commit: Commit,
  verdict: Taking,
): Promise<string | undefined> {
  const workspace = await loadWorkspace(tx, context, { workspaceId: event.workspaceId ?? "" }, true);
  const current = await lockUndecided(tx, event.id);
  if (current === undefined) return undefined;
  if (current.configurationVersionId !== null) return current.configurationVersionId;
  const commitSha = commit.ingress.commitSha;
  const earlier = await earlierRun(tx, { ...current, commitSha });
  if (earlier !== undefined) {
    await end(tx, capability, event, { outcome: "ignored", why: `this commit had its run before, ${earlier}` });
    count(event, "ignored");
    return undefined;
  }
  const attributes = { autoQueueRuns: false, speculative: verdict.action === "plan" };
  const { id } = await announceCommit(tx, { context, capability }, workspace, commit, attributes);
  await updateEvent(tx, capability, event.id, {
    configurationVersionId: id,
    commitSha,
    detail: `${subjectOf(event)} is being fetched`,
  });
  return id;
}

/** The run, where there is to be one, and the outcome with it. */
async function conclude(
  tx: Tx,
  { context, capability }: JobWork,
  { event, connection }: Doing,
  verdict: Taking,
): Promise<void> {
  const workspace = await loadWorkspace(tx, context, { workspaceId: event.workspaceId ?? "" }, true);
  const current = await lockUndecided(tx, event.id);
  if (current === undefined || current.configurationVersionId === null) return;
  if (verdict.action === "configuration") {
    const why = `${verdict.why}. Its configuration was fetched, and is there for a run that somebody starts`;
    await supersedeEarlier(tx, capability, event);
    return ends(tx, capability, event, { outcome: "ignored", why });
  }
  const canceled = verdict.action === "plan" ? await cancelOutdated(tx, context, capability, event, workspace) : 0;
  try {
    const run = await createRun(tx, context, capability.grant(workspace), await askedRun(tx, context, current));
    const place = {
      repository: event.repository,
      sha: current.commitSha ?? "",
      oauthTokenId: workspace.vcsOauthTokenId,
    };
    await followRun(tx, capability, run, place);
    await supersedeEarlier(tx, capability, event);
    const what = verdict.action === "plan" ? "a speculative plan" : "a run";
    const beside =
      canceled === 0 ? "" : `, and ${canceled} of an earlier commit ${canceled === 1 ? "was" : "were"} canceled`;
    await updateEvent(tx, capability, event.id, {
      outcome: "started",
      detail: `${subjectOf(event)} started ${what}, ${run.id}${beside}`,
      runId: run.id,
      dueMs: null,
      decidedAt: now(),
    });
    count({ provider: connection.serviceProvider }, "started");
  } catch (error) {
    // What can't be run is refused before anything is written.
    if (!(error instanceof AppError) || error.code !== "invalid") throw error;
    await ends(tx, capability, event, { outcome: "failed", why: error.message });
  }
}

/** A run of an older commit must not follow that of a newer one, so events that wait for another attempt end here. */
async function supersedeEarlier(tx: Tx, by: Capability<"job">, event: WaitingEvent): Promise<void> {
  for (const earlier of await findEarlier(tx, event))
    await ends(tx, by, earlier, { outcome: "ignored", why: `${subjectOf(event)} superseded it` });
}

async function ends(tx: Tx, by: Capability<"job">, event: WaitingEvent, ending: Ending): Promise<void> {
  await end(tx, by, event, ending);
  count(event, ending.outcome);
}

async function askedRun(tx: Tx, context: Context, event: { readonly configurationVersionId: string | null }) {
  const id = event.configurationVersionId ?? "";
  const { ingress } = await loadConfigurationVersion(tx, context, id);
  const { commitMessage, pullRequestTitle } = JSON.parse(ingress ?? "{}") as Partial<Commit["ingress"]>;
  const message =
    (pullRequestTitle ?? commitMessage ?? "").split("\n")[0]?.slice(0, 500) || "Queued by version control";
  return {
    configurationVersionId: id,
    message,
    source: "tfe-configuration-version",
    triggerReason: "vcs",
    byNobody: true,
  } as const;
}

/** A newer commit of a pull request makes plans of earlier ones idle, where the organization wants it so. */
async function cancelOutdated(
  tx: Tx,
  context: Context,
  by: Capability<"job">,
  { id, pullRequest }: WaitingEvent,
  workspace: WorkspaceView,
): Promise<number> {
  if (pullRequest === null) return 0;
  const organization = await loadOrganization(tx, context, workspace.organizationName);
  if (organization.speculativePlanManagementEnabled === 0) return 0;
  let count = 0;
  for (const runId of await outdatedRuns(tx, workspace.id, pullRequest)) {
    const run = by.grant(await lockRun(tx, runId));
    if (run.canceledAt !== null) continue;
    await advance(tx, context, run, { event: "cancel", description: `The pull request has a newer commit (${id}).` });
    count += 1;
  }
  return count;
}

function commitOf(
  { event, workspace, connection }: Doing,
  happening: Happening | undefined,
  fetched: FetchedCommit,
): Commit {
  const { provider } = connection;
  const request = happening?.kind === "pull-request" ? happening : undefined;
  const sender = happening?.sender ?? nobody;
  const branch = happening?.kind === "push" ? happening.branch : (request?.source ?? workspace.vcsBranch ?? "");
  return {
    source: provider.source,
    ingress: {
      branch,
      cloneUrl: provider.cloneUrl(connection, event.repository),
      commitMessage: fetched.message,
      commitSha: fetched.sha,
      commitUrl:
        happening?.commitUrl ?? `${connection.httpUrl.replace(/\/+$/, "")}/${event.repository}/commit/${fetched.sha}`,
      compareUrl: happening?.compareUrl ?? null,
      identifier: event.repository,
      isPullRequest: request !== undefined,
      onDefaultBranch: request === undefined && (workspace.vcsBranch === null || branch === happening?.defaultBranch),
      pullRequestNumber: request?.number ?? null,
      pullRequestUrl: request?.url ?? null,
      pullRequestTitle: request?.title ?? null,
      pullRequestBody: request?.body ?? null,
      tag: happening?.kind === "tag" ? happening.tag : null,
      senderUsername: sender.username,
      senderAvatarUrl: sender.avatarUrl,
      senderHtmlUrl: sender.htmlUrl,
    },
  };
}
