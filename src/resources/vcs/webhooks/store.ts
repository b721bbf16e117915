/** SQL for webhooks at providers. Repositories are in lower case. */
import type { Capability } from "../../../access/capability.ts";
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { VcsWebhookTable } from "../../../database/schema/vcs.ts";
import { isInOpenOrganization } from "../../shared/open-organizations.ts";

export interface MissingWebhook {
  readonly organizationId: string;
  readonly oauthClientId: string;
  readonly repository: string;
}

export async function findMissingWebhooks(tx: Tx, limit: number): Promise<MissingWebhook[]> {
  const { rows } = await sql<MissingWebhook>`
    select distinct t.organization_id, t.oauth_client_id, lower(w.vcs_identifier) as repository
    from workspaces as w inner join oauth_tokens as t on t.id = w.vcs_oauth_token_id
    where w.vcs_oauth_token_id is not null and w.vcs_identifier is not null and not exists (
      select 1 from vcs_webhooks as h
      where h.oauth_client_id = t.oauth_client_id and h.repository = lower(w.vcs_identifier))
    limit ${limit}`.execute(tx.db);
  return rows;
}

export async function insertWebhooks(tx: Tx, _by: Capability<"job">, rows: readonly VcsWebhookTable[]): Promise<void> {
  await tx.db
    .insertInto("vcsWebhooks")
    .values([...rows])
    .onConflict((conflict) => conflict.columns(["oauthClientId", "repository"]).doNothing())
    .execute();
}

export interface DueWebhook extends VcsWebhookTable {
  readonly oauthTokenId: string | null;
  readonly anyTokenId: string | null;
  readonly identifier: string | null;
  readonly requiredSecretNumber: number;
}

export async function findDueWebhooks(tx: Tx, busy: readonly string[], limit: number): Promise<DueWebhook[]> {
  const connected = (column: string) => sql<string | null>`(
    select min(${sql.ref(column)}) from workspaces as w inner join oauth_tokens as t on t.id = w.vcs_oauth_token_id
    where t.oauth_client_id = h.oauth_client_id and lower(w.vcs_identifier) = h.repository)`;
  const rows = tx.db
    .selectFrom("vcsWebhooks as h")
    .innerJoin("oauthClients as c", "c.id", "h.oauthClientId")
    .selectAll("h")
    .select("c.webhookSecretNumber as requiredSecretNumber")
    .select([connected("t.id").as("oauthTokenId"), connected("w.vcsIdentifier").as("identifier")])
    .select(sql<string | null>`(select min(id) from oauth_tokens where oauth_client_id = c.id)`.as("anyTokenId"))
    .where(sql<boolean>`h.due_ms <= ${tx.dialect.nowMs}`)
    .where(isInOpenOrganization("h.organizationId"))
    .where((where) => where.not(tx.dialect.isOneOf(sql.ref("h.id"), busy)));
  return tx.db
    .selectFrom(rows.as("due"))
    .selectAll("due")
    .where((where) =>
      where.or([
        where("due.oauthTokenId", "is", null),
        where("due.webhookIds", "is", null),
        where("due.secretNumber", "<>", where.ref("due.requiredSecretNumber")),
      ]),
    )
    .orderBy("due.dueMs")
    .orderBy("due.id")
    .limit(limit)
    .execute();
}

export async function updateWebhook(
  tx: Tx,
  _by: Capability<"job">,
  id: string,
  changes: Partial<Pick<VcsWebhookTable, "webhookIds" | "secretNumber">> & { readonly attempts: number },
  waitMs: number,
): Promise<void> {
  await tx.db
    .updateTable("vcsWebhooks")
    .set({ ...changes, dueMs: sql<number>`${tx.dialect.nowMs} + ${waitMs}` })
    .where("id", "=", id)
    .execute();
}

export async function deleteWebhook(tx: Tx, _by: Capability<"job">, id: string): Promise<void> {
  await tx.db.deleteFrom("vcsWebhooks").where("id", "=", id).execute();
}
