/** Operations on the audit log in the format of HCP Terraform. */
import { singleChunk } from "../../../kernel/streams.ts";
import { auditedOrganizationName } from "../../../access/actor.ts";
import { AppError } from "../../../kernel/errors.ts";
import { loadOrganizationToAudit } from "../organizations/reads.ts";
import { implement } from "../../shared/context.ts";
import { auditTrails, auditTrailPageSizeMax } from "./definition.ts";
import { paginationOf, toAuditTrailEntry } from "./rules.ts";
import { listAuditTrailPage } from "./store.ts";

export const auditTrailResource = implement(auditTrails, {
  /** Throws `not-found` for other tokens, and if the organization is disabled. */
  async listAuditTrails({ context, query }) {
    const name = auditedOrganizationName(context.actor);
    if (name === undefined)
      throw new AppError(
        "not-found",
        "This needs an organization token or an audit log token, which selects the organization. With another token, read /organizations/:organization_name/audit-events instead.",
      );
    const page = { number: query.pageNumber ?? 1, size: query.pageSize ?? auditTrailPageSizeMax };
    const tx = context.database.reader;
    const { id } = await loadOrganizationToAudit(tx, context, name);
    const { events, totalCount } = await listAuditTrailPage(tx, id, query.since, page);
    const body = { data: events.map(toAuditTrailEntry), pagination: paginationOf(page, totalCount) };
    const bytes = Buffer.from(JSON.stringify(body));
    return { mediaType: "application/json", size: bytes.length, bytes: singleChunk(bytes) };
  },
});
