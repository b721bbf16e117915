/** SQL of the outbox. */
import type { Capability } from "../../../access/capability.ts";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { NotificationTable } from "../../../database/schema/notices.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { countOf, fetchPage } from "../paging.ts";
import { incrementedVersion } from "../versions.ts";
import { isInOpenOrganization } from "../open-organizations.ts";

export type PendingNotification = Pick<
  NotificationTable,
  | "id"
  | "organizationId"
  | "kind"
  | "subjectId"
  | "eventName"
  | "destination"
  | "place"
  | "content"
  | "secret"
  | "attempts"
  | "createdAt"
>;

export interface NewNotification extends Omit<PendingNotification, "attempts">, Pick<NotificationTable, "onceKey"> {
  readonly response: string | null;
}

/** Skips those whose `onceKey` exists; returns how many were inserted. */
export async function insertNotifications(tx: Tx, notifications: readonly NewNotification[]): Promise<number> {
  if (notifications.length === 0) return 0;
  const rows = notifications.map((notification) => ({
    ...notification,
    ...(notification.response === null
      ? { state: "waiting", attempts: 0, finishedAt: null }
      : { state: "delivered", attempts: 1, finishedAt: notification.createdAt }),
    dueMs: tx.dialect.nowMs,
    version: 1,
  }));
  const { numInsertedOrUpdatedRows } = await tx.db
    .insertInto("notices")
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return Number(numInsertedOrUpdatedRows ?? 0);
}

export interface SubscriberRow {
  readonly id: string;
  readonly organizationId: string;
  readonly destination: string;
  /** A JSON array of event names. */
  readonly eventNames: string;
  readonly resourceId: string;
  readonly place: string;
}

export interface OutboxEventRow {
  readonly id: string;
  readonly resourceId: string;
  readonly eventName: string;
  readonly content: string;
  readonly onceKey: string | null;
}

export async function insertForSubscribers(
  tx: Tx,
  kind: string,
  subscribers: RawBuilder<SubscriberRow>,
  { events, createdAt }: { readonly events: readonly OutboxEventRow[]; readonly createdAt: string },
): Promise<number> {
  const text = (value: string | null) => sql`cast(${value} as text)`;
  const rows = events.map(
    ({ id, resourceId, eventName, content, onceKey }) =>
      sql`(${text(id)}, ${text(resourceId)}, ${text(eventName)}, ${text(content)}, ${text(onceKey)})`,
  );
  const isSubscribed = tx.dialect.contains(sql`s.event_names`, sql`'"' || e.column3 || '"'`);
  const { numAffectedRows } = await sql`
    insert into notices (id, organization_id, kind, subject_id, event_name, destination, place, content, once_key,
      state, attempts, due_ms, response, created_at, finished_at, version)
    select e.column1 || substr(s.id, length(s.id) - 15), s.organization_id, ${text(kind)}, s.id, e.column3, s.destination, s.place,
      e.column4, s.id || ' ' || s.resource_id || ' ' || e.column5, 'waiting', 0, ${tx.dialect.nowMs}, null, ${text(createdAt)}, null, 1
    from (${subscribers}) as s
    inner join (values ${sql.join(rows)}) as e on e.column2 = s.resource_id and ${isSubscribed}
    where true
    on conflict do nothing`.execute(tx.db);
  return Number(numAffectedRows ?? 0);
}

export interface DueNotificationQuery {
  readonly ids: readonly string[];
  /** At their limit of parallel deliveries. */
  readonly destinations: readonly string[];
  readonly isFresh: boolean;
  readonly limit: number;
}

const waiting = (db: Kysely<Schema>) =>
  db.selectFrom("notices").where("state", "=", "waiting").where(isInOpenOrganization("notices.organizationId"));

export async function findDue(
  tx: Tx,
  { ids, destinations, isFresh, limit }: DueNotificationQuery,
): Promise<PendingNotification[]> {
  const { nowMs, isOneOf } = tx.dialect;
  return waiting(tx.db)
    .select(["id", "organizationId", "kind", "subjectId", "eventName", "destination", "place"])
    .select(["content", "secret", "attempts", "createdAt"])
    .where("dueMs", "<=", nowMs)
    .$if(ids.length > 0, (query) => query.where((where) => where.not(isOneOf(sql.ref("id"), ids))))
    .$if(destinations.length > 0, (query) =>
      query.where((where) => where.not(isOneOf(sql.ref("destination"), destinations))),
    )
    .$if(isFresh, (query) => query.where("attempts", "=", 0))
    .orderBy("dueMs")
    .orderBy("id")
    .limit(limit)
    .execute();
}

export async function nextDueInMs(tx: Tx): Promise<number | undefined> {
  const row = await waiting(tx.db)
    .select((select) => select.fn.min("dueMs").as("dueMs"))
    .select(tx.dialect.nowMs.as("nowMs"))
    .executeTakeFirst();
  return row?.dueMs === null || row?.dueMs === undefined ? undefined : Number(row.dueMs) - Number(row.nowMs);
}

export interface AttemptUpdate {
  readonly state: "waiting" | "delivered" | "failed";
  readonly response: string;
  readonly inMs: number;
  readonly finishedAt: string | null;
}

/** The caller must lock the organization first, as every write in it does. */
export async function recordAttempt(
  tx: Tx,
  _by: Capability<"job">,
  { id }: Pick<PendingNotification, "id">,
  update: AttemptUpdate,
): Promise<void> {
  const { state, response, inMs, finishedAt } = update;
  await tx.db
    .updateTable("notices")
    .set({
      ...incrementedVersion,
      state,
      response,
      finishedAt,
      ...(finishedAt !== null && { secret: null }),
      attempts: sql<number>`attempts + 1`,
      dueMs: sql<number>`${tx.dialect.nowMs} + cast(${inMs} as bigint)`,
    })
    .where("id", "=", id)
    .execute();
}

export async function deleteNotification(
  tx: Tx,
  _by: Capability<"job">,
  { id }: Pick<PendingNotification, "id">,
): Promise<void> {
  await tx.db.deleteFrom("notices").where("id", "=", id).execute();
}

export async function lockOrganization(
  tx: Tx,
  { organizationId }: Pick<PendingNotification, "organizationId">,
): Promise<boolean> {
  if (organizationId === null) return true;
  const row = await tx.db
    .selectFrom("openOrganizations as o")
    .select("o.id")
    .where("o.id", "=", organizationId)
    .modifyEnd(tx.dialect.lockRows("o", "reference"))
    .executeTakeFirst();
  return row !== undefined;
}

export async function deleteFinished(tx: Tx, _by: Capability<"job">, before: string, limit: number): Promise<number> {
  const ids = tx.db
    .selectFrom("notices")
    .select("id")
    .where("finishedAt", "<", before)
    .orderBy("finishedAt")
    .orderBy("id")
    .limit(limit);
  const { numDeletedRows } = await tx.db.deleteFrom("notices").where("id", "in", ids).executeTakeFirst();
  return Number(numDeletedRows);
}

export type DeliveryRow = Omit<NotificationTable, "content" | "secret" | "onceKey">;

export async function listNotificationRows(
  tx: Tx,
  { organizationId, id }: { readonly organizationId: string; readonly id: string },
  page: Page,
): Promise<{ rows: DeliveryRow[]; totalCount: number }> {
  const rows = tx.db
    .selectFrom("notices as n")
    .select(["n.id", "n.organizationId", "n.kind", "n.subjectId", "n.eventName", "n.destination", "n.place", "n.state"])
    .select(["n.attempts", "n.dueMs", "n.response", "n.createdAt", "n.finishedAt", "n.version"])
    .where("n.organizationId", "=", organizationId)
    .where("n.subjectId", "=", id);
  const order = [
    { column: "n.createdAt", descending: true },
    { column: "n.id", descending: true },
  ];
  const totals = { totalCount: countOf(rows.clearSelect().select("n.id")) };
  const found = await fetchPage(tx, { rows, order, page, totals });
  return { rows: found.rows, totalCount: found.totals.totalCount };
}
