/** Reach: the projects and workspaces that a subject can access, with the permissions and their sources. */
import { z } from "zod";
import type { SourcedGrant } from "../../../access/explain.ts";
import { levelNames, reachPermissionNames, type TargetKind, targetKinds } from "../../../access/reach.ts";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { choiceParameter, textParameter } from "../../../jsonapi/query.ts";
import { text } from "../../../jsonapi/schemas.ts";
import {
  projectShown,
  source,
  sourceOf,
  type ExplainedSubject,
  subjectShown,
} from "../access-explanations/definition.ts";

export interface ReachView {
  readonly kind: TargetKind;
  readonly id: string;
  readonly name: string;
  readonly projectId: string;
  readonly projectName: string;
  readonly level: string;
  readonly permissions: Readonly<Record<string, boolean>>;
  /** Only those from teams that the caller can see. */
  readonly grants: readonly SourcedGrant[];
  readonly hiddenSources: number;
  readonly subject: ExplainedSubject;
  readonly organizationName: string;
}

const givenBy = ({ grants, ...view }: Pick<ReachView, "grants" | "subject" | "organizationName">) =>
  grants.map((grant) => sourceOf(grant.source, view));

const count = z.number().int().min(0);
const byLevel = (kind: TargetKind) => z.object(Object.fromEntries(levelNames(kind).map((level) => [level, count])));
const counts = z.object({ projects: count, workspaces: count });

const meta = z.object({
  totals: z
    .object({ projects: byLevel("project"), workspaces: byLevel("workspace") })
    .describe("The number of each level in the whole list, of those that the caller can see."),
  hidden: counts.describe("The number of other projects and workspaces in reach, which the caller can't see."),
  refused: z
    .string()
    .optional()
    .describe(
      "Why the token is refused (expired, too old, or not allowed in the organization); absent if it is valid.",
    ),
});

export const filterPermission = choiceParameter(
  reachPermissionNames,
  "Only where this permission is granted: any `can-*` of workspaces or projects.",
);

const organizationFilter = "filter[organization][name]";

export const reachColumns = [
  "kind",
  "id",
  "name",
  "project-id",
  "project-name",
  "level",
  ...reachPermissionNames,
  "given-by",
  "hidden-sources",
];

const reaching = {
  method: "GET",
  query: { paged: true, sort: ["name"], parameters: { "filter[permission]": filterPermission } },
  answer: "list",
  table: reachColumns,
  meta,
} as const satisfies Partial<Operation>;

export const reaches = defineResource<ReachView>()(({ readOnly, toOne }) => ({
  type: "reaches",
  doc: "A project or workspace that a user, team or token can reach, with the permissions there and the grants that give them.",
  id: (view) => `${view.id}:${view.subject.id}`,
  attributes: {
    kind: readOnly(z.enum(targetKinds as ["project", "workspace"]), "Whether it is a project or a workspace."),
    name: readOnly(text(), "The name of the project or workspace."),
    "project-name": readOnly(text(), "The name of the project, or of the workspace's project."),
    level: readOnly(
      z.enum(["read", "plan", "write", "maintain", "admin", "custom"]),
      "The level with exactly these permissions; `custom` if there is none.",
    ),
    permissions: readOnly(
      z.record(z.string(), z.boolean()),
      "Every `can-*`, as in the document of the project or workspace.",
    ),
    "given-by": readOnly(z.array(source), "The grants that give the access.", { from: givenBy }),
    "hidden-sources": readOnly(
      z.number().int(),
      "The number of other grants that give it, which the caller can't see.",
    ),
  },
  relationships: {
    subject: toOne(
      ["users", "teams", "organizations"],
      "The user or team that reaches it; for an organization token, the organization.",
      subjectShown,
    ),
    project: toOne("projects", "The project, or the workspace's project.", projectShown),
    workspace: toOne("workspaces", "The workspace, unless it is a project.", {
      id: (view) => (view.kind === "workspace" ? view.id : undefined),
      related: (view) => (view.kind === "workspace" ? `/api/v2/workspaces/${view.id}` : undefined),
    }),
  },
  operations: {
    listTeamReach: {
      ...reaching,
      path: "/teams/:team_id/reach",
      summary: "List the projects and workspaces that a team can reach, with its permissions there and their sources",
      needs: "membership of the team, or its own token; 'manage-teams' or 'manage-membership' for others",
    },
    listUserReach: {
      ...reaching,
      path: "/users/:user_id/reach",
      summary:
        "List the projects and workspaces of an organization that a user can reach, with their permissions there and the sources",
      needs: "the user; for other users, 'manage-membership' in the organization",
      query: {
        ...reaching.query,
        parameters: {
          ...reaching.query.parameters,
          [organizationFilter]: { ...textParameter("The organization's name."), required: true },
        },
      },
    },
    listTokenReach: {
      ...reaching,
      path: "/authentication-tokens/:token_id/reach",
      summary: "List the projects and workspaces that a token can reach, with its permissions there and their sources",
      needs: "permission to manage the token; for a team token, permission to list the team's reach is enough",
      query: {
        ...reaching.query,
        parameters: {
          ...reaching.query.parameters,
          [organizationFilter]: textParameter("The organization's name; required for a user token."),
        },
      },
    },
  },
}));
