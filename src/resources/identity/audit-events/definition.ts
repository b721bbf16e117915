/** The audit event resource: who changed what, with which token, and the values before and after. */
import type { AuditEventTable } from "../../../database/schema/audit.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { type Parameter, textParameter, InvalidParameter } from "../../../jsonapi/query.ts";
import { text, timestamp } from "../../../jsonapi/schemas.ts";
import { parseTimestamp } from "../../../kernel/time.ts";
import { z } from "zod";
import { parseAttributes, type RelatedEntity } from "./related.ts";

export interface AuditEventView extends AuditEventTable {
  readonly organizationName: string;
  readonly subjectName: string | null;
  readonly related: readonly RelatedEntity[];
}

export const timestampParameter = (doc: string): Parameter<string> => ({
  doc,
  parse: (value) => parseTimestamp(value) ?? new InvalidParameter("must be a timestamp such as 2030-01-31T12:00:00Z"),
});

const anything = z.record(z.string(), z.unknown()).nullable();
const related = z.array(z.object({ type: z.string(), id: z.string(), name: z.string(), deleted: z.boolean() }));

export const auditColumns = [
  "id",
  "created-at",
  "action",
  "actor-kind",
  "actor-id",
  "actor-name",
  "token-id",
  "subject-type",
  "subject-id",
  "subject-name",
  "related",
  "before",
  "after",
  "request-id",
  "access-request-id",
];

export const auditEvents = defineResource<AuditEventView>()(({ readOnly, toOne }) => ({
  type: "audit-events",
  doc: "One change: who made it, with which token, and the values before and after. It never contains secrets.",
  id: (event) => event.id,
  attributes: {
    action: readOnly(text(), "The resource type and the action, such as `projects.update`."),
    "actor-kind": readOnly(text(), "`user`, `team`, `organization`, or `operator` for the command line."),
    "actor-id": readOnly(text(), "The id of the user, team or organization."),
    "actor-name": readOnly(text(), "The actor's name at the time."),
    "token-id": readOnly(text().nullable(), "The id of the token that was used."),
    "subject-type": readOnly(text(), "The type of the resource that was changed."),
    "subject-id": readOnly(text(), "The id of the resource that was changed."),
    "subject-name": readOnly(
      text().nullable(),
      "The name of the resource at the time if the event records it, else its current name or the last one in the log. Null if it has no name.",
    ),
    related: readOnly(
      related,
      "The resources that the event refers to by id, such as the team and the project of a grant, and the resources they belong to, with their names. Deleted resources have `deleted` set and the last name in the log. The subject and its parents come first. Ids in free text are not resolved.",
    ),
    before: readOnly(anything, "The attributes before the change; null for a creation.", {
      from: (event) => parseAttributes(event.before),
    }),
    after: readOnly(anything, "The attributes after the change; null for a deletion.", {
      from: (event) => parseAttributes(event.after),
    }),
    "request-id": readOnly(text(), "The id of the request; the server's log has it too."),
    "access-request-id": readOnly(
      text().nullable(),
      "The access request that the change belongs to: whose approval made it, or which it decided.",
    ),
    "created-at": readOnly(timestamp(), "When the change was made."),
  },
  relationships: {
    organization: toOne("organizations", "The organization.", {
      id: (event) => event.organizationName,
    }),
  },
  operations: {
    listAuditEvents: {
      method: "GET",
      path: "/organizations/:organization_name/audit-events",
      summary: "Read the audit log, newest first, or export it as CSV",
      needs: "an owner, the organization's token, or its audit log token",
      query: {
        paged: "cursor",
        parameters: {
          "filter[actor][id]": textParameter("Only changes by this user, team or organization."),
          "filter[action]": textParameter("Only this action, such as `projects.update`."),
          "filter[subject][type]": textParameter("Only changes of resources of this type."),
          "filter[subject][id]": textParameter("Only changes of the resource with this id."),
          "filter[since]": timestampParameter("Only changes at or after this time."),
          "filter[until]": timestampParameter("Only changes before this time."),
        },
      },
      answer: "cursor-list",
      table: auditColumns,
    },
  },
}));
