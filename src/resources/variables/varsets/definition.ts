/** The variable set resource: variables that workspaces share. */
import { z } from "zod";
import type { OrganizationStanding } from "../../../access/organization.ts";
import { variableSetPermissions } from "../../../access/permissions/organization.ts";
import type { VarsetTable } from "../../../database/schema/variables.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { searchParameter } from "../../../jsonapi/query.ts";
import { flag, flags, text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import type { OrganizationFacts } from "../../identity/organizations/definition.ts";

const descriptionMax = 512;

export const description = text({ max: descriptionMax })
  .nullable()
  .transform((sent) => sent ?? "")
  .pipe(z.string()) as unknown as z.ZodType<string>;

export const varsetReaders =
  "a member of the organization, or a token of the organization or of one of its teams; for a set that a project owns, 'read' on the project's variable sets";
export const varsetManagers =
  "an owner, a team with 'manage-workspaces' or 'manage-projects', or the organization's token; for a set that a project owns, also a team with 'write' on the project's variable sets";

export type VarsetLinkKind = "workspaces" | "projects";
export type VarsetLinks = Readonly<Record<VarsetLinkKind, readonly string[]>>;

/** `version` also increases when a linked workspace or project is deleted. */
export interface VarsetView extends VarsetTable, OrganizationFacts {
  readonly standing: OrganizationStanding;
  readonly projectAccess: number | null;
  readonly varIds: readonly string[];
  readonly links: VarsetLinks;
  /** Links that the caller can't read: counted, but not shown or changed. */
  readonly hiddenLinks: VarsetLinks;
}

const countOf = ({ links, hiddenLinks }: VarsetView, kind: VarsetLinkKind) =>
  links[kind].length + hiddenLinks[kind].length;

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
  "read access to the workspace's runs; sets that a project owns are listed only for callers with 'read' on the project's variable sets";
const includeNote = "`include` returns up to 100 of them.";

export const varsets = defineResource<VarsetView>()(({ required, optional, readOnly, toOne, toMany }) => ({
  type: "varsets",
  doc: "A set of variables that applies to the whole organization, to projects, or to individual workspaces.",
  id: (set) => set.id,
  version: (set) => [set.version, set.organizationFactsVersion],
  attributes: {
    name: required(
      name,
      "The name of the set, unique in the organization, ignoring case. Of two sets with the same scope, the first by name takes precedence.",
      {
        folded: true,
      },
    ),
    description: optional(description, "What the set is for. Null is stored as an empty string.", { default: "" }),
    global: optional(
      flag(),
      "Whether the set applies to every workspace of the organization. Setting it removes the set's workspaces and projects.",
      { default: false },
    ),
    priority: optional(flag(), "Whether the set's variables take precedence over a workspace's own.", {
      default: false,
    }),
    "created-at": readOnly(timestamp(), "When the set was created."),
    "updated-at": readOnly(timestamp(), "When the set, its variables or its scope were last changed.", {
      audited: false,
    }),
    "var-count": readOnly(wholeNumber(), "The number of variables in the set.", {
      from: (set) => set.varIds.length,
      audited: false,
    }),
    "workspace-count": readOnly(wholeNumber(), "The number of individual workspaces that the set applies to.", {
      from: (set) => countOf(set, "workspaces"),
      audited: false,
    }),
    "project-count": readOnly(wholeNumber(), "The number of projects that the set applies to.", {
      from: (set) => countOf(set, "projects"),
      audited: false,
    }),
    permissions: readOnly(
      flags(["can-update"]),
      "Whether the caller can change the set, its variables and its scope.",
      {
        from: (set) => ({ "can-update": variableSetPermissions(set)["can-manage"] }),
        audited: false,
      },
    ),
  },
  relationships: {
    organization: toOne("organizations", "The organization of the set.", {
      id: (set) => set.organizationName,
      related: (set) => `/api/v2/organizations/${set.organizationName}`,
    }),
    parent: toOne(
      ["organizations", "projects"],
      "The owner of the set: the organization, which is the default, or one of its projects. A set that a project owns applies only within that project, requires `variable-sets` access to the project, and is deleted with it.",
      {
        create: "optional",
        nullable: true,
        id: (set) => set.parentProjectId ?? set.organizationName,
        type: (set) => (set.parentProjectId === null ? "organizations" : "projects"),
      },
    ),
    vars: toMany(
      "vars",
      "The variables of the set, by key. `include` returns up to 1000 of them, with values of up to 8 MiB in total.",
      { ids: (set) => set.varIds },
    ),
    workspaces: toMany(
      "workspaces",
      `The individual workspaces that the set applies to and the caller can read. ${includeNote}`,
      { create: "optional", update: "optional", ids: (set) => set.links.workspaces },
    ),
    projects: toMany("projects", `The projects that the set applies to and the caller can read. ${includeNote}`, {
      create: "optional",
      update: "optional",
      ids: (set) => set.links.projects,
    }),
    stacks: toMany("stacks", "Always empty: stacks are not supported.", { ids: () => [] }),
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
        "List the variable sets that apply to a workspace, by name, including global ones and those of its project",
      needs: workspaceReaders,
      query,
      answer: "list",
    },
    listApplicableVarsets: {
      method: "GET",
      path: "/workspaces/:workspace_id/applicable-varsets",
      summary: "List the variable sets that apply to a workspace (an alias of `/workspaces/:workspace_id/varsets`)",
      needs: workspaceReaders,
      query,
      answer: "list",
    },
    listProjectVarsets: {
      method: "GET",
      path: "/projects/:project_id/varsets",
      summary: "List the variable sets that apply to a project or that it owns, by name, including global ones",
      needs:
        "read access to the project's settings; sets that the project owns are listed only for callers with 'read' on them",
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
      summary: "Update a variable set; a list of workspaces or projects replaces the previous one",
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
      summary: "Stop applying a variable set to workspaces",
      needs: varsetManagers,
      body: { linkage: ["workspaces"] },
      answer: "nothing",
      example: workspaceExample,
    },
    addVarsetProjects: {
      method: "POST",
      path: ofProjects,
      summary: "Apply a variable set to projects",
      needs: varsetManagers,
      body: { linkage: ["projects"] },
      answer: "nothing",
      example: projectExample,
    },
    removeVarsetProjects: {
      method: "DELETE",
      path: ofProjects,
      ifMatch: true,
      summary: "Stop applying a variable set to projects",
      needs: varsetManagers,
      body: { linkage: ["projects"] },
      answer: "nothing",
      example: projectExample,
    },
  },
}));
