/** Access holders: the teams and users of an organization that have a permission. The inverse of reach. */
import { z } from "zod";
import { defineResource } from "../../../jsonapi/define.ts";
import { choiceParameter, textParameter } from "../../../jsonapi/query.ts";
import { text } from "../../../jsonapi/schemas.ts";
import { filterPermission } from "../reach/definition.ts";

const count = z.number().int().min(0);

/** Counts records with the same team, kind and level together, unless one workspace is queried. */
const source = z.object({
  kind: z.enum(["site-admin", "ownership", "organization-permission", "team-project", "team-workspace"]),
  team: z.object({ id: z.string(), name: z.string() }).optional(),
  permission: z.string().optional(),
  level: z.string().optional(),
  records: count.optional(),
  type: z.string().optional(),
  id: z.string().optional(),
  links: z.object({ related: z.string() }).optional(),
});
export type HolderSource = z.output<typeof source>;

export interface HolderView {
  readonly kind: "team" | "user";
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  readonly everywhere: boolean;
  readonly projectsCount: number;
  readonly workspacesCount: number;
  /** Only if one project or workspace is queried. */
  readonly permissions: Readonly<Record<string, boolean>> | undefined;
  readonly values: Readonly<Record<string, string | boolean>> | undefined;
  readonly givenBy: readonly HolderSource[];
  readonly hiddenSources: number;
}

const typeOf = ({ kind }: Pick<HolderView, "kind">) => (kind === "team" ? "teams" : "users");

export const accessHolders = defineResource<HolderView>()(({ readOnly, toOne }) => ({
  type: "access-holders",
  doc: "A team or user with a permission in an organization: on how many projects and workspaces, and from which sources.",
  id: (view) => `${view.organizationId}:${view.id}`,
  attributes: {
    kind: readOnly(z.enum(["team", "user"]), "Whether the holder is a team or a user."),
    name: readOnly(text(), "The team's name, or the user's username."),
    everywhere: readOnly(
      z.boolean(),
      "Whether the permission covers all projects or workspaces of the organization, including future ones.",
    ),
    "projects-count": readOnly(count, "The number of projects, among the queried ones, on which the holder has it."),
    "workspaces-count": readOnly(
      count,
      "The number of workspaces, among the queried ones, on which the holder has it.",
    ),
    permissions: readOnly(
      z.record(z.string(), z.boolean()),
      "Every `can-*` on the queried project or workspace; only if one is queried.",
    ),
    values: readOnly(
      z.record(z.string(), z.union([z.string(), z.boolean()])),
      "The value of each permission on the queried project or workspace. Absent unless one is queried.",
    ),
    "given-by": readOnly(z.array(source), "The grants that give it: those of each team, counted by kind and level."),
    "hidden-sources": readOnly(count, "The number of other teams that give it, which the caller can't see."),
  },
  relationships: {
    holder: toOne(["teams", "users"], "The team or user.", {
      id: (view) => view.id,
      type: typeOf,
      related: (view) => `/api/v2/${typeOf(view)}/${view.id}`,
    }),
  },
  operations: {
    listAccessHolders: {
      method: "GET",
      path: "/organizations/:organization_name/access-holders",
      summary:
        "List the teams and users that have a permission, with the number of projects and workspaces and the grants that give it",
      needs:
        "'manage-teams' or 'manage-membership'; for one project or workspace, permission to manage its team access is enough",
      query: {
        paged: true,
        parameters: {
          "filter[permission]": filterPermission,
          "filter[kind]": choiceParameter(["team", "user"], "Only teams, or only users."),
          "filter[project][id]": textParameter("Counts only permissions on this project and its workspaces."),
          "filter[workspace][id]": textParameter("Counts only permissions on this workspace."),
        },
      },
      answer: "list",
      meta: z.object({
        hidden: z
          .object({ teams: count })
          .describe("The number of other teams with the permission, which the caller can't see."),
      }),
    },
  },
}));
