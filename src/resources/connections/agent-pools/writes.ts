/** Changes to agent pools that other modules request. */
import type { Granted } from "../../../access/granted.ts";
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { incrementedVersion } from "../../shared/versions.ts";

/** For deleted workspaces and projects. The caller locks the organization as `alone`, so that no pool adds the target concurrently. */
export async function removeScopeTarget(
  tx: Tx,
  {
    id: targetId,
    organizationId,
  }: Granted<{ readonly id: string; readonly organizationId: string }, "can-destroy" | "can-force-delete">,
): Promise<void> {
  const { rows } = await sql<{ agentPoolId: string }>`
    delete from agent_pool_scopes where organization_id = ${organizationId} and target_id = ${targetId}
    returning agent_pool_id`.execute(tx.db);
  if (rows.length === 0) return;
  const ids = rows.map((row) => row.agentPoolId);
  await tx.db
    .updateTable("agentPools")
    .set(incrementedVersion)
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
}

const freshMs = 60_000;

export interface PoolOffer {
  readonly engines: string;
  readonly isFetching: boolean;
}

/** Of the agent that registers. No write if the agent before it offered the same a moment ago. */
export function offeredColumns({ dialect: { nowMs } }: Tx, { engines, isFetching }: PoolOffer) {
  const fetching = Number(isFetching);
  return {
    changed: { offeredEngines: engines, offeredFetching: fetching, offeredMs: nowMs },
    isDue: sql<boolean>`(offered_engines is distinct from ${engines} or offered_fetching is distinct from ${fetching}
      or offered_ms < ${nowMs} - ${sql.lit(freshMs)})`,
  };
}

export async function recordPoolOffer(
  tx: Tx,
  { agentPoolId }: Granted<{ readonly agentPoolId: string }, "can-serve">,
  offer: PoolOffer,
): Promise<void> {
  const { changed, isDue } = offeredColumns(tx, offer);
  await tx.db.updateTable("agentPools").set(changed).where("id", "=", agentPoolId).where(isDue).execute();
}
