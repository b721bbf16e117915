/** Loads state versions and checks permissions on them. */
import type { Granted } from "../../../access/granted.ts";
import { type WorkspacePermission, workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import { authorizeOnWorkspace } from "../../shared/grants/reads.ts";
import type { StateVersionView } from "./definition.ts";
import { findStateVersion, findStateVersions, type StateVersionContext } from "./store.ts";
import type { StateVersionTable } from "../../../database/schema/state.ts";
import type { LatestVersion } from "./rules.ts";

/** Checks no permission: the caller must check its own. Throws `not-found`. */
export async function loadStateVersionUnchecked(
  tx: Tx,
  context: StateVersionContext,
  id: string,
  lock = false,
): Promise<StateVersionView> {
  const version = await findStateVersion(tx, context, id, lock);
  if (version === undefined) throw notFound("state version");
  return version;
}

/** Throws `not-found`, or `forbidden` where the caller can see the workspace but not its state. */
export async function loadStateVersion(
  tx: Tx,
  context: StateVersionContext,
  id: string,
  lock = false,
): Promise<Granted<StateVersionView, "can-read-state-versions">> {
  return authorizeStateVersion(await loadStateVersionUnchecked(tx, context, id, lock), "can-read-state-versions");
}

/** Throws `forbidden`, or `not-found` where the caller can't see the workspace. */
export const authorizeStateVersion = <Permission extends WorkspacePermission>(
  version: StateVersionView,
  permission: Permission,
): Granted<StateVersionView, Permission> => authorizeOnWorkspace("state version", version, permission);

export async function readableStateVersions(
  tx: Tx,
  context: StateVersionContext,
  ids: readonly string[],
): Promise<StateVersionView[]> {
  const versions = await findStateVersions(tx, context, ids);
  return versions.filter((version) => workspacePermissions(version)["can-read-state-versions"]);
}

/** Whether any state of the workspace has not been processed yet. Until then the workspace's resources are unknown. */
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

export async function isVersionUnparsed(tx: Tx, id: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("stateVersions")
    .select("resourcesProcessed")
    .where("id", "=", id)
    .executeTakeFirst();
  return row?.resourcesProcessed === 0;
}

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
