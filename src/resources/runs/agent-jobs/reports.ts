/** Agents' reports on their jobs. A report of any attempt but the current one is refused and changes nothing. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { RunPhaseTable } from "../../../database/schema/runs.ts";
import { AppError, conflict, notFound } from "../../../kernel/errors.ts";
import { nowMs } from "../../../kernel/time.ts";
import {
  abandonContents,
  completeContent,
  findContent,
  readContent,
  receiveContent,
} from "../../shared/contents/contents.ts";
import type { Context } from "../../shared/context.ts";
import { tellEndedPhase } from "../../shared/measures.ts";
import type { ContentAnswer } from "../../../jsonapi/define.ts";
import { hear, type Serving } from "../agents/writes.ts";
import { findHeldPhase, type HeldPhase } from "../phases/claims.ts";
import { noteGeneratedConfiguration, noteHeard, noteStarted } from "../phases/writes.ts";
import { appendLog, sayInLog } from "../phases/logs.ts";
import { triggeringJob } from "../run-triggers/writes.ts";
import { lockRun } from "../runs/reads.ts";
import { advance } from "../runs/lifecycle.ts";
import { type ContentKind, contentKinds } from "./definition.ts";
import { lookoutOf } from "./waiting.ts";

type Held = Granted<HeldPhase, "claim">;

export interface Report {
  readonly id: string;
  readonly attempt: number;
}

function staleReport(attempt: number, phase?: Pick<RunPhaseTable, "attempt" | "status">): AppError {
  return conflict(
    phase !== undefined && phase.attempt === attempt
      ? `The job has ended and is ${phase.status}. No more reports are accepted. Stop the engine if it is still running.`
      : `Attempt ${attempt} is not the job's current attempt. No more reports are accepted. Stop the engine if it is still running.`,
  );
}

/** Raises `not-found` for a job that no agent of the pool has claimed, and `conflict` for one that is not current or has ended. */
async function loadCurrentAttempt(tx: Tx, by: Serving, { id, attempt }: Report, lock = false): Promise<Held> {
  const phase = await loadClaimed(tx, by, id, lock);
  requireCurrentAttempt(phase, attempt);
  return phase;
}

async function loadClaimed(tx: Tx, by: Serving, id: string, lock = false): Promise<Held> {
  const phase = await findHeldPhase(tx, by, id, lock);
  if (phase === undefined) throw notFound("job");
  return phase;
}

function requireCurrentAttempt(phase: HeldPhase, attempt: number): void {
  if (phase.attempt !== attempt || phase.status !== "running") throw staleReport(attempt, phase);
}

/** Returns the signal as soon as there is one: null, `cancel`, or `kill` for a job that must stop immediately. Raises `conflict`. */
export async function heartbeat(context: Context, by: Serving, report: Report, waitMs: number): Promise<string | null> {
  const { database, isGone = () => false } = context;
  const signal = await database.write(async (tx) => {
    const phase = await loadClaimed(tx, by, report.id);
    if (phase.attempt !== report.attempt) throw staleReport(report.attempt);
    const heard = await noteHeard(tx, phase);
    if (heard === undefined) return "kill";
    if (heard.agentId !== null) await hear(tx, by, heard.agentId, { status: "busy" });
    return heard.signal;
  });
  if (signal !== null || waitMs <= 0) return signal;
  let received: string | null = null;
  await lookoutOf(database).wait(
    {
      jobId: report.id,
      sees: ({ signals }) => {
        const phase = signals.get(report.id);
        received = phase?.attempt === report.attempt && phase.status === "running" ? phase.signal : "kill";
        return received !== null;
      },
    },
    waitMs,
    isGone,
  );
  return received;
}

export async function start(context: Context, by: Serving, report: Report): Promise<void> {
  await context.database.write(async (tx) => {
    const phase = await loadCurrentAttempt(tx, by, report);
    if (!(await noteStarted(tx, phase))) throw staleReport(report.attempt);
  });
}

const logPieceBytesMax = 4 * 1024 * 1024;

export async function log(
  context: Context,
  by: Serving,
  report: Report & { readonly offset: number },
  source: AsyncIterable<Uint8Array>,
): Promise<void> {
  const bytes = await readAll(source);
  await context.database.write(async (tx) => {
    const phase = await loadCurrentAttempt(tx, by, report, true);
    await appendLog(tx, context.vault, phase, report.offset, bytes);
    await noteHeard(tx, phase);
  });
}

async function readAll(source: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of source ?? []) {
    size += piece.length;
    if (size > logPieceBytesMax)
      throw new AppError(
        "too-large",
        `One request can append at most ${logPieceBytesMax} bytes to a log. Send the log in smaller parts.`,
      );
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** The contents that each phase can upload, and those of the plan that it can download. */
const uploadedBy: Readonly<Record<string, readonly ContentKind[]>> = {
  plan: ["plan", "plan-json", "provider-schemas", "lock-file", "generated-configuration"],
  apply: ["errored-state"],
};
const downloadedBy: Readonly<Record<string, readonly ContentKind[]>> = { plan: [], apply: ["plan", "lock-file"] };

const mebibyte = 1024 * 1024;
const contentLimit = { bytes: 256 * mebibyte, thing: "An output of a job" } as const;

const ownerOf = ({ runId }: Pick<HeldPhase, "runId">) => ({ column: "runId", id: runId }) as const;

/** Replaces an earlier upload of the same kind. Raises `not-found` for a kind that this phase can't upload. */
export async function putContent(
  context: Context,
  by: Serving,
  report: Report & { readonly kind: string },
  source: AsyncIterable<Uint8Array>,
): Promise<void> {
  const held = await loadCurrentAttempt(context.database.reader, by, report);
  const kind = kindIn(report.kind, uploadedBy[held.kind]);
  const target = { organizationId: held.organizationId, owner: ownerOf(held), kind };
  const content = await receiveContent(context, target, source, () => {}, contentLimit);
  await context.database.write(async (tx) => {
    const phase = await loadCurrentAttempt(tx, by, report, true);
    const before = await findContent(tx, target.owner, kind);
    if (before !== undefined) await abandonComplete(tx, target.owner, kind);
    await completeContent(tx, { ...content, ...target });
    if (kind === "generated-configuration") await noteGeneratedConfiguration(tx, phase);
  });
}

export async function getContent(
  context: Context,
  by: Serving,
  report: Report & { readonly kind: string },
): Promise<ContentAnswer> {
  const tx = context.database.reader;
  const held = await loadCurrentAttempt(tx, by, report);
  const content = await findContent(tx, ownerOf(held), kindIn(report.kind, downloadedBy[held.kind]));
  if (content === undefined) throw notFound("content");
  return { size: content.size, bytes: readContent(context, content) };
}

function kindIn(kind: string, allowed: readonly ContentKind[] = []): ContentKind {
  const known = contentKinds.find((each) => each === kind);
  if (known === undefined || !allowed.includes(known)) throw notFound("content");
  return known;
}

export interface Outcome {
  readonly result: "finished" | "errored" | "canceled";
  readonly hasChanges: boolean;
  readonly columns: Pick<
    RunPhaseTable,
    | "resourceAdditions"
    | "resourceChanges"
    | "resourceDestructions"
    | "resourceImports"
    | "actionInvocations"
    | "errorMessage"
  >;
}

/** Whether this attempt has already reported this result, and the response was lost. A job that was ended by others has the signal `kill`. */
const isRepeated = ({ status, attempt, signal }: HeldPhase, report: Report, { result }: Outcome): boolean =>
  attempt === report.attempt && signal !== "kill" && (status === "canceled" || status === result);

const stoppedByAgent = "The agent stopped the job, although nobody had canceled the run. Start another run.";

/** One transaction, so that all results of the job become visible together. A repeated report is ignored. */
export async function finish(context: Context, by: Serving, report: Report, result: Outcome): Promise<void> {
  const ended = await context.database.write(async (tx) => {
    const held = await loadClaimed(tx, by, report.id);
    if (isRepeated(held, report, result)) return undefined;
    requireCurrentAttempt(held, report.attempt);
    let run = held.claim.grant(await lockRun(tx, held.runId));
    const [status, attempt] =
      held.kind === "plan" ? [run.planStatus, run.planAttempt] : [run.applyStatus, run.applyAttempt];
    if (status !== "running" || attempt !== report.attempt) throw staleReport(report.attempt, { status, attempt });
    const { hasChanges } = result;
    const isPlan = held.kind === "plan";
    // Without this message, the run would be errored without a reason.
    const isUnrequested = result.result === "canceled" && run.canceledAt === null;
    if (isUnrequested) {
      await sayInLog(tx, context.vault, held.id, stoppedByAgent);
      run = held.claim.grant(await lockRun(tx, held.runId));
    }
    const columns = { ...result.columns, ...(isUnrequested && { errorMessage: stoppedByAgent }) };
    return advance(tx, context, run, {
      event: result.result === "finished" ? "phase-finished" : "phase-errored",
      phase: { ...columns, ...(isPlan && { hasChanges: Number(hasChanges) }) },
      ...(isPlan && result.result === "finished" && { hasChanges }),
      description: columns.errorMessage,
    }).then((after) => ({ status: after.status, held }));
  });
  if (ended !== undefined) tellEndedPhase(endedPhaseOf(ended.held, result.result, nowMs()));
  if (ended?.status === "applied") context.wake?.(triggeringJob);
}

export const endedPhaseOf = (
  { kind, claimedMs }: Pick<RunPhaseTable, "kind" | "claimedMs">,
  result: string,
  atMs: number,
) => ({
  phase: kind,
  result,
  seconds: Math.max(0, atMs - (claimedMs ?? atMs)) / 1000,
});

/** Only the earlier, complete content: the one being uploaded is not complete yet. */
async function abandonComplete(tx: Tx, owner: ReturnType<typeof ownerOf>, kind: ContentKind): Promise<void> {
  await abandonContents(tx, owner, [kind], { complete: true });
}
