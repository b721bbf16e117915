/** Counts statements between two turns of the event loop. */
import type { Database } from "../../src/database/database.ts";

/** Measures how long other work waits, without a clock. */
export async function mostStatementsInATurn(database: Database, work: () => Promise<unknown>): Promise<number> {
  let [most, before, isOver] = [0, database.statementCount(), false];
  const count = () => {
    const now = database.statementCount();
    most = Math.max(most, now - before);
    before = now;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return most;
}
