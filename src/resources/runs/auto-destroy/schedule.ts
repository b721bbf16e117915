/** The background jobs that start scheduled destroy runs and send reminders. Each due time leads to one run or one recorded error. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { AppError } from "../../../kernel/errors.ts";
import { activityDurationMs, nowMs } from "../../../kernel/time.ts";
import { loadWorkspaces } from "../../register/workspaces/reads.ts";
import { notifySubscribers } from "../../connections/notification-configurations/writes.ts";
import { autoDestroyAtOf, type WorkspaceView } from "../../register/workspaces/view.ts";
import { setRunColumns } from "../../register/workspaces/writes.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { JobContext } from "../../shared/job-context.ts";
import { createRun } from "../runs/lifecycle.ts";
import { findDueWorkspaceIds } from "./store.ts";

const batch = 100;

export async function startDueDestroys({ context, capability, signal, step }: JobContext): Promise<number> {
  let handled = 0;
  for (;;) {
    const due = await findDueWorkspaceIds(context.database.reader, { limit: batch });
    for (const id of due) {
      if (signal.aborted) return handled;
      if (await step((tx) => destroy(tx, context, capability, id))) handled += 1;
    }
    if (due.length < batch) return handled;
  }
}

async function destroy(tx: Tx, context: Context, capability: JobContext["capability"], id: string): Promise<boolean> {
  const [workspace] = await loadWorkspaces(tx, context, [id]);
  if (workspace === undefined || !isDue(workspace)) return false;
  const result = await startRun(tx, context, capability.proofFor(workspace));
  const autoDestroyStatus = "runId" in result ? "queued" : "errored";
  // A fixed time applies once; a duration starts over.
  const clearedTime = workspace.autoDestroyActivityDuration === null ? { autoDestroyAt: null } : {};
  await setRunColumns(tx, capability, id, { ...clearedTime, autoDestroyStatus });
  await recordEvent(tx, context, {
    organizationId: workspace.organizationId,
    verb: "auto-destroy",
    subject: { type: "workspaces", id },
    before: { "auto-destroy-at": autoDestroyAtOf(workspace) },
    after: { "auto-destroy-status": autoDestroyStatus, ...result },
  });
  if ("error" in result)
    await notifySubscribers(tx, context, [{ workspaceId: id, event: startFailure(workspace, result) }]);
  return true;
}

function isDue(workspace: WorkspaceView): boolean {
  const atMs = scheduledMs(workspace);
  return atMs !== undefined && atMs <= nowMs();
}

/** Only for a destroy that could not start; a started run sends its own notifications. */
const startFailure = (workspace: WorkspaceView, { error }: { readonly error: string }) =>
  ({
    about: "auto-destroy",
    trigger: "workspace:auto_destroy_run_results",
    autoDestroyAt: autoDestroyAtOf(workspace),
    runId: null,
    runStatus: null,
    runCreatedAt: null,
    error,
  }) as const;

type AutoDestroyResult = { readonly runId: string } | { readonly error: string };

async function startRun(
  tx: Tx,
  context: Context,
  workspace: Granted<WorkspaceView, "job">,
): Promise<AutoDestroyResult> {
  const input = {
    message: "Scheduled destroy",
    isDestroy: true,
    autoApply: true,
    source: "tfe-api",
    triggerReason: "auto_destroy",
    isAutomatic: true,
  } as const;
  try {
    return { runId: (await createRun(tx, context, workspace, input)).id };
  } catch (error) {
    // `invalid` is raised before anything is written.
    if (!(error instanceof AppError) || error.code !== "invalid") throw error;
    return { error: error.message };
  }
}

/** Must match the conditions of `store.ts`. A duration only counts while there are resources. */
function scheduledMs(workspace: WorkspaceView): number | undefined {
  const at = autoDestroyAtOf(workspace);
  const { autoDestroyStatus: status, resourceCount, stateEncrypted } = workspace;
  if (at === null || status === "queued") return undefined;
  const isDurationActive = status !== "errored" && (resourceCount > 0 || stateEncrypted === 1);
  return workspace.autoDestroyActivityDuration === null || isDurationActive ? Date.parse(at) : undefined;
}

const hourMs = 3_600_000;
const reminderHours = [12, 24] as const;
const earliestMs = Math.max(...reminderHours) * hourMs;

/** No reminder for a duration shorter than the stage: every use of the workspace would send one. */
function stageOf(workspace: WorkspaceView, nowMs: number): (typeof reminderHours)[number] | undefined {
  const atMs = scheduledMs(workspace);
  if (atMs === undefined || atMs <= nowMs) return undefined;
  const stage = reminderHours.find((hours) => atMs - nowMs <= hours * hourMs);
  const { autoDestroyActivityDuration: duration } = workspace;
  const isShortDuration = stage !== undefined && duration !== null && activityDurationMs(duration) <= stage * hourMs;
  return isShortDuration ? undefined : stage;
}

const trigger = "workspace:auto_destroy_reminder";

export async function sendDestroyReminders({ context, signal, step }: JobContext): Promise<number> {
  let [count, afterId] = [0, ""];
  while (!signal.aborted) {
    const search = { limit: batch, withinMs: earliestMs, remind: { trigger, afterId } };
    const ids = await findDueWorkspaceIds(context.database.reader, search);
    if (ids.length > 0) count += await step((tx) => remind(tx, context, ids));
    if (ids.length < batch) break;
    afterId = ids.at(-1) ?? "";
  }
  return count;
}

async function remind(tx: Tx, context: Context, ids: readonly string[]): Promise<number> {
  const workspaces = await loadWorkspaces(tx, context, ids);
  const reminders = workspaces.flatMap((workspace) => {
    const stage = stageOf(workspace, nowMs());
    return stage === undefined ? [] : [reminderOf(workspace, stage)];
  });
  return notifySubscribers(tx, context, reminders);
}

/** The key contains the time, so that a changed schedule sends reminders again. */
function reminderOf(workspace: WorkspaceView, stage: number) {
  const autoDestroyAt = autoDestroyAtOf(workspace);
  const noRun = { runId: null, runStatus: null, runCreatedAt: null, error: null } as const;
  return {
    workspaceId: workspace.id,
    event: { about: "auto-destroy", trigger, autoDestroyAt, ...noRun } as const,
    onceKey: `${trigger} ${stage} ${autoDestroyAt}`,
  };
}
