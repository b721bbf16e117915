/** The project resource: a group of workspaces to which teams get access together. */
import type { Access } from "../../../access/effective.ts";
import { projectPermissions } from "../../../access/permissions/project.ts";
import type { ProjectTable } from "../../../database/schema/projects.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { type IndexedParameter, listParameter, flagParameter, searchParameter } from "../../../jsonapi/query.ts";
import { flag, flags, oneOf, reference, text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import { activityDurationPattern, activityDurationSentence } from "../../../kernel/time.ts";
import { executionModes, type OrganizationFacts } from "../../identity/organizations/definition.ts";
import { bindingItem } from "../tag-bindings/definition.ts";
import {
  defaultModeOf,
  defaultPoolOf,
  type ProjectDefaultsInput,
  defaultsFaults,
  type OrganizationDefaults,
} from "./execution.ts";

export interface ProjectView extends ProjectTable, OrganizationDefaults, OrganizationFacts {
  readonly access: Access;
  /** Expired team access records that `teamCount` still includes. */
  readonly expiredTeamAccessCount?: number;
  readonly effectiveTagBindingIds?: readonly string[];
}

const name = text({
  min: 3,
  max: 40,
  pattern: /^(?! )[A-Za-z0-9 _-]+(?<! )$/,
  sentence: "may only contain letters, numbers, spaces, dashes and underscores, and neither begin nor end with a space",
});

const taggedFilters: IndexedParameter<"key" | "value"> = {
  doc: "Returns only projects with this key-value tag. Number further tags 1, 2, …; a project must have all of them. An empty value matches any value.",
  members: ["key", "value"],
  max: 25,
};

const shownPermissions = ["can-update", "can-destroy", "can-create-workspace"] as const;

export const projects = defineResource<ProjectView>()(({ required, optional, readOnly, toOne, toMany }) => ({
  type: "projects",
  doc: "A project groups workspaces. A team can get access to all workspaces of a project.",
  id: (project) => project.id,
  version: (project) => [
    project.version,
    project.organizationFactsVersion,
    project.defaultExecutionMode === null ? project.organizationDefaultsVersion : 0,
    ...(project.expiredTeamAccessCount ? [project.expiredTeamAccessCount] : []),
  ],
  attributes: {
    name: required(name, "The name. It is unique in the organization, ignoring case.", { folded: true }),
    description: optional(text({ max: 256 }).nullable(), "What the project is for.", { default: null }),
    "auto-destroy-activity-duration": optional(
      text({ pattern: activityDurationPattern, sentence: activityDurationSentence }).nullable(),
      "How long a workspace can be inactive before its resources are destroyed, unless it has its own setting: up to four digits and 'd' or 'h'.",
      { default: null },
    ),
    "default-execution-mode": optional(
      oneOf(executionModes),
      "The execution mode of workspaces without their own. If it is not set, the organization's default applies.",
      { from: defaultModeOf, column: false },
    ),
    "default-agent-pool-id": optional(
      reference(),
      "The default agent pool. Required if the default execution mode is `agent`.",
      {
        shown: false,
        column: false,
      },
    ),
    "setting-overwrites": optional(
      flags(["default-execution-mode", "default-agent-pool"]),
      "Which settings are the project's own; the others follow the organization.",
      {
        column: false,
        from: ({ defaultExecutionMode }) => ({
          "default-execution-mode": defaultExecutionMode !== null,
          "default-agent-pool": defaultExecutionMode !== null,
        }),
      },
    ),
    "workspace-count": readOnly(wholeNumber(), "The number of workspaces in the project.", { audited: false }),
    "team-count": readOnly(wholeNumber(), "The number of teams with a team access record on the project.", {
      from: ({ teamCount, expiredTeamAccessCount = 0 }) => teamCount - expiredTeamAccessCount,
      audited: false,
    }),
    "is-unified": readOnly(flag(), "Always false.", { from: () => false, audited: false }),
    permissions: readOnly(flags(shownPermissions), "The caller's permissions on the project.", {
      from: ({ access }) => {
        const { "can-read": _, ...shown } = projectPermissions(access);
        return shown;
      },
      audited: false,
    }),
    "created-at": readOnly(timestamp(), "When the project was created."),
  },
  relationships: {
    organization: toOne("organizations", "The project's organization.", {
      id: (project) => project.organizationName,
      related: (project) => `/api/v2/organizations/${project.organizationName}`,
    }),
    "default-agent-pool": toOne("agent-pools", "The agent pool of workspaces in agent mode without their own.", {
      nullable: true,
      id: defaultPoolOf,
    }),
    "tag-bindings": toMany("tag-bindings", "The project's key-value tags. An empty list removes them.", {
      create: "optional",
      update: "optional",
      item: bindingItem,
      related: (project) => `/api/v2/projects/${project.id}/tag-bindings`,
    }),
    "effective-tag-bindings": toMany(
      "effective-tag-bindings",
      "The effective key-value tags; listed only if `include` names them.",
      {
        ids: (project) => project.effectiveTagBindingIds,
      },
    ),
  },
  links: (project) => ({ self: `/api/v2/projects/${project.id}` }),
  bodyFaults: (attributes: ProjectDefaultsInput) => defaultsFaults(attributes),
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
      needs: "a member; lists the projects that the caller can read",
      query: {
        paged: true,
        sort: ["name"],
        include: ["effective_tag_bindings"],
        parameters: {
          q: searchParameter("the name", " Ignored if filter[names] is sent."),
          "filter[names]": listParameter(
            "Returns only projects with one of these names, separated by commas, ignoring case.",
          ),
          "filter[permissions][create-workspace]": flagParameter(
            "Returns only projects in which the caller can create workspaces; any value enables the filter.",
          ),
          "filter[permissions][update]": flagParameter(
            "Returns only projects that the caller can update; any value enables the filter.",
          ),
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
      summary: "Update a project",
      needs: "'update' on the project's settings",
      body: "update",
      answer: "document",
      example: { data: { type: "projects", attributes: { description: null } } },
    },
    deleteProject: {
      method: "DELETE",
      path: "/projects/:project_id",
      summary: "Delete a project that has no workspaces",
      needs: "'delete' on the project's settings",
      answer: "nothing",
    },
  },
}));
