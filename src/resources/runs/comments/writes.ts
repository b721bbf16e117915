/** How something is said about a run: by itself, or with what is done to it. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { CommentTable } from "../../../database/schema/runs.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { type AuditEvent, recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { Moving } from "../proofs.ts";
import { recordRunEvent, type RunEvent } from "../run-events/writes.ts";
import { insertComment } from "./store.ts";

type Commented = Granted<{ readonly id: string; readonly organizationId: string }, Moving>;

/** What is still to be told of a comment that was stored. */
export interface ToldComment {
  readonly comment: CommentTable;
  readonly event: RunEvent;
  readonly audit: AuditEvent;
}

/** The comment alone; whoever calls writes its event and leaves its trace together with those of what was done. The run's workspace is held. */
export async function storeComment(tx: Tx, run: Commented, body: string): Promise<ToldComment> {
  const { id: runId, organizationId } = run;
  const runEventId = newId("run-events");
  const comment = { id: newId("comments"), organizationId, runId, body, runEventId, createdAt: now() };
  await insertComment(tx, run, comment);
  return {
    comment,
    event: { id: runEventId, run: { id: runId, organizationId }, action: "commented", commentId: comment.id },
    audit: {
      organizationId,
      verb: "create",
      subject: { type: "comments", id: comment.id },
      after: { body, run: runId },
    },
  };
}

/** With its run event, in the caller's transaction. The run's workspace is held. */
export async function addComment(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  run: Commented,
  body: string,
): Promise<CommentTable> {
  const { comment, event, audit } = await storeComment(tx, run, body);
  await recordRunEvent(tx, run, context.actor, event);
  await recordEvent(tx, context, audit);
  return comment;
}
