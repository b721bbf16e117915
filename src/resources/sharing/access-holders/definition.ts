/** Who holds a permission: every team and person of an organization that does, on how much, and by what. The inverse of reach. */
import { z } from "zod";
import { defineResource } from "../../../jsonapi/define.ts";
import { choice, textParameter } from "../../../jsonapi/query.ts";
import { text } from "../../../jsonapi/schemas.ts";
import { filterPermission } from "../reach/definition.ts";

const count = z.number().int().min(0);

/** What gives it: records of one team, kind and level together; by itself where only one project or workspace is asked about. */
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
  /** Only where one project or workspace is asked about. */
  readonly permissions: Readonly<Record<string, boolean>> | undefined;
  readonly values: Readonly<Record<string, string | boolean>> | undefined;
  readonly givenBy: readonly HolderSource[];
  readonly hiddenSources: number;
}

const typeOf = ({ kind }: Pick<HolderView, "kind">) => (kind === "team" ? "teams" : "users");

export const accessHolders = defineResource<HolderView>()(({ readOnly, toOne }) => ({
  type: "access-holders",
  doc: "A team or person that holds a permission in an organization: on how many projects and workspaces, and what gives it.",
  id: (view) => `${view.organizationId}:${view.id}`,
  attributes: {
    kind: readOnly(z.enum(["team", "user"]), "Who holds it."),
    name: readOnly(text(), "The team's name, or the person's user name."),
    everywhere: readOnly(
      z.boolean(),
      "Whether it is held on all of the organization's projects or workspaces, also on those that are still to be made.",
    ),
    "projects-count": readOnly(count, "On how many projects it is held, of those that are asked about."),
    "workspaces-count": readOnly(count, "On how many workspaces it is held, of those that are asked about."),
    permissions: readOnly(
      z.record(z.string(), z.boolean()),
      "Every `can-*` on the project or workspace that is asked about; only where one is.",
    ),
    values: readOnly(
      z.record(z.string(), z.union([z.string(), z.boolean()])),
      "The value of every permission there, spelled as in explanations; only where one project or workspace is asked about.",
    ),
    "given-by": readOnly(z.array(source), "What gives it: the records of a team, counted by kind and level."),
    "hidden-sources": readOnly(count, "How many more teams give it that the caller may not know of."),
  },
  relationships: {
    holder: toOne(["teams", "users"], "The team or person.", {
      id: (view) => view.id,
      type: typeOf,
      related: (view) => `/api/v2/${typeOf(view)}/${view.id}`,
    }),
  },
  operations: {
    listAccessHolders: {
      method: "GET",
      path: "/organizations/:organization_name/access-holders",
      summary: "List every team and person that holds a permission, with how much of it and why",
      needs:
        "'manage-teams' or 'manage-membership'; about one project or workspace, also whoever manages the team access to it",
      query: {
        paged: true,
        parameters: {
          "filter[permission]": filterPermission,
          "filter[kind]": choice(["team", "user"], "Only teams, or only people."),
          "filter[project][id]": textParameter("Only on this project and its workspaces."),
          "filter[workspace][id]": textParameter("Only on this workspace."),
        },
      },
      answer: "list",
      meta: z.object({
        hidden: z.object({ teams: count }).describe("How many more teams hold it that the caller may not know of."),
      }),
    },
  },
}));
