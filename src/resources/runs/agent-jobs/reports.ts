/** Agents' reports on their jobs. A report of any attempt but the current one must change nothing. */
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
import { endedPhases } from "../../shared/process-events.ts";
import type { ContentAnswer } from "../../../jsonapi/define.ts";
import { recordPing, recordUnavailableEngine, type AgentProof } from "../agents/writes.ts";
import { findClaimedPhase, type ClaimedPhaseRow } from "../phases/claims.ts";
import { recordGeneratedConfiguration, recordHeartbeat, recordEngineStart } from "../phases/writes.ts";
import { appendLog, appendServiceMessage } from "../phases/logs.ts";
import { runTriggerJob } from "../run-triggers/writes.ts";
import { lockRun } from "../runs/reads.ts";
import { transitionRun } from "../runs/lifecycle.ts";
import type { LoadedRun } from "../runs/view.ts";
import { type AgentJobContentKind, agentJobContentKinds } from "./definition.ts";
import { queueWatcherOf } from "./queue-watcher.ts";

type GrantedPhase = Granted<ClaimedPhaseRow, "claim">;

export interface JobAttempt {
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

async function loadCurrentAttempt(
  tx: Tx,
  by: AgentProof,
  { id, attempt }: JobAttempt,
  lock = false,
): Promise<GrantedPhase> {
  const phase = await loadClaimed(tx, by, id, lock);
  requireCurrentAttempt(phase, attempt);
  return phase;
}

async function loadClaimed(tx: Tx, by: AgentProof, id: string, lock = false): Promise<GrantedPhase> {
  const phase = await findClaimedPhase(tx, by, id, lock);
  if (phase === undefined) throw notFound("job");
  return phase;
}

function requireCurrentAttempt(phase: ClaimedPhaseRow, attempt: number): void {
  if (phase.attempt !== attempt || phase.status !== "running") throw staleReport(attempt, phase);
}

/** A long poll for `cancel` or `kill` (stop immediately). Throws `not-found`, and `conflict` for an earlier attempt. */
export async function heartbeatJob(
  context: Context,
  by: AgentProof,
  report: JobAttempt,
  waitMs: number,
): Promise<string | null> {
  const { database, isDisconnected = () => false } = context;
  const signal = await database.write(async (tx) => {
    const phase = await loadClaimed(tx, by, report.id);
    if (phase.attempt !== report.attempt) throw staleReport(report.attempt);
    const current = await recordHeartbeat(tx, phase);
    if (current === undefined) return "kill";
    if (current.agentId !== null) await recordPing(tx, by, current.agentId, { status: "busy" });
    return current.signal;
  });
  if (signal !== null || waitMs <= 0) return signal;
  let received: string | null = null;
  await queueWatcherOf(database).wait(
    {
      jobId: report.id,
      matches: ({ signals }) => {
        const phase = signals.get(report.id);
        received = phase?.attempt === report.attempt && phase.status === "running" ? phase.signal : "kill";
        return received !== null;
      },
    },
    waitMs,
    isDisconnected,
  );
  return received;
}

export async function startJob(context: Context, by: AgentProof, report: JobAttempt): Promise<void> {
  await context.database.write(async (tx) => {
    const phase = await loadCurrentAttempt(tx, by, report);
    if (!(await recordEngineStart(tx, phase))) throw staleReport(report.attempt);
  });
}

const logPieceBytesMax = 4 * 1024 * 1024;

export async function appendJobLog(
  context: Context,
  by: AgentProof,
  report: JobAttempt & { readonly offset: number },
  source: AsyncIterable<Uint8Array>,
): Promise<void> {
  const bytes = await readAll(source);
  await context.database.write(async (tx) => {
    const phase = await loadCurrentAttempt(tx, by, report, true);
    await appendLog(tx, context.vault, phase, report.offset, bytes);
    await recordHeartbeat(tx, phase);
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

const uploadedBy: Readonly<Record<string, readonly AgentJobContentKind[]>> = {
  plan: ["plan", "plan-json", "provider-schemas", "lock-file", "generated-configuration"],
  apply: ["errored-state"],
};
const downloadedBy: Readonly<Record<string, readonly AgentJobContentKind[]>> = {
  plan: [],
  apply: ["plan", "lock-file"],
};

const mebibyte = 1024 * 1024;
const contentLimit = { bytes: 256 * mebibyte, thing: "An output of a job" } as const;

const ownerOf = ({ runId }: Pick<ClaimedPhaseRow, "runId">) => ({ column: "runId", id: runId }) as const;

export async function putJobContent(
  context: Context,
  by: AgentProof,
  report: JobAttempt & { readonly kind: string },
  source: AsyncIterable<Uint8Array>,
): Promise<void> {
  const claimed = await loadCurrentAttempt(context.database.reader, by, report);
  const kind = kindIn(report.kind, uploadedBy[claimed.kind]);
  const target = { organizationId: claimed.organizationId, owner: ownerOf(claimed), kind };
  const content = await receiveContent(context, target, source, () => {}, contentLimit);
  await context.database.write(async (tx) => {
    const phase = await loadCurrentAttempt(tx, by, report, true);
    const before = await findContent(tx, target.owner, kind);
    if (before !== undefined) await abandonComplete(tx, target.owner, kind);
    await completeContent(tx, { ...content, ...target });
    if (kind === "generated-configuration") await recordGeneratedConfiguration(tx, phase);
  });
}

export async function getJobContent(
  context: Context,
  by: AgentProof,
  report: JobAttempt & { readonly kind: string },
): Promise<ContentAnswer> {
  const tx = context.database.reader;
  const phase = await loadCurrentAttempt(tx, by, report);
  const content = await findContent(tx, ownerOf(phase), kindIn(report.kind, downloadedBy[phase.kind]));
  if (content === undefined) throw notFound("content");
  return { size: content.size, bytes: readContent(context, content) };
}

function kindIn(kind: string, allowed: readonly AgentJobContentKind[] = []): AgentJobContentKind {
  const known = agentJobContentKinds.find((each) => each === kind);
  if (known === undefined || !allowed.includes(known)) throw notFound("content");
  return known;
}

export interface JobResult {
  /** `returned`: its engine could not be fetched, so it is queued again. */
  readonly result: "finished" | "errored" | "canceled" | "returned";
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

/** An agent repeats a report if the response was lost. A job that others ended has the signal `kill`. */
const isRepeated = ({ status, attempt, signal }: ClaimedPhaseRow, report: JobAttempt, { result }: JobResult): boolean =>
  attempt === report.attempt && signal !== "kill" && (status === "canceled" || status === result);

const stoppedByAgent = "The agent stopped the job, although nobody had canceled the run. Start another run.";

export async function finishJob(
  context: Context,
  by: AgentProof,
  report: JobAttempt,
  result: JobResult,
): Promise<void> {
  const ended = await context.database.write(async (tx) => {
    const phase = await loadClaimed(tx, by, report.id);
    if (isRepeated(phase, report, result)) return undefined;
    requireCurrentAttempt(phase, report.attempt);
    let run = phase.claim.proofFor(await lockRun(tx, phase.runId));
    const [status, attempt] =
      phase.kind === "plan" ? [run.planStatus, run.planAttempt] : [run.applyStatus, run.applyAttempt];
    if (status !== "running" || attempt !== report.attempt) throw staleReport(report.attempt, { status, attempt });
    const { hasChanges } = result;
    const isPlan = phase.kind === "plan";
    // Without this message, the run would be errored without a reason.
    const isCanceledByAgent = result.result === "canceled" && run.canceledAt === null;
    if (isCanceledByAgent) {
      await appendServiceMessage(tx, context.vault, phase.id, stoppedByAgent);
      run = phase.claim.proofFor(await lockRun(tx, phase.runId));
    }
    if (result.result === "returned") return returnPhase(tx, context, by, run, phase, result.columns.errorMessage);
    const columns = { ...result.columns, ...(isCanceledByAgent && { errorMessage: stoppedByAgent }) };
    return transitionRun(tx, context, run, {
      event: result.result === "finished" ? "phase-finished" : "phase-errored",
      phase: { ...columns, ...(isPlan && { hasChanges: Number(hasChanges) }) },
      ...(isPlan && result.result === "finished" && { hasChanges }),
      description: columns.errorMessage,
    }).then((after) => ({ status: after.status, phase }));
  });
  if (ended !== undefined) endedPhases.publish(endedPhaseMetric(ended.phase, result.result, nowMs()));
  if (ended?.status === "applied") context.wake?.(runTriggerJob);
}

/** Never after the engine has started: its work must not be repeated. */
async function returnPhase(
  tx: Tx,
  context: Context,
  by: AgentProof,
  run: Granted<LoadedRun, "claim">,
  phase: ClaimedPhaseRow,
  reason: string | null,
): Promise<undefined> {
  if (phase.engineStarted === 1)
    throw conflict("The engine has started, so the job can't be returned. Report its result.");
  if (phase.agentId !== null) {
    const engine = run.engine === "tofu" ? "tofu" : "terraform";
    const unavailable = {
      engine,
      version: run.engineVersion,
      reason: (reason ?? "").slice(0, reasonLengthMax),
    } as const;
    await recordUnavailableEngine(tx, by, phase.agentId, unavailable);
  }
  await transitionRun(tx, context, run, { event: "phase-returned", description: reason });
}

const reasonLengthMax = 500;

export const endedPhaseMetric = (
  { kind, claimedMs }: Pick<RunPhaseTable, "kind" | "claimedMs">,
  result: string,
  atMs: number,
) => ({
  phase: kind,
  result,
  seconds: Math.max(0, atMs - (claimedMs ?? atMs)) / 1000,
});

/** The content being uploaded is not complete yet, and must stay. */
async function abandonComplete(tx: Tx, owner: ReturnType<typeof ownerOf>, kind: AgentJobContentKind): Promise<void> {
  await abandonContents(tx, owner, [kind], { complete: true });
}
