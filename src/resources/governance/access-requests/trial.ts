/** Runs a request's changes as the caller and rolls them back: to show their effects, and what the caller is allowed to do. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { type Fault, invalid } from "../../../kernel/errors.ts";
import { nowMs } from "../../../kernel/time.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import type { Context } from "../../shared/context.ts";
import type { RuleMatch } from "../../shared/hooks.ts";
import {
  applyChanges,
  type ChangeResult,
  isDenial,
  MatchedRules,
  refuseUnseen,
} from "../../sharing/access-previews/apply-changes.ts";
import type { ParsedChange } from "../../sharing/access-previews/changes.ts";
import {
  type EvaluationEnd,
  type EvaluationStart,
  finishEvaluation,
  startEvaluation,
} from "../../sharing/access-previews/evaluation.ts";
import { asStored, applyDuration, type StoredChanges } from "./changes.ts";
import { loadNamedMembers } from "./members.ts";

export interface RequestTrial {
  readonly start: EvaluationStart;
  readonly end: EvaluationEnd;
  readonly results: readonly ChangeResult[];
  readonly rules: readonly RuleMatch[];
  /** Of `results`: their positions in the request. */
  readonly positions: readonly number[];
  /** Whether all changes were made, by the caller or to show their effects. */
  readonly isComplete: boolean;
}

export async function runAndRollBack<Result>(tx: Tx, work: () => Promise<Result>): Promise<Result> {
  await sql`savepoint trial`.execute(tx.db);
  try {
    return await work();
  } finally {
    await sql`rollback to savepoint trial`.execute(tx.db);
    await sql`release savepoint trial`.execute(tx.db);
  }
}

function trialContext(context: Context, rules: MatchedRules): Context {
  const principal = context.accessRules?.principal;
  const accessRules = {
    mode: "skip",
    isApproved: true,
    isBreakGlass: false,
    onMatch: rules.add,
    ...(principal && { principal }),
  } as const;
  return { ...context, wake: () => {}, accessRules };
}

interface ChangeAttempts {
  readonly inside: Context;
  readonly limited: readonly ParsedChange[];
  readonly start: EvaluationStart;
  readonly results: readonly ChangeResult[];
  readonly faults: readonly Fault[];
}

/** The caller has locked the organization with `removal`. `check` runs before the changes are rolled back. */
export function tryChanges(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  { changes, positions, firstError }: StoredChanges,
  durationSeconds: number | null,
  check?: (attempts: ChangeAttempts) => Promise<void>,
): Promise<RequestTrial> {
  return runAndRollBack(tx, async () => {
    const rules = new MatchedRules();
    const inside = trialContext(context, rules);
    const limited = applyDuration(changes, durationSeconds, nowMs());
    const start = await startEvaluation(tx, inside, organization, limited);
    const { results, faults } = await applyChanges(tx, inside, limited, start.missing, start.canRead);
    const end = await finishEvaluation(tx, inside, start);
    await check?.({ inside, limited, start, results, faults });
    const isComplete = firstError === undefined && results.every(({ isApplied }) => isApplied);
    return { start, end, results, rules: rules.all, positions, isComplete };
  });
}

export interface RequestedMembers {
  /** Users whom the changes add to teams, also where that is not possible now. */
  readonly joiningIds: readonly string[];
  /** Users whom the changes name by their username. */
  readonly namedIds: readonly string[];
}

/** As `tryChanges`, for new changes. Throws `not-found` for what the caller can't see, and `invalid` for attributes that the change's own route refuses. */
export async function tryNewChanges(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  changes: readonly ParsedChange[],
  durationSeconds: number | null,
): Promise<RequestTrial & RequestedMembers> {
  const members = await loadNamedMembers(tx, organization.id, changes);
  const check = async ({ inside, limited, start, results, faults }: ChangeAttempts) => {
    // An earlier change can show what a later one names.
    const checked = limited.length === 1 ? results : results.map((result) => ({ ...result, isUnseen: true }));
    await refuseUnseen(tx, inside, limited, checked, start.missing, start.canRead);
    const wrong = faults.filter(isAboutAttributes);
    if (wrong.length > 0) throw invalid(wrong);
  };
  const trial = await tryChanges(tx, context, organization, asStored(changes), durationSeconds, check);
  const idsOf = (some: typeof members) => some.flatMap(({ userId }) => userId ?? []);
  return {
    ...trial,
    joiningIds: idsOf(members.filter(({ isJoining }) => isJoining)),
    namedIds: idsOf(members.filter(({ isCalledByName }) => isCalledByName)),
  };
}

/** Others, such as a grant that exists already, can change until the approval. */
const isAboutAttributes = ({ pointer = "" }: Fault): boolean => pointer.includes("/body/data/attributes/");

/**
 * The position of the first change that the caller can't make itself. For a change whose resource the caller couldn't see: if the operator
 * made the change, an earlier one has hidden the resource, and it counts as denied; otherwise the resource is gone, and the stored
 * requirements (`canMakeAll`) decide.
 */
export function firstDenied(
  { results, positions }: RequestTrial,
  canMakeAll: boolean,
): { readonly position: number; readonly reason: string } | undefined {
  const index = results.findIndex(
    ({ refusal, isUnseen, isApplied }) =>
      refusal !== undefined && (isUnseen ? isApplied || !canMakeAll : isDenial(refusal)),
  );
  const refusal = results[index]?.refusal;
  return refusal && { position: positions[index] ?? 0, reason: refusal.message };
}
