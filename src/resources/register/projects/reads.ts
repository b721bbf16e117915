/** Loads projects for other resources and checks permissions on them. */
import type { Actor } from "../../../access/actor.ts";
import { authorize, type Granted, withProofOf } from "../../../access/granted.ts";
import {
  isProjectAdmin,
  type ProjectPermission,
  projectPermissionNeeds,
  projectPermissions,
} from "../../../access/permissions/project.ts";
import type { Tx } from "../../../database/database.ts";
import { pageSizeMax } from "../../../jsonapi/query.ts";
import { forbidden, notFound } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import type { RowLock } from "../../shared/locks.ts";
import type { ProjectView } from "./definition.ts";
import { findProject, findProjects } from "./store.ts";

export { type ProjectViewRow, projectsForActor, toProjectView } from "./store.ts";

/** Throws `not-found` where the caller can't read the project. */
export async function loadProject(
  tx: Tx,
  context: Pick<Context, "actor">,
  id: string,
  lock: RowLock = false,
): Promise<Granted<ProjectView, "can-read">> {
  const project = await findProject(tx, context.actor, id, lock);
  if (project === undefined) throw notFound("project");
  return authorizeProject(project, "can-read");
}

/** Throws `forbidden`, or `not-found` where the caller can't read the project. */
export function authorizeProject<Permission extends ProjectPermission>(
  project: ProjectView,
  permission: Permission,
): Granted<ProjectView, Permission> {
  const permissions = projectPermissions(project.access);
  return authorize(project, {
    thing: "project",
    permission,
    visible: permissions["can-read"],
    allowed: permissions[permission],
    needs: projectPermissionNeeds[permission],
  });
}

/** Truncates the ids to one page. */
export async function readableProjects(
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  ids: readonly string[],
): Promise<ProjectView[]> {
  const projects = await findProjects(tx, actor, ids.slice(0, pageSizeMax));
  return projects.filter((project) => projectPermissions(project.access)["can-read"]);
}

/** Undefined if the caller can't see the named project. Throws `forbidden`. */
export function authorizeNewWorkspace<Project extends ProjectView>(
  project: Project,
  isNamed: boolean,
): Granted<Project, "can-create-workspace"> | undefined {
  const permissions = projectPermissions(project.access);
  if (isNamed && !permissions["can-read"]) return undefined;
  const where = isNamed ? "this project" : "the default project. Name a project in which you can";
  if (!permissions["can-create-workspace"])
    throw forbidden(
      `You can't create workspaces in ${where}. Creating a workspace needs ${projectPermissionNeeds["can-create-workspace"]} (can-create-workspace).`,
    );
  return withProofOf(authorizeProject(project, "can-create-workspace"), project);
}

/** Locks in the order of ids. */
export async function lockProjects(
  tx: Tx,
  actor: Actor,
  organizationId: string,
  ids: readonly string[],
): Promise<ProjectView[]> {
  return findProjects(tx, actor, ids, { organizationId });
}

/** Needs admin access to both projects. Undefined if the caller can't see the destination. Throws `forbidden`. */
export async function loadProjectToMoveInto(
  tx: Tx,
  context: Pick<Context, "actor">,
  workspace: { readonly organizationId: string; readonly projectId: string },
  projectId: string,
): Promise<ProjectView | undefined> {
  const projects = await findProjects(tx, context.actor, [workspace.projectId, projectId], workspace);
  const source = projects.find((project) => project.id === workspace.projectId);
  const destination = projects.find((project) => project.id === projectId);
  if (destination === undefined || !projectPermissions(destination.access)["can-read"]) return undefined;
  for (const project of [source, destination]) {
    if (project === undefined || !isProjectAdmin(project.access)) {
      throw forbidden(
        "Moving a workspace with an update needs admin access to its project and to the destination project.",
      );
    }
  }
  return destination;
}
