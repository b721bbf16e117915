/** SQL of OAuth clients. */
import { type Kysely, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import { type OrganizationStanding, checkedStandingOf } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { OauthClientTable } from "../../../database/schema/connections.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { standingColumns } from "../../shared/grants/reads.ts";
import { factsColumns, type OrganizationView } from "../../identity/organizations/definition.ts";
import { lockClause, type RowLock } from "../../shared/locks.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";
import type { OauthClientView } from "./definition.ts";
import { isInOpenOrganization, openWithId } from "../../shared/open-organizations.ts";

export type ManagedOauthClient = Granted<OauthClientView, "can-update-oauth">;

/** Lists are joined by commas, which ids don't contain. */
function clients(db: Kysely<Schema>) {
  return db
    .selectFrom("oauthClients as c")
    .innerJoin("organizations as o", openWithId("c.organizationId"))
    .select(factsColumns)
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
      "c.linkedCount",
      "c.webhookSecretNumber",
      "c.createdAt",
      "c.version",
    ])
    .select([
      sql<string | null>`(
        select string_agg(t.id, ',' order by t.created_at, t.id) from oauth_tokens as t
        where t.organization_id = c.organization_id and t.oauth_client_id = c.id)`.as("tokens"),
      sql<string | null>`(
        select string_agg(l.project_id, ',' order by l.project_id) from oauth_client_projects as l
        where l.oauth_client_id = c.id)`.as("projects"),
    ]);
}
type ClientRow = Awaited<ReturnType<ReturnType<typeof clients>["executeTakeFirstOrThrow"]>>;

const idsIn = (list: string | null): string[] => (list === null ? [] : list.split(","));

/** Deleting a project doesn't update this row, so the version also counts missing projects. */
function toClientView({ tokens, projects, ...client }: ClientRow, standing: OrganizationStanding): OauthClientView {
  const projectIds = idsIn(projects);
  const version = client.version + client.linkedCount - projectIds.length;
  return { ...client, version, standing, tokenIds: idsIn(tokens), projectIds };
}

/** A separate statement, because a statement that waits for a row lock reads its subqueries as of before the wait. */
async function lockClient(tx: Tx, id: string, lock: RowLock): Promise<void> {
  await tx.db
    .selectFrom("oauthClients as c")
    .innerJoin("organizations as o", openWithId("c.organizationId"))
    .select("c.id")
    .where("c.id", "=", id)
    .modifyEnd(lockClause(tx.dialect, "c", lock))
    .execute();
}

export async function findOauthClient(
  tx: Tx,
  actor: Actor,
  id: string,
  lock: RowLock = false,
): Promise<OauthClientView | undefined> {
  const locksOrganizationOnly = lock === "organization-only";
  if (lock !== false && !locksOrganizationOnly) await lockClient(tx, id, lock);
  const row = await clients(tx.db)
    .select(standingColumns(sql.ref("c.organizationId"), principalOf(actor)))
    .where("c.id", "=", id)
    .modifyEnd(lockClause(tx.dialect, "c", locksOrganizationOnly && lock))
    .executeTakeFirst();
  return row && toClientView(row, checkedStandingOf(actor, row));
}

export async function listOauthClientRows(
  tx: Tx,
  { id, standing }: OrganizationView,
  page: Page,
): Promise<{ views: OauthClientView[]; totalCount: number }> {
  const rows = clients(tx.db).where("c.organizationId", "=", id);
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "c.createdAt" }, { column: "c.id" }],
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("c.id")) },
  });
  return {
    views: found.rows.map((row) => toClientView(row, standing)),
    totalCount: found.totals.totalCount,
  };
}

export async function isUsableByProject(
  tx: Tx,
  organizationId: string,
  oauthTokenId: string,
  projectId: string,
): Promise<boolean> {
  const row = await tx.db
    .selectFrom("oauthTokens as t")
    .innerJoin("oauthClients as c", "c.id", "t.oauthClientId")
    .leftJoin("oauthClientProjects as l", (join) =>
      join.onRef("l.oauthClientId", "=", "c.id").on("l.projectId", "=", projectId),
    )
    .select(["c.organizationScoped", "l.projectId"])
    .where("t.organizationId", "=", organizationId)
    .where("t.id", "=", oauthTokenId)
    .executeTakeFirst();
  return row === undefined || row.organizationScoped === 1 || row.projectId !== null;
}

/** Locks the projects against deletion. Call before the client is locked. */
export async function lockKnownProjects(tx: Tx, organizationId: string, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await tx.db
    .selectFrom("projects as p")
    .innerJoin("organizations as o", openWithId("p.organizationId"))
    .select("p.id")
    .where("p.organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("p.id"), ids))
    .orderBy("p.id")
    .modifyEnd(tx.dialect.lockRows("o", "reference"))
    .modifyEnd(tx.dialect.lockRows("p", "reference"))
    .execute();
  return new Set(rows.map((row) => row.id));
}

export async function insertOauthClient(
  tx: Tx,
  _into: Granted<OrganizationView, "can-update-oauth">,
  row: OauthClientTable,
  projectIds: readonly string[],
): Promise<void> {
  await tx.db.insertInto("oauthClients").values(row).execute();
  await insertProjectLinks(tx, row, projectIds);
}

/** `countChange` is the number of projects added to the list, negative if removed. */
export async function updateOauthClientRow(
  tx: Tx,
  client: ManagedOauthClient,
  changes: Partial<OauthClientTable>,
  countChange = 0,
): Promise<void> {
  await updateRow(tx, "oauthClients", client.id, { ...changes, linkedCount: sql`linked_count + ${countChange}` });
}

export async function replaceWebhookSecret(
  tx: Tx,
  client: ManagedOauthClient,
  webhookSecret: Uint8Array,
  formerWebhookSecretUntil: string,
): Promise<void> {
  await tx.db
    .updateTable("oauthClients")
    .set({
      formerWebhookSecret: sql`webhook_secret`,
      formerWebhookSecretUntil,
      webhookSecret,
      webhookSecretNumber: sql`webhook_secret_number + 1`,
    })
    .where("id", "=", client.id)
    .execute();
}

export type ConnectionRow = Pick<
  OauthClientTable,
  | "id"
  | "organizationId"
  | "serviceProvider"
  | "apiUrl"
  | "httpUrl"
  | "webhookSecret"
  | "webhookSecretNumber"
  | "formerWebhookSecret"
  | "formerWebhookSecretUntil"
>;

export async function findConnection(tx: Tx, id: string): Promise<ConnectionRow | undefined> {
  return tx.db
    .selectFrom("oauthClients")
    .select(["id", "organizationId", "serviceProvider", "apiUrl", "httpUrl", "webhookSecret", "webhookSecretNumber"])
    .select(["formerWebhookSecret", "formerWebhookSecretUntil"])
    .where("id", "=", id)
    .where(isInOpenOrganization("oauthClients.organizationId"))
    .executeTakeFirst();
}

export async function addProjects(tx: Tx, client: ManagedOauthClient, ids: readonly string[]): Promise<string[]> {
  return insertProjectLinks(tx, client, ids);
}

async function insertProjectLinks(
  tx: Tx,
  { id, organizationId }: Pick<OauthClientTable, "id" | "organizationId">,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<{ projectId: string }>`
    insert into oauth_client_projects (organization_id, oauth_client_id, project_id)
    select organization_id, ${id}, id from projects
    where organization_id = ${organizationId} and ${tx.dialect.isOneOf(sql.ref("id"), ids)} order by id
    on conflict do nothing returning project_id`.execute(tx.db);
  return rows.map((row) => row.projectId).toSorted();
}

export async function removeProjects(tx: Tx, client: ManagedOauthClient, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await tx.db
    .deleteFrom("oauthClientProjects")
    .where("oauthClientId", "=", client.id)
    .where(tx.dialect.isOneOf(sql.ref("projectId"), ids))
    .returning("projectId")
    .execute();
  return rows.map((row) => row.projectId).toSorted();
}

export async function deleteOauthClientRow(tx: Tx, client: ManagedOauthClient): Promise<void> {
  await tx.db.deleteFrom("oauthClients").where("id", "=", client.id).execute();
}
