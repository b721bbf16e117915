/** The background job that starts a refresh-only plan for each due workspace, and records its findings. */
import type { Tx } from "../../../database/database.ts";
import { AppError } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now, nowMs } from "../../../kernel/time.ts";
import { loadWorkspaces } from "../../register/workspaces/reads.ts";
import { assessmentsEnabledOf, executionModeOf, type WorkspaceView } from "../../register/workspaces/view.ts";
import { setRunColumns } from "../../register/workspaces/writes.ts";
import type { AssessmentTriggerEvent } from "../../connections/notification-configurations/triggers.ts";
import { notifySubscribers } from "../../connections/notification-configurations/writes.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import { findContent } from "../../shared/contents/contents.ts";
import type { Context } from "../../shared/context.ts";
import type { JobContext } from "../../shared/job-context.ts";
import { isFinal } from "../runs/state-machine.ts";
import { lockRun } from "../runs/reads.ts";
import { transitionRun, createRun } from "../runs/lifecycle.ts";
import type { PlanSummary } from "../plan-outputs/plan-bytes.ts";
import { bytesOf, summarizePlanInThread } from "../plan-outputs/plan-thread.ts";
import { type AssessmentFindings, findingsOf, noFindings } from "./rules.ts";
import {
  deleteResult,
  findDueWorkspaces,
  findResultFigures,
  findRunningAssessments,
  finishResult,
  insertResult,
  type ResultFigures,
  type RunningAssessment,
} from "./store.ts";

const intervalMs = 24 * 3_600_000;
const batch = 50;
const planBytesMax = 32 * 1024 * 1024;

export async function runAssessments({ context, capability, signal, step }: JobContext): Promise<number> {
  if (context.options.edition !== "hosted") return 0;
  let handled = 0;
  for (const running of await findRunningAssessments(context.database.reader)) {
    if (signal.aborted) return handled;
    const plan = await readPlan(context, running);
    if (await step((tx) => finishAssessment(tx, context, capability, running, plan))) handled += 1;
  }
  const since = new Date(nowMs() - intervalMs).toISOString();
  for (const id of await findDueWorkspaces(context.database.reader, since, batch)) {
    if (signal.aborted) return handled;
    if (await step((tx) => startAssessment(tx, context, capability, id))) handled += 1;
  }
  return handled;
}

async function startAssessment(
  tx: Tx,
  context: Context,
  by: JobContext["capability"],
  workspaceId: string,
): Promise<boolean> {
  const [workspace] = await loadWorkspaces(tx, context, [workspaceId]);
  if (workspace === undefined || !canAssess(workspace)) return false;
  const input = {
    message: "Assessment of drift",
    planOnly: true,
    refreshOnly: true,
    source: "tfe-api",
    triggerReason: "assessment",
    isAutomatic: true,
  } as const;
  try {
    const { id: runId, organizationId } = await createRun(tx, context, by.proofFor(workspace), input);
    await insertResult(tx, by, {
      id: newId("assessment-results"),
      organizationId,
      workspaceId,
      runId,
      finished: 0,
      succeeded: 0,
      errorMsg: null,
      ...noFindings,
      createdAt: now(),
      version: 1,
    });
    return true;
  } catch (error) {
    // For example, the workspace has no usable configuration any more.
    if (error instanceof AppError && error.code === "invalid") return false;
    throw error;
  }
}

const canAssess = (workspace: WorkspaceView): boolean =>
  assessmentsEnabledOf(workspace) === true && executionModeOf(workspace) !== "local" && workspace.lockedByType === null;

/** Call it outside of transactions. Undefined if the plan is missing or unreadable. */
async function readPlan(
  context: Context,
  { runId, organizationId }: RunningAssessment,
): Promise<PlanSummary | undefined> {
  const content = await findContent(context.database.reader, { column: "runId", id: runId }, "plan-json");
  if (content === undefined || content.size > planBytesMax) return undefined;
  return summarizePlanInThread(organizationId, () => bytesOf(context, content));
}

/** If another run has started, cancels the assessment without a result. */
async function finishAssessment(
  tx: Tx,
  context: Context,
  by: JobContext["capability"],
  running: RunningAssessment,
  plan: PlanSummary | undefined,
): Promise<boolean> {
  const [workspace] = await loadWorkspaces(tx, context, [running.workspaceId]);
  if (workspace === undefined) return false;
  const run = by.proofFor(await lockRun(tx, running.runId));
  const isOvertaken = workspace.lockedByType === "runs";
  if (!isFinal(run.status)) {
    if (!isOvertaken || run.canceledAt !== null) return false;
    await transitionRun(tx, context, run, {
      event: "cancel",
      description: "Another run of the workspace has started.",
    });
    return false;
  }
  if (run.status === "canceled") {
    await deleteResult(tx, by, running.id);
    return true;
  }
  const succeeded = run.status === "planned_and_finished" && plan !== undefined;
  const findings: AssessmentFindings = succeeded ? findingsOf(plan, workspace.resourceCount) : noFindings;
  const errorMsg = succeeded ? null : "The plan failed. See its log for the reason.";
  const at = now();
  const before = await findResultFigures(tx, workspace.currentAssessmentResultId);
  await finishResult(tx, by, running.id, { ...findings, succeeded: Number(succeeded), errorMsg, createdAt: at });
  await setRunColumns(tx, by, workspace.id, { currentAssessmentResultId: running.id, lastAssessmentResultAt: at });
  await recordEvent(tx, context, {
    organizationId: workspace.organizationId,
    verb: "create",
    subject: { type: "assessment-results", id: running.id },
    after: { workspace: workspace.id, succeeded, drifted: findings.drifted === 1 },
  });
  const figures = toAssessmentFigures({ ...findings, id: running.id, succeeded: Number(succeeded), createdAt: at });
  const event = {
    about: "assessment",
    now: figures,
    before: before === undefined ? null : toAssessmentFigures(before),
  } as const;
  const notifications = triggersOf(figures).map((trigger) => ({
    workspaceId: workspace.id,
    event: { ...event, trigger },
  }));
  await notifySubscribers(tx, context, notifications);
  return true;
}

type AssessmentEventFigures = AssessmentTriggerEvent["now"];

function triggersOf({
  succeeded,
  drifted,
  allChecksSucceeded,
}: AssessmentEventFigures): AssessmentTriggerEvent["trigger"][] {
  if (!succeeded) return ["assessment:failed"];
  return [
    ...(drifted ? (["assessment:drifted"] as const) : []),
    ...(allChecksSucceeded ? [] : (["assessment:check_failure"] as const)),
  ];
}

const toAssessmentFigures = (row: ResultFigures): AssessmentEventFigures => ({
  id: row.id,
  succeeded: row.succeeded === 1,
  drifted: row.drifted === 1,
  allChecksSucceeded: row.checksFailed + row.checksErrored === 0,
  resourcesDrifted: row.resourcesDrifted,
  resourcesUndrifted: row.resourcesUndrifted,
  checksPassed: row.checksPassed,
  checksFailed: row.checksFailed,
  checksErrored: row.checksErrored,
  checksUnknown: row.checksUnknown,
  createdAt: row.createdAt,
});
