/** A team's access to a project and its workspaces. */
import { z } from "zod";
import { projectLevelPermissions, projectLevelNames } from "../../../../access/levels.ts";
import { maskOf, type PermissionSet, permissionSetOf } from "../../../../access/permission-set.ts";
import { defineResource } from "../../../../jsonapi/define.ts";
import { textParameter } from "../../../../jsonapi/query.ts";
import { flag, oneOf } from "../../../../jsonapi/schemas.ts";
import {
  expiresAtDoc,
  expiresAtFaults,
  expiresAtSchema,
  reasonDoc,
  reasonSchema,
  type GrantExpiryInput,
} from "../../../shared/grants/expiry.ts";
import type { AccessRecord } from "../kind.ts";

const projectAccess = z.object({
  settings: oneOf(["read", "update", "delete"]).optional(),
  teams: oneOf(["none", "read", "manage"]).optional(),
  "variable-sets": oneOf(["none", "read", "write"]).optional(),
});

const workspaceAccess = z.object({
  runs: oneOf(["read", "plan", "apply"]).optional(),
  "policy-mocks": oneOf(["none", "read"]).optional(),
  "state-versions": oneOf(["none", "read-outputs", "read", "write"]).optional(),
  variables: oneOf(["none", "read", "write"]).optional(),
  create: flag().optional(),
  locking: flag().optional(),
  delete: flag().optional(),
  move: flag().optional(),
  "run-tasks": flag().optional(),
  "policy-overrides": flag().optional(),
});

const shownOnProject = ({ settings, teams, variableSets }: PermissionSet) => ({
  settings,
  teams,
  "variable-sets": variableSets,
});
const shownOnWorkspaces = (set: PermissionSet) => ({
  create: set.create,
  move: set.move,
  locking: set.locking,
  delete: set.delete,
  runs: set.runs,
  variables: set.variables,
  "state-versions": set.stateVersions,
  "policy-mocks": set.policyMocks,
  "run-tasks": set.runTasks,
  "policy-overrides": set.policyOverrides,
});
const chosenByDefault = permissionSetOf(maskOf(projectLevelPermissions("custom")));

const managers =
  "'manage' on the project's teams: owners, teams with 'manage-projects', project admins, the organization's token; at most the caller's own access";
const readers =
  "read access to the project; shows visible teams and the caller's own, and all teams to callers with 'read' on its teams";

export const teamProjects = defineResource<AccessRecord>()(({ required, optional, toOne }) => ({
  type: "team-projects",
  doc: "A team's access to a project and its workspaces: a level, or individual permissions.",
  id: (record) => record.id,
  version: (record) => record.version,
  attributes: {
    access: required(oneOf(projectLevelNames), "The level; 'custom' for individual permissions."),
    "project-access": optional(
      projectAccess,
      "The team's permissions on the project: implied by the level, or chosen if it is 'custom'.",
      {
        from: ({ permissions }) => shownOnProject(permissionSetOf(permissions)),
        default: shownOnProject(chosenByDefault),
        column: false,
      },
    ),
    "workspace-access": optional(
      workspaceAccess,
      "The team's permissions on the project's workspaces: implied by the level, or chosen if it is 'custom'.",
      {
        from: ({ permissions }) => shownOnWorkspaces(permissionSetOf(permissions)),
        default: shownOnWorkspaces(chosenByDefault),
        column: false,
      },
    ),
    "expires-at": optional(expiresAtSchema, expiresAtDoc, { default: null }),
    reason: optional(reasonSchema, reasonDoc, { default: null }),
  },
  bodyFaults: ({ expiresAt }: GrantExpiryInput) => expiresAtFaults(expiresAt),
  relationships: {
    team: toOne("teams", "The team that has access.", {
      create: "required",
      id: (record) => record.teamId,
      related: (record) => `/api/v2/teams/${record.teamId}`,
    }),
    project: toOne("projects", "The project that the team has access to.", {
      create: "required",
      id: (record) => record.targetId,
      related: (record) => `/api/v2/projects/${record.targetId}`,
    }),
  },
  links: (record) => ({ self: `/api/v2/team-projects/${record.id}` }),
  operations: {
    listTeamProjects: {
      method: "GET",
      path: "/team-projects",
      summary: "List team access to a project",
      needs: readers,
      query: {
        paged: true,
        parameters: { "filter[project][id]": { ...textParameter("The project."), required: true } },
      },
      answer: "list",
    },
    showTeamProject: {
      method: "GET",
      path: "/team-projects/:team_project_id",
      summary: "Show a team's access to a project",
      needs: readers,
      answer: "document",
    },
    createTeamProject: {
      method: "POST",
      path: "/team-projects",
      summary: "Give a team access to a project",
      needs: managers,
      body: "create",
      answer: "granted",
      mayWarn: true,
      example: {
        data: {
          type: "team-projects",
          attributes: {
            access: "custom",
            "project-access": { settings: "update" },
            "workspace-access": { move: true },
          },
          relationships: {
            project: { data: { type: "projects", id: "prj-1234567890abcdef" } },
            team: { data: { type: "teams", id: "team-1234567890abcdef" } },
          },
        },
      },
    },
    updateTeamProject: {
      method: "PATCH",
      path: "/team-projects/:team_project_id",
      summary: "Update a team's access to a project",
      needs: managers,
      body: "update",
      answer: "document",
      mayWarn: true,
      example: { data: { type: "team-projects", attributes: { access: "maintain" } } },
    },
    deleteTeamProject: {
      method: "DELETE",
      path: "/team-projects/:team_project_id",
      summary: "Remove a team's access to a project",
      needs: "'manage' on the project's teams",
      answer: "nothing",
      mayWarn: true,
    },
  },
}));
