/** Team access to workspaces: the workspace-specific part. */
import { type WorkspaceLevel, workspaceLevelPermissions } from "../../../../access/levels.ts";
import {
  canSeeWorkspace,
  workspacePermissionNeeds,
  workspaceRightsOf,
} from "../../../../access/permissions/workspace.ts";
import type { UpdateAttributes } from "../../../../jsonapi/define.ts";
import { kebab } from "../../../../kernel/names.ts";
import { implement } from "../../../shared/context.ts";
import type { AccessKind, ChosenPermissions } from "../kind.ts";
import { updateAccess, createAccess, listAccess, showAccess, deleteAccess } from "../operations.ts";
import { statementsOf } from "../store.ts";
import { teamWorkspaces } from "./definition.ts";
import { workspaceTables } from "./store.ts";

export const teamWorkspaceKind: AccessKind = {
  definition: teamWorkspaces,
  thing: "workspace",
  tables: workspaceTables,
  find: statementsOf(workspaceTables),
  impliedPermissions: (level) => workspaceLevelPermissions(level as WorkspaceLevel),
  canRead: canSeeWorkspace,
  rights: workspaceRightsOf,
  needs: workspacePermissionNeeds["can-update"],
};

function chosenIn(attributes: UpdateAttributes<typeof teamWorkspaces>): ChosenPermissions {
  const { access: _level, expiresAt: _end, reason: _reason, ...permissions } = attributes;
  const chosen = Object.entries(permissions);
  return Object.fromEntries(chosen.map(([name, value]) => [kebab(name), value]));
}

export const teamWorkspaceResource = implement(teamWorkspaces, {
  listTeamWorkspaces: ({ context, query }) =>
    listAccess(
      teamWorkspaceKind,
      context,
      query.filterWorkspaceId ?? "",
      query.isPageRequested ? query.page : undefined,
    ),

  showTeamWorkspace: ({ context, params }) => showAccess(teamWorkspaceKind, context, params.teamWorkspaceId),

  createTeamWorkspace: ({ context, body: { attributes, relationships } }) =>
    createAccess(teamWorkspaceKind, context, {
      teamId: relationships.team,
      targetId: relationships.workspace,
      level: attributes.access,
      chosen: chosenIn(attributes),
      expiry: attributes,
    }),

  updateTeamWorkspace: ({ context, params, body: { attributes } }) =>
    updateAccess(teamWorkspaceKind, context, {
      id: params.teamWorkspaceId,
      level: attributes.access,
      chosen: chosenIn(attributes),
      expiry: attributes,
    }),

  deleteTeamWorkspace: ({ context, params }) => deleteAccess(teamWorkspaceKind, context, params.teamWorkspaceId),
});
