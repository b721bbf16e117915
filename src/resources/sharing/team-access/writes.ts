/** Removes expired records, with audit events. */
import type { Capability } from "../../../access/capability.ts";
import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import { auditedAttributes } from "../../../jsonapi/document.ts";
import { type AuditContext, recordEvents } from "../../shared/audit-events/writes.ts";
import { lockFirstExpired } from "../../shared/grants/expiry.ts";
import type { AccessKind, AccessRow, GrantTarget } from "./kind.ts";
import { auditedTargets } from "./rules.ts";

export async function removeExpiredRecord(
  tx: Tx,
  context: AuditContext,
  kind: AccessKind,
  _on: Granted<GrantTarget, "can-manage-team-access">,
  { id }: AccessRow,
): Promise<void> {
  await removeRecords(tx, context, kind, sql<SqlBool>`id = ${id}`);
}

/** Removes the records that expired first, on at most `limit` targets. Returns how many. */
export async function removeExpiredRecords(
  tx: Tx,
  context: AuditContext,
  _by: Capability<"job">,
  kind: AccessKind,
  limit: number,
): Promise<number> {
  const { records, targets, column } = kind.tables;
  const ended = await lockFirstExpired(tx, records);
  if (ended === undefined) return 0;
  const { organizationId, until } = ended;
  const withExpired = tx.db
    .selectFrom(records as "teamProjects")
    .select(column as "projectId")
    .where("organizationId", "=", organizationId)
    .where("expiresAt", "<=", until)
    .orderBy("expiresAt")
    .limit(limit);
  const locked = await tx.db
    .selectFrom(`${targets as "projects"} as x`)
    .select("x.id")
    .where("x.id", "in", withExpired)
    .orderBy("x.id")
    .modifyEnd(tx.dialect.lockRows("x"))
    .execute();
  const ids = locked.map(({ id }) => id);
  const onLocked = tx.dialect.isOneOf(sql.ref(column), ids);
  return removeRecords(tx, context, kind, sql<SqlBool>`expires_at <= ${until} and ${onLocked}`);
}

/** The caller must have locked the targets. */
async function removeRecords(
  tx: Tx,
  context: AuditContext,
  { tables, ...kind }: AccessKind,
  condition: RawBuilder<SqlBool>,
): Promise<number> {
  const removed = await tx.db
    .deleteFrom(tables.records as "teamProjects")
    .where(condition)
    .returningAll()
    .execute();
  const rows = removed.map((row): AccessRow => ({
    ...row,
    targetId: row[tables.column as keyof Schema["teamProjects"]] as string,
  }));
  const byTarget = Map.groupBy(rows, ({ targetId }) => targetId);
  for (const [targetId, records] of byTarget) await tables.count?.(tx, targetId, -records.length);
  const events = rows.map((row) => ({
    organizationId: row.organizationId,
    verb: "expire",
    subject: { type: kind.definition.type, id: row.id },
    before: { ...auditedAttributes(kind.definition, row), ...auditedTargets({ tables, ...kind }, row) },
  }));
  await recordEvents(tx, context, events);
  return rows.length;
}
