/** Leaves a trace of a change, in the change's own transaction. There is no function to change or remove one. */
import { actorId, actorName, tokenIdOf } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { insertRow } from "../../../database/prepared.ts";
import type { ResourceDefinition } from "../../../jsonapi/define.ts";
import { auditedAttributes } from "../../../jsonapi/document.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import type { Context } from "../context.ts";

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
  await recordEvents(tx, context, [event]);
}

/** Many at once, in one statement. */
export async function recordEvents(
  tx: Tx,
  { actor, requestId }: Pick<Context, "actor" | "requestId">,
  events: readonly AuditEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const createdAt = now();
  const rows = events.map(({ organizationId, verb, subject, before, after }) => ({
    id: newId("audit-events"),
    organizationId,
    actorKind: actor.kind,
    actorId: actorId(actor),
    actorName: actorName(actor),
    tokenId: tokenIdOf(actor),
    action: `${subject.type}.${verb}`,
    subjectType: subject.type,
    subjectId: subject.id,
    before: before === undefined ? null : JSON.stringify(before),
    after: after === undefined ? null : JSON.stringify(after),
    requestId,
    createdAt,
  }));
  const [row, ...others] = rows;
  if (others.length > 0) await tx.db.insertInto("auditEvents").values(rows).execute();
  else if (row !== undefined) await insertRow(tx, "auditEvents", row);
}

/** What an event tells beside a thing's attributes: what it is put under, what hangs on it. */
export interface Beside {
  readonly before?: object | undefined;
  readonly after?: object | undefined;
}

/** The same for a thing with a definition: what its documents show, without secrets, before and after. */
export async function recordChange<View extends { readonly id: string; readonly organizationId: string | null }>(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  definition: ResourceDefinition,
  change: { readonly before?: View; readonly after?: View },
  beside: Beside = {},
): Promise<void> {
  await recordEvents(tx, context, changeEvents(definition, change, beside));
}

/** The event of a change, for those who record many at once; none where nothing was changed. */
export function changeEvents<View extends { readonly id: string; readonly organizationId: string | null }>(
  definition: ResourceDefinition,
  { before, after }: { readonly before?: View; readonly after?: View },
  beside: Beside = {},
): AuditEvent[] {
  const subject = after ?? before;
  if (subject === undefined) return [];
  return [
    {
      organizationId: subject.organizationId,
      verb: before === undefined ? "create" : after === undefined ? "delete" : "update",
      subject: { type: definition.type, id: subject.id },
      before: before && { ...auditedAttributes(definition, before), ...beside.before },
      after: after && { ...auditedAttributes(definition, after), ...beside.after },
    },
  ];
}
