/** The audit log as HCP Terraform connectors read it: not JSON:API, and the token determines the organization. */
import { defineResource } from "../../../jsonapi/define.ts";
import { type Parameter, InvalidParameter } from "../../../jsonapi/query.ts";
import { timestampParameter } from "../audit-events/definition.ts";

export const auditTrailPageSizeMax = 1000;

const positiveParameter = (doc: string, max: number): Parameter<number> => ({
  doc,
  parse: (value) =>
    /^0*[1-9][0-9]*$/.test(value)
      ? Math.min(Number(value), max)
      : new InvalidParameter("must be a positive whole number"),
});

export const auditTrails = defineResource<never>()(() => ({
  type: "audit-trails",
  doc: "The audit log in the format of HCP Terraform, for existing connectors.",
  id: () => "",
  attributes: {},
  relationships: {},
  operations: {
    listAuditTrails: {
      method: "GET",
      path: "/organization/audit-trails",
      summary: "Read the audit log in the format of HCP Terraform, newest first",
      needs: "the organization's token, or its audit log token; the token selects the organization",
      query: {
        parameters: {
          since: timestampParameter("Only events after this time."),
          "page[number]": positiveParameter("The page number, starting at 1.", 1_000_000_000),
          "page[size]": positiveParameter(
            "The number of events per page; 1,000 is the maximum and the default.",
            auditTrailPageSizeMax,
          ),
        },
      },
      answer: "content",
    },
  },
}));
