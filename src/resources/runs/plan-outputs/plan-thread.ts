/**
 * Reading plans off the main thread, within bounds of time and memory. Each organization has one at a time and its turn after the
 * others', so that nobody's plan keeps another's waiting for more than one of each.
 */
import { Worker } from "node:worker_threads";
import { AppError, conflict } from "../../../kernel/errors.ts";
import { programBeside } from "../../../kernel/programs.ts";
import { readContent, type StoredContent } from "../../shared/contents/contents.ts";
import type { Context } from "../../shared/context.ts";
import type { PlanBytes, PlanSummary } from "./drawing.ts";

export type PlanTask =
  | ({ readonly kind: "draw" } & PlanBytes)
  | { readonly kind: "summary"; readonly plan: Uint8Array };
export type PlanTaskResult =
  | { readonly drawn: Uint8Array }
  | { readonly summary: PlanSummary }
  | { readonly fault: string };

const timeoutMs = 60_000;
const memoryMb = 1024;
const atOnceMax = 2;
const waitingMax = 32;

/** Raises `too-many-requests`, and `conflict` for a plan that can't be read. */
export async function drawnInThread(organizationId: string, bytes: () => Promise<PlanBytes>): Promise<Uint8Array> {
  if (turns.waiting(organizationId) >= waitingMax)
    throw new AppError("too-many-requests", "Too many plans are being drawn at once. Try again shortly.", {
      retryAfterSeconds: 2,
    });
  const result = await turns.take(organizationId, async () => run({ kind: "draw", ...(await bytes()) }));
  return "drawn" in result ? result.drawn : refuse("fault" in result ? result.fault : "nothing was drawn");
}

/** Undefined for a plan that can't be read. */
export async function summaryInThread(
  organizationId: string,
  bytes: () => Promise<Uint8Array>,
): Promise<PlanSummary | undefined> {
  const result = await turns.take(organizationId, async () => run({ kind: "summary", plan: await bytes() }));
  return "summary" in result ? result.summary : undefined;
}

/** Whole, in memory of its own, so that it can be handed over. Raises an Error where it is not what was stored. */
export async function bytesOf(context: Context, content: StoredContent): Promise<Uint8Array> {
  const bytes = new Uint8Array(content.size);
  let at = 0;
  for await (const piece of readContent(context, content)) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

function refuse(fault: string): never {
  throw conflict(`This plan can't be drawn: ${fault}. Its log tells what changes.`);
}

/** One thread for one plan: what it leaves in memory goes with it. */
async function run(task: PlanTask): Promise<PlanTaskResult> {
  const worker = new Worker(programBeside(import.meta.url, "plan-worker.ts"), {
    workerData: task,
    transferList: [task.plan, "schemas" in task ? task.schemas : undefined].flatMap((bytes) =>
      bytes === undefined ? [] : [bytes.buffer as ArrayBuffer],
    ),
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  const { promise, resolve, reject } = Promise.withResolvers<PlanTaskResult>();
  const timer = setTimeout(
    () => resolve({ fault: `it takes longer than ${timeoutMs / 1000} seconds to read` }),
    timeoutMs,
  );
  worker.once("message", resolve);
  worker.once("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "ERR_WORKER_OUT_OF_MEMORY") reject(error);
    else resolve({ fault: `it takes more than ${memoryMb} MiB of memory to read` });
  });
  worker.once("exit", (code) => reject(new Error(`the thread that reads plans ended with ${code}`)));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

/** Who waits, by organization; one that was served goes to the end. */
class Turns {
  readonly #lines = new Map<string, (() => void)[]>();
  readonly #served = new Set<string>();

  waiting(organizationId: string): number {
    return this.#lines.get(organizationId)?.length ?? 0;
  }

  async take<T>(organizationId: string, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => {
      this.#lines.set(organizationId, [...(this.#lines.get(organizationId) ?? []), resolve]);
      this.#serve();
    });
    try {
      return await work();
    } finally {
      this.#served.delete(organizationId);
      this.#serve();
    }
  }

  #serve(): void {
    for (const [organizationId, [first, ...rest]] of this.#lines) {
      if (this.#served.size >= atOnceMax) return;
      if (this.#served.has(organizationId) || first === undefined) continue;
      this.#lines.delete(organizationId);
      if (rest.length > 0) this.#lines.set(organizationId, rest);
      this.#served.add(organizationId);
      first();
    }
  }
}

const turns = new Turns();
