/** What neighbours ask of workspaces, and how a workspace is granted. */
import type { Granted } from "../../../access/granted.ts";
import { type WorkspacePermission, workspacePermissions } from "../../../access/permissions.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import { grantOnWorkspace } from "../../shared/grants/reads.ts";
import type { Context } from "../../shared/context.ts";
import type { Lock } from "../../shared/locks.ts";
import { findWorkspace, findWorkspaces, type WorkspaceReference } from "./store.ts";
import type { WorkspaceView } from "./view.ts";

export { holdsLock, nameOfHolder } from "./holder.ts";
export { pageOfWorkspaces, readableCondition } from "./store.ts";

/** Raises `not-found` where the caller may not see the workspace. */
export async function loadWorkspace(
  tx: Tx,
  context: Pick<Context, "actor" | "options">,
  reference: WorkspaceReference,
  lock: Lock = false,
): Promise<Granted<WorkspaceView, "can-read-settings">> {
  const workspace = await findWorkspace(tx, context, reference, lock);
  if (workspace === undefined) throw notFound("workspace");
  return grantWorkspace(workspace, "can-read-settings");
}

/**
 * Raises `forbidden`, or `not-found` where the caller may not see the workspace; also where it may, with `hide`, which is
 * for endpoints whose specification lists 404 and no 403.
 */
export function grantWorkspace<Permission extends WorkspacePermission>(
  workspace: WorkspaceView,
  permission: Permission,
  otherwise: "forbid" | "hide" = "forbid",
): Granted<WorkspaceView, Permission> {
  return grantOnWorkspace("workspace", workspace, permission, otherwise);
}

/** Workspaces by their ids, those that the caller may see, in the order of their ids; locked against others' changes. */
export async function loadWorkspaces(
  tx: Tx,
  context: Pick<Context, "actor" | "options">,
  ids: readonly string[],
): Promise<WorkspaceView[]> {
  const found = await findWorkspaces(tx, context, ids);
  return found.filter((workspace) => workspacePermissions(workspace)["can-read-settings"]);
}

/** The same for reading alone, to show them beside what belongs to them. */
export async function readableWorkspaces(
  tx: Tx,
  context: Pick<Context, "actor" | "options">,
  ids: readonly string[],
): Promise<WorkspaceView[]> {
  const found = await findWorkspaces(tx, context, ids, false);
  return found.filter((workspace) => workspacePermissions(workspace)["can-read-settings"]);
}
