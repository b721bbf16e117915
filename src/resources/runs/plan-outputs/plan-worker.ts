/** The thread that reads plans: what is in them is somebody else's, so reading one must hold up nothing else, and may be ended at any time. */
import { parentPort, workerData } from "node:worker_threads";
import { drawPlan, PlanFault, readPlanMembers, summaryOf } from "./drawing.ts";
import type { PlanTask, PlanTaskResult } from "./plan-thread.ts";

function carriedOut(task: PlanTask): PlanTaskResult {
  try {
    if (task.kind === "draw") return { drawn: drawPlan(task) };
    return { summary: summaryOf(readPlanMembers(task.plan, ["resource_drift", "checks"])) };
  } catch (error) {
    if (error instanceof PlanFault) return { fault: error.message };
    throw error;
  }
}

const result = carriedOut(workerData as PlanTask);
parentPort?.postMessage(result, "drawn" in result ? [result.drawn.buffer as ArrayBuffer] : []);
