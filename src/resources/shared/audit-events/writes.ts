/** Records audit events, in the transaction of the change. It must not change or delete one. */
import { actorId, actorName, tokenIdOf } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { insertRow } from "../../../database/prepared.ts";
import type { ResourceDefinition } from "../../../jsonapi/define.ts";
import { auditedAttributes } from "../../../jsonapi/document.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import type { Context } from "../context.ts";

export type AuditContext = Pick<Context, "actor" | "requestId" | "accessRequestId">;

export interface AuditEvent {
  readonly organizationId: string | null;
  readonly verb: string;
  readonly subject: { readonly type: string; readonly id: string };
  readonly before?: object | undefined;
  readonly after?: object | undefined;
}

export async function recordEvent(tx: Tx, context: AuditContext, event: AuditEvent): Promise<void> {
  await recordEvents(tx, context, [event]);
}

export async function recordEvents(
  tx: Tx,
  { actor, requestId, accessRequestId }: AuditContext,
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
    accessRequestId: accessRequestId ?? null,
    createdAt,
  }));
  const [row, ...others] = rows;
  if (others.length > 0) await tx.db.insertInto("auditEvents").values(rows).execute();
  else if (row !== undefined) await insertRow(tx, "auditEvents", row);
}

export interface ExtraAuditAttributes {
  readonly before?: object | undefined;
  readonly after?: object | undefined;
}

/** Records what documents show, without secrets. */
export async function recordChange<View extends { readonly id: string; readonly organizationId: string | null }>(
  tx: Tx,
  context: AuditContext,
  definition: ResourceDefinition,
  change: { readonly before?: View; readonly after?: View },
  extra: ExtraAuditAttributes = {},
): Promise<void> {
  await recordEvents(tx, context, changeEvents(definition, change, extra));
}

/** Empty without `before` and `after`. */
export function changeEvents<View extends { readonly id: string; readonly organizationId: string | null }>(
  definition: ResourceDefinition,
  { before, after }: { readonly before?: View; readonly after?: View },
  extra: ExtraAuditAttributes = {},
): AuditEvent[] {
  const subject = after ?? before;
  if (subject === undefined) return [];
  return [
    {
      organizationId: subject.organizationId,
      verb: before === undefined ? "create" : after === undefined ? "delete" : "update",
      subject: { type: definition.type, id: subject.id },
      before: before && { ...auditedAttributes(definition, before), ...extra.before },
      after: after && { ...auditedAttributes(definition, after), ...extra.after },
    },
  ];
}
