/** A variable set: variables that many workspaces share, and which workspaces these are. */
import { z } from "zod";
import type { Standing } from "../../../access/organization.ts";
import { variableSetPermissions } from "../../../access/permissions/organization.ts";
import type { VarsetTable } from "../../../database/schema/variables.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { searchParameter } from "../../../jsonapi/query.ts";
import { flag, flags, text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import type { OrganizationFacts } from "../../identity/organizations/definition.ts";

const descriptionMax = 512;

/** Of variables and of sets. There always is one: null is taken as empty. */
export const description = text({ max: descriptionMax })
  .nullable()
  .transform((sent) => sent ?? "")
  .pipe(z.string()) as unknown as z.ZodType<string>;

export const varsetReaders =
  "a member of the organization, or a token of it or of one of its teams; for a project's set, 'read' on the project's variable sets";
export const varsetManagers =
  "an owner, a team with 'manage-workspaces' or 'manage-projects', or the organization's token; for a project's set also a team with 'write' on the project's variable sets";

export type LinkKind = "workspaces" | "projects";
export type Links = Readonly<Record<LinkKind, readonly string[]>>;

/** The version is the one that is shown: it rises also when a workspace or a project that it applies to is deleted. */
export interface VarsetView extends VarsetTable, OrganizationFacts {
  readonly standing: Standing;
  /** What the caller's teams hold on the project that owns it. */
  readonly projectAccess: number | null;
  readonly varIds: readonly string[];
  /** What it applies to, as far as the caller may read it. */
  readonly links: Links;
  /** The rest: it is counted, and stays as it is. */
  readonly hidden: Links;
}

const countOf = ({ links, hidden }: VarsetView, kind: LinkKind) => links[kind].length + hidden[kind].length;

const nameMax = 90;

const name = text({ min: 1, max: nameMax, pattern: /\S/, sentence: "can't be blank" });
const include = ["workspaces", "projects", "stacks", "vars"] as const;
const query = {
  paged: true,
  include,
  parameters: { q: searchParameter("the name") },
} as const;

const ofOrganization = "/organizations/:organization_name/varsets";
const ofVarset = "/varsets/:varset_id";
const ofWorkspaces = `${ofVarset}/relationships/workspaces` as const;
const ofProjects = `${ofVarset}/relationships/projects` as const;
const workspaceExample = { data: [{ type: "workspaces", id: "ws-1234567890abcdef" }] };
const projectExample = { data: [{ type: "projects", id: "prj-1234567890abcdef" }] };

const workspaceReaders =
  "read access to the workspace's runs; shows a project's sets to whoever has 'read' on the project's variable sets";
const shownBeside = "Up to 100 documents come with `include`.";

export const varsets = defineResource<VarsetView>()(({ required, optional, readOnly, toOne, toMany }) => ({
  type: "varsets",
  doc: "Variables that many workspaces share: those of the whole organization, of some projects, or some one by one.",
  id: (set) => set.id,
  version: (set) => [set.version, set.organizationFacts],
  attributes: {
    name: required(
      name,
      "Unique in the organization, ignoring case. Of two sets of one scope the first by name wins.",
      {
        folded: true,
      },
    ),
    description: optional(description, "What it is for; null is taken as empty.", { default: "" }),
    global: optional(
      flag(),
      "Whether it applies to every workspace of the organization. One that becomes global forgets its workspaces and projects.",
      { default: false },
    ),
    priority: optional(flag(), "Whether its variables win over a workspace's own.", { default: false }),
    "created-at": readOnly(timestamp(), "When it was made."),
    "updated-at": readOnly(timestamp(), "When it, what is in it, or what it applies to was changed.", {
      audited: false,
    }),
    "var-count": readOnly(wholeNumber(), "How many variables it has.", {
      from: (set) => set.varIds.length,
      audited: false,
    }),
    "workspace-count": readOnly(wholeNumber(), "How many workspaces it applies to one by one.", {
      from: (set) => countOf(set, "workspaces"),
      audited: false,
    }),
    "project-count": readOnly(wholeNumber(), "How many projects it applies to.", {
      from: (set) => countOf(set, "projects"),
      audited: false,
    }),
    permissions: readOnly(
      flags(["can-update"]),
      "What the caller may do: change it, its variables and what it applies to.",
      {
        from: (set) => ({ "can-update": variableSetPermissions(set)["can-manage"] }),
        audited: false,
      },
    ),
  },
  relationships: {
    organization: toOne("organizations", "The organization that it is in.", {
      id: (set) => set.organizationName,
      related: (set) => `/api/v2/organizations/${set.organizationName}`,
    }),
    parent: toOne(
      ["organizations", "projects"],
      "Who owns it: the organization, also where it is null or not sent, or one of its projects. A project's set applies within that project alone, is seen and managed by `variable-sets` on it, and goes with it.",
      {
        create: "optional",
        nullable: true,
        id: (set) => set.parentProjectId ?? set.organizationName,
        type: (set) => (set.parentProjectId === null ? "organizations" : "projects"),
      },
    ),
    vars: toMany(
      "vars",
      "Its variables, by key. Up to 1000 documents, with values of up to 8 MiB together, come with `include`.",
      { ids: (set) => set.varIds },
    ),
    workspaces: toMany(
      "workspaces",
      `The workspaces that it applies to one by one, as far as the caller may read them. ${shownBeside}`,
      { create: "optional", update: "optional", ids: (set) => set.links.workspaces },
    ),
    projects: toMany(
      "projects",
      `The projects to whose workspaces it applies, as far as the caller may read them. ${shownBeside}`,
      { create: "optional", update: "optional", ids: (set) => set.links.projects },
    ),
    stacks: toMany("stacks", "Always empty: there are no stacks.", { ids: () => [] }),
  },
  links: (set) => ({ self: `/api/v2/varsets/${set.id}` }),
  operations: {
    listVarsets: {
      method: "GET",
      path: ofOrganization,
      summary: "List an organization's variable sets, by name",
      needs: varsetReaders,
      query,
      answer: "list",
    },
    listWorkspaceVarsets: {
      method: "GET",
      path: "/workspaces/:workspace_id/varsets",
      summary:
        "List the variable sets that apply to a workspace, by name, global ones and those of its project among them",
      needs: workspaceReaders,
      query,
      answer: "list",
    },
    listApplicableVarsets: {
      method: "GET",
      path: "/workspaces/:workspace_id/applicable-varsets",
      summary: "List the variable sets that apply to a workspace, by the other name of that list",
      needs: workspaceReaders,
      query,
      answer: "list",
    },
    listProjectVarsets: {
      method: "GET",
      path: "/projects/:project_id/varsets",
      summary: "List the variable sets that apply to a project or that it owns, by name, global ones among them",
      needs: "read access to the project's settings; shows the sets that it owns to whoever has 'read' on them",
      query,
      answer: "list",
    },
    createVarset: {
      method: "POST",
      path: ofOrganization,
      summary: "Create a variable set",
      needs: varsetManagers,
      body: "create",
      answer: "created",
      example: { data: { type: "varsets", attributes: { name: "credentials", global: true, priority: false } } },
    },
    showVarset: {
      method: "GET",
      path: ofVarset,
      summary: "Show a variable set",
      needs: varsetReaders,
      query: { include },
      answer: "document",
    },
    updateVarset: {
      method: "PATCH",
      path: ofVarset,
      summary: "Change a variable set; a list of workspaces or projects that is sent replaces the one before",
      needs: varsetManagers,
      body: "update",
      query: { include },
      answer: "document",
      example: {
        data: {
          type: "varsets",
          attributes: { description: "For the cloud", global: false },
          relationships: { workspaces: { data: [] }, projects: { data: [] } },
        },
      },
    },
    deleteVarset: {
      method: "DELETE",
      path: ofVarset,
      summary: "Delete a variable set and its variables",
      needs: varsetManagers,
      answer: "nothing",
    },
    addVarsetWorkspaces: {
      method: "POST",
      path: ofWorkspaces,
      summary: "Apply a variable set to workspaces",
      needs: varsetManagers,
      body: { linkage: ["workspaces"] },
      answer: "nothing",
      example: workspaceExample,
    },
    removeVarsetWorkspaces: {
      method: "DELETE",
      path: ofWorkspaces,
      ifMatch: true,
      summary: "Apply a variable set to workspaces no longer",
      needs: varsetManagers,
      body: { linkage: ["workspaces"] },
      answer: "nothing",
      example: workspaceExample,
    },
    addVarsetProjects: {
      method: "POST",
      path: ofProjects,
      summary: "Apply a variable set to the workspaces of projects",
      needs: varsetManagers,
      body: { linkage: ["projects"] },
      answer: "nothing",
      example: projectExample,
    },
    removeVarsetProjects: {
      method: "DELETE",
      path: ofProjects,
      ifMatch: true,
      summary: "Apply a variable set to the workspaces of projects no longer",
      needs: varsetManagers,
      body: { linkage: ["projects"] },
      answer: "nothing",
      example: projectExample,
    },
  },
}));
