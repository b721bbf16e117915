/** Creates runs and performs their transitions, with the workspace row locked. Nothing else writes a run's status. */
import type { Granted } from "../../../access/granted.ts";
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import type { RunTable } from "../../../database/schema/runs.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { conflict, throwIfInvalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { unlocked } from "../../register/workspaces/lock-holder.ts";
import { agentPoolOf, executionModeOf, type WorkspaceView } from "../../register/workspaces/view.ts";
import { type RunColumns, setRunColumns } from "../../register/workspaces/writes.ts";
import { abandonContents } from "../../shared/contents/contents.ts";
import type { Context } from "../../shared/context.ts";
import { workspacePermissionInputOf } from "../../shared/grants/reads.ts";
import type { UnlockPermission, CurrentStateColumns } from "../../shared/hooks.ts";
import { newestExecutable } from "../../site/terraform-versions/reads.ts";
import { isExactVersion } from "../../site/terraform-versions/versions.ts";
import { engineOffers } from "../agents/reads.ts";
import { approveConfiguration, makeAppliedConfigurationCurrent } from "../configuration-versions/writes.ts";
import { appendServiceMessage } from "../phases/logs.ts";
import { newPhase } from "../phases/rules.ts";
import { insertPhases, type PhaseChange, updatePhases } from "../phases/writes.ts";
import { queueRunTriggers } from "../run-triggers/writes.ts";
import { isFinal, refusalReason, type RunFacts, type StatusTransition, transitionOf } from "./state-machine.ts";
import {
  columnsAfter,
  countsForStatistics,
  currentRunColumns,
  engineOf,
  runStatisticsOf,
  runStatisticsWindow,
  type TransitionInput,
  lockColumnsOf,
  toLoadedRun,
  type TransitionColumns,
  newRun,
  noVersionReason,
  unsupportedReason,
  runFaults,
  type RunInput,
  autoDestroyStatusAfter,
  type UsableConfiguration,
} from "./rules.ts";
import {
  discardWaitingRuns,
  findRunningAssessment,
  findConfiguration,
  findEndedRuns,
  findUnfinishedRuns,
  findRunLocked,
  findSavedPlans,
  findNextAndLastRun,
  insertRun,
  updateRun,
} from "./store.ts";
import { TransitionRecorder } from "./transition-recorder.ts";
import { sealRunVariables, sensitiveSnapshot, variableSnapshot } from "./variables.ts";
import { runFactsOf, type LoadedRun } from "./view.ts";

type WorkspaceKey = Pick<RunTable, "organizationId" | "workspaceId">;

/** An unsupported feature makes the run `errored`: ignoring it would do something else. So does a constraint that no version meets: the run would wait forever. Throws `invalid`. */
export async function createRun(
  tx: Tx,
  context: Context,
  workspace: Granted<WorkspaceView, "can-queue-run" | "job">,
  input: RunInput,
): Promise<LoadedRun> {
  const configuration = await configurationFor(tx, context, workspace, input);
  throwIfInvalid(runFaults(input, workspace, configuration));
  const requestedVersion = input.engineVersion ?? workspace.engineVersion;
  const engineVersion = await engineVersionFor(tx, context, workspace, requestedVersion);
  const id = newId("runs");
  const row = newRun(input, {
    id,
    workspace,
    configuration: configuration as UsableConfiguration,
    engineVersion: engineVersion ?? requestedVersion,
    mayApply: input.isAutomatic === true || workspacePermissions(workspace)["can-queue-apply"],
    createdAt: now(),
    variables: input.variables?.length ? sealRunVariables(context, id, input.variables) : null,
    context,
  });
  const refusal = unsupportedReason(input) ?? (engineVersion === undefined ? noVersionReason(row) : undefined);
  const waiting = toLoadedRun(row, workspace, configuration?.approvedAt ?? null);
  const run = await insertNewRun(
    new TransitionRecorder(tx, context, workspace, workspace.id),
    row,
    waiting,
    refusal === undefined,
  );
  if (refusal === undefined) return run;
  const plan = await appendServiceMessage(tx, context.vault, run.planId, refusal);
  const logged = { ...run, planLogBytes: plan?.logBytes ?? 0 };
  const refuse = { event: "refuse", phase: { errorMessage: refusal }, description: refusal } as const;
  return performTransition(new TransitionRecorder(tx, context, workspace, workspace.id), logged, refuse);
}

/** A promoted configuration must belong to a workspace whose runs the caller can read. */
async function configurationFor(
  tx: Tx,
  context: Context,
  workspace: WorkspaceView,
  input: RunInput,
): Promise<UsableConfiguration | undefined> {
  const id = input.configurationVersionId ?? workspace.currentConfigurationVersionId;
  if (id === null) return undefined;
  const found = await findConfiguration(tx, context, workspace.organizationId, id);
  if (found === undefined || found.workspaceId === workspace.id) return found;
  return workspacePermissions(workspacePermissionInputOf(context.actor, found))["can-read-run"] ? found : undefined;
}

/** The newest that the agents of its pool can execute. */
async function engineVersionFor(
  tx: Tx,
  context: Context,
  workspace: WorkspaceView,
  requested: string,
): Promise<string | undefined> {
  if (isExactVersion(requested)) return requested;
  const engine = engineOf(workspace, context);
  const { organizationId } = workspace;
  const agentPoolId = executionModeOf(workspace) === "agent" ? agentPoolOf(workspace) : null;
  const pool = agentPoolId === null ? null : { organizationId, agentPoolId };
  return newestExecutable(tx, engine, await engineOffers(tx, engine, pool), requested);
}

async function insertNewRun(
  recorder: TransitionRecorder,
  row: RunTable,
  run: LoadedRun,
  isAdmissible: boolean,
): Promise<LoadedRun> {
  const { tx, context, by } = recorder;
  recorder.recordCreation(run);
  const needsNoLock = run.planOnly === 1 || run.savePlan === 1;
  const isNext = needsNoLock || run.currentRunStatus !== "pending";
  const transition = isAdmissible && isNext ? transitionOf(runFactsOf(run), "admit") : undefined;
  const changes = transition && columnsAfter(run, transition, { event: "admit" }, context.actor, run.createdAt);
  if (transition !== undefined) recorder.recordTransition(run, transition);
  const inserted: LoadedRun = { ...run, ...changes?.run };
  const snapshot = transition && { pinnedVariables: await variableSnapshot(tx, context, run) };
  await insertRun(tx, by, { ...row, ...changes?.run, ...snapshot });
  await insertPhases(tx, by, [
    { ...newPhase("plan", run), ...changes?.plan },
    { ...newPhase("apply", run), ...changes?.apply },
  ]);
  // While a user holds the lock, the oldest pending run is the workspace's current run.
  const isFirstPending = !needsNoLock && isNext && run.lockedByType !== "runs";
  const columns =
    transition?.lock === "taken" ? lockColumnsOf(inserted) : isFirstPending ? currentRunColumns(inserted) : undefined;
  if (columns !== undefined) await setRunColumns(tx, by, run.workspaceId, columns);
  if (transition?.lock === "taken") await cancelAssessment(recorder, run);
  recorder.audit(run, "create", {
    after: { status: inserted.status, workspace: run.workspaceId, message: run.message },
  });
  await recorder.flush();
  return { ...inserted, ...columns };
}

interface TransitionPermissions {
  apply: "can-apply";
  discard: "can-discard";
  cancel: "can-cancel" | "can-administer" | "job";
  "force-cancel": "can-force-cancel" | "can-administer";
  stale: "job";
  claim: "claim";
  "phase-finished": "claim";
  "phase-errored": "claim" | "job";
  "phase-returned": "claim" | "job";
}

/** Throws `conflict` if the run's status does not allow the event. */
export const transitionRun = <Event extends keyof TransitionPermissions>(
  tx: Tx,
  context: Context,
  run: Granted<LoadedRun, TransitionPermissions[Event]>,
  input: TransitionInput & { readonly event: Event },
): Promise<LoadedRun> => performTransition(new TransitionRecorder(tx, context, run, run.workspaceId), run, input);

async function performTransition(
  recorder: TransitionRecorder,
  run: LoadedRun,
  input: TransitionInput,
): Promise<LoadedRun> {
  const { tx, by } = recorder;
  const { after, transition } = await writeTransition(recorder, run, input);
  const columns = {
    ...(await workspaceChanges(recorder, run, after, transition)),
    ...(countsForStatistics(after) && runStatisticsOf(await findEndedRuns(tx, run, runStatisticsWindow))),
    ...(isFinal(after.status) && autoDestroyStatusAfter([after])),
  };
  if (Object.keys(columns).length > 0) await setRunColumns(tx, by, run.workspaceId, columns);
  await recorder.flush();
  if (input.event === "apply") await approveConfiguration(tx, by.proofFor(run));
  if (after.status === "applied") {
    await makeAppliedConfigurationCurrent(tx, by.proofFor(run));
    await queueRunTriggers(tx, by, after);
  }
  return { ...after, ...columns };
}

/** Returns the changes to the workspace row. A new state makes saved plans stale. */
export async function startNextRun(
  tx: Tx,
  context: Context,
  workspace: Granted<Pick<WorkspaceTable, "id" | "organizationId" | "currentRunStatus">, UnlockPermission>,
  state: CurrentStateColumns | undefined,
): Promise<RunColumns | undefined> {
  const { id: workspaceId, organizationId, currentRunStatus } = workspace;
  const recorder = new TransitionRecorder(tx, context, workspace, workspaceId);
  const key = { workspaceId, organizationId };
  if (state !== undefined) await discardStalePlans(recorder, key);
  // While no run holds the lock, the oldest pending run is the current run: if that is not pending, none is.
  const columns = currentRunStatus === "pending" ? await admitNextRun(recorder, key, true) : undefined;
  await recorder.flush();
  return columns;
}

export interface OvertakenRuns {
  readonly holder: LoadedRun;
  readonly waiting: readonly LoadedRun[];
  readonly comment?: string | null | undefined;
}

/** Discards the run that holds the workspace, and all pending runs before this one. Throws `conflict`. */
export async function forceExecute(
  tx: Tx,
  context: Context,
  run: Granted<LoadedRun, "can-force-execute">,
  overtaken: OvertakenRuns,
): Promise<void> {
  const recorder = new TransitionRecorder(tx, context, run, run.workspaceId);
  requireTransition({ ...runFactsOf(run), isLockHolderDiscardable: true }, "force-execute");
  if (overtaken.comment) await recorder.addComment(run, overtaken.comment);
  recorder.recordEvent(run, "force_executed");
  recorder.recordStatusChange(run, "force-execute", run.status);
  await discardOvertaken(recorder, run, overtaken.waiting);
  const { after, transition } = await writeTransition(recorder, overtaken.holder, { event: "discard" });
  const discarded = [...overtaken.waiting.map((each) => ({ ...each, status: "discarded" })), after];
  const columns = {
    ...(await workspaceChanges(recorder, overtaken.holder, after, transition)),
    ...autoDestroyStatusAfter(discarded),
  };
  if (Object.keys(columns).length > 0) await setRunColumns(tx, recorder.by, run.workspaceId, columns);
  await recorder.flush();
}

/** The rows are deleted with the workspace; agents stop when their next report is rejected. */
export async function auditRunsOfDeletedWorkspace(
  tx: Tx,
  context: Context,
  workspace: Granted<Pick<WorkspaceTable, "id" | "organizationId">, "can-destroy" | "can-force-delete">,
): Promise<void> {
  const recorder = new TransitionRecorder(tx, context, workspace, workspace.id);
  for (const run of await findUnfinishedRuns(tx, workspace))
    recorder.recordStatusChange(run, "workspace-deleted", "canceled");
  await recorder.flush();
}

/** The number of statements does not depend on the number of runs. */
async function discardOvertaken(
  recorder: TransitionRecorder,
  { id }: LoadedRun,
  waiting: readonly LoadedRun[],
): Promise<void> {
  if (waiting.length === 0) return;
  for (const run of waiting) {
    const transition = requireTransition(runFactsOf(run), "discard");
    recorder.recordTransition(run, transition, `Superseded by run ${id}, which was force-executed.`);
    recorder.recordStatusChange(run, "discard", "discarded");
  }
  const { tx, context, by } = recorder;
  await discardWaitingRuns(tx, by, waiting, now());
  const phases = waiting.flatMap((run) => phaseChanges(run, { run: {}, plan: unreachable, apply: unreachable }));
  await updatePhases(tx, by, context, phases, "identical");
}

const unreachable = { status: "unreachable", queuedMs: null, tokenHash: null } as const;

function requireTransition(facts: RunFacts, event: TransitionInput["event"]): StatusTransition {
  const transition = transitionOf(facts, event);
  if (transition === undefined) throw conflict(refusalReason(facts, event));
  return transition;
}

/** The caller updates the workspace. Throws `conflict`. */
async function writeTransition(
  recorder: TransitionRecorder,
  run: LoadedRun,
  input: TransitionInput,
): Promise<{ after: LoadedRun; transition: StatusTransition }> {
  const { tx, context, by } = recorder;
  const { hasChanges, event } = input;
  const transition = requireTransition({ ...runFactsOf(run), ...(hasChanges !== undefined && { hasChanges }) }, event);
  const changes = columnsAfter(run, transition, input, context.actor, now());
  const hasEnded = isFinal(transition.to.at(-1) ?? run.status);
  const wasPlanned = run.planStatus === "running" || run.planStatus === "finished";
  const newSnapshot = event === "admit" ? { pinnedVariables: await variableSnapshot(tx, context, run) } : {};
  const reducedSnapshot = hasEnded && wasPlanned ? { pinnedVariables: sensitiveSnapshot(context, run) } : {};
  await updateRun(tx, by, run.id, { ...changes.run, ...newSnapshot, ...reducedSnapshot });
  await updatePhases(tx, by, context, phaseChanges(run, changes));
  if (input.comment) await recorder.addComment(run, input.comment);
  if (event === "cancel" && transition.to.length === 0) recorder.recordEvent(run, "cancel_requested");
  if (event === "force-cancel") recorder.recordEvent(run, "force_canceled");
  recorder.recordTransition(run, transition, input.description);
  // The plan file contains secrets, and can't be applied any more.
  if (hasEnded && wasPlanned) await abandonContents(tx, { column: "runId", id: run.id }, ["plan", "lock-file"]);
  const after = { ...run, ...changes.run, version: run.version + 1 };
  recorder.recordStatusChange(run, event, after.status);
  return { after, transition };
}

function phaseChanges(run: LoadedRun, { plan, apply }: TransitionColumns): PhaseChange[] {
  const { organizationId } = run;
  const changes: PhaseChange[] = [];
  if (plan !== undefined) {
    const { planId: id, planAttempt: attempt, planLogBytes: logBytes, planLogEnded: logEnded } = run;
    changes.push({ phase: { id, organizationId, attempt, logBytes, logEnded }, changes: plan });
  }
  if (apply !== undefined) {
    const { applyId: id, applyAttempt: attempt, applyLogBytes: logBytes, applyLogEnded: logEnded } = run;
    changes.push({ phase: { id, organizationId, attempt, logBytes, logEnded }, changes: apply });
  }
  return changes;
}

async function workspaceChanges(
  recorder: TransitionRecorder,
  run: LoadedRun,
  after: LoadedRun,
  transition: StatusTransition,
): Promise<RunColumns | undefined> {
  if (transition.lock === "taken") return lockColumnsOf(after);
  const holdsLock = run.lockedByType === "runs" && run.lockedById === run.id;
  if (holdsLock && transition.lock === "freed") {
    const state = run.status === "applying" ? await promoteStateOf(recorder, run) : undefined;
    if (state !== undefined) await discardStalePlans(recorder, run);
    return { ...unlocked, ...state, ...(await admitNextRun(recorder, run, true)) };
  }
  if (run.currentRunId !== run.id) return undefined;
  // It was pending while a user held the lock: the next pending run becomes the current one.
  if (isFinal(after.status)) return admitNextRun(recorder, run, false);
  return currentRunColumns(after);
}

async function promoteStateOf(recorder: TransitionRecorder, run: LoadedRun): Promise<CurrentStateColumns | undefined> {
  const { tx, context, by } = recorder;
  const { workspaceId: id, organizationId, currentStateVersionId } = run;
  const workspace = by.proofFor({ id, organizationId, currentStateVersionId });
  await context.hooks.states.discardPending(tx, context, workspace);
  return context.hooks.states.promoteState(tx, context, workspace, run.id);
}

async function discardStalePlans(recorder: TransitionRecorder, key: WorkspaceKey): Promise<void> {
  const description = "The workspace's state has changed since this run was planned.";
  for (const saved of await findSavedPlans(recorder.tx, key))
    await writeTransition(recorder, saved, { event: "stale", description });
}

/** Without a pending run, the last run that ended becomes current. */
async function admitNextRun(
  recorder: TransitionRecorder,
  key: WorkspaceKey,
  isFree: boolean,
): Promise<RunColumns | undefined> {
  const { next, last } = await findNextAndLastRun(recorder.tx, key);
  if (next === undefined) return last && currentRunColumns(last);
  if (!isFree) return currentRunColumns(next);
  const free = { ...next, lockedByType: null, lockedById: null };
  const { after } = await writeTransition(recorder, free, { event: "admit" });
  await cancelAssessment(recorder, key);
  return lockColumnsOf(after);
}

/** A started run makes the result of a running assessment meaningless. */
async function cancelAssessment(recorder: TransitionRecorder, { workspaceId }: WorkspaceKey): Promise<void> {
  const { tx, context } = recorder;
  if (context.options.edition !== "hosted") return;
  const id = await findRunningAssessment(tx, workspaceId);
  const run = id === undefined ? undefined : await findRunLocked(tx, id);
  if (run === undefined) return;
  await writeTransition(recorder, run, {
    event: "cancel",
    description: "Another run of the workspace has started.",
  });
}
