/** Applies changes in a transaction; refused ones as the operator, to show their effects. The caller decides whether to commit. */
import { sql } from "kysely";
import type { Actor } from "../../../access/actor.ts";
import { PermissionDenied } from "../../../access/granted.ts";
import type { Database, Tx } from "../../../database/database.ts";
import { AppError, type Fault } from "../../../kernel/errors.ts";
import type { AccessRuleScope, Context } from "../../shared/context.ts";
import type { RuleMatch } from "../../shared/hooks.ts";
import { noIfMatch } from "../../shared/preconditions.ts";
import { parseQuery } from "../../../jsonapi/query.ts";
import { faultsOf, pointerOf, type ParsedChange } from "./changes.ts";

export interface ChangeResult {
  readonly refusal: AppError | undefined;
  /** The caller could not see the referenced resource, or an earlier change had deleted it. */
  readonly isUnseen: boolean;
  /** By the caller, or to show its effects by the operator. */
  readonly isApplied: boolean;
  /** The access rules that match it, also if the caller can't make it. */
  readonly rules: readonly RuleMatch[];
}

/** Called if the caller can't make the change. */
export type CanReadChange = (change: ParsedChange) => Promise<boolean>;

/** The handlers of changes then run in this transaction. */
export function databaseInTransaction(database: Database, tx: Tx): Database {
  const inside = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => work(tx);
  return { ...database, reader: tx, write: inside, runAndRollBack: inside, snapshot: inside };
}

export async function applyChanges(
  tx: Tx,
  context: Context,
  changes: readonly ParsedChange[],
  missing: ReadonlySet<number>,
  canRead: CanReadChange,
): Promise<{ results: readonly ChangeResult[]; faults: readonly Fault[] }> {
  const inside: Context = { ...context, database: databaseInTransaction(context.database, tx), ifMatch: noIfMatch };
  const results: ChangeResult[] = [];
  const faults: Fault[] = [];
  await sql`savepoint beginning`.execute(tx.db);
  for (const [position, change] of changes.entries()) {
    if (missing.has(position)) {
      results.push({ refusal: unseen(), isUnseen: true, isApplied: false, rules: [] });
      continue;
    }
    const matches = new RulesOfChange(context.accessRules);
    const refusal = await attemptChange(tx, { ...inside, accessRules: matches.scope }, change, change.input);
    if (refusal !== undefined && isInvalid(refusal)) faults.push(...faultsOf(refusal, position, "/body"));
    const result = await resultOf(refusal, change, canRead);
    const asOperator = (): Context => ({
      ...inside,
      actor: { kind: "operator" },
      accessRules: matches.scopeOfEffects(context.actor),
    });
    const isApplied =
      result.refusal === undefined || (await attemptChange(tx, asOperator(), change, change.accessInput)) === undefined;
    results.push({ ...result, isApplied, rules: matches.found() });
  }
  return { results, faults };
}

/** Each rule once. */
export class MatchedRules {
  readonly #matches = new Map<string, RuleMatch>();
  readonly add = (_change: unknown, match: RuleMatch): void => void this.#matches.set(match.rule.id, match);

  get all(): RuleMatch[] {
    return [...this.#matches.values()];
  }
}

/** Collects the rules that match a change: of the caller's attempt or, where a refusal came first, of the operator's. */
class RulesOfChange {
  readonly scope: AccessRuleScope;
  readonly #rules = new MatchedRules();

  constructor(outer: AccessRuleScope = { mode: "enforce", isApproved: false, isBreakGlass: false }) {
    this.scope = {
      ...outer,
      onMatch: (change, match) => {
        outer.onMatch?.(change, match);
        this.#rules.add(change, match);
      },
    };
  }

  scopeOfEffects(caller: Actor): AccessRuleScope {
    const scope: AccessRuleScope = { principal: caller, ...this.scope, mode: "skip" };
    const { onMatch: _, ...silent } = scope;
    return this.#rules.all.length === 0 ? scope : silent;
  }

  found(): RuleMatch[] {
    return this.#rules.all;
  }
}

async function resultOf(
  refusal: AppError | undefined,
  change: ParsedChange,
  canRead: CanReadChange,
): Promise<Pick<ChangeResult, "refusal" | "isUnseen">> {
  if (refusal !== undefined && isInvalid(refusal)) {
    // The handler finds a project that the caller can't see as invalid as one that doesn't exist.
    const isUnseen = change.moves !== undefined && !(await canRead(change));
    return { refusal, isUnseen };
  }
  if (refusal === undefined || refusal.code === "conflict") return { refusal, isUnseen: false };
  if (!isDenial(refusal)) return { refusal, isUnseen: true };
  return (await canRead(change)) ? { refusal, isUnseen: false } : { refusal: unseen(), isUnseen: true };
}

/** Rolls back first: what was visible before the changes counts as seen. The `not-found` must not reveal whether the resource exists. */
export async function refuseUnseen(
  tx: Tx,
  context: Context,
  changes: readonly ParsedChange[],
  results: readonly ChangeResult[],
  missing: ReadonlySet<number>,
  canRead: CanReadChange,
): Promise<void> {
  const inside: Context = { ...context, database: databaseInTransaction(context.database, tx), ifMatch: noIfMatch };
  for (const [position, change] of changes.entries()) {
    if (!results[position]?.isUnseen) continue;
    if (missing.has(position)) throw atChange(unseen(), position);
    await sql`rollback to savepoint beginning`.execute(tx.db);
    const { isUnseen } = await resultOf(await attemptChange(tx, inside, change, change.input), change, canRead);
    if (isUnseen) throw atChange(unseen(), position);
  }
}

const isInvalid = ({ code }: AppError): boolean => code === "invalid" || code === "invalid-record";

export const isDenial = (error: AppError): boolean => error instanceof PermissionDenied || error.code === "forbidden";

export const unseen = (): AppError =>
  new AppError(
    "not-found",
    "The change names something that does not exist, or that you are not allowed to see. Check the ids or names, and your token.",
  );

export function atChange(error: AppError, position: number): AppError {
  const { code, faults, internal, retryAfterSeconds } = error;
  const placed = faults.map(({ detail }) => ({ detail, pointer: pointerOf(position) }));
  return new AppError(code, placed, { internal, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) });
}

/** Other errors are failures of the service. */
const refusalCodes: ReadonlySet<string> = new Set(["invalid", "invalid-record", "not-found", "forbidden", "conflict"]);

/** Rolls back a refused change alone. */
export async function attemptChange(
  tx: Tx,
  context: Context,
  change: ParsedChange,
  body: unknown,
): Promise<AppError | undefined> {
  const { handler, operation, params } = change;
  await sql`savepoint change`.execute(tx.db);
  try {
    await handler({ context, params, body, query: parseQuery(operation.query, new Map()) });
  } catch (error) {
    if (!(error instanceof AppError) || !refusalCodes.has(error.code)) throw error;
    await sql`rollback to savepoint change`.execute(tx.db);
    await sql`release savepoint change`.execute(tx.db);
    return error;
  }
  await sql`release savepoint change`.execute(tx.db);
  return undefined;
}
