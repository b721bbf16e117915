/** Serves the JSON output of plans. The unredacted plan contains secrets in clear text. */
import { singleChunk } from "../../../kernel/streams.ts";
import { authorize } from "../../../access/granted.ts";
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import { canReadFullPlan } from "../../../access/plans.ts";
import type { ContentAnswer } from "../../../jsonapi/define.ts";
import { conflict, notFound } from "../../../kernel/errors.ts";
import { findContent, readContent, type StoredContent } from "../../shared/contents/contents.ts";
import { type Context, implement } from "../../shared/context.ts";
import { authorizeOnWorkspace } from "../../shared/grants/reads.ts";
import { loadPhase } from "../phases/reads.ts";
import type { PhaseView } from "../phases/definition.ts";
import { isFinalPhase } from "../phases/rules.ts";
import { sensitiveVariables } from "../runs/reads.ts";
import { planOutputs } from "./definition.ts";
import { bytesOf, redactPlanInThread } from "./plan-thread.ts";

export const planOutputResource = implement(planOutputs, {
  showPlanJson: ({ context, params }) => showToAdmins(context, { id: params.planId }, "plan-json"),
  showRunPlanJson: ({ context, params }) => showToAdmins(context, { runId: params.runId }, "plan-json"),
  showPlanSchemas: ({ context, params }) => showToAdmins(context, { id: params.planId }, "provider-schemas"),
  showRunPlanSchemas: ({ context, params }) => showToAdmins(context, { runId: params.runId }, "provider-schemas"),

  async showRedactedPlanJson({ context, params }) {
    const plan = await loadPhase(context.database.reader, context, "plan", { id: params.planId });
    const content = await outputOf(context, plan, "plan-json");
    if (content === undefined) return undefined;
    const bytes = await redactedPlan(context, plan, content);
    return { size: bytes.length, bytes: singleChunk(bytes) };
  },

  async showErroredState({ context, params }) {
    const tx = context.database.reader;
    const apply = await loadPhase(tx, context, "apply", { id: params.applyId });
    authorizeOnWorkspace("apply", apply, "can-read-state-versions");
    const content = await findContent(tx, ofRun(apply), "errored-state");
    if (content === undefined) throw notFound("state that could not be stored");
    return answerWith(context, content);
  },
});

const ofRun = ({ runId }: PhaseView) => ({ column: "runId", id: runId }) as const;
const answerWith = (context: Context, content: StoredContent): ContentAnswer => ({
  size: content.size,
  bytes: readContent(context, content),
});

async function showToAdmins(
  context: Context,
  by: { readonly id: string } | { readonly runId: string },
  kind: "plan-json" | "provider-schemas",
): Promise<ContentAnswer | undefined> {
  const plan = await loadPhase(context.database.reader, context, "plan", by);
  authorize(plan, {
    thing: "plan",
    permission: "can-read-whole-plan",
    visible: workspacePermissions(plan)["can-read-run"],
    allowed: canReadFullPlan(context.actor, plan),
    needs: "admin access to the workspace, and not an organization's token",
  });
  const content = await outputOf(context, plan, kind);
  return content && answerWith(context, content);
}

async function outputOf(context: Context, plan: PhaseView, kind: string): Promise<StoredContent | undefined> {
  if (!isFinalPhase(plan.status)) return undefined;
  const content = await findContent(context.database.reader, ofRun(plan), kind);
  if (content === undefined) throw notFound("output of this plan");
  return content;
}

const planBytesMax = 32 * 1024 * 1024;
const schemaBytesMax = 64 * 1024 * 1024;

async function redactedPlan(context: Context, plan: PhaseView, content: StoredContent): Promise<Uint8Array> {
  const schemas = await findContent(context.database.reader, ofRun(plan), "provider-schemas");
  if (content.size > planBytesMax || (schemas?.size ?? 0) > schemaBytesMax)
    throw conflict(
      `This plan is too large to be rendered: it has ${content.size} bytes and its provider schemas ${schemas?.size ?? 0}; the limits are ${planBytesMax} and ${schemaBytesMax}. Read the plan's log instead. Workspace admins can fetch the json-output.`,
    );
  const secrets = await sensitiveVariables(context.database.reader, context, plan.runId);
  return redactPlanInThread(plan.organizationId, async () => ({
    plan: await bytesOf(context, content),
    schemas: schemas && (await bytesOf(context, schemas)),
    secrets: secrets.map(({ value, hcl }) => ({ value, hcl })),
  }));
}
