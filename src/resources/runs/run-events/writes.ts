/** Writes run events and comments, in the transaction of the change. The workspace must be locked. */
import { sql } from "kysely";
import { type Actor, actorId, actorName } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { insertRow } from "../../../database/prepared.ts";
import type { CommentTable } from "../../../database/schema/runs.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import type { AuditEvent } from "../../shared/audit-events/writes.ts";
import type { RunTransition } from "../capabilities.ts";

export interface RunEvent {
  readonly id?: string;
  readonly run: { readonly id: string; readonly organizationId: string };
  readonly action: string;
  readonly description?: string | null;
  readonly commentId?: string | null;
}

export async function recordRunEvents(
  tx: Tx,
  _by: RunTransition,
  actor: Actor,
  events: readonly RunEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const createdAt = now();
  const counted = new Map<string, number>();
  const rows = events.map(({ id, run, action, description = null, commentId = null }) => {
    const count = (counted.get(run.id) ?? 0) + 1;
    counted.set(run.id, count);
    return {
      id: id ?? newId("run-events"),
      organizationId: run.organizationId,
      runId: run.id,
      position: sql<number>`(
        select coalesce(max(earlier.position), 0) from run_events as earlier where earlier.run_id = ${run.id}
        ) + cast(${count} as bigint)`,
      action,
      description,
      actorKind: actor.kind,
      actorId: actorId(actor),
      actorName: actorName(actor),
      commentId,
      createdAt,
    };
  });
  await tx.db.insertInto("runEvents").values(rows).execute();
}

export interface StoredComment {
  readonly comment: CommentTable;
  readonly event: RunEvent;
  readonly audit: AuditEvent;
}

export async function storeComment(
  tx: Tx,
  _by: RunTransition,
  run: RunEvent["run"],
  body: string,
): Promise<StoredComment> {
  const { id: runId, organizationId } = run;
  const runEventId = newId("run-events");
  const comment = { id: newId("comments"), organizationId, runId, body, runEventId, createdAt: now() };
  await insertRow(tx, "comments", comment);
  const subject = { type: "comments", id: comment.id };
  return {
    comment,
    event: { id: runEventId, run: { id: runId, organizationId }, action: "commented", commentId: comment.id },
    audit: { organizationId, verb: "create", subject, after: { body, run: runId } },
  };
}
