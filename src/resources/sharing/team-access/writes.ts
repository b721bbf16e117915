/** The end of records whose time has passed. They have given nothing since; here they go, and the trail tells of it. */
import type { Capability } from "../../../access/capability.ts";
import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import { auditedAttributes } from "../../../jsonapi/document.ts";
import { recordEvents } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { holdFirstEnded } from "../../shared/grants/ending.ts";
import type { AccessKind, AccessRow, Place } from "./kind.ts";
import { boundTo } from "./rules.ts";

type Maker = Pick<Context, "actor" | "requestId">;

/** One that has ended, where a new one takes its place. */
export async function endRecord(
  tx: Tx,
  context: Maker,
  kind: AccessKind,
  _on: Granted<Place, "can-manage-team-access">,
  { id }: AccessRow,
): Promise<void> {
  await removeRecords(tx, context, kind, sql<SqlBool>`id = ${id}`);
}

/** What ended first goes first, of one organization at a time, on at most `limit` places of it. Gives how many records went. */
export async function tidyRecords(
  tx: Tx,
  context: Maker,
  _by: Capability<"job">,
  kind: AccessKind,
  limit: number,
): Promise<number> {
  const { records, places, column } = kind.tables;
  const ended = await holdFirstEnded(tx, records);
  if (ended === undefined) return 0;
  const { organizationId, until } = ended;
  const concerned = tx.db
    .selectFrom(records as "teamProjects")
    .select(column as "projectId")
    .where("organizationId", "=", organizationId)
    .where("expiresAt", "<=", until)
    .orderBy("expiresAt")
    .limit(limit);
  const held = await tx.db
    .selectFrom(`${places as "projects"} as x`)
    .select("x.id")
    .where("x.id", "in", concerned)
    .orderBy("x.id")
    .modifyEnd(tx.dialect.lockRows("x"))
    .execute();
  const ids = held.map(({ id }) => id);
  const onHeld = tx.dialect.isOneOf(sql.ref(column), ids);
  return removeRecords(tx, context, kind, sql<SqlBool>`expires_at <= ${until} and ${onHeld}`);
}

/** The places are held, and count them no more. */
async function removeRecords(
  tx: Tx,
  context: Maker,
  { tables, ...kind }: AccessKind,
  condition: RawBuilder<SqlBool>,
): Promise<number> {
  const gone = await tx.db
    .deleteFrom(tables.records as "teamProjects")
    .where(condition)
    .returningAll()
    .execute();
  const rows = gone.map((row): AccessRow => ({
    ...row,
    placeId: row[tables.column as keyof Schema["teamProjects"]] as string,
  }));
  const onPlace = Map.groupBy(rows, ({ placeId }) => placeId);
  for (const [placeId, records] of onPlace) await tables.count?.(tx, placeId, -records.length);
  const events = rows.map((row) => ({
    organizationId: row.organizationId,
    verb: "expire",
    subject: { type: kind.definition.type, id: row.id },
    before: { ...auditedAttributes(kind.definition, row), ...boundTo({ tables, ...kind }, row) },
  }));
  await recordEvents(tx, context, events);
  return rows.length;
}
