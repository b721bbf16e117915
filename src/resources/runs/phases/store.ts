/** SQL for plans, applies and log chunks. Writers of phases must hold the lock on the workspace row. */
import { type Kysely, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Capability } from "../../../access/capability.ts";
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
import { lockClause } from "../../shared/locks.ts";
import { updateRow } from "../../shared/versions.ts";
import { isInOpenOrganization, openWithId } from "../../shared/open-organizations.ts";
import type { PhaseView } from "./definition.ts";
import { logUrl } from "./log-urls.ts";
import { dataPresent, type PhaseKind } from "./rules.ts";

type PhaseRow = RunPhaseTable & WorkspaceAccessRow & Pick<PhaseView, "executionMode" | "agentPoolId" | "runEndedAt">;

function phaseForActor(db: Kysely<Schema>, principal: string) {
  return db
    .selectFrom("runPhases as f")
    .innerJoin("runs as r", "r.id", "f.runId")
    .innerJoin("workspaces as w", "w.id", "f.workspaceId")
    .innerJoin("organizations as o", openWithId("f.organizationId"))
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
export type LoggedPhase = Pick<RunPhaseTable, "id" | "organizationId" | "attempt" | "logBytes" | "logEnded"> &
  Partial<Pick<RunPhaseTable, "logContentId">>;

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
    .select(["id", "organizationId", "attempt", "logBytes", "logEnded", "logContentId"])
    .where("id", "=", id)
    .where("backingDataStatus", "=", dataPresent),
);

type ReadableLog = LoggedPhase & WorkspaceAccessRow;

const logForActor = prepared<{ id: string; principal: string }, ReadableLog>((db, { id, principal }) =>
  db
    .selectFrom("runPhases as f")
    .innerJoin("workspaces as w", "w.id", "f.workspaceId")
    .innerJoin("organizations as o", openWithId("f.organizationId"))
    .select(["f.id", "f.organizationId", "f.attempt", "f.logBytes", "f.logEnded", "f.logContentId"])
    .select("o.allowForceDeleteWorkspaces")
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
  await tx.db.updateTable("runPhases").set({ logUnmoved: 0 }).where("id", "=", phaseId).execute();
}

export type UnmovedLog = Pick<RunPhaseTable, "id" | "organizationId" | "runId" | "kind" | "logBytes" | "logUnmoved">;

/** Of ended runs, in the order of their ids. Soft-deleted logs wait until they are restored. */
export async function findUnmovedLogs(tx: Tx, after: string, limit: number): Promise<UnmovedLog[]> {
  return tx.db
    .selectFrom("runPhases as f")
    .innerJoin("runs as r", "r.id", "f.runId")
    .select(["f.id", "f.organizationId", "f.runId", "f.kind", "f.logBytes", "f.logUnmoved"])
    .where("f.logUnmoved", "<>", 0)
    .where("f.id", ">", after)
    .where("f.backingDataStatus", "=", dataPresent)
    .where("r.endedAt", "is not", null)
    .where(isInOpenOrganization("f.organizationId"))
    .orderBy("f.id")
    .limit(limit)
    .execute();
}

/** Logs from before contents were in an object store. Returns the last id of the batch, or undefined at the end. */
export async function flagLogs(
  tx: Tx,
  _by: Capability<"job">,
  after: string,
  limit: number,
): Promise<string | undefined> {
  const rows = await tx.db
    .selectFrom("runPhases as f")
    .select("f.id")
    .where("f.id", ">", after)
    .where("f.logBytes", ">", 0)
    .where("f.logContentId", "is", null)
    .where("f.logUnmoved", "=", 0)
    .where("f.backingDataStatus", "=", dataPresent)
    .orderBy("f.id")
    .limit(limit)
    .modifyEnd(tx.dialect.lockRowsSkipLocked("f"))
    .execute();
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return undefined;
  await tx.db
    .updateTable("runPhases")
    .set({ logUnmoved: 1 })
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
  return ids.at(-1);
}

/** Returns whether the log still has to be moved. Also locks the workspace. */
export async function lockUnmovedLog(tx: Tx, id: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("runPhases as f")
    .innerJoin("workspaces as w", "w.id", "f.workspaceId")
    .innerJoin("organizations as o", openWithId("f.organizationId"))
    .select("f.id")
    .where("f.id", "=", id)
    .where("f.logUnmoved", "=", 1)
    .where("f.backingDataStatus", "=", dataPresent)
    .modifyEnd(lockClause(tx.dialect, "w", "change"))
    .modifyEnd(tx.dialect.lockRows("f"))
    .executeTakeFirst();
  return row !== undefined;
}

export async function setLogContent(
  tx: Tx,
  _by: Capability<"job">,
  phaseId: string,
  logContentId: string,
): Promise<void> {
  await tx.db.updateTable("runPhases").set({ logContentId, logUnmoved: 2 }).where("id", "=", phaseId).execute();
}

export async function finishMove(tx: Tx, _by: Capability<"job">, phaseId: string): Promise<void> {
  await tx.db.updateTable("runPhases").set({ logUnmoved: 0 }).where("id", "=", phaseId).execute();
}

export async function deleteSomeChunks(
  tx: Tx,
  _by: Capability<"job">,
  phaseId: string,
  limit: number,
): Promise<number> {
  const starts = tx.db
    .selectFrom("runLogChunks")
    .select("start")
    .where("phaseId", "=", phaseId)
    .orderBy("start")
    .limit(limit);
  const { numDeletedRows } = await tx.db
    .deleteFrom("runLogChunks")
    .where("phaseId", "=", phaseId)
    .where("start", "in", starts)
    .executeTakeFirst();
  return Number(numDeletedRows);
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
