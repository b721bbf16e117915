/** Writes by agents to their own rows, and the removal of agents that stopped pinging. */
import { authorize, type Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { AgentTable } from "../../../database/schema/runs.ts";
import { now } from "../../../kernel/time.ts";
import { notFound } from "../../../kernel/errors.ts";
import { recordEvents } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { JobContext } from "../../shared/job-context.ts";
import type { AgentActor } from "../phases/claims.ts";
import {
  type AgentEngines,
  fetchesEngines,
  fetchingColumn,
  type UnavailableEngineVersion,
  withUnavailable,
} from "../phases/engines.ts";
import { findAgentFetching } from "./reads.ts";
import { deleteVanishedAgents, touchAgent } from "./store.ts";

export type AgentProof = Granted<AgentActor, "can-serve">;

export function requireAgent({ actor }: Pick<Context, "actor">): AgentProof {
  if (actor.kind !== "agent") throw notFound("path");
  const check = { thing: "agent", permission: "can-serve", visible: true, allowed: true } as const;
  return authorize(actor, { ...check, needs: "a token of an agent pool" });
}

/** Columns that the report doesn't mention keep their values. */
export const engineColumns = (
  engines: object | undefined,
  unavailable: readonly UnavailableEngineVersion[] | undefined,
): Partial<AgentEngines> => ({
  ...(engines !== undefined && { engines: JSON.stringify(engines) }),
  ...(unavailable !== undefined && { fetching: fetchingColumn(unavailable) }),
});

/** A job found that its engine can't be fetched; the agent's next report has the same. */
export async function recordUnavailableEngine(
  tx: Tx,
  by: AgentProof,
  id: string,
  engine: UnavailableEngineVersion,
): Promise<void> {
  const agent = await findAgentFetching(tx, id);
  if (agent !== undefined && fetchesEngines(agent))
    await recordPing(tx, by, id, { fetching: withUnavailable(agent, engine) });
}

/** Throws `not-found` for an unknown agent, which has to register again. */
export async function recordPing(
  tx: Tx,
  by: AgentProof,
  id: string,
  changes: Parameters<typeof touchAgent>[3] = {},
): Promise<Pick<AgentTable, "id" | "name" | "fetching">> {
  const agent = await touchAgent(tx, by, id, changes);
  if (agent === undefined) throw notFound("agent");
  return agent;
}

/** The site's first agent enables runs for every organization, including future ones. */
export async function insertSiteOperations(
  tx: Tx,
  _by: Granted<object, "can-serve" | "can-administer">,
): Promise<void> {
  await tx.db
    .insertInto("siteOperations")
    .values({ name: "site", createdAt: now() })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
}

const removedAfterMs = 24 * 3_600_000;

export async function removeVanishedAgents(
  tx: Tx,
  { context, capability }: Pick<JobContext, "context" | "capability">,
  limit: number,
): Promise<number> {
  const deleted = await deleteVanishedAgents(tx, capability, removedAfterMs, limit);
  await recordEvents(
    tx,
    context,
    deleted.map(({ id, organizationId, name }) => ({
      organizationId,
      verb: "delete",
      subject: { type: "agents", id },
      before: { name },
    })),
  );
  return deleted.length;
}
