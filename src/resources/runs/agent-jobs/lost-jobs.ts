/** Ends jobs whose agent is silent or late. Requeues only a plan whose engine was not started: other jobs may have had effects. */
import type { Tx } from "../../../database/database.ts";
import { agentTimeoutMs } from "../../connections/agent-pools/reads.ts";
import type { Context } from "../../shared/context.ts";
import type { JobContext } from "../../shared/job-context.ts";
import { endedPhases } from "../../shared/process-events.ts";
import { appendServiceMessage } from "../phases/logs.ts";
import { findLostPhases, type LostPhase } from "../phases/claims.ts";
import { lockRun } from "../runs/reads.ts";
import { transitionRun } from "../runs/lifecycle.ts";
import { timeoutSecondsOf } from "./job.ts";
import { endedPhaseMetric } from "./reports.ts";

const batch = 20;
/** A plan that loses every agent may itself be the cause. */
const requeuesMax = 3;
/** Agents enforce the time limit; the server steps in this much later. */
const lateMs = 10 * 60_000;

export async function resolveLostJobs({ context, capability, signal, step }: JobContext): Promise<number> {
  const limits = {
    silentMs: agentTimeoutMs,
    planMs: timeoutSecondsOf(context.options, "plan") * 1000 + lateMs,
    applyMs: timeoutSecondsOf(context.options, "apply") * 1000 + lateMs,
  };
  let resolved = 0;
  let failure: unknown;
  while (!signal.aborted) {
    const lost = await findLostPhases(context.database.reader, limits, batch);
    const before = resolved;
    for (const phase of lost) {
      try {
        const result = await step((tx) => endOrRequeue(tx, context, capability, phase, limits));
        if (result !== undefined) resolved += 1;
        if (result === "ended") endedPhases.publish(endedPhaseMetric(phase, "lost", phase.nowMs));
      } catch (error) {
        failure ??= error;
        if (signal.aborted) break;
      }
    }
    if (lost.length < batch || resolved === before) break;
  }
  if (failure !== undefined) throw failure;
  return resolved;
}

/** Undefined if the agent has reported before the lock was acquired. */
async function endOrRequeue(
  tx: Tx,
  context: Context,
  capability: JobContext["capability"],
  lost: LostPhase,
  limits: Parameters<typeof findLostPhases>[1],
): Promise<"requeued" | "ended" | undefined> {
  const run = capability.proofFor(await lockRun(tx, lost.runId));
  const [phase] = (await findLostPhases(tx, limits, 1_000)).filter(({ id }) => id === lost.id);
  if (phase === undefined || phase.attempt !== lost.attempt) return undefined;
  const isSilent = (phase.heardMs ?? 0) < phase.nowMs - limits.silentMs;
  if (isSilent && phase.kind === "plan" && phase.engineStarted === 0 && phase.attempt <= requeuesMax) {
    await transitionRun(tx, context, run, { event: "phase-returned" });
    return "requeued";
  }
  const errorMessage = isSilent
    ? `The agent ${phase.agentName ?? ""} was lost: it sent no heartbeat for ${limits.silentMs / 1000} seconds. ${
        phase.kind === "apply"
          ? "The state may be missing changes that the apply made. Check the state before you apply again."
          : "Start another run."
      }`
    : `The ${phase.kind} exceeded its time limit of ${timeoutSecondsOf(context.options, phase.kind)} seconds and was ended.`;
  await appendServiceMessage(tx, context.vault, phase.id, errorMessage);
  await transitionRun(tx, context, capability.proofFor(await lockRun(tx, lost.runId)), {
    event: "phase-errored",
    phase: { errorMessage, signal: "kill" },
    description: errorMessage,
  });
  return "ended";
}
