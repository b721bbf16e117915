/** SQL for agents. All times are by the database's clock. */
import { type RawBuilder, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Capability } from "../../../access/capability.ts";
import type { Granted } from "../../../access/granted.ts";
import { type OrganizationStanding, checkedStandingOf } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { Dialect } from "../../../database/dialect.ts";
import type { AgentTable } from "../../../database/schema/runs.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { now } from "../../../kernel/time.ts";
import { agentTimeoutMs } from "../../connections/agent-pools/reads.ts";
import { standingColumns } from "../../shared/grants/reads.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import type { AgentActor } from "../phases/claims.ts";
import type { AgentView } from "./definition.ts";

const shownStatus = ({ nowMs }: Dialect): RawBuilder<string> =>
  sql<string>`case when a.status in ('idle', 'busy') and a.last_ping_ms <= ${nowMs} - ${sql.lit(agentTimeoutMs)}
    then 'unknown' else a.status end`;

const agentsOf = (tx: Tx) =>
  tx.db.selectFrom("agents as a").selectAll("a").select(shownStatus(tx.dialect).as("shownStatus"));

export interface AgentForActor extends AgentView {
  readonly standing: OrganizationStanding;
}

/** Only site admins have a role for a site agent. */
export async function findAgent(tx: Tx, actor: Actor, id: string, lock = false): Promise<AgentForActor | undefined> {
  const row = await agentsOf(tx)
    .select(standingColumns(sql.ref("a.organizationId"), principalOf(actor)))
    .where("a.id", "=", id)
    .modifyEnd(lock ? tx.dialect.lockRows("a", "removal") : sql``)
    .executeTakeFirst();
  return row && { ...row, standing: checkedStandingOf(actor, { ...row, organizationId: row.organizationId ?? "" }) };
}

export type AgentPoolKey = Pick<AgentTable, "organizationId"> & { readonly id: string };

export async function listAgentRows(
  tx: Tx,
  { organizationId, id }: AgentPoolKey,
  search: { readonly page: Page; readonly since: string | undefined },
): Promise<{ views: AgentView[]; totalCount: number }> {
  let rows =
    organizationId === null
      ? agentsOf(tx).where("a.siteAgentPoolId", "=", id)
      : agentsOf(tx).where("a.organizationId", "=", organizationId).where("a.agentPoolId", "=", id);
  if (search.since !== undefined) rows = rows.where("a.lastPingAt", ">=", search.since);
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "a.createdAt", descending: true }, { column: "a.id" }],
    page: search.page,
    totals: { totalCount: countOf(rows.clearSelect().select("a.id")) },
  });
  return { views: found.rows, totalCount: found.totals.totalCount };
}

export async function insertAgent(
  tx: Tx,
  _by: Granted<AgentActor, "can-serve">,
  row: Omit<AgentTable, "lastPingMs">,
): Promise<void> {
  await tx.db
    .insertInto("agents")
    .values({ ...row, lastPingMs: tx.dialect.nowMs })
    .execute();
}

export async function deleteAgentRow(
  tx: Tx,
  { id }: Granted<AgentView, "can-update-agent-pools" | "can-administer" | "can-serve">,
): Promise<void> {
  await tx.db.deleteFrom("agents").where("id", "=", id).execute();
}

export async function touchAgent(
  tx: Tx,
  by: Granted<AgentActor, "can-serve">,
  id: string,
  changes: Partial<Pick<AgentTable, "status" | "engines" | "fetching">>,
): Promise<Pick<AgentTable, "id" | "name" | "fetching"> | undefined> {
  return tx.db
    .updateTable("agents")
    .set({ ...changes, lastPingMs: tx.dialect.nowMs, lastPingAt: now() })
    .where("id", "=", id)
    .where(by.site ? "siteAgentPoolId" : "agentPoolId", "=", by.agentPoolId)
    .returning(["id", "name", "fetching"])
    .executeTakeFirst();
}

export async function deleteVanishedAgents(tx: Tx, _by: Capability<"job">, silentMs: number, limit: number) {
  const { nowMs, lockRowsSkipLocked } = tx.dialect;
  return tx.db
    .deleteFrom("agents")
    .where("id", "in", (query) =>
      query
        .selectFrom("agents as a")
        .select("a.id")
        .where(sql<boolean>`a.last_ping_ms < ${nowMs} - ${sql.lit(silentMs)}`)
        .orderBy("a.lastPingMs")
        .limit(limit)
        .modifyEnd(lockRowsSkipLocked("a", "removal")),
    )
    .returning(["id", "organizationId", "name"])
    .execute();
}
