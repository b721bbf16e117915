/**
 * Applies changes one after the other in a transaction, with the handlers of their own routes. A change that the caller can't make
 * is applied as the operator, so that its effects can be shown; the caller of this module decides whether to commit.
 */
import { sql } from "kysely";
import { PermissionDenied } from "../../../access/granted.ts";
import type { Database, Tx } from "../../../database/database.ts";
import { AppError, type Fault } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import { noIfMatch } from "../../shared/preconditions.ts";
import { parseQuery } from "../../../jsonapi/query.ts";
import { faultsOf, pointerOf, type ParsedChange } from "./changes.ts";

export interface ChangeResult {
  readonly refusal: AppError | undefined;
  /** The caller could not see what it refers to when it was applied, or earlier changes had deleted it. */
  readonly isUnseen: boolean;
}

/** Whether the caller can read what else the change refers to; called if they can't make it. */
export type CanReadChange = (change: ParsedChange) => Promise<boolean>;

/** A database of which every read and write runs in one transaction. */
function within(database: Database, tx: Tx): Database {
  const inside = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => work(tx);
  return { ...database, reader: tx, write: inside, rehearse: inside, snapshot: inside };
}

/** `missing`: the positions of changes that refer to what does not exist. Also returns the faults of all changes. */
export async function applyChanges(
  tx: Tx,
  context: Context,
  changes: readonly ParsedChange[],
  missing: ReadonlySet<number>,
  mayRead: CanReadChange,
): Promise<{ results: readonly ChangeResult[]; faults: readonly Fault[] }> {
  const inside: Context = { ...context, database: within(context.database, tx), ifMatch: noIfMatch };
  const results: ChangeResult[] = [];
  const faults: Fault[] = [];
  await sql`savepoint beginning`.execute(tx.db);
  for (const [position, change] of changes.entries()) {
    if (missing.has(position)) {
      results.push({ refusal: unseen(), isUnseen: true });
      continue;
    }
    const refusal = await attempt(tx, inside, change, change.input);
    if (refusal !== undefined && isBad(refusal)) faults.push(...faultsOf(refusal, position, "/body"));
    const result = await resultOf(refusal, change, mayRead);
    results.push(result);
    // As the operator; a change that fails for everybody has no effect.
    if (result.refusal !== undefined)
      await attempt(tx, { ...inside, actor: { kind: "operator" } }, change, change.accessInput);
  }
  return { results, faults };
}

async function resultOf(
  refusal: AppError | undefined,
  change: ParsedChange,
  mayRead: CanReadChange,
): Promise<ChangeResult> {
  if (refusal === undefined || isBad(refusal) || refusal.code === "conflict") return { refusal, isUnseen: false };
  if (!isDenial(refusal)) return { refusal, isUnseen: true };
  return (await mayRead(change)) ? { refusal, isUnseen: false } : { refusal: unseen(), isUnseen: true };
}

/**
 * Rolls the changes back. What the caller could not see when a change was applied may have been visible to them before the other
 * changes, and then counts as seen. Raises `not-found` for the first change that refers to something unseen, with the same message
 * whether it exists or not.
 */
export async function refuseUnseen(
  tx: Tx,
  context: Context,
  changes: readonly ParsedChange[],
  results: readonly ChangeResult[],
  missing: ReadonlySet<number>,
  mayRead: CanReadChange,
): Promise<void> {
  const inside: Context = { ...context, database: within(context.database, tx), ifMatch: noIfMatch };
  for (const [position, change] of changes.entries()) {
    if (!results[position]?.isUnseen) continue;
    if (missing.has(position)) throw atChange(unseen(), position);
    await sql`rollback to savepoint beginning`.execute(tx.db);
    const { isUnseen } = await resultOf(await attempt(tx, inside, change, change.input), change, mayRead);
    if (isUnseen) throw atChange(unseen(), position);
  }
}

/** The change itself is wrong, for every caller. */
const isBad = ({ code }: AppError): boolean => code === "invalid" || code === "invalid-record";

/** The caller can see what it refers to, but lacks the permission. */
const isDenial = (error: AppError): boolean => error instanceof PermissionDenied || error.code === "forbidden";

const unseen = (): AppError =>
  new AppError(
    "not-found",
    "The change names something that does not exist, or that you are not allowed to see. Check the ids or names, and your token.",
  );

export function atChange(error: AppError, position: number): AppError {
  const { code, faults, internal, retryAfterSeconds } = error;
  const placed = faults.map(({ detail }) => ({ detail, pointer: pointerOf(position) }));
  return new AppError(code, placed, { internal, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) });
}

/** The codes that refuse a change; other errors are failures of the service. */
const refusalCodes: ReadonlySet<string> = new Set(["invalid", "invalid-record", "not-found", "forbidden", "conflict"]);

/** Applies a change; if it is refused, rolls it back alone and returns the refusal. */
async function attempt(tx: Tx, context: Context, change: ParsedChange, body: unknown): Promise<AppError | undefined> {
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
