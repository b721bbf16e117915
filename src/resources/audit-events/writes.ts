/** Leaves a trace of a change, in the change's own transaction. There is no function to change or remove one. */
import { actorId, actorName, tokenIdOf } from "../../access/actor.ts";
import type { Tx } from "../../database/database.ts";
import type { ResourceDefinition } from "../../jsonapi/define.ts";
import { auditedAttributes } from "../../jsonapi/document.ts";
import { newId } from "../../kernel/ids.ts";
import { now } from "../../kernel/time.ts";
import type { Context } from "../shared/context.ts";

export interface AuditEvent {
  /** Null for what belongs to no organization. */
  readonly organizationId: string | null;
  /** The verb: `create`, `update`, `delete`, `add-members`. */
  readonly verb: string;
  readonly subject: { readonly type: string; readonly id: string };
  readonly before?: object | undefined;
  readonly after?: object | undefined;
}

export async function recordEvent(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  event: AuditEvent,
): Promise<void> {
  const { actor, requestId } = context;
  await tx.db
    .insertInto("auditEvents")
    .values({
      id: newId("audit-events"),
      organizationId: event.organizationId,
      actorKind: actor.kind,
      actorId: actorId(actor),
      actorName: actorName(actor),
      tokenId: tokenIdOf(actor),
      action: `${event.subject.type}.${event.verb}`,
      subjectType: event.subject.type,
      subjectId: event.subject.id,
      before: event.before === undefined ? null : JSON.stringify(event.before),
      after: event.after === undefined ? null : JSON.stringify(event.after),
      requestId,
      createdAt: now(),
    })
    .execute();
}

/** The same for a thing with a definition: what its documents show, without secrets, before and after. */
export async function recordChange<View extends { readonly id: string; readonly organizationId: string | null }>(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  definition: ResourceDefinition,
  change: { readonly before?: View; readonly after?: View },
): Promise<void> {
  const { before, after } = change;
  const subject = after ?? before;
  if (subject === undefined) return;
  await recordEvent(tx, context, {
    organizationId: subject.organizationId,
    verb: before === undefined ? "create" : after === undefined ? "delete" : "update",
    subject: { type: definition.type, id: subject.id },
    before: before && auditedAttributes(definition, before),
    after: after && auditedAttributes(definition, after),
  });
}
