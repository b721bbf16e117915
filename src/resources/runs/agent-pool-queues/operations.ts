/** Operations on the queues of agent pools. */
import { notFound } from "../../../kernel/errors.ts";
import { requireSiteAdmin } from "../../shared/administration.ts";
import { type Context, implement } from "../../shared/context.ts";
import type { ServingPool } from "../phases/claims.ts";
import { agentPoolQueues } from "./definition.ts";
import { findQueue, findSiteQueue } from "./store.ts";

export const agentPoolQueueResource = implement(agentPoolQueues, {
  async showAgentPoolQueue({ context, params }) {
    const { actor } = context;
    if (actor.kind !== "agent") return showQueue(context, { site: false, agentPoolId: params.agentPoolId });
    if (actor.agentPoolId !== params.agentPoolId) throw notFound("agent pool");
    return showQueue(context, actor);
  },

  async showSiteAgentPoolQueue({ context, params }) {
    requireSiteAdmin(context.actor);
    return showQueue(context, { site: true, agentPoolId: params.siteAgentPoolId });
  },
});

async function showQueue({ actor, database }: Context, pool: ServingPool) {
  const find = pool.site ? findSiteQueue : findQueue;
  const view = await find(database.reader, actor, pool);
  if (view === undefined) throw notFound("agent pool");
  return { view };
}
