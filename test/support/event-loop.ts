/** Measures how long a task blocks the event loop, in statements instead of time. */
import type { Database } from "../../src/database/database.ts";

/** The largest number of statements that ran without letting other work run. */
export async function maxStatementsPerTurn(database: Database, work: () => Promise<unknown>): Promise<number> {
  let [max, before, isDone] = [0, database.statementCount(), false];
  const count = () => {
    const now = database.statementCount();
    max = Math.max(max, now - before);
    before = now;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isDone = true;
  return max;
}
