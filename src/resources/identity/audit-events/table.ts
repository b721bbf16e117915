/** Streams the audit log as a table, with at most one chunk in memory. */
import type { Tx } from "../../../database/database.ts";
import type { CsvCell, CsvTable } from "../../../kernel/csv.ts";
import { now } from "../../../kernel/time.ts";
import { auditColumns, type AuditEventView } from "./definition.ts";
import { withNames } from "./names.ts";
import { type AuditFilter, type AuditCursor, findChunk } from "./store.ts";

const rowOf = (event: AuditEventView): CsvCell[] => [
  event.id,
  event.createdAt,
  event.action,
  event.actorKind,
  event.actorId,
  event.actorName,
  event.tokenId,
  event.subjectType,
  event.subjectId,
  event.subjectName,
  JSON.stringify(event.related),
  event.before,
  event.after,
  event.requestId,
  event.accessRequestId,
];

interface AuditedOrganization {
  readonly id: string;
  readonly name: string;
}

/** Reads from the newest event backwards, so that it ends while events are added. */
async function* chunks(tx: Tx, organization: AuditedOrganization, filter: AuditFilter): AsyncGenerator<CsvCell[][]> {
  let after: AuditCursor | undefined;
  for (;;) {
    const events = await findChunk(tx, organization.id, filter, after);
    if (events.length === 0) return;
    yield (await withNames(tx, organization, events)).map(rowOf);
    after = events.at(-1);
  }
}

export const tableOf = (tx: Tx, organization: AuditedOrganization, filter: AuditFilter): Omit<CsvTable, "close"> => ({
  name: `audit-${organization.name}-${now().slice(0, 10)}`,
  columns: auditColumns,
  pieces: chunks(tx, organization, filter),
});
