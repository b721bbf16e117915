/** How a state version is loaded and granted: by what its workspace allows. */
import type { Granted } from "../../../access/granted.ts";
import { type WorkspacePermission, workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import { grantOnWorkspace } from "../../shared/grants/reads.ts";
import type { Context } from "../../shared/context.ts";
import type { StateVersionView } from "./definition.ts";
import { findStateVersion, findStateVersions } from "./store.ts";
import type { StateVersionTable } from "../../../database/schema/state.ts";
import type { LatestVersion } from "./rules.ts";

type Caller = Pick<Context, "actor" | "vault" | "options">;

/** Not yet granted: what hangs on a version has its own permission. Raises `not-found`. */
export async function loadVersionOf(tx: Tx, context: Caller, id: string, lock = false): Promise<StateVersionView> {
  const version = await findStateVersion(tx, context, id, lock);
  if (version === undefined) throw notFound("state version");
  return version;
}

/** Raises `not-found`, or `forbidden` where the caller may see the workspace but not its state. */
export async function loadStateVersion(
  tx: Tx,
  context: Caller,
  id: string,
  lock = false,
): Promise<Granted<StateVersionView, "can-read-state-versions">> {
  return grantStateVersion(await loadVersionOf(tx, context, id, lock), "can-read-state-versions");
}

/** Raises `forbidden`, or `not-found` where the caller may not see the workspace. */
export const grantStateVersion = <Permission extends WorkspacePermission>(
  version: StateVersionView,
  permission: Permission,
): Granted<StateVersionView, Permission> => grantOnWorkspace("state version", version, permission);

/** Those of them that the caller may read. */
export async function readableStateVersions(
  tx: Tx,
  context: Caller,
  ids: readonly string[],
): Promise<StateVersionView[]> {
  const found = await findStateVersions(tx, context, ids);
  return found.filter((version) => workspacePermissions(version)["can-read-state-versions"]);
}

/** Whether a workspace's state is still being sent or read: until then nobody knows what it manages. */
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

/** Whether what is in a version has still to be read. */
export async function isUnread(tx: Tx, id: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("stateVersions")
    .select("resourcesProcessed")
    .where("id", "=", id)
    .executeTakeFirst();
  return row?.resourcesProcessed === 0;
}

/** The version that another follows, as `predecessorId` of one that is there already. */
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
