/** Checks policies in a worker thread with a time limit: Cedar takes seconds to list the errors of some policies. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { AppError } from "../../../kernel/errors.ts";
import { siblingProgramUrl } from "../../../kernel/programs.ts";
import { OrganizationQueue } from "../../shared/organization-queue.ts";
import { type ParsedPolicy, invalidPolicy } from "./policy.ts";

/** Includes the start of the thread, on a slow machine. */
const timeLimitMs = 10_000;
/** Loading the engine takes longer than most checks, and the console checks while somebody types. */
const idleMs = 60_000;
const waitingMax = 32;

const queue = new OrganizationQueue(1);
let thread: Worker | undefined;
let idleTimer: NodeJS.Timeout | undefined;

/** Throws `too-many-requests`. */
export async function checkPolicy(organizationId: string, text: string, limitMs = timeLimitMs): Promise<ParsedPolicy> {
  if (queue.waiting(organizationId) >= waitingMax)
    throw new AppError("too-many-requests", "Too many policies are being checked at the moment. Try again shortly.", {
      retryAfterSeconds: 2,
    });
  return queue.run(organizationId, () => checkInThread(text, limitMs));
}

async function checkInThread(text: string, limitMs: number): Promise<ParsedPolicy> {
  clearTimeout(idleTimer);
  const worker = (thread ??= startThread());
  const signal = AbortSignal.timeout(limitMs);
  worker.postMessage(text);
  try {
    const [parsed] = (await once(worker, "message", { signal })) as [ParsedPolicy];
    return parsed;
  } catch (error) {
    stopThread();
    if (signal.aborted) return invalidPolicy("takes too long to check: shorten it, or use several rules");
    throw error;
  } finally {
    idleTimer = setTimeout(stopThread, idleMs).unref();
  }
}

function startThread(): Worker {
  const worker = new Worker(siblingProgramUrl(import.meta.url, "policy-worker.ts"), { execArgv: [] });
  worker.unref();
  // An error without a listener would end the server.
  worker.on("error", () => worker === thread && stopThread());
  return worker;
}

function stopThread(): void {
  void thread?.terminate();
  thread = undefined;
}
