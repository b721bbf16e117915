/** Reads of variable sets for other modules, and the permission checks on a variable set. */
import { authorize, type Granted } from "../../../access/granted.ts";
import { variableSetNeeds, variableSetPermissions } from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import type { RowLock } from "../../shared/locks.ts";
import type { VarsetView } from "./definition.ts";
import { findVarset } from "./store.ts";

export { appliedSets, ownRanking, type WorkspaceLocation } from "./store.ts";

export async function loadVarset(
  tx: Tx,
  context: Pick<Context, "actor">,
  id: string,
  lock: RowLock = false,
): Promise<Granted<VarsetView, "can-read">> {
  const set = await findVarset(tx, context.actor, id, lock);
  if (set === undefined) throw notFound("variable set");
  return authorizeVarset(set, "can-read");
}

export function authorizeVarset<Permission extends "can-read" | "can-manage">(
  set: VarsetView,
  permission: Permission,
): Granted<VarsetView, Permission> {
  const permissions = variableSetPermissions(set);
  return authorize(set, {
    thing: "variable set",
    permission,
    visible: permissions["can-read"],
    allowed: permissions[permission],
    needs: variableSetNeeds(set.parentProjectId),
  });
}
