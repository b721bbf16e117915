/** For those who run the service: is it alive, and is it ready. */
import type { FastifyInstance } from "fastify";
import type { Database } from "../database/database.ts";
import { readFenceState, type FenceState } from "../database/fence.ts";
import { AppError } from "../kernel/errors.ts";

export interface ServerPhase {
  /** It listens, but what a first start has to do is not done. */
  readonly isStarting: () => boolean;
  readonly isStopping: () => boolean;
}

export function mountHealth(
  server: FastifyInstance,
  database: Database,
  { isStarting, isStopping }: ServerPhase,
): void {
  const look = sharedRead(database);
  server.get("/healthz", async () => ({ status: "alive" }));
  server.get("/readyz", async () => {
    if (isStopping()) throw new AppError("unavailable", "The service is stopping.", { retryAfterSeconds: 5 });
    if (isStarting()) throw starting();
    return { status: database.fence.readiness(await withDeadline(look())) };
  });
}

const starting = () =>
  new AppError("unavailable", "The service is starting. Try again shortly.", { retryAfterSeconds: 1 });

/** Until its schema is the one that this version needs, nothing is pending of the database for a request. Raises `unavailable`. */
export function refuseWhileStarting(route: string | undefined): void {
  if (route !== "/healthz" && route !== "/readyz") throw starting();
}

/** One look at a time: those who ask while the database hangs must not take its connections from everybody else. */
function sharedRead({ reader }: Database): () => Promise<FenceState> {
  let underway: Promise<FenceState> | undefined;
  return () => (underway ??= readFenceState(reader.db).finally(() => (underway = undefined)));
}

/** Less than balancers and scrapers usually wait. */
const deadlineMs = 2_000;

/** Raises `unavailable` where it takes longer than those who watch a service want to wait. */
async function withDeadline<T>(pending: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new AppError("unavailable", "The database does not answer. Try again shortly.", {
      retryAfterSeconds: 2,
    });
    timer = setTimeout(() => reject(error), deadlineMs);
  });
  try {
    return await Promise.race([pending, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** None when the database does not answer: the other figures are wanted then most of all. */
export async function withDeadlineOrUndefined<T>(pending: Promise<T>): Promise<T | undefined> {
  try {
    return await withDeadline(pending);
  } catch {
    return undefined;
  }
}
