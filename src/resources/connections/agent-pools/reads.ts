/** Reads of agent pools for other modules, and the permission check on a pool. */
import { authorize, type Granted } from "../../../access/granted.ts";
import { organizationPermissions } from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import type { ScopeTarget } from "../../shared/hooks.ts";
import type { AgentPoolView } from "./definition.ts";
import { findAgentPool, isServingTarget, type PoolLoadOptions } from "./store.ts";

export { liveAgentCount, poolServesCondition, agentTimeoutMs } from "./store.ts";

export const agentPoolsNeed = "the organization permission 'manage-agent-pools'";

/** Members can see every pool. Throws `not-found`. */
export async function loadAgentPool(
  tx: Tx,
  context: Pick<Context, "actor">,
  id: string,
  loading: PoolLoadOptions = {},
): Promise<AgentPoolView> {
  const pool = await findAgentPool(tx, context.actor, id, loading);
  if (pool === undefined || !pool.standing.member) throw notFound("agent pool");
  return pool;
}

export function authorizeAgentPool(pool: AgentPoolView): Granted<AgentPoolView, "can-update-agent-pools"> {
  return authorize(pool, {
    thing: "agent pool",
    permission: "can-update-agent-pools",
    visible: pool.standing.member,
    allowed: organizationPermissions(pool.standing)["can-update-agent-pools"],
    needs: agentPoolsNeed,
  });
}

/** Also true without a pool, or if the pool doesn't exist. */
export async function agentPoolServes(
  tx: Tx,
  target: ScopeTarget,
  agentPoolId: string | null | undefined,
): Promise<boolean> {
  return !agentPoolId || (await isServingTarget(tx, target, agentPoolId));
}
