/** Converts audit events to the format of HCP Terraform. */
import type { AuditEventTable } from "../../../database/schema/audit.ts";

const systemKinds: readonly string[] = ["operator", "anonymous"];

export function toAuditTrailEntry(event: AuditEventTable): object {
  return {
    id: event.id,
    version: "0",
    type: "Resource",
    timestamp: event.createdAt,
    auth: {
      accessor_id: event.actorId,
      description: event.actorName,
      type: systemKinds.includes(event.actorKind) ? "System" : "Client",
      impersonator_id: null,
      organization_id: event.organizationId,
    },
    request: { id: event.requestId },
    resource: {
      id: event.subjectId,
      type: singular(event.subjectType),
      action: verbOf(event),
      meta: {
        before: parsed(event.before),
        after: parsed(event.after),
        ...(event.accessRequestId !== null && { access_request_id: event.accessRequestId }),
      },
    },
  };
}

function singular(type: string): string {
  return type
    .replaceAll("-", "_")
    .replace(/ies$/, "y")
    .replace(/([^s])s$/, "$1");
}

function verbOf({ action }: AuditEventTable): string {
  const verb = action.slice(action.indexOf(".") + 1);
  return verb === "delete" ? "destroy" : verb.replaceAll("-", "_");
}

const parsed = (json: string | null): unknown => (json === null ? null : JSON.parse(json));

export function paginationOf(page: { readonly number: number; readonly size: number }, totalCount: number): object {
  const totalPages = Math.max(1, Math.ceil(totalCount / page.size));
  return {
    current_page: page.number,
    prev_page: page.number > 1 ? Math.min(page.number - 1, totalPages) : null,
    next_page: page.number < totalPages ? page.number + 1 : null,
    total_pages: totalPages,
    total_count: totalCount,
  };
}
