/**
 * How runs move on. Everything happens in the caller's transaction, with the workspace's row held: run, phases, lock, current run,
 * events and trail change together or not at all. Nothing else changes a run's status.
 */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { RunTable } from "../../../database/schema/runs.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { conflict } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import { unlocked } from "../../register/workspaces/holder.ts";
import { type RunColumns, setRunColumns } from "../../register/workspaces/writes.ts";
import { abandonContents } from "../../shared/contents/contents.ts";
import type { Context } from "../../shared/context.ts";
import type { SettledState } from "../../shared/hooks.ts";
import { assessmentUnderway } from "../assessment-results/reads.ts";
import { approveConfiguration, noteConfigurationApplied } from "../configuration-versions/writes.ts";
import { type PhaseChange, updatePhases } from "../phases/writes.ts";
import { movedBy, type Mover, type Moving } from "../proofs.ts";
import { afterApplied } from "../run-triggers/writes.ts";
import { countsForFigures, figuresOf, figuresOver, scheduleAfter } from "./figures.ts";
import { Ledger } from "./ledger.ts";
import { isFinal, refusalOf, type RunFacts, type Step, stepOf } from "./machine.ts";
import { pinned, pinnedSecrets } from "./pins.ts";
import { columnsAfter, type Happening, type Moved } from "./rules.ts";
import {
  discardWaitingRuns,
  findEndedRuns,
  findLiving,
  findRunInPlace,
  findSavedPlans,
  findTurns,
  updateRun,
} from "./store.ts";
import { factsOf, type RunInPlace } from "./view.ts";

export type Movable = Granted<RunInPlace, Moving>;
type Place = Pick<RunTable, "organizationId" | "workspaceId">;

/** Moves a run on, with all that follows. Raises `conflict` where its status does not allow it. */
export async function advance(tx: Tx, context: Context, run: Movable, happening: Happening): Promise<RunInPlace> {
  const ledger = new Ledger();
  const { after, step } = await carryOut(tx, context, run, happening, ledger);
  ledger.audit(run, happening.event, { before: { status: run.status }, after: { status: after.status } });
  const columns = {
    ...(await workspaceAfter(tx, context, run, after, step, ledger)),
    ...(countsForFigures(after) && (await figures(tx, run))),
    ...(isFinal(after.status) && scheduleAfter([after])),
  };
  if (Object.keys(columns).length > 0) await setRunColumns(tx, run, run.workspaceId, columns);
  await ledger.write(tx, context, run);
  if (happening.event === "apply") await approveConfiguration(tx, run);
  if (after.status === "applied") {
    await noteConfigurationApplied(tx, run);
    await afterApplied(tx, context, after);
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
  place: Place & { readonly currentRunStatus: string | null },
  state: SettledState | undefined,
  by: Mover,
): Promise<RunColumns | undefined> {
  const ledger = new Ledger();
  const proof = movedBy(by, place);
  if (state !== undefined) await discardStale(tx, context, proof, ledger);
  // The oldest that waits is the current run as long as nobody holds the workspace: without one, nobody waits.
  const columns = place.currentRunStatus === "pending" ? await nextTurn(tx, context, proof, ledger, true) : undefined;
  await ledger.write(tx, context, proof);
  return columns;
}

/** The same for whoever writes the workspace's row for no other reason. */
export async function admitNext(tx: Tx, context: Context, place: Place, by: Mover): Promise<void> {
  const columns = await released(tx, context, { ...place, currentRunStatus: "pending" }, undefined, by);
  if (columns !== undefined) await setRunColumns(tx, movedBy(by, place), place.workspaceId, columns);
}

export interface Passed {
  readonly holder: Movable;
  /** Those that wait before it. */
  readonly waiting: readonly RunInPlace[];
  readonly comment?: string | null | undefined;
}

/** A run passes the one that holds the workspace, and all that wait before it: they are discarded. Raises `conflict`. */
export async function forceTurn(tx: Tx, context: Context, run: Movable, passed: Passed): Promise<void> {
  const ledger = new Ledger();
  stepFor({ ...factsOf(run), heldByDiscardable: true }, "force-execute");
  await ledger.comment(tx, run, passed.comment);
  ledger.tell(run, "force_executed");
  ledger.audit(run, "force-execute", { before: { status: run.status }, after: { status: run.status } });
  await discardWaiting(tx, context, run, passed.waiting, ledger);
  const { after, step } = await carryOut(tx, context, passed.holder, { event: "discard" }, ledger);
  ledger.audit(after, "discard", { before: { status: passed.holder.status }, after: { status: after.status } });
  const columns = await workspaceAfter(tx, context, passed.holder, after, step, ledger);
  const discarded = [...passed.waiting.map((each) => ({ ...each, status: "discarded" })), after];
  const all = { ...columns, ...scheduleAfter(discarded) };
  if (Object.keys(all).length > 0) await setRunColumns(tx, run, run.workspaceId, all);
  await ledger.write(tx, context, run);
}

/**
 * A workspace goes, and its runs with it: whoever executes one finds it gone with the next word, and stops. What is left of them is
 * the trail.
 */
export async function cutOff(
  tx: Tx,
  context: Context,
  workspace: Granted<Pick<WorkspaceTable, "id" | "organizationId">, "can-destroy" | "can-force-delete">,
): Promise<void> {
  const ledger = new Ledger();
  for (const run of await findLiving(tx, workspace))
    ledger.audit(run, "workspace-deleted", { before: { status: run.status }, after: { status: "canceled" } });
  await ledger.write(tx, context, movedBy(workspace, workspace));
}

/** However many there are, the same number of statements. */
async function discardWaiting(
  tx: Tx,
  context: Context,
  by: Movable,
  waiting: readonly RunInPlace[],
  ledger: Ledger,
): Promise<void> {
  if (waiting.length === 0) return;
  for (const run of waiting) {
    const step = stepFor(factsOf(run), "discard");
    ledger.reached(run, step, `Passed by the run ${by.id}, which was executed by force.`);
    ledger.audit(run, "discard", { before: { status: run.status }, after: { status: "discarded" } });
  }
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

/** Over the latest runs of its workspace, this one among them. */
const figures = async (tx: Tx, place: Place): Promise<RunColumns> =>
  figuresOf(await findEndedRuns(tx, place, figuresOver));

/** The run and its phases, and what is told of it; the workspace is left to the caller. Raises `conflict`. */
async function carryOut(
  tx: Tx,
  context: Context,
  run: Movable,
  happening: Happening,
  ledger: Ledger,
): Promise<{ after: RunInPlace; step: Step }> {
  const { hasChanges, event } = happening;
  const step = stepFor({ ...factsOf(run), ...(hasChanges !== undefined && { hasChanges }) }, event);
  const moved = columnsAfter(run, step, happening, context.actor, now());
  const hasEnded = isFinal(step.to.at(-1) ?? run.status);
  const pins = event === "admit" ? { pinnedVariables: await pinned(tx, context, run) } : {};
  const kept = hasEnded && wasPlanned(run) ? { pinnedVariables: pinnedSecrets(context, run) } : {};
  await updateRun(tx, run, run.id, { ...moved.run, ...pins, ...kept });
  await updatePhases(tx, run, context.vault, phaseChanges(run, moved));
  await ledger.comment(tx, run, happening.comment);
  if (event === "cancel" && step.to.length === 0) ledger.tell(run, "cancel_requested");
  if (event === "force-cancel") ledger.tell(run, "force_canceled");
  ledger.reached(run, step, happening.description);
  if (hasEnded) await dropExecution(tx, run);
  return { after: { ...run, ...moved.run, version: run.version + 1 }, step };
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

const wasPlanned = ({ planStatus }: RunInPlace): boolean => planStatus === "running" || planStatus === "finished";

const executionKinds = ["plan", "lock-file"] as const;

/** The plan file holds secrets, and nobody may apply it any more. */
async function dropExecution(tx: Tx, run: RunInPlace): Promise<void> {
  if (wasPlanned(run)) await abandonContents(tx, { column: "runId", id: run.id }, executionKinds);
}

/** What a step changes in the workspace: its lock, its current run, and with the end of an apply its state. */
async function workspaceAfter(
  tx: Tx,
  context: Context,
  run: Movable,
  after: RunInPlace,
  step: Step,
  ledger: Ledger,
): Promise<RunColumns | undefined> {
  if (step.lock === "taken") return heldBy(after);
  const holds = run.lockedByType === "runs" && run.lockedById === run.id;
  if (holds && step.lock === "freed") {
    const state = run.status === "applying" ? await settled(tx, context, run) : undefined;
    if (state !== undefined) await discardStale(tx, context, run, ledger);
    return { ...unlocked, ...state, ...(await nextTurn(tx, context, movedBy(run, after), ledger, true)) };
  }
  if (run.currentRunId !== run.id) return undefined;
  // One that waited under somebody's lock, and ended: the next that waits takes its place.
  if (isFinal(after.status)) return nextTurn(tx, context, movedBy(run, after), ledger, false);
  return currentRun(after);
}

/** What was written under the lock becomes the workspace's state; what is still awaited is given up. */
async function settled(tx: Tx, context: Context, run: Movable): Promise<SettledState | undefined> {
  const workspace = movedBy(run, {
    id: run.workspaceId,
    organizationId: run.organizationId,
    currentStateVersionId: run.currentStateVersionId,
  });
  await context.hooks.states.discardPending(tx, context, workspace);
  return context.hooks.states.settle(tx, context, workspace, run.id);
}

/** Each by itself: there are few, for every one keeps somebody from applying what they saved. */
async function discardStale(tx: Tx, context: Context, place: Granted<Place, Moving>, ledger: Ledger): Promise<void> {
  for (const saved of await findSavedPlans(tx, place)) {
    const description = "The workspace's state has changed since it was planned.";
    const { after } = await carryOut(tx, context, movedBy(place, saved), { event: "stale", description }, ledger);
    ledger.audit(saved, "stale", { before: { status: saved.status }, after: { status: after.status } });
  }
}

/** The next that waits, admitted where the workspace is free; else the newest that ended. */
async function nextTurn(
  tx: Tx,
  context: Context,
  place: Granted<Place, Moving>,
  ledger: Ledger,
  isFree: boolean,
): Promise<RunColumns | undefined> {
  const { next, last } = await findTurns(tx, place);
  if (next === undefined) return last && currentRun(last);
  if (!isFree) return currentRun(next);
  const free = movedBy(place, { ...next, lockedByType: null, lockedById: null });
  const { after } = await carryOut(tx, context, free, { event: "admit" }, ledger);
  ledger.audit(next, "admit", { before: { status: next.status }, after: { status: after.status } });
  await stopAssessment(tx, context, place, ledger);
  return heldBy(after);
}

/** A run has begun: what an assessment would find now says nothing, so it is canceled. Only the hosted edition assesses. */
export async function stopAssessment(
  tx: Tx,
  context: Context,
  place: Granted<Place, Moving>,
  ledger: Ledger,
): Promise<void> {
  if (context.options.edition !== "hosted") return;
  const id = await assessmentUnderway(tx, place);
  const run = id === undefined ? undefined : await findRunInPlace(tx, id);
  if (run === undefined) return;
  const description = "Another run of the workspace has begun.";
  const { after } = await carryOut(tx, context, movedBy(place, run), { event: "cancel", description }, ledger);
  ledger.audit(run, "cancel", { before: { status: run.status }, after: { status: after.status } });
}

/** The lock is the run's, which is the current one; it has no lease, for it ends with the run. */
export const heldBy = (run: Pick<RunTable, "id" | "status" | "createdAt">): RunColumns => ({
  ...currentRun(run),
  ...unlocked,
  lockedByType: "runs",
  lockedById: run.id,
  lockedAt: now(),
});

export const currentRun = (run: Pick<RunTable, "id" | "status" | "createdAt">): RunColumns => ({
  currentRunId: run.id,
  currentRunStatus: run.status,
  currentRunCreatedAt: run.createdAt,
});
