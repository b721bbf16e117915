/**
 * The life cycle of runs, and the only way through it: how a run is queued, how it moves on, and what follows from that. Everything happens in
 * the caller's transaction, with the workspace's row held; the table of `machine.ts` decides, and run, phases, lock, current run, events and
 * audit log change together or not at all.
 */
import type { Granted } from "../../../access/granted.ts";
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import type { RunTable } from "../../../database/schema/runs.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { conflict, refuseIfAny } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { unlocked } from "../../register/workspaces/holder.ts";
import { agentPoolOf, executionModeOf, type WorkspaceView } from "../../register/workspaces/view.ts";
import { type RunColumns, setRunColumns } from "../../register/workspaces/writes.ts";
import { abandonContents } from "../../shared/contents/contents.ts";
import type { Context } from "../../shared/context.ts";
import { workspaceFactsOf } from "../../shared/grants/reads.ts";
import type { ReleasedBy, SettledState } from "../../shared/hooks.ts";
import { exactVersionOf, newestAmong } from "../../site/terraform-versions/reads.ts";
import { isExactVersion } from "../../site/terraform-versions/versions.ts";
import { offeredVersions } from "../agents/reads.ts";
import { approveConfiguration, noteConfigurationApplied } from "../configuration-versions/writes.ts";
import { sayInLog } from "../phases/logs.ts";
import { newPhase } from "../phases/rules.ts";
import { insertPhases, type PhaseChange, updatePhases } from "../phases/writes.ts";
import { noteApplied } from "../run-triggers/writes.ts";
import { isFinal, refusalOf, type RunFacts, type Step, stepOf } from "./machine.ts";
import {
  columnsAfter,
  countsForFigures,
  currentRun,
  engineOf,
  figuresOf,
  figuresOver,
  type Happening,
  heldBy,
  inPlace,
  type Moved,
  newRun,
  refusalOfRun,
  runFaults,
  type RunInput,
  scheduleAfter,
  type UsableConfiguration,
} from "./rules.ts";
import {
  discardWaitingRuns,
  findAssessment,
  findConfiguration,
  findEndedRuns,
  findLiving,
  findRunInPlace,
  findSavedPlans,
  findTurns,
  insertRun,
  updateRun,
} from "./store.ts";
import { RunTransaction } from "./transaction.ts";
import { sealRunVariables, sensitiveSnapshot, variableSnapshot } from "./variables.ts";
import { factsOf, type RunInPlace } from "./view.ts";

type WorkspaceKey = Pick<RunTable, "organizationId" | "workspaceId">;

/**
 * A run with its plan and apply; it is admitted at once where it may be. One that asks for what is not supported ends at once: its
 * clients read it back, and without that part it would do something else. Raises `invalid` for what can't be run.
 */
export async function createRun(
  tx: Tx,
  context: Context,
  workspace: Granted<WorkspaceView, "can-queue-run" | "job">,
  input: RunInput,
): Promise<RunInPlace> {
  const configuration = await configurationFor(tx, context, workspace, input);
  refuseIfAny(runFaults(input, workspace, configuration));
  const wanted = input.engineVersion ?? workspace.engineVersion;
  const id = newId("runs");
  const row = newRun(input, {
    id,
    workspace,
    configuration: configuration as UsableConfiguration,
    // What nobody knows is asked for as it is written, and the run says what it waits for.
    engineVersion: (await engineVersionFor(tx, context, workspace, wanted)) ?? wanted,
    mayApply: input.byNobody === true || workspacePermissions(workspace)["can-queue-apply"],
    createdAt: now(),
    variables: input.variables?.length ? sealRunVariables(context, id, input.variables) : null,
    context,
  });
  const refusal = refusalOfRun(input);
  const waiting = inPlace(row, workspace, configuration?.approvedAt ?? null);
  const run = await begin(
    new RunTransaction(tx, context, workspace, workspace.id),
    row,
    waiting,
    refusal === undefined,
  );
  if (refusal === undefined) return run;
  const said = await sayInLog(tx, context.vault, run.planId, refusal);
  const logged = { ...run, planLogBytes: said?.logBytes ?? 0 };
  const happening = { event: "refuse", phase: { errorMessage: refusal }, description: refusal } as const;
  return move(new RunTransaction(tx, context, workspace, workspace.id), logged, happening);
}

/** One of this workspace, or of another that the caller may read: a configuration that is promoted. */
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
  return workspacePermissions(workspaceFactsOf(context.actor, found))["can-read-run"] ? found : undefined;
}

/** The register knows releases of Terraform. Those of OpenTofu are known by the agents that would execute the run. */
async function engineVersionFor(
  tx: Tx,
  context: Context,
  workspace: WorkspaceView,
  wanted: string,
): Promise<string | undefined> {
  if (isExactVersion(wanted) || engineOf(workspace, context) === "terraform") return exactVersionOf(tx, wanted);
  const pool = executionModeOf(workspace) === "agent" ? agentPoolOf(workspace) : null;
  return newestAmong(await offeredVersions(tx, "tofu", pool), wanted);
}

/** It is written as it is after its admission, where that comes at once: nobody has seen it before. */
async function begin(
  transaction: RunTransaction,
  row: RunTable,
  run: RunInPlace,
  isAdmissible: boolean,
): Promise<RunInPlace> {
  const { tx, context, by } = transaction;
  transaction.created(run);
  const passesBeside = run.planOnly === 1 || run.savePlan === 1;
  // A run that waits already comes before it.
  const isNext = passesBeside || run.currentRunStatus !== "pending";
  const step = isAdmissible && isNext ? stepOf(factsOf(run), "admit") : undefined;
  const moved = step && columnsAfter(run, step, { event: "admit" }, context.actor, run.createdAt);
  if (step !== undefined) transaction.reached(run, step);
  const begun: RunInPlace = { ...run, ...moved?.run };
  const snapshot = step && { pinnedVariables: await variableSnapshot(tx, context, run) };
  await insertRun(tx, by, { ...row, ...moved?.run, ...snapshot });
  await insertPhases(tx, by, [
    { ...newPhase("plan", run), ...moved?.plan },
    { ...newPhase("apply", run), ...moved?.apply },
  ]);
  // While a person holds the lock, the oldest that waits is the workspace's current run.
  const waitsFirst = !passesBeside && isNext && run.lockedByType !== "runs";
  const columns = step?.lock === "taken" ? heldBy(begun) : waitsFirst ? currentRun(begun) : undefined;
  if (columns !== undefined) await setRunColumns(tx, by, run.workspaceId, columns);
  if (step?.lock === "taken") await stopAssessment(transaction, run);
  transaction.audit(run, "create", {
    after: { status: begun.status, workspace: run.workspaceId, message: run.message },
  });
  await transaction.finish();
  return { ...begun, ...columns };
}

/** The permission, or the part of the service, by which each event happens to a run. */
interface MovedBy {
  apply: "can-apply";
  discard: "can-discard";
  cancel: "can-cancel" | "can-administer" | "job";
  "force-cancel": "can-force-cancel" | "can-administer";
  stale: "job";
  claim: "claim";
  "phase-finished": "claim";
  "phase-errored": "claim" | "job";
  "phase-returned": "job";
}

/** Moves a run on, with all that follows. Raises `conflict` where its status does not allow it. */
export const advance = <Event extends keyof MovedBy>(
  tx: Tx,
  context: Context,
  run: Granted<RunInPlace, MovedBy[Event]>,
  happening: Happening & { readonly event: Event },
): Promise<RunInPlace> => move(new RunTransaction(tx, context, run, run.workspaceId), run, happening);

async function move(transaction: RunTransaction, run: RunInPlace, happening: Happening): Promise<RunInPlace> {
  const { tx, by } = transaction;
  const { after, step } = await carryOut(transaction, run, happening);
  const columns = {
    ...(await workspaceAfter(transaction, run, after, step)),
    ...(countsForFigures(after) && figuresOf(await findEndedRuns(tx, run, figuresOver))),
    ...(isFinal(after.status) && scheduleAfter([after])),
  };
  if (Object.keys(columns).length > 0) await setRunColumns(tx, by, run.workspaceId, columns);
  await transaction.finish();
  if (happening.event === "apply") await approveConfiguration(tx, by.grant(run));
  if (after.status === "applied") {
    await noteConfigurationApplied(tx, by.grant(run));
    await noteApplied(tx, by, after);
  }
  return { ...after, ...columns };
}

/**
 * Whose turn it is, where nobody holds the workspace any more; gives what its row is to hold. Where a new state is the current one,
 * plans that were saved on an older one are of no use.
 */
export async function released(
  tx: Tx,
  context: Context,
  workspace: Granted<Pick<WorkspaceTable, "id" | "organizationId" | "currentRunStatus">, ReleasedBy>,
  state: SettledState | undefined,
): Promise<RunColumns | undefined> {
  const { id: workspaceId, organizationId, currentRunStatus } = workspace;
  const transaction = new RunTransaction(tx, context, workspace, workspaceId);
  const place = { workspaceId, organizationId };
  if (state !== undefined) await discardStale(transaction, place);
  // The oldest that waits is the current run as long as nobody holds the workspace: without one, nobody waits.
  const columns = currentRunStatus === "pending" ? await nextTurn(transaction, place, true) : undefined;
  await transaction.finish();
  return columns;
}

export interface PassedRuns {
  readonly holder: RunInPlace;
  /** Those that wait before it. */
  readonly waiting: readonly RunInPlace[];
  readonly comment?: string | null | undefined;
}

/** A run passes the one that holds the workspace, and all that wait before it: they are discarded. Raises `conflict`. */
export async function forceTurn(
  tx: Tx,
  context: Context,
  run: Granted<RunInPlace, "can-force-execute">,
  passed: PassedRuns,
): Promise<void> {
  const transaction = new RunTransaction(tx, context, run, run.workspaceId);
  stepFor({ ...factsOf(run), heldByDiscardable: true }, "force-execute");
  if (passed.comment) await transaction.comment(run, passed.comment);
  transaction.event(run, "force_executed");
  transaction.auditStatus(run, "force-execute", run.status);
  await discardWaiting(transaction, run, passed.waiting);
  const { after, step } = await carryOut(transaction, passed.holder, { event: "discard" });
  const discarded = [...passed.waiting.map((each) => ({ ...each, status: "discarded" })), after];
  const columns = {
    ...(await workspaceAfter(transaction, passed.holder, after, step)),
    ...scheduleAfter(discarded),
  };
  if (Object.keys(columns).length > 0) await setRunColumns(tx, transaction.by, run.workspaceId, columns);
  await transaction.finish();
}

/** A workspace goes, and its runs with it: agents find theirs gone with the next report, and stop. Only the audit log is left of them. */
export async function cutOff(
  tx: Tx,
  context: Context,
  workspace: Granted<Pick<WorkspaceTable, "id" | "organizationId">, "can-destroy" | "can-force-delete">,
): Promise<void> {
  const transaction = new RunTransaction(tx, context, workspace, workspace.id);
  for (const run of await findLiving(tx, workspace)) transaction.auditStatus(run, "workspace-deleted", "canceled");
  await transaction.finish();
}

/** However many there are, the same number of statements. */
async function discardWaiting(
  transaction: RunTransaction,
  { id }: RunInPlace,
  waiting: readonly RunInPlace[],
): Promise<void> {
  if (waiting.length === 0) return;
  for (const run of waiting) {
    const step = stepFor(factsOf(run), "discard");
    transaction.reached(run, step, `Passed by the run ${id}, which was executed by force.`);
    transaction.auditStatus(run, "discard", "discarded");
  }
  const { tx, context, by } = transaction;
  await discardWaitingRuns(tx, by, waiting, now());
  const phases = waiting.flatMap((run) => phaseChanges(run, { run: {}, plan: unreachable, apply: unreachable }));
  await updatePhases(tx, by, context.vault, phases, "alike");
}

const unreachable = { status: "unreachable", queuedMs: null, tokenHash: null } as const;

/** Raises `conflict`. */
function stepFor(facts: RunFacts, event: Happening["event"]): Step {
  const step = stepOf(facts, event);
  if (step === undefined) throw conflict(refusalOf(facts, event));
  return step;
}

/** The run and its phases, and the record of it; the workspace is left to the caller. Raises `conflict`. */
async function carryOut(
  transaction: RunTransaction,
  run: RunInPlace,
  happening: Happening,
): Promise<{ after: RunInPlace; step: Step }> {
  const { tx, context, by } = transaction;
  const { hasChanges, event } = happening;
  const step = stepFor({ ...factsOf(run), ...(hasChanges !== undefined && { hasChanges }) }, event);
  const moved = columnsAfter(run, step, happening, context.actor, now());
  const hasEnded = isFinal(step.to.at(-1) ?? run.status);
  const wasPlanned = run.planStatus === "running" || run.planStatus === "finished";
  const admitted = event === "admit" ? { pinnedVariables: await variableSnapshot(tx, context, run) } : {};
  const kept = hasEnded && wasPlanned ? { pinnedVariables: sensitiveSnapshot(context, run) } : {};
  await updateRun(tx, by, run.id, { ...moved.run, ...admitted, ...kept });
  await updatePhases(tx, by, context.vault, phaseChanges(run, moved));
  if (happening.comment) await transaction.comment(run, happening.comment);
  if (event === "cancel" && step.to.length === 0) transaction.event(run, "cancel_requested");
  if (event === "force-cancel") transaction.event(run, "force_canceled");
  transaction.reached(run, step, happening.description);
  // The plan file holds secrets, and nobody may apply it any more.
  if (hasEnded && wasPlanned) await abandonContents(tx, { column: "runId", id: run.id }, ["plan", "lock-file"]);
  const after = { ...run, ...moved.run, version: run.version + 1 };
  transaction.auditStatus(run, event, after.status);
  return { after, step };
}

function phaseChanges(run: RunInPlace, { plan, apply }: Moved): PhaseChange[] {
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

/** What a step changes in the workspace: its lock, its current run, and with the end of an apply its state. */
async function workspaceAfter(
  transaction: RunTransaction,
  run: RunInPlace,
  after: RunInPlace,
  step: Step,
): Promise<RunColumns | undefined> {
  if (step.lock === "taken") return heldBy(after);
  const holds = run.lockedByType === "runs" && run.lockedById === run.id;
  if (holds && step.lock === "freed") {
    const state = run.status === "applying" ? await settled(transaction, run) : undefined;
    if (state !== undefined) await discardStale(transaction, run);
    return { ...unlocked, ...state, ...(await nextTurn(transaction, run, true)) };
  }
  if (run.currentRunId !== run.id) return undefined;
  // One that waited under somebody's lock, and ended: the next that waits takes its place.
  if (isFinal(after.status)) return nextTurn(transaction, run, false);
  return currentRun(after);
}

/** What was written under the lock becomes the workspace's state; what is still awaited is given up. */
async function settled(transaction: RunTransaction, run: RunInPlace): Promise<SettledState | undefined> {
  const { tx, context, by } = transaction;
  const { workspaceId: id, organizationId, currentStateVersionId } = run;
  const workspace = by.grant({ id, organizationId, currentStateVersionId });
  await context.hooks.states.discardPending(tx, context, workspace);
  return context.hooks.states.settle(tx, context, workspace, run.id);
}

/** One after the other: there are few, for each keeps somebody from applying what they saved. */
async function discardStale(transaction: RunTransaction, place: WorkspaceKey): Promise<void> {
  const description = "The workspace's state has changed since it was planned.";
  for (const saved of await findSavedPlans(transaction.tx, place))
    await carryOut(transaction, saved, { event: "stale", description });
}

/** The next that waits, admitted where the workspace is free; else the newest that ended. */
async function nextTurn(
  transaction: RunTransaction,
  place: WorkspaceKey,
  isFree: boolean,
): Promise<RunColumns | undefined> {
  const { next, last } = await findTurns(transaction.tx, place);
  if (next === undefined) return last && currentRun(last);
  if (!isFree) return currentRun(next);
  const free = { ...next, lockedByType: null, lockedById: null };
  const { after } = await carryOut(transaction, free, { event: "admit" });
  await stopAssessment(transaction, place);
  return heldBy(after);
}

/** A run has begun: what an assessment would find now says nothing, so it is canceled. Only the hosted edition assesses. */
async function stopAssessment(transaction: RunTransaction, { workspaceId }: WorkspaceKey): Promise<void> {
  const { tx, context } = transaction;
  if (context.options.edition !== "hosted") return;
  const id = await findAssessment(tx, workspaceId);
  const run = id === undefined ? undefined : await findRunInPlace(tx, id);
  if (run === undefined) return;
  await carryOut(transaction, run, { event: "cancel", description: "Another run of the workspace has begun." });
}
