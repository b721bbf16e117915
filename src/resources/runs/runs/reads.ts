/** How a run is loaded and granted: by what its workspace allows. And what neighbours ask of runs. */
import { grant, type Granted } from "../../../access/granted.ts";
import { type RunPermission, runPermissionNeeds } from "../../../access/permissions/run.ts";
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import type { RunHooks } from "../../shared/hooks.ts";
import { grantOnWorkspace } from "../../shared/grants/reads.ts";
import { hasLeaseEnded } from "../../register/workspaces/holder.ts";
import { loadWorkspace } from "../../register/workspaces/reads.ts";
import { type EffectiveVariable, effectiveVariables } from "../../variables/vars/reads.ts";
import { findLiving, findRun, findRunBeside, findRunInPlace, findRuns } from "./store.ts";
import { openVariableSnapshot } from "./variables.ts";
import type { RunInPlace, RunView } from "./view.ts";

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

/** For what moves it without a caller's permission: an agent, a job, a site admin. Locked. Raises `not-found`. */
export async function lockRun(tx: Tx, id: string): Promise<RunInPlace> {
  const run = await findRunInPlace(tx, id);
  if (run === undefined) throw notFound("run");
  return run;
}

/** Those of a workspace that have not ended, the oldest first. */
export const livingRuns: RunHooks["listUnfinished"] = async (tx, workspace) =>
  (await findLiving(tx, workspace)).map(({ id }) => id);

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
    run.pinnedVariables === null ? await effectiveVariables(tx, vault, place) : openVariableSnapshot({ vault }, run);
  return given.filter(({ sensitive }) => sensitive);
}
