/** How state versions are loaded, and how permissions of their workspace are granted on them. */
import type { Granted } from "../../../access/granted.ts";
import { type WorkspacePermission, workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import { grantOnWorkspace } from "../../shared/grants/reads.ts";
import type { StateVersionView } from "./definition.ts";
import { findStateVersion, findStateVersions, type StateVersionContext } from "./store.ts";
import type { StateVersionTable } from "../../../database/schema/state.ts";
import type { LatestVersion } from "./rules.ts";

/**
 * Returns the version without a granted permission, for resources with a permission of their own. Raises `not-versions`.
 */
export async function loadVersionOf(
  tx: Tx,
  context: StateVersionContext,
  id: string,
  lock = false,
): Promise<StateVersionView> {
  const version = await findStateVersion(tx, context, id, lock);
  if (version === undefined) throw notFound("state version");
  return version;
}

/** Raises `not-versions`, or `forbidden` where the caller can see the workspace but not its state. */
export async function loadStateVersion(
  tx: Tx,
  context: StateVersionContext,
  id: string,
  lock = false,
): Promise<Granted<StateVersionView, "can-read-state-versions">> {
  return grantStateVersion(await loadVersionOf(tx, context, id, lock), "can-read-state-versions");
}

/** Raises `forbidden`, or `not-versions` where the caller can't see the workspace. */
export const grantStateVersion = <Permission extends WorkspacePermission>(
  version: StateVersionView,
  permission: Permission,
): Granted<StateVersionView, Permission> => grantOnWorkspace("state version", version, permission);

export async function readableStateVersions(
  tx: Tx,
  context: StateVersionContext,
  ids: readonly string[],
): Promise<StateVersionView[]> {
  const versions = await findStateVersions(tx, context, ids);
  return versions.filter((version) => workspacePermissions(version)["can-read-state-versions"]);
}

/** Whether a state of the workspace is still being uploaded or processed, so that its resources are unknown. */
export async function isStateProcessing(tx: Tx, workspaceId: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("stateVersions")
    .select("id")
    .where("workspaceId", "=", workspaceId)
    .where("resourcesProcessed", "=", 0)
    .where("status", "in", ["pending", "finalized"])
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Whether a version still has to be processed. */
export async function isStateUnparsed(tx: Tx, id: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("stateVersions")
    .select("resourcesProcessed")
    .where("id", "=", id)
    .executeTakeFirst();
  return row?.resourcesProcessed === 0;
}

/** The latest finalized version before another. */
export async function findPreviousVersion(
  tx: Tx,
  { workspaceId, position }: Pick<StateVersionTable, "workspaceId" | "position">,
): Promise<(LatestVersion & Pick<StateVersionTable, "encrypted">) | undefined> {
  return tx.db
    .selectFrom("stateVersions")
    .select(["id", "serial", "md5", "lineage", "status", "encrypted"])
    .where("workspaceId", "=", workspaceId)
    .where("position", "<", position)
    .where("status", "=", "finalized")
    .orderBy("position", "desc")
    .limit(1)
    .executeTakeFirst();
}
