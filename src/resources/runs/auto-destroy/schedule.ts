/** The work of the job that destroys workspaces when their time has come: each time exactly one run, or a word on why there is none. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { AppError } from "../../../kernel/errors.ts";
import { nowMs } from "../../../kernel/time.ts";
import { loadWorkspaces } from "../../register/workspaces/reads.ts";
import { announce } from "../../connections/notification-configurations/writes.ts";
import { autoDestroyAtOf, type WorkspaceView } from "../../register/workspaces/view.ts";
import { setRunColumns } from "../../register/workspaces/writes.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { JobWork } from "../../shared/job-work.ts";
import { createRun } from "../runs/lifecycle.ts";
import { scheduledMs } from "./rules.ts";
import { findDue } from "./store.ts";

const batch = 100;

/** Gives how many had their time. */
export async function destroyDue({ context, capability, signal, step }: JobWork): Promise<number> {
  let handled = 0;
  for (;;) {
    const due = await findDue(context.database.reader, { limit: batch });
    for (const id of due) {
      if (signal.aborted) return handled;
      if (await step((tx) => destroy(tx, context, capability, id))) handled += 1;
    }
    if (due.length < batch) return handled;
  }
}

/** The due moment is used up and the run begun in one transaction. Somebody may have changed the schedule meanwhile. */
async function destroy(tx: Tx, context: Context, capability: JobWork["capability"], id: string): Promise<boolean> {
  const [workspace] = await loadWorkspaces(tx, context, [id]);
  if (workspace === undefined || !isDue(workspace)) return false;
  const outcome = await begin(tx, context, capability.grant(workspace));
  const autoDestroyStatus = "runId" in outcome ? "queued" : "errored";
  // A time that somebody chose is for once; a duration counts again.
  const used = workspace.autoDestroyActivityDuration === null ? { autoDestroyAt: null } : {};
  await setRunColumns(tx, capability, id, { ...used, autoDestroyStatus });
  await recordEvent(tx, context, {
    organizationId: workspace.organizationId,
    verb: "auto-destroy",
    subject: { type: "workspaces", id },
    before: { "auto-destroy-at": autoDestroyAtOf(workspace) },
    after: { "auto-destroy-status": autoDestroyStatus, ...outcome },
  });
  if ("error" in outcome) await announce(tx, context, [{ workspaceId: id, happening: notBegun(workspace, outcome) }]);
  return true;
}

function isDue(workspace: WorkspaceView): boolean {
  const atMs = scheduledMs(workspace);
  return atMs !== undefined && atMs <= nowMs();
}

/** A run that begins notifies of its own end. */
const notBegun = (workspace: WorkspaceView, { error }: { readonly error: string }) =>
  ({
    about: "auto-destroy",
    trigger: "workspace:auto_destroy_run_results",
    autoDestroyAt: autoDestroyAtOf(workspace),
    runId: null,
    runStatus: null,
    runCreatedAt: null,
    error,
  }) as const;

type Outcome = { readonly runId: string } | { readonly error: string };

async function begin(tx: Tx, context: Context, workspace: Granted<WorkspaceView, "job">): Promise<Outcome> {
  const input = {
    message: "Scheduled destroy",
    isDestroy: true,
    // Nobody is there to confirm it.
    autoApply: true,
    source: "tfe-api",
    triggerReason: "auto_destroy",
    byNobody: true,
  } as const;
  try {
    return { runId: (await createRun(tx, context, workspace, input)).id };
  } catch (error) {
    // What can't be run is refused before anything is written.
    if (!(error instanceof AppError) || error.code !== "invalid") throw error;
    return { error: error.message };
  }
}
