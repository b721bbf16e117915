/** How a run is loaded and granted: by what its workspace allows. And what neighbours ask of runs. */
import { grant, type Granted } from "../../../access/granted.ts";
import { type RunPermission, runPermissionNeeds, workspacePermissions } from "../../../access/permissions.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import { grantOnWorkspace } from "../../shared/grants/reads.ts";
import { movedBy, type Moving } from "../proofs.ts";
import { findRun, findRunInPlace } from "./store.ts";
import type { RunInPlace, RunView } from "./view.ts";

type Caller = Pick<Context, "actor" | "vault">;

/** Raises `not-found` where the caller may not see the run. `lock` keeps others from changing it or its workspace. */
export async function loadRun(
  tx: Tx,
  context: Caller,
  id: string,
  lock = false,
): Promise<Granted<RunView, "can-read-run">> {
  const run = await findRun(tx, context, id, lock);
  if (run === undefined) throw notFound("run");
  return grantOnWorkspace("run", run, "can-read-run");
}

/** Raises `not-found` where the caller may not see the run, and also where it may, but not do this: no 403 is documented. */
export function grantRun<Permission extends RunPermission>(
  run: RunView,
  permission: Permission,
): Granted<RunView, Permission> {
  return grant(run, {
    thing: "run",
    permission,
    visible: workspacePermissions(run)["can-read-run"],
    allowed: run.permissions[permission] === true,
    needs: runPermissionNeeds[permission],
    otherwise: "hide",
  });
}

/** For an agent's report, whose right is the job that it holds, and for what happens by itself. Held. Raises `not-found`. */
export async function loadRunToMove(
  tx: Tx,
  by: "an agent's job" | "by itself",
  id: string,
): Promise<Granted<RunInPlace, Moving>> {
  const run = await findRunInPlace(tx, id);
  if (run === undefined) throw notFound("run");
  return movedBy(by, run);
}
