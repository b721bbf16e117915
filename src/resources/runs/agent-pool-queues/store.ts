/**
 * SQL that counts the jobs of a pool. A job whose engine no agent of the pool has must not be counted: a scheduler would start agents for
 * it without end. Agents come and go, so their engines are those of recent agents and of the one that registered last; from time to time
 * one job counts nevertheless, because the next agent may have been installed with its engine.
 */
import { type RawBuilder, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { checkedStandingOf } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { standingColumns } from "../../shared/grants/reads.ts";
import {
  claimablePhases,
  hasFailedToFetch,
  isUnavailable,
  queuedEngineKey,
  type ServingPool,
} from "../phases/claims.ts";
import type { AgentPoolQueueView } from "./definition.ts";

const recentMs = 5 * 60_000;

export async function findQueue(tx: Tx, actor: Actor, pool: ServingPool): Promise<AgentPoolQueueView | undefined> {
  const row = await tx.db
    .selectFrom("agentPools as p")
    .select(["p.id", "p.organizationId", waitingJobs(tx, pool).as("waiting")])
    .select(
      sql<number>`(select count(*) from run_phases as f
        where f.organization_id = p.organization_id and f.status = 'running' and f.pool = p.id)`.as("running"),
    )
    .select(standingColumns(sql.ref("p.organizationId"), principalOf(actor)))
    .where("p.id", "=", pool.agentPoolId)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  return actor.kind === "agent" || checkedStandingOf(actor, row).member ? toView(row) : undefined;
}

export async function findSiteQueue(tx: Tx, _: Actor, pool: ServingPool): Promise<AgentPoolQueueView | undefined> {
  const row = await tx.db
    .selectFrom("siteAgentPools as p")
    .select(["p.id", waitingJobs(tx, pool).as("waiting")])
    .select(
      sql<number>`(select count(*) from run_phases as f inner join agents as a on a.id = f.agent_id
        where f.status = 'running' and a.site_agent_pool_id = p.id)`.as("running"),
    )
    .where("p.id", "=", pool.agentPoolId)
    .executeTakeFirst();
  return row && toView(row);
}

const toView = ({ id, waiting, running }: AgentPoolQueueView): AgentPoolQueueView => ({
  id,
  waiting: Number(waiting),
  running: Number(running),
});

function waitingJobs(tx: Tx, pool: ServingPool): RawBuilder<number> {
  const { nowMs, listItems } = tx.dialect;
  const [pools, column] = pool.site
    ? [sql.table("siteAgentPools"), sql.ref("siteAgentPoolId")]
    : [sql.table("agentPools"), sql.ref("agentPoolId")];
  const thisPool = sql`${pools} as q where q.id = ${pool.agentPoolId}`;
  const recentAgent = sql`a.${column} = ${pool.agentPoolId} and a.last_ping_ms > ${nowMs} - ${sql.lit(recentMs)}`;
  const isUnfetchable = isUnavailable(tx.dialect, "a");
  const isAny = (condition: RawBuilder<unknown>) =>
    sql`exists (select 1 from agents as a where ${recentAgent} and ${condition})`;
  const isFetched = sql`not ${isAny(sql`${hasFailedToFetch(tx.dialect, "a")} and ${isUnfetchable}`)} and (
    ${isAny(sql`a.status <> 'exited' and a.fetching <> '' and not (${isUnfetchable})`)}
    or (not ${isAny(isUnfetchable)} and (select q.offered_fetching from ${thisPool}) = 1))`;
  const isOffered = sql`(${isFetched}) or ${queuedEngineKey} in (
    select list.key || ' ' || item.value from agents as a, ${listItems(sql.ref("a.engines"))} where ${recentAgent}
    union
    select list.key || ' ' || item.value from ${pools} as q, ${listItems(sql.ref("q.offeredEngines"))}
    where q.id = ${pool.agentPoolId})`;
  const offered = sql`count(*) filter (where ${isOffered})`;
  const count = claimablePhases(tx, pool).select(
    sql<number>`case
      when not exists (select 1 from agents as a where ${recentAgent})
        and (select q.offered_ms from ${thisPool}) is null then count(*)
      when ${offered} < count(*) and (select q.offered_ms from ${thisPool}) < ${nowMs} - ${sql.lit(recentMs)}
        then ${offered} + 1
      else ${offered} end`.as("count"),
  );
  return sql<number>`(${count})`;
}
