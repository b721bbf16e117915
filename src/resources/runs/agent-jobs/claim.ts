/** How an agent comes to a job: the first in line that it may have, by one transaction that makes it the agent's alone. */
import type { Tx } from "../../../database/database.ts";
import { newToken, tokenHash } from "../../../kernel/ids.ts";
import type { Context } from "../../shared/context.ts";
import { hear, type Serving } from "../agents/writes.ts";
import { engineWord, findClaimable, poolOf } from "../phases/claims.ts";
import { lockRun } from "../runs/reads.ts";
import { advance } from "../runs/lifecycle.ts";
import { type AgentJob, putTogether } from "./job.ts";
import { lookoutOf } from "./waiting.ts";

export interface Claim {
  readonly agentId: string;
  readonly waitMs: number;
  readonly engines: {
    readonly terraform?: readonly string[] | undefined;
    readonly tofu?: readonly string[] | undefined;
  };
}

/** Waits for as long as is asked; undefined when nothing came. Raises `not-found` for an agent that has to register again. */
export async function claim(
  context: Context,
  by: Serving,
  { agentId, waitMs, engines }: Claim,
): Promise<AgentJob | undefined> {
  const { database, isGone = () => false } = context;
  const words = (["terraform", "tofu"] as const).flatMap((engine) =>
    (engines[engine] ?? []).map((version) => engineWord(engine, version)),
  );
  const end = performance.now() + waitMs;
  const engineList = JSON.stringify(engines);
  const agent = await database.write((tx) => hear(tx, by, agentId, { status: "idle", engines: engineList }));
  for (;;) {
    const job = await database.write((tx) => take(tx, context, by, agent, words));
    const leftMs = end - performance.now();
    if (job !== undefined || leftMs <= 0 || isGone()) return job;
    const known = new Set(words);
    const sees = ({ waiting }: { waiting: readonly { pool: string; engine: string; engineVersion: string }[] }) =>
      waiting.some((kind) => kind.pool === poolOf(by) && known.has(engineWord(kind.engine, kind.engineVersion)));
    await lookoutOf(database).wait({ jobId: undefined, sees }, leftMs, isGone);
    // It is not taken for somebody who went away meanwhile.
    if (isGone()) return undefined;
  }
}

const triesMax = 3;

/** Compare and set, with the workspace held: of many who claim at once each gets another. */
async function take(
  tx: Tx,
  context: Context,
  by: Serving,
  agent: { readonly id: string; readonly name: string },
  engines: readonly string[],
): Promise<AgentJob | undefined> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const candidate = await findClaimable(tx, by, engines);
    if (candidate === undefined) return undefined;
    const run = candidate.claim.grant(await lockRun(tx, candidate.runId));
    const kind = candidate.kind === "plan" ? "plan" : "apply";
    // Somebody may have had it between the two statements.
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
    const after = await advance(tx, context, run, { event: "claim", phase: claimed as never });
    return putTogether(tx, context, after, { id: candidate.id, kind, attempt, token });
  }
  return undefined;
}
