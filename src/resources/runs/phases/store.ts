/** SQL for plans, applies and log chunks. Writers of phases must hold the lock on the workspace row. */
import { type Kysely, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import type { WorkspacePermissionInput } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { RunLogChunkTable, RunPhaseTable } from "../../../database/schema/runs.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import type { Context } from "../../shared/context.ts";
import {
  workspaceAccessColumns,
  type WorkspaceAccessRow,
  workspacePermissionInputOf,
} from "../../shared/grants/reads.ts";
import { updateRow } from "../../shared/versions.ts";
import type { PhaseView } from "./definition.ts";
import { logUrl } from "./log-urls.ts";
import { dataPresent, type PhaseKind } from "./rules.ts";

type PhaseRow = RunPhaseTable & WorkspaceAccessRow & Pick<PhaseView, "executionMode" | "agentPoolId" | "runEndedAt">;

function phaseForActor(db: Kysely<Schema>, principal: string) {
  return db
    .selectFrom("runPhases as f")
    .innerJoin("runs as r", "r.id", "f.runId")
    .innerJoin("workspaces as w", "w.id", "f.workspaceId")
    .innerJoin("organizations as o", "o.id", "f.organizationId")
    .selectAll("f")
    .select(["r.executionMode", "r.agentPoolId", "r.endedAt as runEndedAt", "o.allowForceDeleteWorkspaces"])
    .select(
      sql<string | null>`(
      select string_agg(v.id, ',' order by v.position desc) from state_versions as v
      where v.workspace_id = f.workspace_id and v.run_id = f.run_id and f.kind = 'apply')`.as("stateVersionIds"),
    )
    .select(workspaceAccessColumns(principal));
}

export type PhaseCaller = Pick<Context, "actor" | "vault" | "options">;
type PhaseQuery = { kind: string; id: string; principal: string };

const byId = prepared<PhaseQuery, PhaseRow>((db, { kind, id, principal }) =>
  phaseForActor(db, principal).where("f.id", "=", id).where("f.kind", "=", kind),
);
const byRun = prepared<PhaseQuery, PhaseRow>((db, { kind, id, principal }) =>
  phaseForActor(db, principal).where("f.runId", "=", id).where("f.kind", "=", kind),
);

export async function findPhase(
  tx: Tx,
  context: PhaseCaller,
  kind: PhaseKind,
  by: { readonly id: string } | { readonly runId: string },
): Promise<PhaseView | undefined> {
  const principal = principalOf(context.actor);
  const [row] =
    "id" in by ? await byId(tx, { kind, id: by.id, principal }) : await byRun(tx, { kind, id: by.runId, principal });
  return row && toView(row, context);
}

/** For runs that the caller is known to read. */
export async function findPhasesOf(
  tx: Tx,
  context: PhaseCaller,
  kind: PhaseKind,
  runIds: readonly string[],
): Promise<PhaseView[]> {
  const rows = await phaseForActor(tx.db, principalOf(context.actor))
    .where("f.kind", "=", kind)
    .where(tx.dialect.isOneOf(sql.ref("f.runId"), runIds))
    .execute();
  return rows.map((row) => toView(row, context));
}

function toView(row: PhaseRow, context: PhaseCaller): PhaseView {
  return { ...row, ...workspacePermissionInputOf(context.actor, row), logReadUrl: logUrl(context, row.id) };
}

/** Writers must hold the lock on the phase row. */
export type LoggedPhase = Pick<RunPhaseTable, "id" | "organizationId" | "attempt" | "logBytes" | "logEnded">;

/** Does not raise the version of the phase: no document shows the log's length. */
export async function insertChunks(
  tx: Tx,
  { id }: LoggedPhase,
  chunks: readonly RunLogChunkTable[],
  after: Pick<RunPhaseTable, "logBytes" | "logEnded">,
): Promise<void> {
  await tx.db.insertInto("runLogChunks").values(chunks).execute();
  await tx.db.updateTable("runPhases").set(after).where("id", "=", id).execute();
}

export async function insertLogChunks(tx: Tx, chunks: readonly RunLogChunkTable[]): Promise<void> {
  await tx.db.insertInto("runLogChunks").values(chunks).execute();
}

export async function findStartOfAttempt(tx: Tx, { id, attempt }: LoggedPhase): Promise<number | undefined> {
  const row = await tx.db
    .selectFrom("runLogChunks")
    .select((select) => select.fn.min<number | null>("start").as("start"))
    .where("phaseId", "=", id)
    .where("attempt", "=", attempt)
    .executeTakeFirst();
  return row === undefined || row.start === null ? undefined : Number(row.start);
}

export const findLoggedPhase = prepared<{ id: string }, LoggedPhase>((db, { id }) =>
  db
    .selectFrom("runPhases")
    .select(["id", "organizationId", "attempt", "logBytes", "logEnded"])
    .where("id", "=", id)
    .where("backingDataStatus", "=", dataPresent),
);

type ReadableLog = LoggedPhase & WorkspaceAccessRow;

const logForActor = prepared<{ id: string; principal: string }, ReadableLog>((db, { id, principal }) =>
  db
    .selectFrom("runPhases as f")
    .innerJoin("workspaces as w", "w.id", "f.workspaceId")
    .innerJoin("organizations as o", "o.id", "f.organizationId")
    .select(["f.id", "f.organizationId", "f.attempt", "f.logBytes", "f.logEnded", "o.allowForceDeleteWorkspaces"])
    .select(workspaceAccessColumns(principal))
    .where("f.id", "=", id)
    .where("f.backingDataStatus", "=", dataPresent),
);

export async function findReadableLog(
  tx: Tx,
  actor: Actor,
  id: string,
): Promise<(LoggedPhase & WorkspacePermissionInput) | undefined> {
  const [row] = await logForActor(tx, { id, principal: principalOf(actor) });
  return row && { ...row, ...workspacePermissionInputOf(actor, row) };
}

type AdministeredWorkspace = Granted<WorkspaceView, "can-update">;

export async function updateBackingData(
  tx: Tx,
  _workspace: AdministeredWorkspace,
  id: string,
  backingDataStatus: string,
): Promise<void> {
  await updateRow(tx, "runPhases", id, { backingDataStatus });
}

export async function deleteLog(tx: Tx, _workspace: AdministeredWorkspace, phaseId: string): Promise<void> {
  await tx.db.deleteFrom("runLogChunks").where("phaseId", "=", phaseId).execute();
}

type LogRange = { phaseId: string; from: number; before: number; end: number };

/** `before` bounds the index scan: no chunk that starts earlier reaches the range. */
export const readChunks = prepared<LogRange, Pick<RunLogChunkTable, "start" | "bytes">>((db, range) =>
  db
    .selectFrom("runLogChunks")
    .select(["start", "bytes"])
    .where("phaseId", "=", range.phaseId)
    .where("start", ">", range.before)
    .where("start", "<", range.end)
    .where(sql<number>`start + length`, ">", range.from)
    .orderBy("start"),
);
