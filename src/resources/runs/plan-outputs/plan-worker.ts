/** The worker thread that reads plans, which are untrusted: it can be terminated at any time. */
import { parentPort, workerData } from "node:worker_threads";
import { redactPlanBytes, PlanFault, readPlanMembers, summaryOf } from "./plan-bytes.ts";
import type { PlanTask, PlanTaskResult } from "./plan-thread.ts";

function runTask(task: PlanTask): PlanTaskResult {
  try {
    if (task.kind === "redact") return { redacted: redactPlanBytes(task) };
    return { summary: summaryOf(readPlanMembers(task.plan, ["resource_drift", "checks"])) };
  } catch (error) {
    if (error instanceof PlanFault) return { fault: error.message };
    throw error;
  }
}

const result = runTask(workerData as PlanTask);
parentPort?.postMessage(result, "redacted" in result ? [result.redacted.buffer as ArrayBuffer] : []);
