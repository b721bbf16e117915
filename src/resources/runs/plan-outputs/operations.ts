/** Handing out what engines said about plans in JSON. The whole plan has secrets in clear; drawing one takes memory, so that is bounded. */
import { grant } from "../../../access/granted.ts";
import { workspacePermissions } from "../../../access/permissions.ts";
import { mayReadWholePlan } from "../../../access/plans.ts";
import type { ContentAnswer } from "../../../jsonapi/define.ts";
import { AppError, conflict, notFound } from "../../../kernel/errors.ts";
import { findContent, readContent, type StoredContent } from "../../shared/contents/contents.ts";
import { type Context, implement } from "../../shared/context.ts";
import { grantOnWorkspace } from "../../shared/grants/reads.ts";
import { loadPhase } from "../phases/reads.ts";
import { isFinalPhase, type PhaseView } from "../phases/view.ts";
import { planOutputs } from "./definition.ts";
import { parsePlan, redactPlan } from "./redaction.ts";

export const planOutputResource = implement(planOutputs, {
  showPlanJson: ({ context, params }) => forAdmins(context, { id: params.planId }, "plan-json"),
  showRunPlanJson: ({ context, params }) => forAdmins(context, { runId: params.runId }, "plan-json"),
  showPlanSchemas: ({ context, params }) => forAdmins(context, { id: params.planId }, "provider-schemas"),
  showRunPlanSchemas: ({ context, params }) => forAdmins(context, { runId: params.runId }, "provider-schemas"),

  async showRedactedPlanJson({ context, params }) {
    const plan = await loadPhase(context.database.reader, context, "plan", { id: params.planId });
    const content = await outputOf(context, plan, "plan-json");
    if (content === undefined) return undefined;
    const schemas = await findContent(context.database.reader, ofRun(plan), "provider-schemas");
    const bytes = await inTurn(() => redacted(context, content, schemas));
    return { size: bytes.length, bytes: oneOf(bytes) };
  },

  async showErroredState({ context, params }) {
    const tx = context.database.reader;
    const apply = await loadPhase(tx, context, "apply", { id: params.applyId });
    grantOnWorkspace("apply", apply, "can-read-state-versions");
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

/** Raises `forbidden`, or `not-found`. */
async function forAdmins(
  context: Context,
  by: { readonly id: string } | { readonly runId: string },
  kind: "plan-json" | "provider-schemas",
): Promise<ContentAnswer | undefined> {
  const plan = await loadPhase(context.database.reader, context, "plan", by);
  grant(plan, {
    thing: "plan",
    permission: "can-read-whole-plan",
    visible: workspacePermissions(plan)["can-read-run"],
    allowed: mayReadWholePlan(context.actor, plan),
    needs: "admin access to the workspace, and not an organization's token",
  });
  const content = await outputOf(context, plan, kind);
  return content && answerWith(context, content);
}

/** Undefined until the plan is done. Raises `not-found` for one that is, and has left none. */
async function outputOf(context: Context, plan: PhaseView, kind: string): Promise<StoredContent | undefined> {
  if (!isFinalPhase(plan.status)) return undefined;
  const content = await findContent(context.database.reader, ofRun(plan), kind);
  if (content === undefined) throw notFound("output of this plan");
  return content;
}

// --- drawing

const planBytesMax = 32 * 1024 * 1024;
const schemaBytesMax = 64 * 1024 * 1024;

/** One after the other: each may take some hundred megabytes for a moment. */
let last: Promise<unknown> = Promise.resolve();
let waiting = 0;
const waitingMax = 32;

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (waiting >= waitingMax)
    throw new AppError("too-many-requests", "Too many plans are being drawn at once. Try again shortly.", {
      retryAfterSeconds: 2,
    });
  waiting += 1;
  const mine = last.then(work, work).finally(() => (waiting -= 1));
  last = mine.catch(() => {});
  return mine;
}

/** Raises `conflict` for what can't be drawn. */
async function redacted(
  context: Context,
  plan: StoredContent,
  schemas: StoredContent | undefined,
): Promise<Uint8Array> {
  if (plan.size > planBytesMax || (schemas?.size ?? 0) > schemaBytesMax)
    throw conflict(
      `This plan is too large to be drawn: it has ${plan.size} bytes and its providers' schemas ${schemas?.size ?? 0}, of at most ${planBytesMax} and ${schemaBytesMax}. Its log tells what changes, and admins of the workspace fetch all of it as json-output.`,
    );
  try {
    const known = schemas && (JSON.parse(await textOf(context, schemas)) as unknown);
    return Buffer.from(JSON.stringify(redactPlan(parsePlan(await textOf(context, plan)), known)));
  } catch (error) {
    // JSON that is none, or too deep.
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
    throw conflict(
      "This plan can't be drawn: what the engine wrote is not JSON as we know it. Its log tells what changes.",
    );
  }
}

async function textOf(context: Context, content: StoredContent): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of readContent(context, content)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

async function* oneOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
