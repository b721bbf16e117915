/** Executes a request's changes in the transaction of its decision, and finds why they can't be executed. */
import type { Actor } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { type AppError, conflict, forbidden } from "../../../kernel/errors.ts";
import { asSentence } from "../../../kernel/text.ts";
import { nowMs } from "../../../kernel/time.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import type { Context } from "../../shared/context.ts";
import type { RuleMatch } from "../../shared/hooks.ts";
import { noIfMatch } from "../../shared/preconditions.ts";
import {
  attemptChange,
  databaseInTransaction,
  isDenial,
  MatchedRules,
} from "../../sharing/access-previews/apply-changes.ts";
import {
  type EvaluationEnd,
  type EvaluationStart,
  finishEvaluation,
  startEvaluation,
} from "../../sharing/access-previews/evaluation.ts";
import { RefusedByRule } from "../access-rules/rules.ts";
import { findShortenedSeat } from "./beneficiaries.ts";
import { applyDuration, membersOf, type StoredChanges } from "./changes.ts";
import { runAndRollBack } from "./trial.ts";

interface ExecutionFailure {
  readonly position: number;
  readonly error: AppError;
  /** `denied`: the executor lacks a permission. `rule`: an access rule refuses it. */
  readonly cause: "denied" | "rule" | "impossible";
}

export interface RequestExecution {
  readonly start: EvaluationStart;
  /** Also after a failure: as far as it got. */
  readonly end: EvaluationEnd;
  readonly rules: readonly RuleMatch[];
  /** Whether all changes were made. */
  readonly isComplete: boolean;
  readonly failure: ExecutionFailure | undefined;
}

interface RequestExecutionOptions {
  readonly requestId: string;
  readonly durationSeconds: number | null;
  readonly isBreakGlass: boolean;
  /** Collects the jobs to wake after the commit. */
  readonly jobsToWake: Set<string>;
}

/** The caller has locked the organization with `removal`. After a failure, the caller must not commit. */
export async function executeChanges(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  executor: Actor,
  stored: StoredChanges,
  { requestId, durationSeconds, isBreakGlass, jobsToWake }: RequestExecutionOptions,
): Promise<RequestExecution> {
  const rules = new MatchedRules();
  const inside: Context = {
    ...executorContext(tx, context, executor),
    wake: (job) => void jobsToWake.add(job),
    accessRequestId: requestId,
    accessRules: { mode: "enforce", isApproved: !isBreakGlass, isBreakGlass, onMatch: rules.add },
  };
  const changes = applyDuration(stored.changes, durationSeconds, nowMs());
  const start = await startEvaluation(tx, context, organization, changes);
  let failure: ExecutionFailure | undefined = stored.firstError && { ...stored.firstError, cause: "impossible" };
  for await (const one of failuresOf(tx, inside, { ...stored, changes })) {
    failure = one.cause === "impossible" ? (failure ?? one) : one;
    if (failure.cause !== "impossible") break;
  }
  const end = await finishEvaluation(tx, context, start);
  const isComplete = failure === undefined;
  if (durationSeconds !== null) failure ??= shortening(stored, start, end);
  return { start, end, rules: rules.all, isComplete, failure };
}

/** As `executeChanges`, rolled back and without access rules. The first change that the executor can't make, or that names something deleted. */
export function findRefusedChange(
  tx: Tx,
  context: Context,
  executor: Actor,
  stored: StoredChanges,
  durationSeconds: number | null,
): Promise<ExecutionFailure | undefined> {
  const inside: Context = {
    ...executorContext(tx, context, executor),
    wake: () => {},
    accessRules: { mode: "skip", isApproved: false, isBreakGlass: false },
  };
  const changes = applyDuration(stored.changes, durationSeconds, nowMs());
  return runAndRollBack(tx, async () => {
    for await (const failure of failuresOf(tx, inside, { ...stored, changes }))
      if (failure.cause === "denied" || failure.error.code === "not-found") return failure;
    return undefined;
  });
}

const executorContext = (tx: Tx, context: Context, executor: Actor): Context => ({
  ...context,
  actor: executor,
  database: databaseInTransaction(context.database, tx),
  ifMatch: noIfMatch,
});

/** Makes the changes as the context's actor. */
async function* failuresOf(
  tx: Tx,
  inside: Context,
  { changes, positions }: StoredChanges,
): AsyncGenerator<ExecutionFailure> {
  for (const [index, change] of changes.entries()) {
    const error = await attemptChange(tx, inside, change, change.input);
    if (error === undefined) continue;
    const asOperator = () => attemptChange(tx, { ...inside, actor: { kind: "operator" } }, change, change.input);
    yield { position: positions[index] ?? index, error, cause: await causeOf(tx, error, asOperator) };
  }
}

/** A duration is for new access, or a later end: it must not take away a seat that exists already. */
function shortening(
  { changes, positions }: StoredChanges,
  start: EvaluationStart,
  end: EvaluationEnd,
): ExecutionFailure | undefined {
  const seat = findShortenedSeat(start, end);
  if (seat === undefined) return undefined;
  const index = changes.findIndex(
    (change) => membersOf(change) !== undefined && change.params["teamId"] === seat.teamId,
  );
  const error = conflict(
    "A person to be added is already a member of the team for longer, so this would shorten the membership.",
  );
  return { position: positions[index] ?? 0, error, cause: "impossible" };
}

/** What neither the executor nor an operator finds is gone; what only the operator finds is hidden from the executor. */
async function causeOf(
  tx: Tx,
  error: AppError,
  asOperator: () => Promise<AppError | undefined>,
): Promise<ExecutionFailure["cause"]> {
  if (error.code === "not-found" && !isDenial(error)) {
    const again = await runAndRollBack(tx, asOperator);
    return again !== undefined && again.code === "not-found" ? "impossible" : "denied";
  }
  if (!isDenial(error)) return "impossible";
  return error instanceof RefusedByRule ? "rule" : "denied";
}

/** For changes that an offer's last writer executes. */
export function failureOfOffer({ position, error, cause }: ExecutionFailure): AppError {
  if (cause === "rule") return forbidden(error.message);
  const reason = asSentence(error.message);
  if (cause === "impossible")
    return conflict(`Change ${position + 1} of the access offer is not possible now: ${reason} Nothing was changed.`);
  return conflict(
    `The last writer of the access offer is no longer allowed to make its change ${position + 1}: ${reason} Ask somebody who is allowed to make every change to save the offer again.`,
  );
}

export const offerWriterMissing = (offerName: string): AppError =>
  conflict(
    `The last writer of the access offer '${offerName}' no longer exists. Ask somebody who manages offers to save it again.`,
  );
