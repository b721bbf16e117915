/**
 * How runs come to be and move on: the only place that changes a run's status. Everything happens in the caller's transaction,
 * with the workspace's row held: run, phases, lock, current run, events and trail change together or not at all.
 */
import type { Granted } from "../../../access/granted.ts";
import { workspacePermissions } from "../../../access/permissions.ts";
import type { Tx } from "../../../database/database.ts";
import type { RunTable } from "../../../database/schema/runs.ts";
import { conflict, refuseIfAny } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { setRunColumns, type RunColumns } from "../../register/workspaces/writes.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import { exactVersionOf } from "../../site/terraform-versions/reads.ts";
import { type AuditEvent, recordEvents } from "../../shared/audit-events/writes.ts";
import { abandonContents } from "../../shared/contents/contents.ts";
import type { Context } from "../../shared/context.ts";
import { workspaceFactsOf } from "../../shared/grants/reads.ts";
import { insertPhases, newPhase, type PhaseChange, updatePhases } from "../phases/writes.ts";
import { movedBy, type Mover, type Moving } from "../proofs.ts";
import { recordRunEvents, type RunEvent } from "../run-events/writes.ts";
import { afterApplied } from "../run-triggers/writes.ts";
import { eventOf, isFinal, refusalOf, type RunStatus, type Step, stepOf } from "./machine.ts";
import {
  type AskedRun,
  columnsAfter,
  type Happening,
  type Moved,
  newRun,
  runFaults,
  type UsableConfiguration,
} from "./rules.ts";
import { findConfiguration, findTurns, insertRun, updateRun, variablesOwner } from "./store.ts";
import { factsOf, type RunInPlace } from "./view.ts";

export type { AskedRun, Happening };
type Movable = Granted<RunInPlace, Moving>;

// --- creation

/**
 * A run with its plan and apply; it is admitted at once where it may be. Raises `invalid` for what can't be run.
 */
export async function createRun(
  tx: Tx,
  context: Context,
  workspace: WorkspaceView,
  asked: AskedRun,
  by: Mover,
): Promise<RunInPlace> {
  const configuration = await configurationFor(tx, context, workspace, asked);
  refuseIfAny(runFaults(asked, workspace, configuration));
  const wanted = asked.engineVersion ?? workspace.engineVersion;
  const id = newId("runs");
  const row = newRun(asked, {
    id,
    workspace,
    configuration: configuration as UsableConfiguration,
    // What nobody knows is asked for as it is written, and the run says what it waits for.
    engineVersion: (await exactVersionOf(tx, wanted)) ?? wanted,
    mayApply: asked.byNobody === true || workspacePermissions(workspace)["can-queue-apply"],
    createdAt: now(),
    variables: asked.variables?.length
      ? context.vault.seal(variablesOwner(id), Buffer.from(JSON.stringify(asked.variables)))
      : null,
    context,
  });
  return begin(tx, context, row, movedBy(by, inPlace(row, workspace)));
}

/** One of this workspace, or of another that the caller may read: a configuration that is promoted. */
async function configurationFor(
  tx: Tx,
  context: Context,
  workspace: WorkspaceView,
  asked: AskedRun,
): Promise<UsableConfiguration | undefined> {
  const id = asked.configurationVersionId ?? workspace.currentConfigurationVersionId;
  if (id === null) return undefined;
  const found = await findConfiguration(tx, context, workspace.organizationId, id);
  if (found === undefined || found.workspaceId === workspace.id) return found;
  return workspacePermissions(workspaceFactsOf(context.actor, found))["can-read-run"] ? found : undefined;
}

function inPlace(row: RunTable, workspace: WorkspaceView): RunInPlace {
  const [plan, apply] = [newPhase("plan", row), newPhase("apply", row)];
  return {
    ...row,
    projectId: workspace.projectId,
    lockedByType: workspace.lockedByType,
    lockedById: workspace.lockedById,
    lockedByName: workspace.lockedByName,
    currentRunId: workspace.currentRunId,
    currentRunStatus: workspace.currentRunStatus,
    currentStateVersionId: workspace.currentStateVersionId,
    currentConfigurationVersionId: workspace.currentConfigurationVersionId,
    planStatus: plan.status,
    planTimestamps: plan.statusTimestamps,
    planAttempt: 0,
    planLogBytes: 0,
    planLogEnded: 0,
    applyStatus: apply.status,
    applyTimestamps: apply.statusTimestamps,
    applyAttempt: 0,
    applyLogBytes: 0,
    applyLogEnded: 0,
  };
}

/** It is written as it is after its admission, where that comes at once: nobody has seen it before. */
async function begin(tx: Tx, context: Context, row: RunTable, run: Movable): Promise<RunInPlace> {
  const ledger = new Ledger();
  ledger.tell(run, "created");
  const step = mayBegin(run) ? stepOf(factsOf(run), "admit") : undefined;
  const moved = step && columnsAfter(run, step, { event: "admit" }, context.actor, run.createdAt);
  if (step !== undefined) ledger.reached(run, step);
  const begun: RunInPlace = { ...run, ...moved?.run };
  await insertRun(tx, run, { ...row, ...moved?.run });
  await insertPhases(tx, run, [
    { ...newPhase("plan", run), ...moved?.plan },
    { ...newPhase("apply", run), ...moved?.apply },
  ]);
  const columns = step?.lock === "taken" ? heldBy(begun) : waitsFirst(run) ? currentRun(begun) : undefined;
  if (columns !== undefined) await setRunColumns(tx, run, run.workspaceId, columns);
  ledger.audit(run, "create", { after: { status: begun.status, workspace: run.workspaceId, message: run.message } });
  await ledger.write(tx, context, run);
  return { ...begun, ...columns };
}

/** Whoever waits already comes before it. */
const mayBegin = (run: RunInPlace): boolean =>
  run.planOnly === 1 || run.savePlan === 1 || run.currentRunStatus !== "pending";
/** While a person holds the lock, the oldest that waits is the workspace's current run. */
const waitsFirst = (run: RunInPlace): boolean =>
  run.planOnly === 0 && run.savePlan === 0 && run.lockedByType !== "runs" && run.currentRunStatus !== "pending";

// --- steps

/** Moves a run on, with all that follows. Raises `conflict` where its status does not allow it. */
export async function advance(tx: Tx, context: Context, run: Movable, happening: Happening): Promise<RunInPlace> {
  const ledger = new Ledger();
  const { after, step } = await carryOut(tx, context, run, happening, ledger);
  ledger.audit(run, happening.event, { before: { status: run.status }, after: { status: after.status } });
  const columns = await workspaceAfter(tx, context, run, after, step, ledger);
  if (columns !== undefined) await setRunColumns(tx, run, run.workspaceId, columns);
  await ledger.write(tx, context, run);
  if (after.status === "applied") await afterApplied(tx, context, after);
  return { ...after, ...columns };
}

/** Whose turn it is, where nobody holds the workspace: at an unlock, and after what left the workspace free. The row is held. */
export async function admitNext(
  tx: Tx,
  context: Context,
  workspace: Pick<RunTable, "organizationId" | "workspaceId">,
  by: Mover,
): Promise<RunColumns | undefined> {
  const ledger = new Ledger();
  const proof = movedBy(by, workspace);
  const columns = await nextTurn(tx, context, proof, ledger, true);
  if (columns !== undefined) await setRunColumns(tx, proof, workspace.workspaceId, columns);
  await ledger.write(tx, context, proof);
  return columns;
}

/** The run and its phases, and what is told of it; the workspace is left to the caller. Raises `conflict`. */
async function carryOut(
  tx: Tx,
  context: Context,
  run: Movable,
  happening: Happening,
  ledger: Ledger,
): Promise<{ after: RunInPlace; step: Step }> {
  const { hasChanges } = happening;
  const facts = { ...factsOf(run), ...(hasChanges !== undefined && { hasChanges }) };
  const step = stepOf(facts, happening.event);
  if (step === undefined) throw conflict(refusalOf(facts, happening.event));
  const moved = columnsAfter(run, step, happening, context.actor, now());
  await updateRun(tx, run, run.id, moved.run);
  await updatePhases(tx, run, context.vault, phaseChanges(run, moved));
  const after: RunInPlace = { ...run, ...moved.run, version: run.version + 1 };
  if (happening.event === "cancel" && step.to.length === 0) ledger.tell(run, "cancel_requested");
  if (happening.event === "force-cancel") ledger.tell(run, "force_canceled");
  ledger.reached(run, step, happening.description);
  return { after, step };
}

function phaseChanges(run: RunInPlace, { plan, apply }: Moved): PhaseChange[] {
  const { organizationId } = run;
  const changes: PhaseChange[] = [];
  if (plan !== undefined)
    changes.push({
      phase: {
        id: run.planId,
        organizationId,
        attempt: run.planAttempt,
        logBytes: run.planLogBytes,
        logEnded: run.planLogEnded,
      },
      changes: plan,
    });
  if (apply !== undefined)
    changes.push({
      phase: {
        id: run.applyId,
        organizationId,
        attempt: run.applyAttempt,
        logBytes: run.applyLogBytes,
        logEnded: run.applyLogEnded,
      },
      changes: apply,
    });
  return changes;
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
  if (isFinal(after.status)) await dropExecution(tx, run);
  if (step.lock === "taken") return heldBy(after);
  const holds = run.lockedByType === "runs" && run.lockedById === run.id;
  if (holds && step.lock === "freed") {
    const state = run.status === "applying" ? await settled(tx, context, run) : undefined;
    const turn = await nextTurn(tx, context, { ...run, ...after, ...state }, ledger, true);
    return { ...unlocked, ...state, ...turn };
  }
  if (run.currentRunId !== run.id) return undefined;
  // One that waited under somebody's lock, and ended: the next that waits takes its place.
  if (isFinal(after.status)) return nextTurn(tx, context, after as Movable, ledger, false);
  return currentRun(after);
}

/** What was written under the lock becomes the workspace's state; what is still awaited is given up. */
async function settled(tx: Tx, context: Context, run: Movable) {
  const workspace = movedBy(run, {
    id: run.workspaceId,
    organizationId: run.organizationId,
    currentStateVersionId: run.currentStateVersionId,
  });
  await context.neighbours.discardPendingStates(tx, context, workspace);
  return context.neighbours.settleState(tx, workspace);
}

const executionKinds = ["plan", "lock-file"] as const;

/** The plan file holds secrets, and nobody may apply it any more. */
async function dropExecution(tx: Tx, run: RunInPlace): Promise<void> {
  if (run.planStatus === "finished" || run.status === "planning")
    await abandonContents(tx, { column: "runId", id: run.id }, executionKinds);
}

/** The next that waits, admitted where the workspace is free; else the newest that ended. */
async function nextTurn(
  tx: Tx,
  context: Context,
  place: Granted<Pick<RunTable, "organizationId" | "workspaceId"> & Partial<RunInPlace>, Moving>,
  ledger: Ledger,
  isFree: boolean,
): Promise<RunColumns | undefined> {
  const { next, last } = await findTurns(tx, place);
  if (next === undefined) return last && currentRun(last);
  if (!isFree) return currentRun(next);
  const currentStateVersionId = place.currentStateVersionId ?? next.currentStateVersionId;
  const free = movedBy(place, { ...next, lockedByType: null, lockedById: null, currentStateVersionId });
  const { after } = await carryOut(tx, context, free, { event: "admit" }, ledger);
  ledger.audit(next, "admit", { before: { status: next.status }, after: { status: after.status } });
  return heldBy(after);
}

const unlocked = { lockedByType: null, lockedById: null, lockedByName: null, lockedReason: null } as const;

const heldBy = (run: RunTable): RunColumns => ({
  ...currentRun(run),
  lockedByType: "runs",
  lockedById: run.id,
  lockedByName: null,
  lockedReason: null,
});

const currentRun = (run: Pick<RunTable, "id" | "status" | "createdAt">): RunColumns => ({
  currentRunId: run.id,
  currentRunStatus: run.status,
  currentRunCreatedAt: run.createdAt,
});

/** What a transaction tells of the runs that it moved, written once at its end. */
class Ledger {
  readonly #told: RunEvent[] = [];
  readonly #audited: AuditEvent[] = [];

  tell(run: Pick<RunTable, "id" | "organizationId">, action: string, description: string | null = null): void {
    this.#told.push({ run: { id: run.id, organizationId: run.organizationId }, action, description });
  }

  /** The statuses of a step, those that have a word. */
  reached(run: Pick<RunTable, "id" | "organizationId">, { to }: Step, description: string | null = null): void {
    for (const status of to) {
      const action = eventOf(status as RunStatus);
      if (action !== undefined) this.tell(run, action, status === to.at(-1) ? description : null);
    }
  }

  audit(
    run: Pick<RunTable, "id" | "organizationId">,
    verb: string,
    told: { readonly before?: object; readonly after?: object },
  ): void {
    this.#audited.push({ organizationId: run.organizationId, verb, subject: { type: "runs", id: run.id }, ...told });
  }

  async write(tx: Tx, context: Context, by: Granted<object, Moving>): Promise<void> {
    await recordRunEvents(tx, by, context.actor, this.#told);
    await recordEvents(tx, context, this.#audited);
  }
}
