/**
 * The audit trail once more, in the shape in which connectors of the hosted service expect it: no JSON:API, names with underscores,
 * and the organization known by the token alone. The trail itself, with filters and cursors, is `audit-events/`.
 */
import { defineResource } from "../../../jsonapi/define.ts";
import { type Parameter, Unusable } from "../../../jsonapi/query.ts";
import { instant } from "../audit-events/definition.ts";

export const trailSizeMax = 1000;

const positive = (doc: string, max: number): Parameter<number> => ({
  doc,
  parse: (value) =>
    /^0*[1-9][0-9]*$/.test(value) ? Math.min(Number(value), max) : new Unusable("must be a positive whole number"),
});

export const auditTrails = defineResource<never>()(() => ({
  type: "audit-trails",
  doc: "The audit trail in the shape that connectors of the hosted service read.",
  id: () => "",
  attributes: {},
  relationships: {},
  operations: {
    listAuditTrails: {
      method: "GET",
      path: "/organization/audit-trails",
      summary: "Read the audit trail as connectors expect it, newest first",
      needs: "the organization's token, or its token for the audit trail; they say which organization is meant",
      query: {
        parameters: {
          since: instant("Only what happened after this time."),
          "page[number]": positive("Which page; the first is 1.", 1_000_000_000),
          "page[size]": positive(
            "How many events a page has; at most 1,000, and as many unless it is said.",
            trailSizeMax,
          ),
        },
      },
      answer: "content",
    },
  },
}));
