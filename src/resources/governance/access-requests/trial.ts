/** Runs a request's changes as the caller and rolls them back: to show their effects, and what the caller is allowed to do. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { type Fault, invalid } from "../../../kernel/errors.ts";
import { nowMs } from "../../../kernel/time.ts";
import { fold } from "../../../kernel/text.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import type { Context } from "../../shared/context.ts";
import type { RuleMatch } from "../../shared/hooks.ts";
import {
  applyChanges,
  atChange,
  type ChangeResult,
  isDenial,
  refuseUnseen,
  unseen,
} from "../../sharing/access-previews/apply-changes.ts";
import type { ParsedChange } from "../../sharing/access-previews/changes.ts";
import {
  type EvaluationEnd,
  type EvaluationStart,
  finishEvaluation,
  startEvaluation,
} from "../../sharing/access-previews/evaluation.ts";
import { asStored, applyDuration, membersOf, type StoredChanges } from "./changes.ts";
import { findNamedMembers, type ReferencedMember } from "./store.ts";

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

/** Each rule once. */
export class MatchedRules {
  readonly #matches = new Map<string, RuleMatch>();
  readonly add = (_change: unknown, match: RuleMatch): void => void this.#matches.set(match.rule.id, match);

  get all(): RuleMatch[] {
    return [...this.#matches.values()];
  }
}

export async function rollingBack<Result>(tx: Tx, work: () => Promise<Result>): Promise<Result> {
  await sql`savepoint trial`.execute(tx.db);
  try {
    return await work();
  } finally {
    await sql`rollback to savepoint trial`.execute(tx.db);
    await sql`release savepoint trial`.execute(tx.db);
  }
}

function trialContext(context: Context, rules: MatchedRules): Context {
  const accessRules = { mode: "skip", isApproved: true, isBreakGlass: false, onMatch: rules.add } as const;
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
  return rollingBack(tx, async () => {
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

/** As `tryChanges`, for new changes. Throws `not-found` for what the caller can't see, and `invalid` for attributes that the change's own route refuses. */
export async function tryNewChanges(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  changes: readonly ParsedChange[],
  durationSeconds: number | null,
): Promise<RequestTrial & { readonly memberIds: readonly string[] }> {
  const members = await loadNamedMembers(tx, organization.id, changes);
  const check = async ({ inside, limited, start, results, faults }: ChangeAttempts) => {
    // An earlier change can show what a later one names.
    const checked = limited.length === 1 ? results : results.map((result) => ({ ...result, isUnseen: true }));
    await refuseUnseen(tx, inside, limited, checked, start.missing, start.canRead);
    const wrong = faults.filter(isAboutAttributes);
    if (wrong.length > 0) throw invalid(wrong);
  };
  const trial = await tryChanges(tx, context, organization, asStored(changes), durationSeconds, check);
  return { ...trial, memberIds: members.flatMap(({ userId }) => userId ?? []) };
}

/** Others, such as a grant that exists already, can change until the approval. */
const isAboutAttributes = ({ pointer = "" }: Fault): boolean => pointer.includes("/body/data/attributes/");

/** Of those who join a team. Throws `not-found` for users outside of the organization, except for these ids. */
export async function loadNamedMembers(
  tx: Tx,
  organizationId: string,
  changes: readonly ParsedChange[],
  exceptIds: readonly string[] = [],
): Promise<ReferencedMember[]> {
  const named = changes.map((change) => {
    const members = membersOf(change);
    return members && { ...members, ids: members.ids.filter((id) => !exceptIds.includes(id)) };
  });
  const idsBy = (kind: "users" | "organization-memberships") =>
    named.flatMap((members) => (members?.by === kind ? members.ids : []));
  if (named.every((members) => members === undefined || members.ids.length === 0)) return [];
  const found = await findNamedMembers(tx, organizationId, idsBy("users"), idsBy("organization-memberships"));
  const known = new Set(
    found.flatMap(({ membershipId, userId, usernameKey }) => [membershipId, userId ?? "", usernameKey ?? ""]),
  );
  for (const [position, members] of named.entries())
    if (members?.ids.some((id) => !known.has(id) && !known.has(fold(id)))) throw atChange(unseen(), position);
  const joining = new Set(
    changes.flatMap((change) =>
      change.operation.method === "POST" ? (membersOf(change)?.ids ?? []).flatMap((id) => [id, fold(id)]) : [],
    ),
  );
  return found.filter(({ membershipId, userId, usernameKey }) =>
    [membershipId, userId ?? "", usernameKey ?? ""].some((id) => joining.has(id)),
  );
}

/**
 * The position of the first change that the caller can't make itself. `canMakeAll` comes from SQL and decides where the resource was
 * deleted; where it exists, an earlier change has hidden it from the caller.
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
