/** SQL of OAuth tokens. */
import { type Kysely, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import { checkedStandingOf } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { OauthTokenTable } from "../../../database/schema/connections.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { standingColumns } from "../../shared/grants/reads.ts";
import { lockClause, type RowLock } from "../../shared/locks.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";
import type { OauthTokenView } from "./definition.ts";
import { openWithId } from "../../shared/open-organizations.ts";

function tokens(db: Kysely<Schema>) {
  return db
    .selectFrom("oauthTokens as t")
    .select([
      "t.id",
      "t.organizationId",
      "t.oauthClientId",
      "t.uid",
      "t.serviceProviderUser",
      "t.createdAt",
      "t.version",
    ])
    .select(sql<number>`case when t.ssh_key is null then 0 else 1 end`.as("hasSshKey"));
}

export async function findOauthToken(
  tx: Tx,
  actor: Actor,
  id: string,
  lock: RowLock = false,
): Promise<OauthTokenView | undefined> {
  const row = await tokens(tx.db)
    .innerJoin("organizations as o", openWithId("t.organizationId"))
    .select(standingColumns(sql.ref("t.organizationId"), principalOf(actor)))
    .where("t.id", "=", id)
    .modifyEnd(lockClause(tx.dialect, "t", lock))
    .executeTakeFirst();
  return row && { ...row, standing: checkedStandingOf(actor, row) };
}

export interface OauthTokenListScope extends Pick<OauthTokenView, "organizationId" | "standing"> {
  readonly oauthClientId?: string;
}

export async function listOauthTokenRows(
  tx: Tx,
  { organizationId, standing, oauthClientId }: OauthTokenListScope,
  page: Page,
): Promise<{ views: OauthTokenView[]; totalCount: number }> {
  let rows = tokens(tx.db).where("t.organizationId", "=", organizationId);
  if (oauthClientId !== undefined) rows = rows.where("t.oauthClientId", "=", oauthClientId);
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "createdAt" }, { column: "id" }],
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("t.id")) },
  });
  return {
    views: found.rows.map((row) => ({ ...row, standing })),
    totalCount: found.totals.totalCount,
  };
}

export async function tokenRowsOf(tx: Tx, organizationId: string, clientIds: readonly string[]) {
  return tokens(tx.db)
    .where("t.organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("t.oauthClientId"), clientIds))
    .orderBy("t.createdAt")
    .orderBy("t.id")
    .execute();
}

export async function insertOauthToken(
  tx: Tx,
  _into: Granted<object, "can-update-oauth">,
  row: OauthTokenTable,
): Promise<void> {
  await tx.db.insertInto("oauthTokens").values(row).execute();
}

export async function updateSecret(
  tx: Tx,
  _client: Granted<object, "can-update-oauth">,
  id: string,
  secret: Uint8Array,
): Promise<void> {
  await updateRow(tx, "oauthTokens", id, { secret });
}

export async function updateSshKey(
  tx: Tx,
  token: Granted<OauthTokenView, "can-update-oauth">,
  sshKey: Uint8Array | null,
): Promise<void> {
  await updateRow(tx, "oauthTokens", token.id, { sshKey });
}

export async function deleteOauthTokenRow(tx: Tx, token: Granted<OauthTokenView, "can-update-oauth">): Promise<void> {
  await tx.db.deleteFrom("oauthTokens").where("id", "=", token.id).execute();
}

/** Call after the client is locked, so that no token can be added. */
export async function lockTokenRows(tx: Tx, oauthClientId: string): Promise<string[]> {
  const rows = await tx.db
    .selectFrom("oauthTokens as t")
    .select("t.id")
    .where("t.oauthClientId", "=", oauthClientId)
    .orderBy("t.id")
    .modifyEnd(tx.dialect.lockRows("t", "removal"))
    .execute();
  return rows.map((row) => row.id);
}

export async function findEncryptedToken(tx: Tx, id: string) {
  return tx.db
    .selectFrom("oauthTokens as t")
    .innerJoin("oauthClients as c", "c.id", "t.oauthClientId")
    .select(["t.oauthClientId", "t.secret", "t.sshKey", "c.serviceProvider", "c.apiUrl", "c.httpUrl"])
    .where("t.id", "=", id)
    .executeTakeFirst();
}
