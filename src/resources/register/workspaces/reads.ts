/** Loads workspaces for other resources and checks permissions on them. */
import type { Granted } from "../../../access/granted.ts";
import { type WorkspacePermission, workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import { pageSizeMax } from "../../../jsonapi/query.ts";
import { notFound } from "../../../kernel/errors.ts";
import { authorizeOnWorkspace } from "../../shared/grants/reads.ts";
import type { Context } from "../../shared/context.ts";
import type { RowLock } from "../../shared/locks.ts";
import { findWorkspace, findWorkspaces, type WorkspaceReference } from "./store.ts";
import { expireLease } from "./release.ts";
import type { WorkspaceView } from "./view.ts";

export { pageOfWorkspaces, readableCondition } from "./store.ts";

/** Loading with a row lock also ends an expired lease, which writes and can start the next run. Throws `not-found`. */
export async function loadWorkspace(
  tx: Tx,
  context: Context,
  reference: WorkspaceReference,
  lock: RowLock = false,
): Promise<Granted<WorkspaceView, "can-read-settings">> {
  const view = await findWorkspace(tx, context, reference, lock);
  if (view === undefined) throw notFound("workspace");
  const workspace = authorizeWorkspace(view, "can-read-settings");
  return lock === false ? workspace : expireLease(tx, context, workspace);
}

/** If the lease has expired, ends it in a transaction of its own first, which can change the current state. Throws `not-found`. */
export async function loadWorkspaceAfterLeaseExpiry(
  context: Context,
  reference: WorkspaceReference,
): Promise<Granted<WorkspaceView, "can-read-settings">> {
  const workspace = await loadWorkspace(context.database.reader, context, reference);
  if (workspace.expiredLock === undefined) return workspace;
  await context.database.write((tx) => loadWorkspace(tx, context, reference, "change"));
  return loadWorkspace(context.database.reader, context, reference);
}

/** Throws `forbidden`, or `not-found` where the caller can't see the workspace or with `hide`, for endpoints that specify no 403. */
export function authorizeWorkspace<Permission extends WorkspacePermission>(
  workspace: WorkspaceView,
  permission: Permission,
  whenDenied: "forbid" | "hide" = "forbid",
): Granted<WorkspaceView, Permission> {
  return authorizeOnWorkspace("workspace", workspace, permission, whenDenied);
}

/** Locks in the order of ids, and ends expired leases. Omits workspaces that the caller can't see. */
export async function loadWorkspaces(tx: Tx, context: Context, ids: readonly string[]): Promise<WorkspaceView[]> {
  const views = await findWorkspaces(tx, context, ids);
  const visible = views.filter((workspace) => workspacePermissions(workspace)["can-read-settings"]);
  const current: WorkspaceView[] = [];
  for (const workspace of visible) current.push(await expireLease(tx, context, workspace));
  return current;
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
