/** What an agent says of the job that it holds. Whatever comes of another attempt than the current one is refused, and changes nothing. */
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

/** The job has another agent by now, or is over: nothing that is said of it counts. */
function fenced(attempt: number, phase?: Pick<RunPhaseTable, "attempt" | "status">): AppError {
  return conflict(
    phase !== undefined && phase.attempt === attempt
      ? `The job is over: it is ${phase.status}. Nothing more is taken of it; stop what still runs.`
      : `The job is not this attempt's (${attempt}) any more. Nothing more is taken of it; stop what still runs.`,
  );
}

/** Raises `not-found` for a job that no agent of the pool has had, and `conflict` for one that it has no more. */
async function loadHeld(tx: Tx, by: Serving, { id, attempt }: Report, lock = false): Promise<Held> {
  const phase = await loadClaimed(tx, by, id, lock);
  refuseLate(phase, attempt);
  return phase;
}

/** Raises `not-found`. */
async function loadClaimed(tx: Tx, by: Serving, id: string, lock = false): Promise<Held> {
  const phase = await findHeldPhase(tx, by, id, lock);
  if (phase === undefined) throw notFound("job");
  return phase;
}

/** Raises `conflict`. */
function refuseLate(phase: HeldPhase, attempt: number): void {
  if (phase.attempt !== attempt || phase.status !== "running") throw fenced(attempt, phase);
}

/** Gives the signal, as soon as there is one: null, `cancel`, or `kill` for a job that was ended by force. Raises `conflict`. */
export async function heartbeat(context: Context, by: Serving, report: Report, waitMs: number): Promise<string | null> {
  const { database, isGone = () => false } = context;
  const signal = await database.write(async (tx) => {
    const phase = await loadClaimed(tx, by, report.id);
    if (phase.attempt !== report.attempt) throw fenced(report.attempt);
    const heard = await noteHeard(tx, phase);
    if (heard === undefined) return "kill";
    if (heard.agentId !== null) await hear(tx, by, heard.agentId, { status: "busy" });
    return heard.signal;
  });
  if (signal !== null || waitMs <= 0) return signal;
  let told: string | null = null;
  await lookoutOf(database).wait(
    {
      jobId: report.id,
      sees: ({ signals }) => {
        const seen = signals.get(report.id);
        told = seen?.attempt === report.attempt && seen.status === "running" ? seen.signal : "kill";
        return told !== null;
      },
    },
    waitMs,
    isGone,
  );
  return told;
}

export async function start(context: Context, by: Serving, report: Report): Promise<void> {
  await context.database.write(async (tx) => {
    const phase = await loadHeld(tx, by, report);
    if (!(await noteStarted(tx, phase))) throw fenced(report.attempt);
  });
}

const logPieceBytesMax = 4 * 1024 * 1024;

export async function log(
  context: Context,
  by: Serving,
  report: Report & { readonly offset: number },
  source: AsyncIterable<Uint8Array>,
): Promise<void> {
  const bytes = await gathered(source);
  await context.database.write(async (tx) => {
    const phase = await loadHeld(tx, by, report, true);
    await appendLog(tx, context.vault, phase, report.offset, bytes);
    await noteHeard(tx, phase);
  });
}

async function gathered(source: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of source ?? []) {
    size += piece.length;
    if (size > logPieceBytesMax)
      throw new AppError(
        "too-large",
        `A piece of a log can have at most ${logPieceBytesMax} bytes. Send less at once.`,
      );
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Which phase brings what, and what it may fetch of the plan's. */
const broughtBy: Readonly<Record<string, readonly ContentKind[]>> = {
  plan: ["plan", "plan-json", "provider-schemas", "lock-file", "generated-configuration"],
  apply: ["errored-state"],
};
const fetchedBy: Readonly<Record<string, readonly ContentKind[]>> = { plan: [], apply: ["plan", "lock-file"] };

const mebibyte = 1024 * 1024;
const contentLimit = { bytes: 256 * mebibyte, thing: "What a job makes" } as const;

const ownerOf = ({ runId }: Pick<HeldPhase, "runId">) => ({ column: "runId", id: runId }) as const;

/** One that is sent again takes the place of the one before. Raises `not-found` for what this phase does not bring. */
export async function putContent(
  context: Context,
  by: Serving,
  report: Report & { readonly kind: string },
  source: AsyncIterable<Uint8Array>,
): Promise<void> {
  const held = await loadHeld(context.database.reader, by, report);
  const kind = kindIn(report.kind, broughtBy[held.kind]);
  const place = { organizationId: held.organizationId, owner: ownerOf(held), kind };
  const content = await receiveContent(context, place, source, () => {}, contentLimit);
  await context.database.write(async (tx) => {
    const phase = await loadHeld(tx, by, report, true);
    const before = await findContent(tx, place.owner, kind);
    if (before !== undefined) await abandonComplete(tx, place.owner, kind);
    await completeContent(tx, { ...content, ...place });
    if (kind === "generated-configuration") await noteGeneratedConfiguration(tx, phase);
  });
}

export async function getContent(
  context: Context,
  by: Serving,
  report: Report & { readonly kind: string },
): Promise<ContentAnswer> {
  const tx = context.database.reader;
  const held = await loadHeld(tx, by, report);
  const content = await findContent(tx, ownerOf(held), kindIn(report.kind, fetchedBy[held.kind]));
  if (content === undefined) throw notFound("content");
  return { size: content.size, bytes: readContent(context, content) };
}

/** Raises `not-found`. */
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

/**
 * Whether this attempt said so before: the answer to it was lost, with the server that gave it. One that was ended by others was told
 * to be killed.
 */
const isKnown = ({ status, attempt, signal }: HeldPhase, report: Report, { result }: Outcome): boolean =>
  attempt === report.attempt && signal !== "kill" && (status === "canceled" || status === result);

const stoppedUnasked = "The job was stopped by its agent, and nobody had canceled it. Start another run.";

/** All that becomes visible with the end becomes so at once. Said once more, it is let pass. */
export async function finish(context: Context, by: Serving, report: Report, outcome: Outcome): Promise<void> {
  const ended = await context.database.write(async (tx) => {
    const held = await loadClaimed(tx, by, report.id);
    if (isKnown(held, report, outcome)) return undefined;
    refuseLate(held, report.attempt);
    let run = held.claim.grant(await lockRun(tx, held.runId));
    const [status, attempt] =
      held.kind === "plan" ? [run.planStatus, run.planAttempt] : [run.applyStatus, run.applyAttempt];
    if (status !== "running" || attempt !== report.attempt) throw fenced(report.attempt, { status, attempt });
    const { result, hasChanges } = outcome;
    const isPlan = held.kind === "plan";
    // Whoever reads the run would find it errored without a reason.
    const isUnasked = result === "canceled" && run.canceledAt === null;
    if (isUnasked) {
      await sayInLog(tx, context.vault, held.id, stoppedUnasked);
      run = held.claim.grant(await lockRun(tx, held.runId));
    }
    const columns = { ...outcome.columns, ...(isUnasked && { errorMessage: stoppedUnasked }) };
    return advance(tx, context, run, {
      event: result === "finished" ? "phase-finished" : "phase-errored",
      phase: { ...columns, ...(isPlan && { hasChanges: Number(hasChanges) }) },
      ...(isPlan && result === "finished" && { hasChanges }),
      description: columns.errorMessage,
    }).then((after) => ({ status: after.status, held }));
  });
  if (ended !== undefined) tellEndedPhase(endedPhaseOf(ended.held, outcome.result, nowMs()));
  if (ended?.status === "applied") context.wake?.(triggeringJob);
}

/** As long as an agent had it. */
export const endedPhaseOf = (
  { kind, claimedMs }: Pick<RunPhaseTable, "kind" | "claimedMs">,
  result: string,
  atMs: number,
) => ({
  phase: kind,
  result,
  seconds: Math.max(0, atMs - (claimedMs ?? atMs)) / 1000,
});

/** The former one of this kind alone: what is being sent is not complete yet. */
async function abandonComplete(tx: Tx, owner: ReturnType<typeof ownerOf>, kind: ContentKind): Promise<void> {
  await abandonContents(tx, owner, [kind], { complete: true });
}
