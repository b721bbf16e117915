/** SQL of SSO providers, their linked users and their sessions. */
import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import type { SsoProviderTable, SsoSessionTable } from "../../../database/schema/sso.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import { now } from "../../../kernel/time.ts";
import type { SiteAdminProof } from "../../shared/administration.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";
import { factsColumns } from "../organizations/definition.ts";
import type { SsoProviderView } from "./definition.ts";

const providerColumns = [
  "s.id",
  "s.organizationId",
  "s.name",
  "s.nameKey",
  "s.issuer",
  "s.clientId",
  "s.scopes",
  "s.groupsClaim",
  "s.createUsers",
  "s.assumeEmailVerified",
  "s.createdAt",
  "s.version",
] as const;

function selectProviders(db: Kysely<Schema>) {
  return db
    .selectFrom("ssoProviders as s")
    .leftJoin("openOrganizations as o", "o.id", "s.organizationId")
    .where((where) => where.or([where("s.organizationId", "is", null), where("o.id", "is not", null)]))
    .select(providerColumns)
    .select(factsColumns);
}

export async function findSsoProvider(
  tx: Tx,
  id: string,
  lock?: "change" | "removal",
): Promise<SsoProviderView | undefined> {
  return selectProviders(tx.db)
    .where("s.id", "=", id)
    .modifyEnd(lock === undefined ? sql`` : tx.dialect.lockRows("s", lock))
    .executeTakeFirst();
}

export async function listSsoProviderRows(
  tx: Tx,
  page: Page,
): Promise<{ views: SsoProviderView[]; totalCount: number }> {
  const rows = selectProviders(tx.db);
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "s.nameKey" }, { column: "s.id" }],
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("s.id")) },
  });
  return { views: found.rows, totalCount: found.totals.totalCount };
}

export async function isProviderNameTaken(tx: Tx, name: string): Promise<boolean> {
  const row = await tx.db.selectFrom("ssoProviders").select("id").where("nameKey", "=", fold(name)).executeTakeFirst();
  return row !== undefined;
}

export async function insertSsoProvider(tx: Tx, _by: SiteAdminProof, row: SsoProviderTable): Promise<void> {
  await tx.db.insertInto("ssoProviders").values(row).execute();
}

type AdministeredProvider = Granted<SsoProviderView, "can-administer">;

export async function updateSsoProviderRow(
  tx: Tx,
  provider: AdministeredProvider,
  changes: Partial<SsoProviderTable>,
): Promise<void> {
  await updateRow(tx, "ssoProviders", provider.id, changes);
}

export async function deleteSsoProviderRow(tx: Tx, provider: AdministeredProvider): Promise<void> {
  await tx.db.deleteFrom("ssoProviders").where("id", "=", provider.id).execute();
}

export async function findProviderWithSecret(
  tx: Tx,
  id: string,
): Promise<(SsoProviderView & Pick<SsoProviderTable, "clientSecret">) | undefined> {
  return selectProviders(tx.db)
    .select("s.clientSecret")
    .where("s.id", "=", id)
    .where((where) => where.or([where("s.organizationId", "is", null), where("o.isDisabled", "=", 0)]))
    .executeTakeFirst();
}

export async function lockProvider(tx: Tx, id: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("ssoProviders as s")
    .select("s.id")
    .where("s.id", "=", id)
    .modifyEnd(tx.dialect.lockRows("s", "reference"))
    .executeTakeFirst();
  return row !== undefined;
}

export interface SsoSubject {
  readonly ssoProviderId: string;
  readonly issuer: string;
  readonly subject: string;
}

export interface SignInCandidate extends UserTable {
  readonly isLinked: number;
  readonly isMember: number;
  readonly otherOrganizationCount: number;
}

export async function findCandidates(
  tx: Tx,
  { ssoProviderId, issuer, subject }: SsoSubject,
  emailKey: string | undefined,
  organizationId: string | null,
): Promise<SignInCandidate[]> {
  const linked = sql`(select i.user_id from sso_identities as i
    where i.sso_provider_id = ${ssoProviderId} and i.issuer = ${issuer} and i.subject = ${subject})`;
  const memberships = (condition: RawBuilder<unknown>) =>
    sql<number>`(select count(*) from organization_memberships as m where m.user_id = u.id and ${condition})`;
  return tx.db
    .selectFrom("users as u")
    .selectAll("u")
    .select(sql<number>`case when u.id = ${linked} then 1 else 0 end`.as("isLinked"))
    .select(memberships(sql`m.organization_id = ${organizationId ?? ""}`).as("isMember"))
    .select(memberships(sql`m.organization_id <> ${organizationId ?? ""}`).as("otherOrganizationCount"))
    .where(sql<SqlBool>`(u.id = ${linked} or u.email_key = ${emailKey ?? ""})`)
    .execute();
}

type SsoUserRef = Granted<{ readonly id: string }, "can-sign-in">;

export async function insertIdentity(tx: Tx, user: SsoUserRef, subject: SsoSubject): Promise<void> {
  await tx.db
    .insertInto("ssoIdentities")
    .values({ ...subject, userId: user.id, createdAt: now() })
    .execute();
}

export async function insertSsoSession(tx: Tx, _user: SsoUserRef, row: SsoSessionTable): Promise<void> {
  await tx.db.insertInto("ssoSessions").values(row).execute();
}

/** False if the callback was used before. Also deletes expired entries. */
export async function recordCallback(tx: Tx, hash: string, expiresAt: string): Promise<boolean> {
  await tx.db.deleteFrom("ssoReplies").where("expiresAt", "<", now()).execute();
  const inserted = await tx.db
    .insertInto("ssoReplies")
    .values({ hash, expiresAt })
    .onConflict((conflict) => conflict.column("hash").doNothing())
    .returning("hash")
    .execute();
  return inserted.length > 0;
}
