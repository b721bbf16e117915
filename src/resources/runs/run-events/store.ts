/** SQL that reads run events, with what the caller holds on the workspace of their run. */
import type { Kysely } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { RunEventTable } from "../../../database/schema/runs.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import { workspaceAccessColumns, type WorkspaceAccessRow, workspaceFactsOf } from "../../shared/grants/reads.ts";
import type { RunEventView } from "./definition.ts";

type Wanted = { id: string; principal: string };
type EventRow = RunEventTable & WorkspaceAccessRow;

const eventForActor = (db: Kysely<Schema>, principal: string) =>
  db
    .selectFrom("runEvents as e")
    .innerJoin("runs as r", "r.id", "e.runId")
    .innerJoin("workspaces as w", "w.id", "r.workspaceId")
    .innerJoin("organizations as o", "o.id", "e.organizationId")
    .selectAll("e")
    .select("o.allowForceDeleteWorkspaces")
    .select(workspaceAccessColumns(principal));

const byId = prepared<Wanted, EventRow>((db, { id, principal }) => eventForActor(db, principal).where("e.id", "=", id));
const ofRun = prepared<Wanted, EventRow>((db, { id, principal }) =>
  eventForActor(db, principal).where("e.runId", "=", id).orderBy("e.position"),
);

const toView = (actor: Actor, row: EventRow): RunEventView => ({ ...row, ...workspaceFactsOf(actor, row) });

export async function findRunEvent(tx: Tx, actor: Actor, id: string): Promise<RunEventView | undefined> {
  const [row] = await byId(tx, { id, principal: principalOf(actor) });
  return row && toView(actor, row);
}

/** Every run has some: it was made. */
export async function findEventsOfRun(tx: Tx, actor: Actor, runId: string): Promise<RunEventView[]> {
  const rows = await ofRun(tx, { id: runId, principal: principalOf(actor) });
  return rows.map((row) => toView(actor, row));
}
