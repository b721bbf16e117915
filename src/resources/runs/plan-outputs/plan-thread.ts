/** Reads plans in worker threads with time and memory limits; one per organization, so that none blocks the others. */
import { Worker } from "node:worker_threads";
import { AppError, conflict } from "../../../kernel/errors.ts";
import { siblingProgramUrl } from "../../../kernel/programs.ts";
import { readContent, type StoredContent } from "../../shared/contents/contents.ts";
import type { Context } from "../../shared/context.ts";
import { OrganizationQueue } from "../../shared/organization-queue.ts";
import type { PlanBytes, PlanSummary } from "./plan-bytes.ts";

export type PlanTask =
  | ({ readonly kind: "redact" } & PlanBytes)
  | { readonly kind: "summary"; readonly plan: Uint8Array };
export type PlanTaskResult =
  | { readonly redacted: Uint8Array }
  | { readonly summary: PlanSummary }
  | { readonly fault: string };

const timeoutMs = 60_000;
const memoryMb = 1024;
const threadsMax = 2;
const waitingMax = 32;

/** Throws `too-many-requests`, and `conflict` for a plan that can't be read. */
export async function redactPlanInThread(organizationId: string, bytes: () => Promise<PlanBytes>): Promise<Uint8Array> {
  if (queue.waiting(organizationId) >= waitingMax)
    throw new AppError("too-many-requests", "Too many plans are being rendered at the moment. Try again shortly.", {
      retryAfterSeconds: 2,
    });
  const result = await queue.run(organizationId, async () => run({ kind: "redact", ...(await bytes()) }));
  return "redacted" in result ? result.redacted : refuse("fault" in result ? result.fault : "there is no output");
}

export async function summarizePlanInThread(
  organizationId: string,
  bytes: () => Promise<Uint8Array>,
): Promise<PlanSummary | undefined> {
  const result = await queue.run(organizationId, async () => run({ kind: "summary", plan: await bytes() }));
  return "summary" in result ? result.summary : undefined;
}

/** In its own buffer, which can be transferred to the worker. Throws if the stored content is damaged. */
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
  throw conflict(`This plan can't be rendered: ${fault}. Read the plan's log instead.`);
}

/** One thread per plan frees its memory. */
async function run(task: PlanTask): Promise<PlanTaskResult> {
  const worker = new Worker(siblingProgramUrl(import.meta.url, "plan-worker.ts"), {
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
  worker.once("exit", (code) => reject(new Error(`The plan worker exited with code ${code}.`)));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

const queue = new OrganizationQueue(threadsMax);
