/** Reads of agents for other modules. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";

export async function offeredVersions(
  tx: Tx,
  product: "terraform" | "tofu",
  agentPoolId: string | null,
): Promise<string[]> {
  const rows = await tx.db
    .selectFrom("agents")
    .select("engines")
    .distinct()
    .where(
      agentPoolId === null
        ? sql<boolean>`site_agent_pool_id is not null`
        : sql<boolean>`agent_pool_id = ${agentPoolId}`,
    )
    .where("status", "<>", "exited")
    .execute();
  const versions = rows.flatMap(({ engines }) => (JSON.parse(engines) as Record<string, string[]>)[product] ?? []);
  return [...new Set(versions)];
}
