/** SQL of the logs of plans and applies: pieces by their place in the log. */
import { sql } from "kysely";
import { type Actor, principalOf } from "../../../../access/actor.ts";
import type { WorkspaceFacts } from "../../../../access/permissions/workspace.ts";
import type { Tx } from "../../../../database/database.ts";
import { prepared } from "../../../../database/prepared.ts";
import type { RunLogChunkTable, RunPhaseTable } from "../../../../database/schema/runs.ts";
import type { Granted } from "../../../../access/granted.ts";
import type { WorkspaceView } from "../../../register/workspaces/view.ts";
import { workspaceAccessColumns, type WorkspaceAccessRow, workspaceFactsOf } from "../../../shared/grants/reads.ts";
import { updateRow } from "../../../shared/versions.ts";
import { dataPresent } from "../view.ts";

/** What the log of a phase is known by; whoever adds to it holds the phase's row. */
export type LoggedPhase = Pick<RunPhaseTable, "id" | "organizationId" | "attempt" | "logBytes" | "logEnded">;

/** Adds pieces, and tells the phase how long its log is now. Its document shows nothing of that. */
export async function insertChunks(
  tx: Tx,
  { id }: LoggedPhase,
  chunks: readonly RunLogChunkTable[],
  after: Pick<RunPhaseTable, "logBytes" | "logEnded">,
): Promise<void> {
  await tx.db.insertInto("runLogChunks").values(chunks).execute();
  await tx.db.updateTable("runPhases").set(after).where("id", "=", id).execute();
}

/** Pieces of several logs; whoever adds them tells the phases. */
export async function insertPieces(tx: Tx, chunks: readonly RunLogChunkTable[]): Promise<void> {
  await tx.db.insertInto("runLogChunks").values(chunks).execute();
}

/** Where the part of an attempt begins; undefined while it has written nothing. */
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

/** One statement: the log, and what somebody holds on its workspace. */
export async function findReadableLog(
  tx: Tx,
  actor: Actor,
  id: string,
): Promise<(LoggedPhase & WorkspaceFacts) | undefined> {
  const [row] = await logForActor(tx, { id, principal: principalOf(actor) });
  return row && { ...row, ...workspaceFactsOf(actor, row) };
}

type AdministeredWorkspace = Granted<WorkspaceView, "can-update">;

/** From now on the log is found, or not. */
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

type Range = { phaseId: string; from: number; before: number; end: number };

/** The pieces with a byte in a range. `before`: no piece that begins earlier reaches it. */
export const readChunks = prepared<Range, Pick<RunLogChunkTable, "start" | "bytes">>((db, range) =>
  db
    .selectFrom("runLogChunks")
    .select(["start", "bytes"])
    .where("phaseId", "=", range.phaseId)
    .where("start", ">", range.before)
    .where("start", "<", range.end)
    .where(sql<number>`start + length`, ">", range.from)
    .orderBy("start"),
);
