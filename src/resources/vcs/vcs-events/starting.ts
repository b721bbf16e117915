/** Fetches the commit of an event as a configuration version, and starts a run or speculative plan with it. */
import type { Capability } from "../../../access/capability.ts";
import type { Tx } from "../../../database/database.ts";
import { AppError } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import { loadOrganization } from "../../identity/organizations/reads.ts";
import { loadWorkspace } from "../../register/workspaces/reads.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import { loadConfigurationVersion } from "../../runs/configuration-versions/reads.ts";
import type { ConfigurationCommit } from "../../runs/configuration-versions/rules.ts";
import { createFetchedConfiguration, receiveFetchedArchive } from "../../runs/configuration-versions/upload.ts";
import { lockRun } from "../../runs/runs/reads.ts";
import { transitionRun, createRun } from "../../runs/runs/lifecycle.ts";
import type { Context } from "../../shared/context.ts";
import { trackRunStatus } from "../commit-statuses/writes.ts";
import { repositoryOf, gitSandboxOptionsOf } from "../connections.ts";
import { fetchCommit, type FetchedCommit } from "../fetching/fetch.ts";
import type { TriggerDecision } from "../triggers/decide.ts";
import { type VcsRepositoryEvent, unknownSender, refOf } from "../triggers/repository-event.ts";
import { countEvent, type VcsEventContext, endEvent, type VcsEventEnding, labelOfEvent } from "./outcomes.ts";
import {
  findRunOfSameCommit,
  findEarlierEvents,
  lockUndecided,
  findOutdatedRuns,
  updateEvent,
  type UndecidedEvent,
} from "./store.ts";
import type { JobContext } from "../../shared/job-context.ts";

type FetchDecision = Extract<TriggerDecision, { action: "run" | "plan" | "configuration" }>;

/** Throws FetchFault, ApiFault, and the AppError of a rejected archive. */
export async function fetchConfiguration(
  job: JobContext,
  eventContext: VcsEventContext,
  repositoryEvent: VcsRepositoryEvent | undefined,
  decision: FetchDecision,
): Promise<void> {
  const { context, signal } = job;
  const { event, workspace, connection } = eventContext;
  const hasArchive = await isUploaded(context, event.configurationVersionId);
  if (!hasArchive) {
    const repository = await repositoryOf(context, connection, event.repository);
    const ref = { ...refToFetch(repositoryEvent, workspace), withSubmodules: workspace.vcsIngressSubmodules === 1 };
    const isFetched = await fetchCommit(gitSandboxOptionsOf(context, signal), repository, ref, async (commit) => {
      const id = await job.step((tx) =>
        createConfiguration(tx, job, eventContext, commitOf(eventContext, repositoryEvent, commit), decision),
      );
      if (id !== undefined) await receiveFetchedArchive(job, id, commit.archive);
      return id !== undefined;
    });
    if (!isFetched) return;
  }
  await job.step((tx) => startRun(tx, job, eventContext, decision));
}

async function isUploaded(context: Context, id: string | null): Promise<boolean> {
  return id !== null && (await loadConfigurationVersion(context.database.reader, context, id)).status === "uploaded";
}

function refToFetch(repositoryEvent: VcsRepositoryEvent | undefined, { vcsBranch }: WorkspaceView) {
  if (repositoryEvent === undefined)
    return { sha: undefined, ref: vcsBranch === null ? undefined : `refs/heads/${vcsBranch}` };
  return { sha: repositoryEvent.sha, ref: refOf(repositoryEvent) };
}

async function createConfiguration(
  tx: Tx,
  { context, capability }: JobContext,
  { event }: VcsEventContext,
  commit: ConfigurationCommit,
  decision: FetchDecision,
): Promise<string | undefined> {
  const workspace = await loadWorkspace(tx, context, { workspaceId: event.workspaceId ?? "" }, "change");
  const current = await lockUndecided(tx, event.id);
  if (current === undefined) return undefined;
  if (current.configurationVersionId !== null) return current.configurationVersionId;
  const commitSha = commit.ingress.commitSha;
  const runId = await findRunOfSameCommit(tx, { ...current, commitSha });
  if (runId !== undefined) {
    await endEvent(tx, capability, event, { outcome: "ignored", why: `this commit already has the run ${runId}` });
    countEvent(event, "ignored");
    return undefined;
  }
  const attributes = { autoQueueRuns: false, speculative: decision.action === "plan" };
  const { id } = await createFetchedConfiguration(tx, { context, capability }, workspace, commit, attributes);
  await updateEvent(tx, capability, event.id, {
    configurationVersionId: id,
    commitSha,
    detail: `${labelOfEvent(event)} is being fetched`,
  });
  return id;
}

async function startRun(
  tx: Tx,
  { context, capability }: JobContext,
  { event, connection }: VcsEventContext,
  decision: FetchDecision,
): Promise<void> {
  const workspace = await loadWorkspace(tx, context, { workspaceId: event.workspaceId ?? "" }, "change");
  const current = await lockUndecided(tx, event.id);
  if (current === undefined || current.configurationVersionId === null) return;
  if (decision.action === "configuration") {
    const why = `${decision.why}. Its configuration was fetched, and can be used for a run that a user starts`;
    await supersedeEarlier(tx, capability, event);
    return endAndCount(tx, capability, event, { outcome: "ignored", why });
  }
  const canceled = decision.action === "plan" ? await cancelOutdated(tx, context, capability, event, workspace) : 0;
  try {
    const run = await createRun(tx, context, capability.proofFor(workspace), await runInputOf(tx, context, current));
    const commit = {
      repository: event.repository,
      sha: current.commitSha ?? "",
      oauthTokenId: workspace.vcsOauthTokenId,
    };
    await trackRunStatus(tx, capability, run, commit);
    await supersedeEarlier(tx, capability, event);
    const what = decision.action === "plan" ? "a speculative plan" : "a run";
    const andCanceled =
      canceled === 0 ? "" : `; ${canceled} of an earlier commit ${canceled === 1 ? "was" : "were"} canceled`;
    await updateEvent(tx, capability, event.id, {
      outcome: "started",
      detail: `${labelOfEvent(event)} started ${what}, ${run.id}${andCanceled}`,
      runId: run.id,
      dueMs: null,
      decidedAt: now(),
    });
    countEvent({ provider: connection.serviceProvider }, "started");
  } catch (error) {
    // `invalid` is raised before anything is written.
    if (!(error instanceof AppError) || error.code !== "invalid") throw error;
    await endAndCount(tx, capability, event, { outcome: "failed", why: error.message });
  }
}

/** A run of an older commit must not follow that of a newer one. */
async function supersedeEarlier(tx: Tx, by: Capability<"job">, event: UndecidedEvent): Promise<void> {
  for (const earlier of await findEarlierEvents(tx, event))
    await endAndCount(tx, by, earlier, { outcome: "ignored", why: `${labelOfEvent(event)} superseded it` });
}

async function endAndCount(
  tx: Tx,
  by: Capability<"job">,
  event: UndecidedEvent,
  ending: VcsEventEnding,
): Promise<void> {
  await endEvent(tx, by, event, ending);
  countEvent(event, ending.outcome);
}

async function runInputOf(tx: Tx, context: Context, event: { readonly configurationVersionId: string | null }) {
  const id = event.configurationVersionId ?? "";
  const { ingress } = await loadConfigurationVersion(tx, context, id);
  const { commitMessage, pullRequestTitle } = JSON.parse(ingress ?? "{}") as Partial<ConfigurationCommit["ingress"]>;
  const message =
    (pullRequestTitle ?? commitMessage ?? "").split("\n")[0]?.slice(0, 500) || "Queued by version control";
  return {
    configurationVersionId: id,
    message,
    source: "tfe-configuration-version",
    triggerReason: "vcs",
    isAutomatic: true,
  } as const;
}

async function cancelOutdated(
  tx: Tx,
  context: Context,
  by: Capability<"job">,
  { id, pullRequest }: UndecidedEvent,
  workspace: WorkspaceView,
): Promise<number> {
  if (pullRequest === null) return 0;
  const organization = await loadOrganization(tx, context, workspace.organizationName);
  if (organization.speculativePlanManagementEnabled === 0) return 0;
  let count = 0;
  for (const runId of await findOutdatedRuns(tx, workspace.id, pullRequest)) {
    const run = by.proofFor(await lockRun(tx, runId));
    if (run.canceledAt !== null) continue;
    await transitionRun(tx, context, run, {
      event: "cancel",
      description: `The pull request has a newer commit (${id}).`,
    });
    count += 1;
  }
  return count;
}

function commitOf(
  { event, workspace, connection }: VcsEventContext,
  repositoryEvent: VcsRepositoryEvent | undefined,
  fetched: FetchedCommit,
): ConfigurationCommit {
  const { provider } = connection;
  const request = repositoryEvent?.kind === "pull-request" ? repositoryEvent : undefined;
  const sender = repositoryEvent?.sender ?? unknownSender;
  const branch =
    repositoryEvent?.kind === "push" ? repositoryEvent.branch : (request?.source ?? workspace.vcsBranch ?? "");
  return {
    source: provider.source,
    ingress: {
      branch,
      cloneUrl: provider.cloneUrl(connection, event.repository),
      commitMessage: fetched.message,
      commitSha: fetched.sha,
      commitUrl:
        repositoryEvent?.commitUrl ??
        `${connection.httpUrl.replace(/\/+$/, "")}/${event.repository}/commit/${fetched.sha}`,
      compareUrl: repositoryEvent?.compareUrl ?? null,
      identifier: event.repository,
      isPullRequest: request !== undefined,
      onDefaultBranch:
        request === undefined && (workspace.vcsBranch === null || branch === repositoryEvent?.defaultBranch),
      pullRequestNumber: request?.number ?? null,
      pullRequestUrl: request?.url ?? null,
      pullRequestTitle: request?.title ?? null,
      pullRequestBody: request?.body ?? null,
      tag: repositoryEvent?.kind === "tag" ? repositoryEvent.tag : null,
      senderUsername: sender.username,
      senderAvatarUrl: sender.avatarUrl,
      senderHtmlUrl: sender.htmlUrl,
    },
  };
}
