/** SQL of identity trusts. */
import { type Kysely, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { CredentialTerm } from "../../../access/credentials.ts";
import type { Granted } from "../../../access/granted.ts";
import { checkedStandingOf } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { IdentityTrustTable } from "../../../database/schema/identity.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import { standingColumns } from "../../shared/grants/reads.ts";
import { lockClause, type RowLock } from "../../shared/locks.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";
import { factsColumns, type OrganizationView } from "../organizations/definition.ts";
import type { IdentityTrustView } from "./definition.ts";
import { openWithId } from "../../shared/open-organizations.ts";

function selectTrusts(db: Kysely<Schema>) {
  return db
    .selectFrom("identityTrusts as i")
    .innerJoin("organizations as o", openWithId("i.organizationId"))
    .select(factsColumns)
    .selectAll("i");
}

export async function findIdentityTrust(
  tx: Tx,
  actor: Actor,
  id: string,
  lock: RowLock = false,
): Promise<IdentityTrustView | undefined> {
  const row = await selectTrusts(tx.db)
    .select(standingColumns(sql.ref("i.organizationId"), principalOf(actor)))
    .where("i.id", "=", id)
    .modifyEnd(lockClause(tx.dialect, "i", lock))
    .executeTakeFirst();
  return row && { ...row, standing: checkedStandingOf(actor, row) };
}

export async function listIdentityTrustRows(
  tx: Tx,
  { id, standing }: OrganizationView,
  page: Page,
): Promise<{ views: IdentityTrustView[]; totalCount: number }> {
  const rows = selectTrusts(tx.db).where("i.organizationId", "=", id);
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "i.nameKey" }, { column: "i.id" }],
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("i.id")) },
  });
  return { views: found.rows.map((row) => ({ ...row, standing })), totalCount: found.totals.totalCount };
}

export interface TrustOfIssuer extends IdentityTrustTable {
  readonly organizationName: string;
  readonly teamName: string;
}

export async function findTrustsOfIssuer(
  tx: Tx,
  organizationName: string,
  issuer: string,
): Promise<readonly TrustOfIssuer[]> {
  return tx.db
    .selectFrom("identityTrusts as i")
    .innerJoin("organizations as o", openWithId("i.organizationId"))
    .innerJoin("teams as t", "t.id", "i.teamId")
    .selectAll("i")
    .select(["o.name as organizationName", "t.name as teamName"])
    .where("o.nameKey", "=", fold(organizationName))
    .where("o.isDisabled", "=", 0)
    .where("i.issuer", "=", issuer)
    .orderBy("i.nameKey")
    .execute();
}

interface ExchangeLimits {
  readonly maxTtlMs: number | null;
  readonly enabledRuleCount: number;
}

/** Locks the organization for reference. Undefined if the trust or its organization was deleted. */
export async function lockExchangeLimits(tx: Tx, trustId: string): Promise<ExchangeLimits | undefined> {
  return tx.db
    .selectFrom("identityTrusts as i")
    .innerJoin("organizations as o", openWithId("i.organizationId"))
    .leftJoin("organizationTokenTtlPolicies as p", (join) =>
      join.onRef("p.organizationId", "=", "o.id").on("p.tokenType", "=", "team").on("o.maxTtlEnabled", "=", 1),
    )
    .select(["o.enabledRuleCount", "p.maxTtlMs"])
    .where("i.id", "=", trustId)
    .modifyEnd(tx.dialect.lockRows("o", "reference"))
    .executeTakeFirst();
}

type ManagedTrust = Granted<IdentityTrustView, "can-create-team">;

export async function insertIdentityTrust(
  tx: Tx,
  _into: Granted<OrganizationView, "can-create-team">,
  _term: CredentialTerm<null>,
  row: IdentityTrustTable,
): Promise<void> {
  await tx.db.insertInto("identityTrusts").values(row).execute();
}

export async function updateIdentityTrustRow(
  tx: Tx,
  trust: ManagedTrust,
  _term: CredentialTerm<null>,
  changes: Partial<IdentityTrustTable>,
): Promise<void> {
  await updateRow(tx, "identityTrusts", trust.id, changes);
}

export async function deleteIdentityTrustRow(tx: Tx, trust: ManagedTrust): Promise<void> {
  await tx.db.deleteFrom("identityTrusts").where("id", "=", trust.id).execute();
}
