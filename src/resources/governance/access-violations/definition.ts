/** Access violations: existing access that an access rule would refuse today. */
import { z } from "zod";
import type { AccessViolationTable } from "../../../database/schema/access-violations.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { textParameter } from "../../../jsonapi/query.ts";
import { oneOf, text, timestamp } from "../../../jsonapi/schemas.ts";

export interface AccessViolationView extends Pick<
  AccessViolationTable,
  "id" | "organizationId" | "accessRuleId" | "kind" | "since" | "teamId"
> {
  readonly message: string;
  /** The member whose seat it is. Null for an invited one. */
  readonly userId: string | null;
  readonly projectId: string | null;
  readonly workspaceId: string | null;
}

const include = ["rule", "team", "user", "project", "workspace"] as const;
const needs = "an owner, or the organization's token";
const ofOrganization = "/organizations/:organization_name/access-violations";

const path = (type: string, id: string | null) => (id === null ? undefined : `/api/v2/${type}/${id}`);

export const accessViolations = defineResource<AccessViolationView>()(({ readOnly, toOne }) => ({
  type: "access-violations",
  doc: "A grant, a seat in a team or a token that an enabled access rule would refuse today.",
  id: (violation) => violation.id,
  attributes: {
    kind: readOnly(
      oneOf(["grant", "seat", "token"]),
      "`grant`: a team's access to a project or workspace; `seat`: a member of a team; `token`: a token of a team or of the organization.",
    ),
    message: readOnly(text(), "The rule's message, or its name."),
    since: readOnly(timestamp(), "When the violation was first found."),
  },
  relationships: {
    rule: toOne("access-rules", "The access rule.", {
      id: ({ accessRuleId }) => accessRuleId,
      related: ({ accessRuleId }) => path("access-rules", accessRuleId),
    }),
    team: toOne("teams", "The team that has the grant, seat or token. Null for the organization's token.", {
      id: ({ teamId }) => teamId,
      related: ({ teamId }) => path("teams", teamId),
    }),
    user: toOne("users", "The member who has the seat. Null for an invited member, and for other kinds.", {
      id: ({ userId }) => userId,
      related: ({ userId }) => path("users", userId),
    }),
    project: toOne("projects", "The project of the grant.", {
      id: ({ projectId }) => projectId,
      related: ({ projectId }) => path("projects", projectId),
    }),
    workspace: toOne("workspaces", "The workspace of the grant.", {
      id: ({ workspaceId }) => workspaceId,
      related: ({ workspaceId }) => path("workspaces", workspaceId),
    }),
  },
  operations: {
    listAccessViolations: {
      method: "GET",
      path: ofOrganization,
      summary: "List the access that an enabled access rule would refuse today, newest first",
      needs,
      query: {
        paged: true,
        include,
        parameters: { "filter[rule]": textParameter("Only violations of the rule with this id.") },
      },
      answer: "list",
      meta: z.object({
        "computed-at": z
          .string()
          .nullable()
          .describe("When the last computation of the violations started; null before the first one has ended."),
      }),
    },
    refreshAccessViolations: {
      method: "POST",
      path: `${ofOrganization}/actions/refresh`,
      summary: "Compute the violations again, in the background; meta.computed-at changes when that is done",
      needs,
      answer: "accepted",
    },
  },
}));
