/** SQL of agent tokens. The hash of a secret must not leave this file. */
import { type Kysely, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { CredentialTerm } from "../../../access/credentials.ts";
import type { Granted } from "../../../access/granted.ts";
import { type OrganizationStanding, checkedStandingOf } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { AgentTokenTable } from "../../../database/schema/connections.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { standingColumns } from "../../shared/grants/reads.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import type { AgentPoolView } from "../agent-pools/definition.ts";
import type { SiteAgentPoolView } from "../site-agent-pools/definition.ts";

export type AgentTokenRow = Omit<AgentTokenTable, "hash">;
export type ManagedPool =
  | Granted<AgentPoolView, "can-update-agent-pools">
  | Granted<SiteAgentPoolView, "can-administer">;

function tokens(db: Kysely<Schema>) {
  return db
    .selectFrom("agentTokens as k")
    .select(["k.id", "k.organizationId", "k.agentPoolId", "k.siteAgentPoolId", "k.description"])
    .select(["k.createdById", "k.createdAt", "k.lastUsedAt", "k.version"]);
}

/** Only site admins have standing for the token of a site pool. */
export async function findAgentToken(
  tx: Tx,
  actor: Actor,
  id: string,
): Promise<{ row: AgentTokenRow; standing: OrganizationStanding } | undefined> {
  const found = await tokens(tx.db)
    .select(standingColumns(sql.ref("k.organizationId"), principalOf(actor)))
    .where("k.id", "=", id)
    .executeTakeFirst();
  return (
    found && {
      row: found,
      standing: checkedStandingOf(actor, { ...found, organizationId: found.organizationId ?? "" }),
    }
  );
}

export async function listAgentTokenRows(
  tx: Tx,
  { organizationId, id }: ManagedPool,
  page: Page,
): Promise<{ rows: AgentTokenRow[]; totalCount: number }> {
  const rows =
    organizationId === null
      ? tokens(tx.db).where("k.siteAgentPoolId", "=", id)
      : tokens(tx.db).where("k.organizationId", "=", organizationId).where("k.agentPoolId", "=", id);
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "k.createdAt", descending: true }, { column: "k.id" }],
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("k.id")) },
  });
  return { rows: found.rows, totalCount: found.totals.totalCount };
}

export async function insertAgentToken(
  tx: Tx,
  _into: ManagedPool,
  _term: CredentialTerm<null>,
  row: AgentTokenTable,
): Promise<void> {
  await tx.db.insertInto("agentTokens").values(row).execute();
}

export async function deleteAgentTokenRow(
  tx: Tx,
  token: Granted<{ readonly id: string }, "can-update-agent-pools">,
): Promise<void> {
  await tx.db.deleteFrom("agentTokens").where("id", "=", token.id).execute();
}

export async function deleteAgentTokensNamed(tx: Tx, pool: ManagedPool, description: string): Promise<AgentTokenRow[]> {
  return tx.db
    .deleteFrom("agentTokens")
    .where(pool.organizationId === null ? "siteAgentPoolId" : "agentPoolId", "=", pool.id)
    .where("description", "=", description)
    .returning(["id", "organizationId", "agentPoolId", "siteAgentPoolId", "description"])
    .returning(["createdById", "createdAt", "lastUsedAt", "version"])
    .execute();
}

export async function lockAvailableAgentTokens(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const rows = await tx.db
    .selectFrom("agentTokens as k")
    .select("k.id")
    .where(tx.dialect.isOneOf(sql.ref("k.id"), ids))
    .modifyEnd(tx.dialect.lockRowsSkipLocked("k"))
    .execute();
  return rows.map((row) => row.id);
}
