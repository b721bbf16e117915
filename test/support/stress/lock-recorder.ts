/** Records the order in which each transaction locks rows on PostgreSQL, which finds possible deadlocks even if they never occur. */
import pg from "pg";
import { StatementExecution, type StatementResult } from "../../../src/database/engines/postgres-statement.ts";
import { locksOf, type Lock, idsInsertedBy, type Purpose, type Relations, relationsOf } from "./statements.ts";

/** A transaction that held one lock requested another. */
export interface LockStep {
  readonly from: Lock;
  readonly to: Lock;
  readonly organization: Purpose | undefined;
  readonly label: string;
}

interface Transaction {
  readonly locks: Lock[];
  /** Every id in the parameters and results of its locking statements. */
  readonly seen: Set<string>;
  /** Other transactions can't see these rows yet. */
  readonly made: Set<string>;
  readonly steps: Omit<LockStep, "label">[];
  label: string;
}

type RecordedResult = Pick<StatementResult, "rows" | "rowCount">;
type Query = (this: pg.Client, ...parts: unknown[]) => unknown;
interface ExecutedStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

const strength: Readonly<Record<Purpose, number>> = { reference: 1, change: 2, removal: 3 };

export class LockRecorder {
  readonly steps: LockStep[] = [];
  readonly #relations: Relations;
  readonly #transactions = new WeakMap<object, Transaction>();
  readonly #original = pg.Client.prototype.query as unknown as Query;

  private constructor(relations: Relations) {
    this.#relations = relations;
  }

  static async on(address: string): Promise<LockRecorder> {
    const recorder = new LockRecorder(await relationsOf(address));
    recorder.#patchQuery();
    return recorder;
  }

  end(): void {
    pg.Client.prototype.query = this.#original as never;
  }

  #patchQuery(): void {
    const [begin, record] = [this.#begin.bind(this), this.#record.bind(this)];
    const original = this.#original;
    pg.Client.prototype.query = function (this: pg.Client, ...parts: unknown[]) {
      const answer = original.apply(this, parts);
      const statement = statementOf(parts[0]);
      // Its response may be read together with the next statement's.
      if (statement.text.startsWith("BEGIN")) begin(this);
      const recordResult = (result: RecordedResult) => record(this, statement, result);
      if (answer instanceof StatementExecution) void answer.result.then(recordResult, () => {});
      if (!(answer instanceof Promise)) return answer;
      return answer.then((result: pg.QueryResult) => {
        recordResult({ rows: result.rows, rowCount: result.rowCount ?? 0 });
        return result;
      });
    } as never;
  }

  #begin(client: object): void {
    this.#transactions.set(client, { locks: [], seen: new Set(), made: new Set(), steps: [], label: "" });
  }

  #record(client: object, statement: ExecutedStatement, result: RecordedResult): void {
    const transaction = this.#transactions.get(client);
    if (transaction === undefined) return;
    if (statement.text === "COMMIT" || statement.text === "ROLLBACK") {
      const label = transaction.label || statement.text.toLowerCase();
      this.steps.push(...transaction.steps.map((step) => ({ ...step, label })));
      this.#transactions.delete(client);
      return;
    }
    if (statement.text.includes("audit_events"))
      transaction.label = statement.values.map(String).find((value) => /^[a-z-]+\.[a-z-]+$/.test(value)) ?? "";
    if (result.rowCount > 0) this.#hold(transaction, statement, result);
  }

  #hold(transaction: Transaction, { text, values }: ExecutedStatement, result: RecordedResult): void {
    const { locks, seen, steps } = transaction;
    for (const lock of locksOf(text, values, this.#relations)) {
      if (isHeld(transaction, lock, values)) continue;
      const organization = strongest(locks.filter((held) => held.table === "organizations"));
      if (lock.waits) steps.push(...locks.map((from) => ({ from, to: lock, organization })));
      if (!lock.isOrdered) steps.push({ from: lock, to: lock, organization });
      locks.push(lock);
    }
    for (const id of idsInsertedBy(text, values)) transaction.made.add(id);
    if (!/^insert|\bfor (no key update|update|key share)\b/.test(text)) return;
    for (const value of [...values, ...result.rows.flatMap((row) => Object.values(row))])
      if (typeof value === "string" && value.includes("-")) seen.add(value);
  }
}

function isHeld({ locks, seen, made }: Transaction, lock: Lock, values: readonly unknown[]): boolean {
  const isStrongEnough = locks.some(
    (held) => held.table === lock.table && strength[held.purpose] >= strength[lock.purpose],
  );
  // A transaction takes the locks of all its organizations together.
  if (lock.table === "organizations" && isStrongEnough) return true;
  if (lock.referred !== undefined)
    return lock.referred.every((value) => (value === undefined ? isStrongEnough : hasSeen(seen, value)));
  if (lock.isLocking) return false;
  return values.some((value) => hasSeen(made, value) || (isStrongEnough && hasSeen(seen, value)));
}

function statementOf(first: unknown): ExecutedStatement {
  if (typeof first === "string") return { text: first, values: [] };
  const { text = "", values = [] } = first as Partial<ExecutedStatement>;
  return { text, values };
}

function hasSeen(seen: ReadonlySet<string>, value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every((each) => seen.has(String(each)));
  return typeof value === "string" && seen.has(value);
}

function strongest(locks: readonly Lock[]): Purpose | undefined {
  return locks.map(({ purpose }) => purpose).toSorted((left, right) => strength[right] - strength[left])[0];
}

export function doConflict(one: Purpose, other: Purpose): boolean {
  return one === "removal" || other === "removal" || (one === "change" && other === "change");
}
