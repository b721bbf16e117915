/** SQL of OAuth clients. */
import { type Kysely, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import { standingOf } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { OauthClientTable } from "../../../database/schema/connections.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { standingColumns } from "../../shared/grants/reads.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import type { OauthClientView } from "./definition.ts";

/** Everything but the secret, and the tokens' ids as one text: ids hold no commas. */
function clients(db: Kysely<Schema>) {
  return db
    .selectFrom("oauthClients as c")
    .select([
      "c.id",
      "c.organizationId",
      "c.name",
      "c.serviceProvider",
      "c.apiUrl",
      "c.httpUrl",
      "c.key",
      "c.rsaPublicKey",
      "c.organizationScoped",
      "c.createdAt",
      "c.version",
    ])
    .select(
      sql<string | null>`(
        select string_agg(t.id, ',' order by t.created_at, t.id) from oauth_tokens as t
        where t.organization_id = c.organization_id and t.oauth_client_id = c.id)`.as("tokens"),
    );
}

const idsIn = (list: string | null): string[] => (list === null ? [] : list.split(","));

/** One statement: the client, its tokens' ids, and what the caller is in its organization. */
export async function findOauthClient(
  tx: Tx,
  actor: Actor,
  id: string,
  lock = false,
): Promise<OauthClientView | undefined> {
  const row = await clients(tx.db)
    .innerJoin("organizations as o", "o.id", "c.organizationId")
    .select("o.name as organizationName")
    .select(standingColumns(sql.ref("c.organizationId"), principalOf(actor)))
    .where("c.id", "=", id)
    .$if(lock, (query) => query.modifyEnd(tx.dialect.lockRows("c")))
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { teamAccess, isMember, tokens, ...client } = row;
  return {
    ...client,
    tokenIds: idsIn(tokens),
    standing: standingOf(actor, { organizationId: client.organizationId, teamAccess, isMember }),
  };
}

export async function listOauthClientRows(
  tx: Tx,
  { id, name, standing }: OrganizationView,
  page: Page,
): Promise<{ views: OauthClientView[]; totalCount: number }> {
  const rows = clients(tx.db).where("c.organizationId", "=", id);
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "createdAt" }, { column: "id" }],
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("c.id")) },
  });
  return {
    views: found.rows.map(({ tokens, ...row }) => ({
      ...row,
      tokenIds: idsIn(tokens),
      organizationName: name,
      standing,
    })),
    totalCount: found.totals.totalCount,
  };
}

export async function insertOauthClient(tx: Tx, row: OauthClientTable): Promise<void> {
  await tx.db.insertInto("oauthClients").values(row).execute();
}

export async function updateOauthClientRow(
  tx: Tx,
  client: Granted<OauthClientView, "can-update-oauth">,
  changes: Partial<OauthClientTable>,
): Promise<void> {
  await tx.db
    .updateTable("oauthClients")
    .set({ ...changes, version: client.version + 1 })
    .where("id", "=", client.id)
    .execute();
}

/** Its tokens go with it, by the foreign key. */
export async function deleteOauthClientRow(
  tx: Tx,
  client: Granted<OauthClientView, "can-update-oauth">,
): Promise<void> {
  await tx.db.deleteFrom("oauthClients").where("id", "=", client.id).execute();
}
