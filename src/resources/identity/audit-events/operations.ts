/** Operations on the audit log. */
import { AppError } from "../../../kernel/errors.ts";
import { parseTimestamp } from "../../../kernel/time.ts";
import { startExport } from "../authentication-tokens/csv-exports.ts";
import { loadOrganizationToAudit } from "../organizations/reads.ts";
import { implement } from "../../shared/context.ts";
import { auditEvents } from "./definition.ts";
import { withNames } from "./names.ts";
import { type AuditCursor, findEvents } from "./store.ts";
import { tableOf } from "./table.ts";

export const auditEventResource = implement(auditEvents, {
  async listAuditEvents({ context, params, query, asTable }) {
    const after = query.cursor === undefined ? undefined : parseCursor(query.cursor);
    const tx = context.database.reader;
    const organization = await loadOrganizationToAudit(tx, context, params.organizationName);
    const filter = {
      actorId: query.filterActorId,
      action: query.filterAction,
      subjectType: query.filterSubjectType,
      subjectId: query.filterSubjectId,
      since: query.filterSince,
      until: query.filterUntil,
    };
    if (asTable)
      return startExport(context, organization.id, tableOf(tx, organization, filter), (actor) =>
        loadOrganizationToAudit(tx, { actor }, params.organizationName),
      );
    const { size } = query.page;
    const rows = await findEvents(tx, organization.id, filter, { size, after });
    const pageRows = rows.slice(0, size);
    const last = pageRows.at(-1);
    return {
      views: await withNames(tx, organization, pageRows),
      nextCursor: rows.length > size && last !== undefined ? formatCursor(last) : undefined,
    };
  },
});

function formatCursor({ createdAt, id }: AuditCursor): string {
  return Buffer.from(`${createdAt} ${id}`).toString("base64url");
}

function parseCursor(text: string): AuditCursor {
  const [createdAt = "", id = ""] = Buffer.from(text, "base64url").toString().split(" ");
  const cursor = { createdAt, id };
  if (parseTimestamp(createdAt) !== createdAt || !/^ae-[0-9A-Za-z]+$/.test(id) || formatCursor(cursor) !== text) {
    throw new AppError("bad-request", [
      {
        parameter: "page[cursor]",
        detail: "The query parameter page[cursor] is not a cursor from a previous page. Start again without it.",
      },
    ]);
  }
  return cursor;
}
