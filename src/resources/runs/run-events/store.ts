/** SQL for reading run events and comments, with the caller's access to the run's workspace. */
import { type Kysely, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { CommentTable, RunEventTable } from "../../../database/schema/runs.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import {
  workspaceAccessColumns,
  type WorkspaceAccessRow,
  workspacePermissionInputOf,
} from "../../shared/grants/reads.ts";
import type { CommentView, RunEventView } from "./definition.ts";
import { openWithId } from "../../shared/open-organizations.ts";

type RunEventQuery = { id: string; principal: string };
type RunEventRow = RunEventTable & WorkspaceAccessRow;

const eventForActor = (db: Kysely<Schema>, principal: string) =>
  db
    .selectFrom("runEvents as e")
    .innerJoin("runs as r", "r.id", "e.runId")
    .innerJoin("workspaces as w", "w.id", "r.workspaceId")
    .innerJoin("organizations as o", openWithId("e.organizationId"))
    .selectAll("e")
    .select("o.allowForceDeleteWorkspaces")
    .select(workspaceAccessColumns(principal));

const byId = prepared<RunEventQuery, RunEventRow>((db, { id, principal }) =>
  eventForActor(db, principal).where("e.id", "=", id),
);
const ofRun = prepared<RunEventQuery, RunEventRow>((db, { id, principal }) =>
  eventForActor(db, principal).where("e.runId", "=", id).orderBy("e.position"),
);

const toView = (actor: Actor, row: RunEventRow): RunEventView => ({
  ...row,
  ...workspacePermissionInputOf(actor, row),
});

export async function findRunEvent(tx: Tx, actor: Actor, id: string): Promise<RunEventView | undefined> {
  const [row] = await byId(tx, { id, principal: principalOf(actor) });
  return row && toView(actor, row);
}

/** Never empty for an existing run: its creation is an event. */
export async function findEventsOfRun(tx: Tx, actor: Actor, runId: string): Promise<RunEventView[]> {
  const rows = await ofRun(tx, { id: runId, principal: principalOf(actor) });
  return rows.map((row) => toView(actor, row));
}

type CommentRow = CommentTable & WorkspaceAccessRow;

const commentForActor = (db: Kysely<Schema>, principal: string) =>
  db
    .selectFrom("comments as c")
    .innerJoin("runs as r", "r.id", "c.runId")
    .innerJoin("workspaces as w", "w.id", "r.workspaceId")
    .innerJoin("organizations as o", openWithId("c.organizationId"))
    .innerJoin("runEvents as e", "e.id", "c.runEventId")
    .selectAll("c")
    .select("o.allowForceDeleteWorkspaces")
    .select(workspaceAccessColumns(principal));

const commentById = prepared<{ id: string; principal: string }, CommentRow>((db, { id, principal }) =>
  commentForActor(db, principal).where("c.id", "=", id),
);

const toCommentView = (actor: Actor, row: CommentRow): CommentView => ({
  ...row,
  ...workspacePermissionInputOf(actor, row),
});

export async function findComment(tx: Tx, actor: Actor, id: string): Promise<CommentView | undefined> {
  const [row] = await commentById(tx, { id, principal: principalOf(actor) });
  return row && toCommentView(actor, row);
}

export async function findComments(
  tx: Tx,
  actor: Actor,
  by: { readonly runId: string } | { readonly ids: readonly string[] },
): Promise<CommentView[]> {
  const query = commentForActor(tx.db, principalOf(actor));
  const filtered =
    "runId" in by ? query.where("c.runId", "=", by.runId) : query.where(tx.dialect.isOneOf(sql.ref("c.id"), by.ids));
  const rows = await filtered.orderBy("c.runId").orderBy("e.position").execute();
  return rows.map((row) => toCommentView(actor, row));
}
