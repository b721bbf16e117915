/** A project: a group of workspaces, and the place where teams are given access to them. */
import type { Access } from "../../../access/effective.ts";
import { projectPermissions } from "../../../access/permissions/project.ts";
import type { ProjectTable } from "../../../database/schema/projects.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { type IndexedParameter, listParameter, presence, searchParameter } from "../../../jsonapi/query.ts";
import { flag, flags, oneOf, reference, text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import { activityDurationPattern, activityDurationSentence } from "../../../kernel/time.ts";
import { executionModes, type OrganizationFacts } from "../../identity/organizations/definition.ts";
import { bindingItem } from "../tag-bindings/definition.ts";
import {
  defaultModeOf,
  defaultPoolOf,
  type DefaultsInput,
  defaultsFaults,
  type OrganizationDefaults,
} from "./execution.ts";

export interface ProjectView extends ProjectTable, OrganizationDefaults, OrganizationFacts {
  readonly access: Access;
  /** How many records have ended and are still counted, until they are tidied up. */
  readonly endedRecords?: number;
  /** Only where they were asked for. */
  readonly effectiveTagBindingIds?: readonly string[];
}

const name = text({
  min: 3,
  max: 40,
  pattern: /^(?! )[A-Za-z0-9 _-]+(?<! )$/,
  sentence: "may only contain letters, numbers, spaces, dashes and underscores, and neither begin nor end with a space",
});

const taggedFilters: IndexedParameter<"key" | "value"> = {
  doc: "Only projects with this key-value tag; further ones are numbered 1, 2, …, and all are required. An empty value stands for any.",
  members: ["key", "value"],
  max: 25,
};

const shownPermissions = ["can-update", "can-destroy", "can-create-workspace"] as const;

export const projects = defineResource<ProjectView>()(({ required, optional, readOnly, toOne, toMany }) => ({
  type: "projects",
  doc: "A group of workspaces, and the place where teams are given access to them.",
  id: (project) => project.id,
  version: (project) => [
    project.version,
    project.organizationFacts,
    project.defaultExecutionMode === null ? project.organizationDefaults : 0,
    ...(project.endedRecords ? [project.endedRecords] : []),
  ],
  attributes: {
    name: required(name, "Unique in the organization, ignoring case.", { folded: true }),
    description: optional(text({ max: 256 }).nullable(), "What the project is for.", { default: null }),
    "auto-destroy-activity-duration": optional(
      text({ pattern: activityDurationPattern, sentence: activityDurationSentence }).nullable(),
      "How long its workspaces may be inactive before they are destroyed, unless they say otherwise: up to four digits and 'd' or 'h'.",
      { default: null },
    ),
    "default-execution-mode": optional(
      oneOf(executionModes),
      "What its workspaces without an execution mode of their own use. Without one, the organization's default is followed.",
      { from: defaultModeOf, column: false },
    ),
    "default-agent-pool-id": optional(reference(), "The pool that agent mode as the default needs.", {
      shown: false,
      column: false,
    }),
    "setting-overwrites": optional(
      flags(["default-execution-mode", "default-agent-pool"]),
      "Which settings are the project's own instead of the organization's default.",
      {
        column: false,
        from: ({ defaultExecutionMode }) => ({
          "default-execution-mode": defaultExecutionMode !== null,
          "default-agent-pool": defaultExecutionMode !== null,
        }),
      },
    ),
    "workspace-count": readOnly(wholeNumber(), "How many workspaces it holds.", { audited: false }),
    "team-count": readOnly(wholeNumber(), "How many teams have access to it by a record of their own.", {
      from: ({ teamCount, endedRecords = 0 }) => teamCount - endedRecords,
      audited: false,
    }),
    "is-unified": readOnly(flag(), "Always false.", { from: () => false, audited: false }),
    permissions: readOnly(flags(shownPermissions), "What the caller may do.", {
      from: ({ access }) => {
        const { "can-read": _, ...shown } = projectPermissions(access);
        return shown;
      },
      audited: false,
    }),
    "created-at": readOnly(timestamp(), "When it was made."),
  },
  relationships: {
    organization: toOne("organizations", "The organization that owns it.", {
      id: (project) => project.organizationName,
      related: (project) => `/api/v2/organizations/${project.organizationName}`,
    }),
    "default-agent-pool": toOne(
      "agent-pools",
      "The pool that its workspaces in agent mode without one of their own use.",
      {
        nullable: true,
        id: defaultPoolOf,
      },
    ),
    "tag-bindings": toMany("tag-bindings", "Its key-value tags; an empty list clears them.", {
      create: "optional",
      update: "optional",
      item: bindingItem,
      related: (project) => `/api/v2/projects/${project.id}/tag-bindings`,
    }),
    "effective-tag-bindings": toMany(
      "effective-tag-bindings",
      "The key-value tags in effect; named where `include` asks for them.",
      {
        ids: (project) => project.effectiveTagBindingIds,
      },
    ),
  },
  links: (project) => ({ self: `/api/v2/projects/${project.id}` }),
  bodyFaults: (attributes: DefaultsInput) => defaultsFaults(attributes),
  operations: {
    createProject: {
      method: "POST",
      path: "/organizations/:organization_name/projects",
      summary: "Create a project",
      needs: "an owner, a team with 'manage-projects', or the organization's token",
      body: "create",
      answer: "created",
      example: { data: { type: "projects", attributes: { name: "Network", description: "Shared networks" } } },
    },
    listProjects: {
      method: "GET",
      path: "/organizations/:organization_name/projects",
      summary: "List projects",
      needs: "a member; shows the projects that the caller may read",
      query: {
        paged: true,
        sort: ["name"],
        include: ["effective_tag_bindings"],
        parameters: {
          q: searchParameter("the name", " Not used when filter[names] is given."),
          "filter[names]": listParameter("Whole names, comma-separated, ignoring case."),
          "filter[permissions][create-workspace]": presence(
            "If given, only projects in which the caller may create workspaces.",
          ),
          "filter[permissions][update]": presence("If given, only projects that the caller may update."),
        },
        indexed: { "filter[tagged]": taggedFilters },
      },
      answer: "list",
    },
    showProject: {
      method: "GET",
      path: "/projects/:project_id",
      summary: "Show a project",
      needs: "read access to the project",
      query: { include: ["effective_tag_bindings"] },
      answer: "document",
    },
    updateProject: {
      method: "PATCH",
      path: "/projects/:project_id",
      summary: "Change a project",
      needs: "'update' on the project's settings",
      body: "update",
      answer: "document",
      example: { data: { type: "projects", attributes: { description: null } } },
    },
    deleteProject: {
      method: "DELETE",
      path: "/projects/:project_id",
      summary: "Delete a project that holds no workspaces",
      needs: "'delete' on the project's settings",
      answer: "nothing",
    },
  },
}));
