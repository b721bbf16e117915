/** Operations on assessment results. Workspace readers see the result; only workspace admins see the engine's output. */
import { authorize } from "../../../access/granted.ts";
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import { canReadFullPlan } from "../../../access/plans.ts";
import type { ContentAnswer } from "../../../jsonapi/define.ts";
import { notFound } from "../../../kernel/errors.ts";
import { findContent, readContent } from "../../shared/contents/contents.ts";
import { type Context, implement } from "../../shared/context.ts";
import { authorizeOnWorkspace } from "../../shared/grants/reads.ts";
import { findPhaseWithLog, type LoggedPhase, logReadBytesMax, readLog } from "../phases/logs.ts";
import { assessmentResults, type AssessmentResultView } from "./definition.ts";
import { findResult } from "./store.ts";

export const assessmentResultResource = implement(assessmentResults, {
  async showAssessmentResult({ context, params }) {
    const result = await loadResult(context, params.assessmentResultId);
    return { view: authorizeOnWorkspace("assessment result", result, "can-read-assessment-results") };
  },
  showAssessmentJson: ({ context, params }) => outputOf(context, params.assessmentResultId, "plan-json"),
  showAssessmentSchemas: ({ context, params }) => outputOf(context, params.assessmentResultId, "provider-schemas"),

  async showAssessmentLog({ context, params }) {
    const { planId } = await loadForAdmins(context, params.assessmentResultId);
    const phase = await findPhaseWithLog(context.database.reader, planId);
    if (phase === undefined) throw notFound("log");
    return { size: phase.logBytes, bytes: wholeLog(context, phase) };
  },
});

async function loadResult(context: Context, id: string): Promise<AssessmentResultView> {
  const result = await findResult(context.database.reader, context.actor, id);
  if (result === undefined) throw notFound("assessment result");
  return result;
}

async function loadForAdmins(context: Context, id: string): Promise<AssessmentResultView> {
  const result = await loadResult(context, id);
  return authorize(result, {
    thing: "assessment result",
    permission: "can-read-whole-plan",
    visible: workspacePermissions(result)["can-read-assessment-results"],
    allowed: canReadFullPlan(context.actor, result),
    needs: "admin access to the workspace, and not an organization's token",
  });
}

async function outputOf(context: Context, id: string, kind: string): Promise<ContentAnswer> {
  const { runId } = await loadForAdmins(context, id);
  const content = await findContent(context.database.reader, { column: "runId", id: runId }, kind);
  if (content === undefined) throw notFound("output of this assessment");
  return { size: content.size, bytes: readContent(context, content) };
}

async function* wholeLog(context: Context, phase: LoggedPhase): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < phase.logBytes; offset += logReadBytesMax)
    yield await readLog(context, phase, offset, logReadBytesMax);
}
