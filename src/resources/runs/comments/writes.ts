/** How something is said about a run: by itself, or with what is done to it. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { CommentTable } from "../../../database/schema/runs.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { Moving } from "../proofs.ts";
import { recordRunEvent } from "../run-events/writes.ts";
import { insertComment } from "./store.ts";

/** With its run event, in the caller's transaction. The run's workspace is held. */
export async function addComment(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  run: Granted<{ readonly id: string; readonly organizationId: string }, Moving>,
  body: string,
): Promise<CommentTable> {
  const { id: runId, organizationId } = run;
  const runEventId = newId("run-events");
  const comment = { id: newId("comments"), organizationId, runId, body, runEventId, createdAt: now() };
  await insertComment(tx, run, comment);
  await recordRunEvent(tx, run, context.actor, { id: runEventId, run, action: "commented", commentId: comment.id });
  await recordEvent(tx, context, {
    organizationId,
    verb: "create",
    subject: { type: "comments", id: comment.id },
    after: { body, run: runId },
  });
  return comment;
}
