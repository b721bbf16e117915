/** A team's access to a single workspace. */
import { workspaceLevelPermissions, workspaceLevelNames } from "../../../../access/levels.ts";
import { maskOf, type Permission, permissionSetOf, permissionValue } from "../../../../access/permission-set.ts";
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

const chosenByDefault = permissionSetOf(maskOf(workspaceLevelPermissions("custom")));

const shownPermission = (permission: Permission) =>
  ({
    from: ({ permissions }: AccessRecord) => permissionValue(permissions, permission),
    default: chosenByDefault[permission],
    column: false,
  }) as const;

const managers =
  "admin access to the workspace: its admins, its project's maintainers and admins, teams with 'manage-workspaces' or 'manage-projects', owners, the organization's token; at most the caller's own access";
const readers =
  "read access to the workspace; shows visible teams and the caller's own, and all teams to its admins and to callers with 'read' on its project's teams";

export const teamWorkspaces = defineResource<AccessRecord>()(({ required, optional, toOne }) => ({
  type: "team-workspaces",
  doc: "A team's access to a workspace: a level, or individual permissions.",
  id: (record) => record.id,
  version: (record) => record.version,
  attributes: {
    access: required(oneOf(workspaceLevelNames), "The level; 'custom' for individual permissions."),
    runs: optional(
      oneOf(["read", "plan", "apply"]),
      "Reading runs, queueing plans, applying them.",
      shownPermission("runs"),
    ),
    variables: optional(
      oneOf(["none", "read", "write"]),
      "Reading and writing variables.",
      shownPermission("variables"),
    ),
    "state-versions": optional(
      oneOf(["none", "read-outputs", "read", "write"]),
      "Reading outputs, reading and writing state.",
      shownPermission("stateVersions"),
    ),
    "policy-mocks": optional(
      oneOf(["none", "read"]),
      "Reading the data for policy mocks.",
      shownPermission("policyMocks"),
    ),
    "workspace-locking": optional(flag(), "Locking and unlocking the workspace.", shownPermission("locking")),
    "run-tasks": optional(flag(), "Managing the workspace's run tasks.", shownPermission("runTasks")),
    "policy-overrides": optional(flag(), "Overriding policies that stopped a run.", shownPermission("policyOverrides")),
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
    workspace: toOne("workspaces", "The workspace that the team has access to.", {
      create: "required",
      id: (record) => record.targetId,
      related: (record) => `/api/v2/workspaces/${record.targetId}`,
    }),
  },
  links: (record) => ({ self: `/api/v2/team-workspaces/${record.id}` }),
  operations: {
    listTeamWorkspaces: {
      method: "GET",
      path: "/team-workspaces",
      summary: "List team access to a workspace; without page parameters, all of it",
      needs: readers,
      query: {
        paged: "if-requested",
        parameters: { "filter[workspace][id]": { ...textParameter("The workspace."), required: true } },
      },
      answer: "list",
    },
    showTeamWorkspace: {
      method: "GET",
      path: "/team-workspaces/:team_workspace_id",
      summary: "Show a team's access to a workspace",
      needs: readers,
      answer: "document",
    },
    createTeamWorkspace: {
      method: "POST",
      path: "/team-workspaces",
      summary: "Give a team access to a workspace",
      needs: managers,
      body: "create",
      answer: "granted",
      mayWarn: true,
      example: {
        data: {
          type: "team-workspaces",
          attributes: { access: "custom", runs: "apply", "workspace-locking": true },
          relationships: {
            workspace: { data: { type: "workspaces", id: "ws-1234567890abcdef" } },
            team: { data: { type: "teams", id: "team-1234567890abcdef" } },
          },
        },
      },
    },
    updateTeamWorkspace: {
      method: "PATCH",
      path: "/team-workspaces/:team_workspace_id",
      summary: "Update a team's access to a workspace",
      needs: managers,
      body: "update",
      answer: "document",
      mayWarn: true,
      example: { data: { type: "team-workspaces", attributes: { access: "plan" } } },
    },
    deleteTeamWorkspace: {
      method: "DELETE",
      path: "/team-workspaces/:team_workspace_id",
      summary: "Remove a team's access to a workspace",
      needs: "admin access to the workspace",
      answer: "nothing",
      mayWarn: true,
    },
  },
}));
