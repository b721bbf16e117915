/** What neighbours ask of projects, and how a project is granted. */
import { grant, type Granted } from "../../access/granted.ts";
import { type ProjectPermission, projectPermissionNeeds, projectPermissions } from "../../access/permissions.ts";
import type { Tx } from "../../database/database.ts";
import { notFound } from "../../kernel/errors.ts";
import type { Context } from "../shared/context.ts";
import type { ProjectView } from "./definition.ts";
import { findProject } from "./store.ts";

/** Raises `not-found` where the caller may not read the project. */
export async function loadProject(
  tx: Tx,
  context: Pick<Context, "actor">,
  id: string,
  lock = false,
): Promise<Granted<ProjectView, "can-read">> {
  const project = await findProject(tx, context.actor, id, lock);
  if (project === undefined) throw notFound("project");
  return grantProject(project, "can-read");
}

/** Raises `forbidden`, or `not-found` where the caller may not read the project. */
export function grantProject<Permission extends ProjectPermission>(
  project: ProjectView,
  permission: Permission,
): Granted<ProjectView, Permission> {
  const held = projectPermissions(project.access);
  return grant(project, {
    thing: "project",
    permission,
    visible: held["can-read"],
    allowed: held[permission],
    needs: projectPermissionNeeds[permission],
  });
}
