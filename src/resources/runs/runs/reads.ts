/** How a run is loaded and granted: by what its workspace allows. And what neighbours ask of runs. */
import { grant, type Granted } from "../../../access/granted.ts";
import { type RunPermission, runPermissionNeeds } from "../../../access/permissions/run.ts";
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import { grantOnWorkspace } from "../../shared/grants/reads.ts";
import { loadWorkspace } from "../../register/workspaces/reads.ts";
import { hasLeaseEnded } from "../../register/workspaces/holder.ts";
import { movedBy, type Moving } from "../proofs.ts";
import { type EffectiveVariable, effectiveVariables } from "../../variables/vars/reads.ts";
import { pinnedVariables } from "./pins.ts";
import { findRun, findRunBeside, findRunInPlace, findRuns } from "./store.ts";
import type { RunInPlace, RunView } from "./view.ts";

export { capacityOf } from "./list.ts";
export { findLiving as livingRuns } from "./store.ts";
export { pinnedVariables } from "./pins.ts";
export { openVariables as openRunVariables } from "./store.ts";

type Caller = Pick<Context, "actor" | "vault">;

/** Raises `not-found` where the caller may not see the run. */
export async function loadRun(tx: Tx, context: Caller, id: string): Promise<Granted<RunView, "can-read-run">> {
  return seen(await findRun(tx, context, id));
}

/**
 * The same for whoever changes it: others are kept from changing it or its workspace meanwhile, and a lease of the workspace's lock
 * that is over has its effect first.
 */
export async function holdRun(tx: Tx, context: Context, id: string): Promise<Granted<RunView, "can-read-run">> {
  const run = seen(await findRun(tx, context, id, true));
  if (!hasLeaseEnded(run)) return run;
  await loadWorkspace(tx, context, { workspaceId: run.workspaceId }, true);
  return seen(await findRun(tx, context, id, true));
}

/** Raises `not-found`. */
function seen(run: RunView | undefined): Granted<RunView, "can-read-run"> {
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

/** Which of these runs the caller may read. */
export async function readableRuns(tx: Tx, context: Context, ids: readonly string[]): Promise<RunView[]> {
  return (await findRuns(tx, context, ids)).filter((run) => workspacePermissions(run)["can-read-run"]);
}

/**
 * The sensitive variables that a run had, to mask them. A run of before they were kept has those that its workspace has now. For one that
 * the caller was found to read. One or two statements.
 */
export async function sensitiveVariables(
  tx: Tx,
  { vault }: Pick<Context, "vault">,
  runId: string,
): Promise<EffectiveVariable[]> {
  const run = await findRunBeside(tx, runId);
  if (run === undefined) return [];
  const place = { id: run.workspaceId, organizationId: run.organizationId, projectId: run.projectId };
  const given =
    run.pinnedVariables === null ? await effectiveVariables(tx, vault, place) : pinnedVariables({ vault }, run);
  return given.filter(({ sensitive }) => sensitive);
}
