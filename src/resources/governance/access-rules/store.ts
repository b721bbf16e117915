/** SQL of access rules. */
import { sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import { checkedStandingOf } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { AccessRuleTable } from "../../../database/schema/governance.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import { factsColumns, factsOf, type OrganizationView } from "../../identity/organizations/definition.ts";
import { standingColumns } from "../../shared/grants/reads.ts";
import { openWithId } from "../../shared/open-organizations.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";
import type { AccessRuleView } from "./definition.ts";
import type { EnabledRule } from "./engine.ts";

/** Locks the organization as for removal: changes of access lock it for reference, so none runs meanwhile. */
export async function lockAccessRule(tx: Tx, { id }: Granted<AccessRuleView, "can-update">): Promise<void> {
  const { lockRows } = tx.dialect;
  await tx.db
    .selectFrom("accessRules as r")
    .innerJoin("organizations as o", openWithId("r.organizationId"))
    .select("r.id")
    .where("r.id", "=", id)
    .modifyEnd(sql`${lockRows("o", "removal")} ${lockRows("r", "removal")}`)
    .execute();
}

export async function findAccessRules(tx: Tx, actor: Actor, ids: readonly string[]): Promise<AccessRuleView[]> {
  const rows = await tx.db
    .selectFrom("accessRules as r")
    .innerJoin("organizations as o", openWithId("r.organizationId"))
    .selectAll("r")
    .select(factsColumns)
    .select(standingColumns(sql.ref("r.organizationId"), principalOf(actor)))
    .where(tx.dialect.isOneOf(sql.ref("r.id"), ids))
    .execute();
  return rows.map((row) => ({ ...row, standing: checkedStandingOf(actor, row) }));
}

export async function listAccessRuleRows(tx: Tx, organization: Granted<OrganizationView, "can-update">, page: Page) {
  const rows = tx.db.selectFrom("accessRules").selectAll().where("organizationId", "=", organization.id);
  const result = await fetchPage(tx, {
    rows,
    order: [{ column: "nameKey" }, { column: "id" }],
    page,
    totals: { totalCount: countOf(rows) },
  });
  return {
    views: result.rows.map((row): AccessRuleView => accessRuleViewIn(row, organization)),
    totalCount: result.totals.totalCount,
  };
}

export function accessRuleViewIn(row: AccessRuleTable, organization: OrganizationView): AccessRuleView {
  return { ...row, ...factsOf(organization), standing: organization.standing };
}

export async function countRules(
  tx: Tx,
  organizationId: string,
  name: string,
): Promise<{ readonly count: number; readonly withName: number }> {
  return tx.db
    .selectFrom("accessRules")
    .select((select) => select.fn.countAll<number>().as("count"))
    .select(sql<number>`coalesce(sum(case when name_key = ${fold(name)} then 1 else 0 end), 0)`.as("withName"))
    .where("organizationId", "=", organizationId)
    .executeTakeFirstOrThrow();
}

export async function insertAccessRule(
  tx: Tx,
  _into: Granted<OrganizationView, "can-update">,
  row: AccessRuleTable,
): Promise<void> {
  await tx.db.insertInto("accessRules").values(row).execute();
}

export async function updateAccessRuleRow(
  tx: Tx,
  rule: Granted<AccessRuleView, "can-update">,
  changes: Partial<AccessRuleTable>,
): Promise<void> {
  await updateRow(tx, "accessRules", rule.id, changes);
}

export async function deleteAccessRuleRow(tx: Tx, rule: Granted<AccessRuleView, "can-update">): Promise<void> {
  await tx.db.deleteFrom("accessRules").where("id", "=", rule.id).execute();
}

export async function enabledRulesOf(tx: Tx, organizationId: string): Promise<EnabledRule[]> {
  const rows = await tx.db
    .selectFrom("accessRules")
    .select(["id", "version", "name", "message", "policy", "enforcement"])
    .where("organizationId", "=", organizationId)
    .where("enabled", "=", 1)
    .orderBy("nameKey")
    .execute();
  return rows as EnabledRule[];
}
