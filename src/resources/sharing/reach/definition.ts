/** What somebody can reach: every project and workspace of an organization, with what may be done there and which records give it. */
import { z } from "zod";
import type { SourcedGrant } from "../../../access/explain.ts";
import { levelNames, reachPermissionNames, type ThingKind, thingKinds } from "../../../access/reach.ts";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { choice, textParameter } from "../../../jsonapi/query.ts";
import { text } from "../../../jsonapi/schemas.ts";
import { projectShown, source, sourceOf, type Subject, subjectShown } from "../access-explanations/definition.ts";

export interface ReachView {
  readonly kind: ThingKind;
  /** Of the project or workspace. */
  readonly id: string;
  readonly name: string;
  readonly projectId: string;
  readonly projectName: string;
  readonly level: string;
  readonly permissions: Readonly<Record<string, boolean>>;
  /** From teams that the caller may know of. */
  readonly grants: readonly SourcedGrant[];
  /** From others: how many. */
  readonly hiddenSources: number;
  readonly subject: Subject;
  readonly organizationName: string;
}

const givenBy = ({ grants, ...view }: Pick<ReachView, "grants" | "subject" | "organizationName">) =>
  grants.map((grant) => sourceOf(grant.source, view));

const count = z.number().int().min(0);
const byLevel = (kind: ThingKind) => z.object(Object.fromEntries(levelNames(kind).map((level) => [level, count])));
const counts = z.object({ projects: count, workspaces: count });

const meta = z.object({
  totals: z
    .object({ projects: byLevel("project"), workspaces: byLevel("workspace") })
    .describe("How many of each level there are in the whole list, which the caller may see."),
  hidden: counts.describe("How many more are reached that the caller may not see."),
  refused: z.string().optional().describe("Why a token reaches nothing at all, whatever its holder may do."),
});

export const filterPermission = choice(
  reachPermissionNames,
  "Only where this permission is held: any `can-*` of workspaces or projects.",
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
  doc: "A project or workspace that a person, a team or a token can reach: what it may do there, and the records that give it.",
  id: (view) => `${view.id}:${view.subject.id}`,
  attributes: {
    kind: readOnly(z.enum(thingKinds as ["project", "workspace"]), "What is reached."),
    name: readOnly(text(), "The name of the project or workspace."),
    "project-name": readOnly(text(), "The name of the project, or of the one that holds the workspace."),
    level: readOnly(
      z.enum(["read", "plan", "write", "maintain", "admin", "custom"]),
      "The level that gives exactly this; `custom` where none does.",
    ),
    permissions: readOnly(
      z.record(z.string(), z.boolean()),
      "Every `can-*`, spelled and decided as in the document of the project or workspace.",
    ),
    "given-by": readOnly(z.array(source), "The records that give it.", { from: givenBy }),
    "hidden-sources": readOnly(z.number().int(), "How many more give it that the caller may not know of."),
  },
  relationships: {
    subject: toOne(
      ["users", "teams", "organizations"],
      "Who reaches it; an organization stands for its token.",
      subjectShown,
    ),
    project: toOne("projects", "The project, or the one that holds the workspace.", projectShown),
    workspace: toOne("workspaces", "The workspace, where it is one.", {
      id: (view) => (view.kind === "workspace" ? view.id : undefined),
      related: (view) => (view.kind === "workspace" ? `/api/v2/workspaces/${view.id}` : undefined),
    }),
  },
  operations: {
    listTeamReach: {
      ...reaching,
      path: "/teams/:team_id/reach",
      summary: "List every project and workspace that a team can reach, with what it may do there and why",
      needs: "membership of the team, or its own token; 'manage-teams' or 'manage-membership' for others",
    },
    listUserReach: {
      ...reaching,
      path: "/users/:user_id/reach",
      summary:
        "List every project and workspace of an organization that a person can reach, with what it may do there and why",
      needs: "the person itself; 'manage-membership' in the organization for others",
      query: {
        ...reaching.query,
        parameters: {
          ...reaching.query.parameters,
          [organizationFilter]: { ...textParameter("The organization, by its name."), required: true },
        },
      },
    },
    listTokenReach: {
      ...reaching,
      path: "/authentication-tokens/:token_id/reach",
      summary: "List every project and workspace that a token can reach, with what it may do there and why",
      needs: "whoever may manage the token; for a team's, also whoever may ask for the team's reach",
      query: {
        ...reaching.query,
        parameters: {
          ...reaching.query.parameters,
          [organizationFilter]: textParameter("The organization, by its name; needed for a user's token."),
        },
      },
    },
  },
}));
