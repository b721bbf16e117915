/**
 * Changes carried out one after the other in one transaction, by the very functions that their routes call. What the caller may not
 * do is done for somebody who may, so that its effect can be told; whether anything of it stays is not decided here.
 */
import { sql } from "kysely";
import { Denied } from "../../../access/granted.ts";
import type { Database, Tx } from "../../../database/database.ts";
import { AppError, type Fault } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import { noIfMatch } from "../../shared/preconditions.ts";
import { parseQuery } from "../../../jsonapi/query.ts";
import { faultsOf, pointerOf, type ReadChange } from "./changes.ts";

/** How a change went. */
export interface Outcome {
  /** Why the caller may not; undefined where it may. */
  readonly refusal: AppError | undefined;
  /** It was about something that the caller did not see, or that was not there any more, after the changes before it. */
  readonly isUnseen: boolean;
}

/** Whether the caller may read whatever else the change names; asked where the caller may not make it. */
export type MayRead = (change: ReadChange) => Promise<boolean>;

/** A database of which one transaction is all that there is: whoever writes or reads does so in it. */
function within(database: Database, tx: Tx): Database {
  const inside = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => work(tx);
  return { ...database, reader: tx, write: inside, rehearse: inside, snapshot: inside };
}

/** Those in `missing` name what is not there. Gives the faults of all changes beside how each went. */
export async function carryOut(
  tx: Tx,
  context: Context,
  changes: readonly ReadChange[],
  missing: ReadonlySet<number>,
  mayRead: MayRead,
): Promise<{ outcomes: readonly Outcome[]; faults: readonly Fault[] }> {
  const inside: Context = { ...context, database: within(context.database, tx), ifMatch: noIfMatch };
  const outcomes: Outcome[] = [];
  const faults: Fault[] = [];
  await sql`savepoint beginning`.execute(tx.db);
  for (const [position, change] of changes.entries()) {
    if (missing.has(position)) {
      outcomes.push({ refusal: unseen(), isUnseen: true });
      continue;
    }
    const refusal = await attempt(tx, inside, change, change.input);
    if (refusal !== undefined && isBad(refusal)) faults.push(...faultsOf(refusal, position, "/body"));
    const outcome = await judged(refusal, change, mayRead);
    outcomes.push(outcome);
    // For somebody who may: what does not go through for anybody changes nothing.
    if (outcome.refusal !== undefined)
      await attempt(tx, { ...inside, actor: { kind: "operator" } }, change, change.essence);
  }
  return { outcomes, faults };
}

async function judged(refusal: AppError | undefined, change: ReadChange, mayRead: MayRead): Promise<Outcome> {
  if (refusal === undefined || isBad(refusal) || refusal.code === "conflict") return { refusal, isUnseen: false };
  if (!isDenial(refusal)) return { refusal, isUnseen: true };
  return (await mayRead(change)) ? { refusal, isUnseen: false } : { refusal: unseen(), isUnseen: true };
}

/**
 * Takes the changes back. What the caller did not see when its turn came may have been there, and the caller's to see, before the others:
 * that counts. Raises `not-found` for the first change of what was not, in the same words whether it is there or not.
 */
export async function refuseUnseen(
  tx: Tx,
  context: Context,
  changes: readonly ReadChange[],
  outcomes: readonly Outcome[],
  missing: ReadonlySet<number>,
  mayRead: MayRead,
): Promise<void> {
  const inside: Context = { ...context, database: within(context.database, tx), ifMatch: noIfMatch };
  for (const [position, change] of changes.entries()) {
    if (!outcomes[position]?.isUnseen) continue;
    if (missing.has(position)) throw at(unseen(), position);
    await sql`rollback to savepoint beginning`.execute(tx.db);
    const { isUnseen } = await judged(await attempt(tx, inside, change, change.input), change, mayRead);
    if (isUnseen) throw at(unseen(), position);
  }
}

/** What is wrong with the change itself, whoever makes it. */
const isBad = ({ code }: AppError): boolean => code === "invalid" || code === "invalid-record";

/** The caller may see what it is about, but not do this to it. */
const isDenial = (error: AppError): boolean => error instanceof Denied || error.code === "forbidden";

const unseen = (): AppError =>
  new AppError(
    "not-found",
    "The change names something that is not there, or that you are not allowed to see. Check the ids or names, and the token that you use.",
  );

/** The same error, with the place of the change that it is about. */
export function at(error: AppError, position: number): AppError {
  const { code, faults, internal, retryAfterSeconds } = error;
  const placed = faults.map(({ detail }) => ({ detail, pointer: pointerOf(position) }));
  return new AppError(code, placed, { internal, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) });
}

/** What is an answer to a change; anything else is trouble of the service's own. */
const told: ReadonlySet<string> = new Set(["invalid", "invalid-record", "not-found", "forbidden", "conflict"]);

/** Carries a change out, or takes it back alone and gives the refusal. */
async function attempt(tx: Tx, context: Context, change: ReadChange, body: unknown): Promise<AppError | undefined> {
  const { handler, operation, params } = change;
  await sql`savepoint change`.execute(tx.db);
  try {
    await handler({ context, params, body, query: parseQuery(operation.query, new Map()) });
  } catch (error) {
    if (!(error instanceof AppError) || !told.has(error.code)) throw error;
    await sql`rollback to savepoint change`.execute(tx.db);
    await sql`release savepoint change`.execute(tx.db);
    return error;
  }
  await sql`release savepoint change`.execute(tx.db);
  return undefined;
}
