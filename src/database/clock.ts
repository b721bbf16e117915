/** Keeps this process on the clock of a shared database (`kernel/time.ts`). */
import { sql } from "kysely";
import { followClock } from "../kernel/time.ts";
import type { Database } from "./database.ts";

/** Short, because a failover can change the clock. */
const intervalMs = 2_000;

export interface ClockWatch {
  stop(): void;
}

/** Returns after the first reading. Throws the database's error; later failures are ignored, and time advances locally. */
export async function watchClock(database: Database): Promise<ClockWatch> {
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
  }, intervalMs).unref();
  return {
    stop: () => {
      isStopped = true;
      clearInterval(timer);
      followClock(undefined);
    },
  };
}
