/** Loads runs, checks permissions on them, and answers other modules' questions about runs. */
import { authorize, type Granted } from "../../../access/granted.ts";
import { type RunPermission, runPermissionNeeds } from "../../../access/permissions/run.ts";
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import type { RunHooks } from "../../shared/hooks.ts";
import { authorizeOnWorkspace } from "../../shared/grants/reads.ts";
import { hasLeaseExpired } from "../../register/workspaces/lock-holder.ts";
import { loadWorkspace } from "../../register/workspaces/reads.ts";
import { type EffectiveVariable, effectiveVariables } from "../../variables/vars/reads.ts";
import { type RunCaller, findUnfinishedRuns, findRun, findRunById, findRunLocked, findRuns } from "./store.ts";
import { openVariableSnapshot } from "./variables.ts";
import type { LoadedRun, RunView } from "./view.ts";

export async function loadRun(tx: Tx, context: RunCaller, id: string): Promise<Granted<RunView, "can-read-run">> {
  return authorizeReading(await findRun(tx, context, id));
}

/** An expired lock lease on the workspace takes effect first. */
export async function loadRunForUpdate(
  tx: Tx,
  context: Context,
  id: string,
): Promise<Granted<RunView, "can-read-run">> {
  const run = authorizeReading(await findRun(tx, context, id, true));
  if (!hasLeaseExpired(run)) return run;
  await loadWorkspace(tx, context, { workspaceId: run.workspaceId }, "change");
  return authorizeReading(await findRun(tx, context, id, true));
}

function authorizeReading(run: RunView | undefined): Granted<RunView, "can-read-run"> {
  if (run === undefined) throw notFound("run");
  return authorizeOnWorkspace("run", run, "can-read-run");
}

/** Throws `not-found` even for a run that the caller can read: the API documents no 403 here. */
export function authorizeRun<Permission extends RunPermission>(
  run: RunView,
  permission: Permission,
): Granted<RunView, Permission> {
  return authorize(run, {
    thing: "run",
    permission,
    visible: workspacePermissions(run)["can-read-run"],
    allowed: run.permissions[permission] === true,
    needs: runPermissionNeeds[permission],
    whenDenied: "hide",
  });
}

/** For agents, jobs and site admins: checks no permission. Throws `not-found`. */
export async function lockRun(tx: Tx, id: string): Promise<LoadedRun> {
  const run = await findRunLocked(tx, id);
  if (run === undefined) throw notFound("run");
  return run;
}

export const unfinishedRunIds: RunHooks["listUnfinished"] = async (tx, workspace) =>
  (await findUnfinishedRuns(tx, workspace)).map(({ id }) => id);

export async function readableRuns(tx: Tx, context: Context, ids: readonly string[]): Promise<RunView[]> {
  return (await findRuns(tx, context, ids)).filter((run) => workspacePermissions(run)["can-read-run"]);
}

/** Checks no permission. Runs without a snapshot use the workspace's current variables. */
export async function sensitiveVariables(
  tx: Tx,
  { vault }: Pick<Context, "vault">,
  runId: string,
): Promise<EffectiveVariable[]> {
  const run = await findRunById(tx, runId);
  if (run === undefined) return [];
  const workspace = { id: run.workspaceId, organizationId: run.organizationId, projectId: run.projectId };
  const variables =
    run.pinnedVariables === null
      ? await effectiveVariables(tx, vault, workspace)
      : openVariableSnapshot({ vault }, run);
  return variables.filter(({ sensitive }) => sensitive);
}
