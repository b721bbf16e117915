/** Reads of agents for other modules. */
import { type RawBuilder, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { AgentTable } from "../../../database/schema/runs.ts";
import type { EngineOffers, ExecutingPool } from "../../shared/hooks.ts";
import { versionsFingerprint } from "../../site/terraform-versions/reads.ts";
import { hasFailedToFetch, type ServingPool } from "../phases/claims.ts";
import { type AgentEngines, fetchesEngines, versionsIn } from "../phases/engines.ts";

type Fetching = Pick<AgentTable, "fetching">;

export async function findAgentFetching(tx: Tx, id: string): Promise<Fetching | undefined> {
  return tx.db.selectFrom("agents").select("fetching").where("id", "=", id).executeTakeFirst();
}

const reportsMax = 100;

/** Of the agent, and of agents of its pool that ended because they could not fetch an engine. */
export async function findFetchReports(tx: Tx, { site, agentPoolId }: ServingPool, id: string): Promise<Fetching[]> {
  const ofPool = site ? sql.ref("c.siteAgentPoolId") : sql.ref("c.agentPoolId");
  return tx.db
    .selectFrom("agents")
    .select("fetching")
    .where("id", "=", id)
    .union((query) =>
      query
        .selectFrom("agents as c")
        .select("c.fetching")
        .where(sql<boolean>`${ofPool} = ${agentPoolId} and ${hasFailedToFetch(tx.dialect, "c")}`),
    )
    .limit(reportsMax)
    .execute();
}

/** The newest agents are enough: those of a pool differ little. */
const agentsMax = 100;

interface OfferRow {
  readonly fingerprint: string;
  /** Of each agent: a line with `engines` and `fetching`. */
  readonly byAgents: string | null;
  /** As `byAgents`: the agents that registered last. */
  readonly byPools: string | null;
}

const offersIn = (rows: RawBuilder<unknown>) => sql<string | null>`(
  select string_agg(engines || ${sql.lit("\t")} || case when fetching in ('', '0') then '' else '{}' end, ${sql.lit("\n")})
  from (${rows}) as offers)`;

const byAgents = (ofPool: RawBuilder<unknown>, order: RawBuilder<unknown>) =>
  offersIn(sql`select engines, fetching from agents where status <> 'exited' and ${ofPool}
    order by ${order} limit ${sql.lit(agentsMax)}`).as("byAgents");

const byPools = (table: "agent_pools" | "site_agent_pools", isMeant: RawBuilder<unknown>) =>
  offersIn(sql`select offered_engines as engines, cast(coalesce(offered_fetching, 0) as text) as fetching from ${sql.table(table)}
    where offered_ms is not null and ${isMeant} limit ${sql.lit(agentsMax)}`).as("byPools");

const findPoolOffers = prepared<{ organizationId: string; agentPoolId: string }, OfferRow>(
  (db, { organizationId, agentPoolId }) =>
    db.selectNoFrom([
      versionsFingerprint.as("fingerprint"),
      byAgents(
        sql`organization_id = ${organizationId} and agent_pool_id = ${agentPoolId}`,
        sql`created_at desc, id desc`,
      ),
      byPools("agent_pools", sql`organization_id = ${organizationId} and id = ${agentPoolId}`),
    ]),
);

const findSiteOffers = prepared<object, OfferRow>((db) =>
  db.selectNoFrom([
    versionsFingerprint.as("fingerprint"),
    byAgents(sql`site_agent_pool_id is not null`, sql`site_agent_pool_id desc, created_at desc, id desc`),
    byPools("site_agent_pools", sql`1 = 1`),
  ]),
);

/** What the agents of a pool can execute; if there is none at the moment, what the last one could. */
export async function engineOffers(tx: Tx, product: string, pool: ExecutingPool): Promise<EngineOffers> {
  const [row] = await (pool === null ? findSiteOffers(tx, {}) : findPoolOffers(tx, pool));
  const offers = (row?.byAgents ?? row?.byPools ?? "").split("\n").map(offerIn);
  return {
    versions: [...new Set(offers.flatMap((offer) => versionsIn(offer, product)))],
    isAnyFetched: offers.some(fetchesEngines),
    versionsFingerprint: row?.fingerprint ?? "",
  };
}

function offerIn(line: string): AgentEngines {
  const [engines = "", fetching = ""] = line.split("\t");
  return { engines: engines || "{}", fetching };
}
