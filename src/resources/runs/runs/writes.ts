/**
 * How runs come to be, in the caller's transaction with the workspace's row held; how they move on is `steps.ts`. What neighbours
 * have done to runs goes through here.
 */
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import type { RunTable } from "../../../database/schema/runs.ts";
import { refuseIfAny } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { agentPoolOf, executionModeOf, type WorkspaceView } from "../../register/workspaces/view.ts";
import { setRunColumns } from "../../register/workspaces/writes.ts";
import { exactVersionOf, newestAmong } from "../../site/terraform-versions/reads.ts";
import { isExactVersion } from "../../site/terraform-versions/versions.ts";
import type { Context } from "../../shared/context.ts";
import { workspaceFactsOf } from "../../shared/grants/reads.ts";
import { offeredVersions } from "../agents/reads.ts";
import { sayInLog } from "../phases/logs.ts";
import { insertPhases, newPhase } from "../phases/writes.ts";
import { movedBy, type Mover } from "../proofs.ts";
import { Ledger } from "./ledger.ts";
import { stepOf } from "./machine.ts";
import { pinned } from "./pins.ts";
import {
  type AskedRun,
  columnsAfter,
  engineOf,
  type Happening,
  newRun,
  refusalOfRun,
  runFaults,
  type UsableConfiguration,
} from "./rules.ts";
import { advance, currentRun, heldBy, type Movable, stopAssessment } from "./steps.ts";
import { findConfiguration, insertRun, variablesOwner } from "./store.ts";
import { factsOf, type RunInPlace } from "./view.ts";

export { admitNext, advance, cutOff, forceTurn, released } from "./steps.ts";
export type { AskedRun, Happening };

/**
 * A run with its plan and apply; it is admitted at once where it may be. One that asks for what is not supported ends at once: its
 * clients read it back, and without that part it would do something else. Raises `invalid` for what can't be run.
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
    engineVersion: (await resolved(tx, context, workspace, wanted)) ?? wanted,
    mayApply: asked.byNobody === true || workspacePermissions(workspace)["can-queue-apply"],
    createdAt: now(),
    variables: asked.variables?.length
      ? context.vault.seal(variablesOwner(id), Buffer.from(JSON.stringify(asked.variables)))
      : null,
    context,
  });
  const refusal = refusalOfRun(asked);
  const begun = movedBy(by, inPlace(row, workspace, configuration?.approvedAt ?? null));
  const run = await begin(tx, context, row, begun, refusal === undefined);
  return refusal === undefined ? run : refuse(tx, context, movedBy(by, run), refusal);
}

async function refuse(tx: Tx, context: Context, run: Movable, description: string): Promise<RunInPlace> {
  const said = await sayInLog(tx, context.vault, run.planId, description);
  const logged = movedBy(run, { ...run, planLogBytes: said?.logBytes ?? 0 });
  return advance(tx, context, logged, { event: "refuse", phase: { errorMessage: description }, description });
}

/** The register knows releases of Terraform. Those of OpenTofu are known by the agents that would execute the run. */
async function resolved(
  tx: Tx,
  context: Context,
  workspace: WorkspaceView,
  wanted: string,
): Promise<string | undefined> {
  if (isExactVersion(wanted) || engineOf(workspace, context) === "terraform") return exactVersionOf(tx, wanted);
  const pool = executionModeOf(workspace) === "agent" ? agentPoolOf(workspace) : null;
  return newestAmong(await offeredVersions(tx, "tofu", pool), wanted);
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

function inPlace(row: RunTable, workspace: WorkspaceView, configurationApprovedAt: string | null): RunInPlace {
  const [plan, apply] = [newPhase("plan", row), newPhase("apply", row)];
  return {
    ...row,
    configurationApprovedAt,
    projectId: workspace.projectId,
    lockedByType: workspace.lockedByType,
    lockedById: workspace.lockedById,
    lockedByName: workspace.lockedByName,
    lockExpiresAt: workspace.lockExpiresAt,
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
async function begin(
  tx: Tx,
  context: Context,
  row: RunTable,
  run: Movable,
  isAdmissible: boolean,
): Promise<RunInPlace> {
  const ledger = new Ledger();
  ledger.created(run);
  const step = isAdmissible && mayBegin(run) ? stepOf(factsOf(run), "admit") : undefined;
  const moved = step && columnsAfter(run, step, { event: "admit" }, context.actor, run.createdAt);
  if (step !== undefined) ledger.reached(run, step);
  const begun: RunInPlace = { ...run, ...moved?.run };
  const pins = step && { pinnedVariables: await pinned(tx, context, run) };
  await insertRun(tx, run, { ...row, ...moved?.run, ...pins });
  await insertPhases(tx, run, [
    { ...newPhase("plan", run), ...moved?.plan },
    { ...newPhase("apply", run), ...moved?.apply },
  ]);
  const columns = step?.lock === "taken" ? heldBy(begun) : waitsFirst(run) ? currentRun(begun) : undefined;
  if (columns !== undefined) await setRunColumns(tx, run, run.workspaceId, columns);
  if (step?.lock === "taken") await stopAssessment(tx, context, run, ledger);
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
