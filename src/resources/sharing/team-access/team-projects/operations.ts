/** Team access to projects: the project-specific part. */
import { type ProjectLevel, projectLevelPermissions } from "../../../../access/levels.ts";
import { projectPermissions, projectRightNeeds, projectRightsOf } from "../../../../access/permissions/project.ts";
import type { UpdateAttributes } from "../../../../jsonapi/define.ts";
import { implement } from "../../../shared/context.ts";
import type { AccessKind, ChosenPermissions } from "../kind.ts";
import { updateAccess, createAccess, listAccess, showAccess, deleteAccess } from "../operations.ts";
import { statementsOf } from "../store.ts";
import { teamProjects } from "./definition.ts";
import { projectTables } from "./store.ts";

export const teamProjectKind: AccessKind = {
  definition: teamProjects,
  thing: "project",
  tables: projectTables,
  find: statementsOf(projectTables),
  impliedPermissions: (level) => projectLevelPermissions(level as ProjectLevel),
  canRead: (access) => projectPermissions(access)["can-read"],
  rights: projectRightsOf,
  needs: projectRightNeeds["can-manage-team-access"],
};

function chosenIn({
  projectAccess = {},
  workspaceAccess = {},
}: UpdateAttributes<typeof teamProjects>): ChosenPermissions {
  const within = (parent: string, chosen: object) =>
    Object.entries(chosen).map(([name, value]) => [`${parent}.${name}`, value]);
  return Object.fromEntries([
    ...within("project-access", projectAccess),
    ...within("workspace-access", workspaceAccess),
  ]);
}

export const teamProjectResource = implement(teamProjects, {
  listTeamProjects: ({ context, query }) =>
    listAccess(teamProjectKind, context, query.filterProjectId ?? "", query.page),

  showTeamProject: ({ context, params }) => showAccess(teamProjectKind, context, params.teamProjectId),

  createTeamProject: ({ context, body: { attributes, relationships } }) =>
    createAccess(teamProjectKind, context, {
      teamId: relationships.team,
      targetId: relationships.project,
      level: attributes.access,
      chosen: chosenIn(attributes),
      expiry: attributes,
    }),

  updateTeamProject: ({ context, params, body: { attributes } }) =>
    updateAccess(teamProjectKind, context, {
      id: params.teamProjectId,
      level: attributes.access,
      chosen: chosenIn(attributes),
      expiry: attributes,
    }),

  deleteTeamProject: ({ context, params }) => deleteAccess(teamProjectKind, context, params.teamProjectId),
});
