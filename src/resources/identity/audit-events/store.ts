/** SQL that reads the audit trail. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { AuditEventTable } from "../../../database/schema/audit.ts";

export interface Cursor {
  readonly createdAt: string;
  readonly id: string;
}

export interface AuditSearch {
  readonly size: number;
  readonly after: Cursor | undefined;
  readonly actorId: string | undefined;
  readonly action: string | undefined;
  readonly subjectType: string | undefined;
  readonly subjectId: string | undefined;
  readonly since: string | undefined;
  readonly until: string | undefined;
}

/** One row more than the page, to tell whether there is a next one. What is added meanwhile comes before the cursor. */
export async function findEvents(tx: Tx, organizationId: string, search: AuditSearch): Promise<AuditEventTable[]> {
  let query = tx.db.selectFrom("auditEvents").selectAll().where("organizationId", "=", organizationId);
  if (search.actorId !== undefined) query = query.where("actorId", "=", search.actorId);
  if (search.action !== undefined) query = query.where("action", "=", search.action);
  if (search.subjectType !== undefined) {
    // The second is what the index says of itself.
    query = query.where("subjectType", "=", search.subjectType).where(sql<boolean>`subject_type > ''`);
  }
  if (search.subjectId !== undefined) query = query.where("subjectId", "=", search.subjectId);
  if (search.since !== undefined) query = query.where("createdAt", ">=", search.since);
  if (search.until !== undefined) query = query.where("createdAt", "<", search.until);
  const { after } = search;
  if (after !== undefined) {
    query = query.where((where) =>
      where(where.refTuple("createdAt", "id"), "<", where.tuple(after.createdAt, after.id)),
    );
  }
  return query
    .orderBy("createdAt", "desc")
    .orderBy("id", "desc")
    .limit(search.size + 1)
    .execute();
}
