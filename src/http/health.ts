/** Liveness and readiness probes. */
import type { FastifyInstance } from "fastify";
import type { Database } from "../database/database.ts";
import { readFenceState, type FenceState } from "../database/fence.ts";
import { AppError } from "../kernel/errors.ts";
import type { ContentPlace } from "../resources/shared/contents/content-place.ts";

export interface ServerPhase {
  readonly isStarting: () => boolean;
  readonly isStopping: () => boolean;
  readonly contentPlace: ContentPlace | undefined;
}

export function mountHealth(
  server: FastifyInstance,
  database: Database,
  { isStarting, isStopping, contentPlace }: ServerPhase,
): void {
  const readState = sharedRead(database);
  server.get("/healthz", async () => ({ status: "alive" }));
  server.get("/readyz", async () => {
    if (isStopping()) throw new AppError("unavailable", "The service is stopping.", { retryAfterSeconds: 5 });
    if (isStarting()) throw starting();
    const status = database.fence.readiness(await withDeadline(readState()));
    // Without contents the server still does everything else, so it stays ready.
    return { status, contents: contentPlace?.status ?? "database" };
  });
}

const starting = () =>
  new AppError("unavailable", "The service is starting. Try again shortly.", { retryAfterSeconds: 1 });

export function refuseWhileStarting(route: string | undefined): void {
  if (route !== "/healthz" && route !== "/readyz") throw starting();
}

/** One read at a time, so that probes don't take all connections while the database hangs. */
function sharedRead({ reader }: Database): () => Promise<FenceState> {
  let underway: Promise<FenceState> | undefined;
  return () => (underway ??= readFenceState(reader.db).finally(() => (underway = undefined)));
}

/** Shorter than the usual timeouts of load balancers and scrapers. */
const deadlineMs = 2_000;

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

/** Undefined after the deadline, because the other metrics matter most when the database hangs. */
export async function withDeadlineOrUndefined<T>(pending: Promise<T>): Promise<T | undefined> {
  try {
    return await withDeadline(pending);
  } catch {
    return undefined;
  }
}
