/**
 * Jobs whose agent was lost, or that take longer than they may: each is decided once, and never hangs. A plan whose engine was not
 * started goes back to the queue, a few times; everything else has failed, because nobody knows what the engine did.
 */
import type { Tx } from "../../../database/database.ts";
import { silentMs } from "../../connections/agent-pools/reads.ts";
import type { Context } from "../../shared/context.ts";
import type { JobWork } from "../../shared/job-work.ts";
import { tellEndedPhase } from "../../shared/measures.ts";
import { sayInLog } from "../phases/logs.ts";
import { findLostPhases, type LostPhase } from "../phases/claims.ts";
import { lockRun } from "../runs/reads.ts";
import { advance } from "../runs/lifecycle.ts";
import { timeoutSecondsOf } from "./job.ts";
import { endedPhaseOf } from "./reports.ts";

const atOnce = 20;
/** A plan that loses every agent may be the cause. */
const returnsMax = 3;
/** An agent ends a phase itself when its time is over; this long after that it is not believed any more. */
const lateMs = 10 * 60_000;

/** Gives how many were decided. */
export async function decideLostJobs({ context, capability, signal, step }: JobWork): Promise<number> {
  const limits = {
    silentMs,
    planMs: timeoutSecondsOf(context.options, "plan") * 1000 + lateMs,
    applyMs: timeoutSecondsOf(context.options, "apply") * 1000 + lateMs,
  };
  let decided = 0;
  let failure: unknown;
  while (!signal.aborted) {
    const lost = await findLostPhases(context.database.reader, limits, atOnce);
    const before = decided;
    for (const phase of lost) {
      try {
        const how = await step((tx) => decide(tx, context, capability, phase, limits));
        if (how !== undefined) decided += 1;
        if (how === "ended") tellEndedPhase(endedPhaseOf(phase, "lost", phase.nowMs));
      } catch (error) {
        // One that can't be decided must not keep the others waiting; it is told at the end.
        failure ??= error;
        if (signal.aborted) break;
      }
    }
    if (lost.length < atOnce || decided === before) break;
  }
  if (failure !== undefined) throw failure;
  return decided;
}

/** It is looked at again, now that it is held: its agent may have come back. */
async function decide(
  tx: Tx,
  context: Context,
  capability: JobWork["capability"],
  seen: LostPhase,
  limits: Parameters<typeof findLostPhases>[1],
): Promise<"returned" | "ended" | undefined> {
  const run = capability.grant(await lockRun(tx, seen.runId));
  const [phase] = (await findLostPhases(tx, limits, 1_000)).filter(({ id }) => id === seen.id);
  if (phase === undefined || phase.attempt !== seen.attempt) return undefined;
  const isSilent = (phase.heardMs ?? 0) < phase.nowMs - limits.silentMs;
  if (isSilent && phase.kind === "plan" && phase.engineStarted === 0 && phase.attempt <= returnsMax) {
    await advance(tx, context, run, { event: "phase-returned" });
    return "returned";
  }
  const errorMessage = isSilent
    ? `The agent ${phase.agentName ?? ""} was lost: nothing was heard of it for ${limits.silentMs / 1000} seconds. ${
        phase.kind === "apply"
          ? "What it had changed by then may not be in the state; look at the state before you apply again."
          : "Start another run."
      }`
    : `The ${phase.kind} took longer than it may (${timeoutSecondsOf(context.options, phase.kind)} seconds) and was given up.`;
  await sayInLog(tx, context.vault, phase.id, errorMessage);
  await advance(tx, context, capability.grant(await lockRun(tx, seen.runId)), {
    event: "phase-errored",
    phase: { errorMessage, signal: "kill" },
    description: errorMessage,
  });
  return "ended";
}
