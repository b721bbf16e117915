/** Lets an agent claim the next job that it can execute, waiting for one if necessary. */
import type { Tx } from "../../../database/database.ts";
import { newToken, tokenHash } from "../../../kernel/ids.ts";
import type { Context } from "../../shared/context.ts";
import { findFetchReports } from "../agents/reads.ts";
import { engineColumns, recordPing, type AgentProof } from "../agents/writes.ts";
import { type ClaimableEngines, findClaimablePhase, poolOf, type QueuedEngine } from "../phases/claims.ts";
import { engineKey, fetchesEngines, type UnavailableEngineVersion, unavailableOf } from "../phases/engines.ts";
import { lockRun } from "../runs/reads.ts";
import { transitionRun } from "../runs/lifecycle.ts";
import { type AgentJob, buildJob } from "./job.ts";
import { queueWatcherOf } from "./queue-watcher.ts";

export interface ClaimRequest {
  readonly agentId: string;
  readonly waitMs: number;
  readonly engines: {
    readonly terraform?: readonly string[] | undefined;
    readonly tofu?: readonly string[] | undefined;
  };
  readonly unavailable: readonly UnavailableEngineVersion[] | undefined;
}

/** Undefined after `waitMs` without a job. Throws `not-found` for an agent that has to register again. */
export async function claimJob(
  context: Context,
  by: AgentProof,
  { agentId, waitMs, engines, unavailable }: ClaimRequest,
): Promise<AgentJob | undefined> {
  const { database, isDisconnected = () => false } = context;
  const installed = (["terraform", "tofu"] as const).flatMap((engine) =>
    (engines[engine] ?? []).map((version) => engineKey(engine, version)),
  );
  const deadline = performance.now() + waitMs;
  const report = { status: "idle", ...engineColumns(engines, unavailable) };
  const agent = await database.write((tx) => recordPing(tx, by, agentId, report));
  for (;;) {
    // Another job may have found that an engine is unavailable.
    const reports = fetchesEngines(agent) ? await findFetchReports(database.reader, by, agent.id) : undefined;
    const unavailableNow = reports?.flatMap((report) => unavailableOf(report));
    const claimable = {
      installed,
      unavailable: unavailableNow?.map(({ engine, version }) => engineKey(engine, version)),
    };
    const job = await database.write((tx) => claimNextPhase(tx, context, by, agent, claimable));
    const leftMs = deadline - performance.now();
    if (job !== undefined || leftMs <= 0 || isDisconnected()) return job;
    const hasClaimableJob = ({ waiting }: { readonly waiting: readonly QueuedEngine[] }) =>
      waiting.some(({ pool, engine, engineVersion }) => {
        const key = engineKey(engine, engineVersion);
        return pool === poolOf(by) && (installed.includes(key) || claimable.unavailable?.includes(key) === false);
      });
    await queueWatcherOf(database).wait({ jobId: undefined, matches: hasClaimableJob }, leftMs, isDisconnected);
    if (isDisconnected()) return undefined;
  }
}

const triesMax = 3;

/** The status check under the workspace lock gives concurrent claims different jobs. */
async function claimNextPhase(
  tx: Tx,
  context: Context,
  by: AgentProof,
  agent: { readonly id: string; readonly name: string },
  engines: ClaimableEngines,
): Promise<AgentJob | undefined> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const candidate = await findClaimablePhase(tx, by, engines);
    if (candidate === undefined) return undefined;
    const run = candidate.claim.proofFor(await lockRun(tx, candidate.runId));
    const kind = candidate.kind === "plan" ? "plan" : "apply";
    if ((kind === "plan" ? run.planStatus : run.applyStatus) !== "queued") continue;
    const attempt = (kind === "plan" ? run.planAttempt : run.applyAttempt) + 1;
    const token = newToken();
    const claimed = {
      attempt,
      agentId: agent.id,
      agentName: agent.name,
      agentPoolName: by.name,
      claimedMs: tx.dialect.nowMs,
      heardMs: tx.dialect.nowMs,
      engineStarted: 0,
      signal: null,
      tokenHash: tokenHash(token),
    };
    const after = await transitionRun(tx, context, run, { event: "claim", phase: claimed as never });
    return buildJob(tx, context, after, { id: candidate.id, kind, attempt, token });
  }
  return undefined;
}
