/** What agents have done to their own rows, and what becomes of those that vanish. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import { recordEvents } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { AgentActor } from "../phases/claims.ts";
import { deleteVanishedAgents, touchAgent } from "./store.ts";

export { insertSiteOperations } from "./store.ts";

/** That a token of an agent pool calls: it may serve that pool. */
export type Serving = Granted<AgentActor, "can-serve">;

/** Raises `not-found` for everybody but agents. */
export function servingAs({ actor }: Pick<Context, "actor">): Serving {
  if (actor.kind !== "agent") throw notFound("thing");
  return actor as Serving;
}

/** Raises `not-found` for an agent that the pool does not have: it has to register again. */
export async function hear(
  tx: Tx,
  by: Serving,
  id: string,
  changes: Parameters<typeof touchAgent>[3] = {},
): Promise<{ readonly id: string; readonly name: string }> {
  const agent = await touchAgent(tx, by, id, changes);
  if (agent === undefined) throw notFound("agent");
  return agent;
}

const forgottenAfterMs = 24 * 3_600_000;

/** At most `limit` of those that vanished long ago. Gives how many. */
export async function forgetVanished(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  limit: number,
): Promise<number> {
  const gone = await deleteVanishedAgents(tx, forgottenAfterMs, limit);
  await recordEvents(
    tx,
    context,
    gone.map(({ id, organizationId, name }) => ({
      organizationId,
      verb: "delete",
      subject: { type: "agents", id },
      before: { name },
    })),
  );
  return gone.length;
}
