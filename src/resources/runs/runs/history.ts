/** Imports finished runs of another server as history. They are never executed and hold no lock. */
import type { Tx } from "../../../database/database.ts";
import type { RunPhaseTable, RunTable } from "../../../database/schema/runs.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import { conflict } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { authorizeWorkspace, loadWorkspace } from "../../register/workspaces/reads.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import { setRunColumns } from "../../register/workspaces/writes.ts";
import type { Context } from "../../shared/context.ts";
import { newPhase, type PhaseStatus } from "../phases/rules.ts";
import { insertPhases, updatePhases } from "../phases/writes.ts";
import type { RunTransition } from "../capabilities.ts";
import { runs } from "./definition.ts";
import type { finalStatuses } from "./state-machine.ts";
import { currentRunColumns, runStatisticsOf, runStatisticsWindow, operationOf, initialRunColumns } from "./rules.ts";
import { findEndedRuns, findLatestRunId, insertRun } from "./store.ts";
import { TransitionRecorder } from "./transition-recorder.ts";

export interface HistoricPhase {
  readonly status: Extract<PhaseStatus, "finished" | "errored" | "canceled" | "unreachable">;
  readonly timestamps: Readonly<Record<string, string>>;
  readonly additions: number;
  readonly changes: number;
  readonly destructions: number;
  readonly imports: number;
  readonly invocations: number;
}

export interface HistoricRun {
  readonly status: (typeof finalStatuses)[number];
  readonly timestamps: Readonly<Record<string, string>>;
  readonly message: string;
  readonly source: string;
  readonly triggerReason: string;
  readonly isDestroy: boolean;
  readonly refresh: boolean;
  readonly refreshOnly: boolean;
  readonly planOnly: boolean;
  readonly autoApply: boolean;
  readonly allowEmptyApply: boolean;
  readonly hasChanges: boolean;
  readonly engineVersion: string | null;
  readonly creator: { readonly userId: string | null; readonly name: string | null };
  readonly createdAt: string;
  readonly endedAt: string;
  readonly plan: HistoricPhase;
  readonly apply: HistoricPhase;
}

/** `after`: the run imported last. `recordIds`: in the same transaction. Throws `conflict` if runs were created here. */
export async function importRuns(
  context: Context,
  workspaceId: string,
  after: string | undefined,
  historic: readonly HistoricRun[],
  recordIds: (tx: Tx, ids: readonly string[]) => Promise<void>,
): Promise<readonly string[]> {
  return context.database.write(async (tx) => {
    const found = await loadWorkspace(tx, context, { workspaceId }, "change");
    const workspace = authorizeWorkspace(found, "can-force-unlock");
    if ((await findLatestRunId(tx, workspace)) !== after)
      throw conflict(
        "The workspace has runs that were created on this server, so no more runs of the source are imported into it.",
      );
    const recorder = new TransitionRecorder(tx, context, workspace, workspaceId);
    const { by } = recorder;
    const rows = historic.map((run) => rowFor(run, workspace));
    for (const row of rows) await insertRun(tx, by, row);
    await writePhases(tx, context, by, historic, rows);
    await updateWorkspace(tx, by, workspace, rows);
    for (const row of rows)
      recorder.audit(row, "import", {
        after: { status: row.status, message: row.message, workspace: workspaceId },
      });
    await recorder.flush();
    const ids = rows.map(({ id }) => id);
    await recordIds(tx, ids);
    return ids;
  });
}

async function updateWorkspace(
  tx: Tx,
  by: RunTransition,
  { id: workspaceId, organizationId, currentRunCreatedAt }: WorkspaceView,
  rows: readonly RunTable[],
): Promise<void> {
  const last = rows
    .filter(({ planOnly, createdAt }) => planOnly === 0 && createdAt >= (currentRunCreatedAt ?? ""))
    .at(-1);
  const statistics = runStatisticsOf(await findEndedRuns(tx, { organizationId, workspaceId }, runStatisticsWindow));
  await setRunColumns(tx, by, workspaceId, { ...statistics, ...(last && currentRunColumns(last)) });
}

function rowFor(run: HistoricRun, workspace: WorkspaceView): RunTable {
  const { status, source, triggerReason, createdAt, endedAt, creator, planOnly } = run;
  return {
    ...initialRunColumns,
    ...createdColumns(runs, { ...run, engineVersion: undefined }),
    status,
    source,
    triggerReason,
    createdAt,
    endedAt,
    id: newId("runs"),
    organizationId: workspace.organizationId,
    workspaceId: workspace.id,
    position: 0,
    statusTimestamps: JSON.stringify(run.timestamps),
    operation: operationOf(run, planOnly),
    planOnly: Number(planOnly),
    autoApply: Number(run.autoApply),
    creatorMayApply: 0,
    structured: 0,
    variables: null,
    engine: workspace.engine ?? "terraform",
    engineVersion: run.engineVersion ?? workspace.engineVersion,
    executionMode: "remote",
    agentPoolId: null,
    configurationVersionId: null,
    planId: newId("plans"),
    applyId: newId("applies"),
    hasChanges: Number(run.hasChanges),
    createdByKind: creator.userId === null ? null : "user",
    createdById: creator.userId,
    createdByName: creator.name,
    causedByRunId: null,
    chainLength: 0,
    commitSha: null,
  };
}

async function writePhases(
  tx: Tx,
  context: Context,
  by: RunTransition,
  historic: readonly HistoricRun[],
  rows: readonly RunTable[],
): Promise<void> {
  const phases = rows.flatMap((row, index) => {
    const run = historic[index];
    return run === undefined ? [] : [phaseFor("plan", row, run.plan), phaseFor("apply", row, run.apply)];
  });
  await insertPhases(tx, by, phases);
  for (const [status, group] of Map.groupBy(phases, (phase) => phase.status))
    await updatePhases(
      tx,
      by,
      context,
      group.map((phase) => ({ phase, changes: { status } })),
      "identical",
    );
}

function phaseFor(kind: "plan" | "apply", row: RunTable, phase: HistoricPhase): RunPhaseTable {
  return {
    ...newPhase(kind, row),
    status: phase.status,
    statusTimestamps: JSON.stringify(phase.timestamps),
    hasChanges: kind === "plan" ? row.hasChanges : 0,
    resourceAdditions: phase.additions,
    resourceChanges: phase.changes,
    resourceDestructions: phase.destructions,
    resourceImports: phase.imports,
    actionInvocations: phase.invocations,
  };
}
