/** The audit log: who changed what, by which token, from what to what. It can only be read. */
import type { AuditEventTable } from "../../../database/schema/audit.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { type Parameter, textParameter, Unusable } from "../../../jsonapi/query.ts";
import { text, timestamp } from "../../../jsonapi/schemas.ts";
import { parseTimestamp } from "../../../kernel/time.ts";
import { z } from "zod";
import { factsIn, type Related } from "./related.ts";

export interface AuditEventView extends AuditEventTable {
  readonly organizationName: string;
  readonly subjectName: string | null;
  readonly related: readonly Related[];
}

export const instant = (doc: string): Parameter<string> => ({
  doc,
  parse: (value) => parseTimestamp(value) ?? new Unusable("must be a timestamp such as 2030-01-31T12:00:00Z"),
});

const anything = z.record(z.string(), z.unknown()).nullable();
const related = z.array(z.object({ type: z.string(), id: z.string(), name: z.string(), deleted: z.boolean() }));

/** Of the log as a table. `related`, `before` and `after` are JSON in it. */
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
];

export const auditEvents = defineResource<AuditEventView>()(({ readOnly, toOne }) => ({
  type: "audit-events",
  doc: "One change: who, by which token, what, and how it was before and after. Secrets are never part of it.",
  id: (event) => event.id,
  attributes: {
    action: readOnly(text(), "The kind of thing and what was done to it: `projects.update`."),
    "actor-kind": readOnly(text(), "`user`, `team`, `organization`, or `operator` for the command line."),
    "actor-id": readOnly(text(), "The id of the user, team or organization."),
    "actor-name": readOnly(text(), "Its name at the time."),
    "token-id": readOnly(text().nullable(), "The token that was used."),
    "subject-type": readOnly(text(), "The kind of thing that was changed."),
    "subject-id": readOnly(text(), "Its id."),
    "subject-name": readOnly(
      text().nullable(),
      "Its name at the time, where the event says it; else its name now, or the last one in the log. Null for what has no name.",
    ),
    related: readOnly(
      related,
      "What the event mentions by id, such as the team and the project of a grant, and what these belong to, with their names. Things that were deleted have `deleted` and the last name that the log recorded. The subject and what it belongs to come first; ids in texts that people wrote are not resolved.",
    ),
    before: readOnly(anything, "Its attributes before; null for a creation.", {
      from: (event) => factsIn(event.before),
    }),
    after: readOnly(anything, "Its attributes after; null for a deletion.", {
      from: (event) => factsIn(event.after),
    }),
    "request-id": readOnly(text(), "The request; also in the service's log."),
    "created-at": readOnly(timestamp(), "When."),
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
      needs: "an owner, the organization's token, or its token for the audit trail",
      query: {
        paged: "cursor",
        parameters: {
          "filter[actor][id]": textParameter("Only changes by this user, team or organization."),
          "filter[action]": textParameter("Only this action, such as `projects.update`."),
          "filter[subject][type]": textParameter("Only changes of this kind of thing."),
          "filter[subject][id]": textParameter("Only changes of this thing."),
          "filter[since]": instant("Only from this time on."),
          "filter[until]": instant("Only before this time."),
        },
      },
      answer: "cursor-list",
      table: auditColumns,
    },
  },
}));
