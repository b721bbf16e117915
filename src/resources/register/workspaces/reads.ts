/** Loads workspaces for other resources and checks permissions on them. */
import type { Granted } from "../../../access/granted.ts";
import { type WorkspacePermission, workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import { pageSizeMax } from "../../../jsonapi/query.ts";
import { notFound } from "../../../kernel/errors.ts";
import { grantOnWorkspace } from "../../shared/grants/reads.ts";
import type { Context } from "../../shared/context.ts";
import type { Lock } from "../../shared/locks.ts";
import { findWorkspace, findWorkspaces, type WorkspaceReference } from "./store.ts";
import { expireLease } from "./release.ts";
import type { WorkspaceView } from "./view.ts";

export { pageOfWorkspaces, readableCondition } from "./store.ts";

/** Raises `not-found`. Loading with a lock also ends an expired lease. */
export async function loadWorkspace(
  tx: Tx,
  context: Context,
  reference: WorkspaceReference,
  lock: Lock = false,
): Promise<Granted<WorkspaceView, "can-read-settings">> {
  const view = await findWorkspace(tx, context, reference, lock);
  if (view === undefined) throw notFound("workspace");
  const workspace = grantWorkspace(view, "can-read-settings");
  return lock === false ? workspace : expireLease(tx, context, workspace);
}

/** Ends an expired lease first, which can change the current state. Raises `not-found`. */
export async function loadSettledWorkspace(
  context: Context,
  reference: WorkspaceReference,
): Promise<Granted<WorkspaceView, "can-read-settings">> {
  const workspace = await loadWorkspace(context.database.reader, context, reference);
  if (workspace.endedLock === undefined) return workspace;
  await context.database.write((tx) => loadWorkspace(tx, context, reference, true));
  return loadWorkspace(context.database.reader, context, reference);
}

/** Raises `forbidden`, or `not-found` where the caller can't see the workspace or with `hide`, for endpoints that specify no 403. */
export function grantWorkspace<Permission extends WorkspacePermission>(
  workspace: WorkspaceView,
  permission: Permission,
  otherwise: "forbid" | "hide" = "forbid",
): Granted<WorkspaceView, Permission> {
  return grantOnWorkspace("workspace", workspace, permission, otherwise);
}

/** Locks in the order of ids. */
export async function loadWorkspaces(tx: Tx, context: Context, ids: readonly string[]): Promise<WorkspaceView[]> {
  const views = await findWorkspaces(tx, context, ids);
  const visible = views.filter((workspace) => workspacePermissions(workspace)["can-read-settings"]);
  const settled: WorkspaceView[] = [];
  for (const workspace of visible) settled.push(await expireLease(tx, context, workspace));
  return settled;
}

/** Truncates the ids to two pages. */
export async function readableWorkspaces(
  tx: Tx,
  context: Pick<Context, "actor" | "options">,
  ids: readonly string[],
): Promise<WorkspaceView[]> {
  const views = await findWorkspaces(tx, context, ids.slice(0, 2 * pageSizeMax), false);
  return views.filter((workspace) => workspacePermissions(workspace)["can-read-settings"]);
}
