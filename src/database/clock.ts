/** Keeps this process at the clock of the database that several servers share (`kernel/time.ts`). */
import { sql } from "kysely";
import { followClock } from "../kernel/time.ts";
import type { Database } from "./database.ts";

/** So that a node that takes over, and whose clock is another, is followed soon. */
const everyMs = 2_000;

export interface ClockWatch {
  stop(): void;
}

/** Returns when the clock was read once. Raises what the database raises; later failures are passed over, and time goes on by itself. */
export async function watchClock(database: Database): Promise<ClockWatch> {
  // The embedded database has no clock but this machine's.
  if (database.dialect.name === "sqlite") return { stop: () => {} };
  let isStopped = false;
  const read = async () => {
    const askedAt = performance.now();
    const { rows } = await sql<{ nowMs: number }>`select ${database.dialect.nowMs} as "nowMs"`.execute(
      database.reader.db,
    );
    const clockMs = rows[0]?.nowMs;
    if (clockMs !== undefined && !isStopped) followClock({ clockMs, askedAt, answeredAt: performance.now() });
  };
  await read();
  let isReading = false;
  const timer = setInterval(() => {
    if (isReading) return;
    isReading = true;
    void read()
      .catch(() => {})
      .finally(() => (isReading = false));
  }, everyMs).unref();
  return {
    stop: () => {
      isStopped = true;
      clearInterval(timer);
      followClock(undefined);
    },
  };
}
