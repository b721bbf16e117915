/** SQL that reads the audit log. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { AuditEventTable } from "../../../database/schema/audit.ts";

export interface AuditCursor {
  readonly createdAt: string;
  readonly id: string;
}

export interface AuditFilter {
  readonly actorId: string | undefined;
  readonly action: string | undefined;
  readonly subjectType: string | undefined;
  readonly subjectId: string | undefined;
  readonly since: string | undefined;
  readonly until: string | undefined;
}

/** Newest first. New events never appear on later pages. */
function selectEvents(tx: Tx, organizationId: string, filter: AuditFilter, after: AuditCursor | undefined) {
  let query = tx.db.selectFrom("auditEvents").where("organizationId", "=", organizationId);
  if (filter.actorId !== undefined) query = query.where("actorId", "=", filter.actorId);
  if (filter.action !== undefined) query = query.where("action", "=", filter.action);
  if (filter.subjectType !== undefined) {
    // Repeats the condition of the partial index.
    query = query.where("subjectType", "=", filter.subjectType).where(sql<boolean>`subject_type > ''`);
  }
  if (filter.subjectId !== undefined) query = query.where("subjectId", "=", filter.subjectId);
  if (filter.since !== undefined) query = query.where("createdAt", ">=", filter.since);
  if (filter.until !== undefined) query = query.where("createdAt", "<", filter.until);
  if (after !== undefined) {
    query = query.where((where) =>
      where(where.refTuple("createdAt", "id"), "<", where.tuple(after.createdAt, after.id)),
    );
  }
  return query.orderBy("createdAt", "desc").orderBy("id", "desc");
}

export async function findEvents(
  tx: Tx,
  organizationId: string,
  filter: AuditFilter,
  { size, after }: { readonly size: number; readonly after: AuditCursor | undefined },
): Promise<AuditEventTable[]> {
  return selectEvents(tx, organizationId, filter, after)
    .selectAll()
    .limit(size + 1)
    .execute();
}

/** Small, because SQLite does nothing else while it reads a chunk. */
const chunkRows = 200;
/** A single event can exceed this: an event of a large move takes megabytes. */
const chunkBytes = 4 * 2 ** 20;

export async function findChunk(
  tx: Tx,
  organizationId: string,
  filter: AuditFilter,
  after: AuditCursor | undefined,
): Promise<AuditEventTable[]> {
  const sized = selectEvents(tx, organizationId, filter, after)
    .select(["id", "createdAt"])
    .select(
      sql<number>`coalesce(octet_length(${sql.ref("before")}), 0) + coalesce(octet_length(${sql.ref("after")}), 0)`.as(
        "size",
      ),
    )
    .limit(chunkRows);
  const summed = tx.db
    .selectFrom(sized.as("sized"))
    .select(["id", "createdAt", "size"])
    .select(sql<number>`sum(size) over (order by created_at desc, id desc)`.as("total"));
  return tx.db
    .selectFrom(summed.as("summed"))
    .innerJoin("auditEvents as e", "e.id", "summed.id")
    .selectAll("e")
    .where(sql<boolean>`total - size < ${sql.lit(chunkBytes)}`)
    .orderBy("summed.createdAt", "desc")
    .orderBy("summed.id", "desc")
    .execute();
}
