/** SQL of the outbox: what is to be delivered, what came of it, and for how long that is kept. */
import type { Capability } from "../../../access/capability.ts";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { NoticeTable } from "../../../database/schema/notices.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { countOf, fetchPage } from "../paging.ts";
import { raised } from "../versions.ts";

export type Waiting = Pick<
  NoticeTable,
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

export interface NewNotice extends Omit<Waiting, "attempts">, Pick<NoticeTable, "onceKey"> {
  /** Of what was delivered already; null for what is to be. */
  readonly response: string | null;
}

/** Those that wait may be tried at once. One that was told before, by its key, is passed over; gives how many were not. */
export async function insertNotices(tx: Tx, notices: readonly NewNotice[]): Promise<number> {
  if (notices.length === 0) return 0;
  const rows = notices.map((notice) => ({
    ...notice,
    ...(notice.response === null
      ? { state: "waiting", attempts: 0, finishedAt: null }
      : { state: "delivered", attempts: 1, finishedAt: notice.createdAt }),
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

/** Who has subscribed to what happens somewhere, as the rows of a statement. */
export interface SubscriberRow {
  readonly id: string;
  readonly organizationId: string;
  readonly destination: string;
  /** JSON array of the names of events. */
  readonly wanted: string;
  /** What it happens to, and what people call that. */
  readonly thingId: string;
  readonly place: string;
}

export interface Occurrence {
  /** Random, and the beginning of the ids of its notices. */
  readonly id: string;
  readonly thingId: string;
  readonly eventName: string;
  readonly content: string;
  readonly onceKey: string | null;
}

/** A notice for everyone who has subscribed to any of these: one statement, however many there are of both. */
export async function insertForSubscribers(
  tx: Tx,
  kind: string,
  subscribers: RawBuilder<SubscriberRow>,
  { occurrences, createdAt }: { readonly occurrences: readonly Occurrence[]; readonly createdAt: string },
): Promise<number> {
  const text = (value: string | null) => sql`cast(${value} as text)`;
  const rows = occurrences.map(
    ({ id, thingId, eventName, content, onceKey }) =>
      sql`(${text(id)}, ${text(thingId)}, ${text(eventName)}, ${text(content)}, ${text(onceKey)})`,
  );
  const isWanted = tx.dialect.contains(sql`s.wanted`, sql`'"' || e.column3 || '"'`);
  const { numAffectedRows } = await sql`
    insert into notices (id, organization_id, kind, subject_id, event_name, destination, place, content, once_key,
      state, attempts, due_ms, response, created_at, finished_at, version)
    select e.column1 || substr(s.id, length(s.id) - 15), s.organization_id, ${text(kind)}, s.id, e.column3, s.destination, s.place,
      e.column4, s.id || ' ' || s.thing_id || ' ' || e.column5, 'waiting', 0, ${tx.dialect.nowMs}, null, ${text(createdAt)}, null, 1
    from (${subscribers}) as s
    inner join (values ${sql.join(rows)}) as e on e.column2 = s.thing_id and ${isWanted}
    where true
    on conflict do nothing`.execute(tx.db);
  return Number(numAffectedRows ?? 0);
}

export interface Passing {
  /** What is being tried already. */
  readonly ids: readonly string[];
  /** Who is called as often as they may be. */
  readonly destinations: readonly string[];
  /** Whether only first attempts are wanted. */
  readonly isFresh: boolean;
  readonly limit: number;
}

const waiting = (db: Kysely<Schema>) => db.selectFrom("notices").where("state", "=", "waiting");

/** Those that have waited longest, by an index that holds what waits alone. */
export async function findDue(tx: Tx, { ids, destinations, isFresh, limit }: Passing): Promise<Waiting[]> {
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

/** In how many milliseconds the next may be tried; undefined where none waits. */
export async function nextDueInMs(tx: Tx): Promise<number | undefined> {
  const row = await waiting(tx.db)
    .select((select) => select.fn.min("dueMs").as("dueMs"))
    .select(tx.dialect.nowMs.as("nowMs"))
    .executeTakeFirst();
  return row?.dueMs === null || row?.dueMs === undefined ? undefined : Number(row.dueMs) - Number(row.nowMs);
}

export interface Settled {
  readonly state: "waiting" | "delivered" | "failed";
  readonly response: string;
  /** After how long it may be tried again. */
  readonly inMs: number;
  readonly finishedAt: string | null;
}

/** The organization is held first, as by every write in it. */
export async function settleNotice(
  tx: Tx,
  _by: Capability<"job">,
  { id }: Pick<Waiting, "id">,
  settled: Settled,
): Promise<void> {
  const { state, response, inMs, finishedAt } = settled;
  await tx.db
    .updateTable("notices")
    .set({
      ...raised,
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

/** Nobody is left who could be told. */
export async function deleteNotice(tx: Tx, _by: Capability<"job">, { id }: Pick<Waiting, "id">): Promise<void> {
  await tx.db.deleteFrom("notices").where("id", "=", id).execute();
}

/** Gives whether the organization is there still, where there is to be one. */
export async function holdOrganization(tx: Tx, { organizationId }: Pick<Waiting, "organizationId">): Promise<boolean> {
  if (organizationId === null) return true;
  const row = await tx.db
    .selectFrom("organizations as o")
    .select("o.id")
    .where("o.id", "=", organizationId)
    .modifyEnd(tx.dialect.lockRows("o", "reference"))
    .executeTakeFirst();
  return row !== undefined;
}

/** Gives how many had been kept for long enough. */
export async function deleteFinished(tx: Tx, _by: Capability<"job">, before: string, limit: number): Promise<number> {
  const some = tx.db
    .selectFrom("notices")
    .select("id")
    .where("finishedAt", "<", before)
    .orderBy("finishedAt")
    .orderBy("id")
    .limit(limit);
  const { numDeletedRows } = await tx.db.deleteFrom("notices").where("id", "in", some).executeTakeFirst();
  return Number(numDeletedRows);
}

/** Without what is told: nothing that shows it needs that. */
export type KeptNotice = Omit<NoticeTable, "content" | "secret" | "onceKey">;

/** What went by one configuration or webhook, the newest first. */
export async function pageOfNotices(
  tx: Tx,
  { organizationId, id }: { readonly organizationId: string; readonly id: string },
  page: Page,
): Promise<{ rows: KeptNotice[]; totalCount: number }> {
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
