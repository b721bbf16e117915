/** SQL of token TTL policies. */
import type { Capability } from "../../../access/capability.ts";
import { sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationTokenTtlPolicyTable } from "../../../database/schema/identity.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { incrementedVersion } from "../../shared/versions.ts";
import type { OrganizationView } from "../organizations/definition.ts";

const policiesOf = (tx: Tx, organizationId: string) =>
  tx.db.selectFrom("organizationTokenTtlPolicies as p").selectAll("p").where("p.organizationId", "=", organizationId);

export async function findPolicies(tx: Tx, organizationId: string): Promise<OrganizationTokenTtlPolicyTable[]> {
  return policiesOf(tx, organizationId).orderBy("p.tokenType").execute();
}

export async function listPolicyRows(tx: Tx, organizationId: string, page: Page) {
  const rows = policiesOf(tx, organizationId);
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "p.tokenType" }],
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("p.id")) },
  });
  return { views: found.rows, totalCount: found.totals.totalCount };
}

export async function insertPolicies(
  tx: Tx,
  into: Capability<"new-organization">,
  rows: readonly OrganizationTokenTtlPolicyTable[],
): Promise<void> {
  await tx.db
    .insertInto("organizationTokenTtlPolicies")
    .values(rows.map((row) => into.proofFor(row)))
    .execute();
}

export async function updatePolicies(
  tx: Tx,
  organization: Granted<OrganizationView, "can-update">,
  changes: readonly { before: OrganizationTokenTtlPolicyTable; maxTtlMs: number }[],
  updatedAt: string,
): Promise<void> {
  const cases = changes.map(({ before, maxTtlMs }) => sql`when ${before.id} then cast(${maxTtlMs} as bigint)`);
  await tx.db
    .updateTable("organizationTokenTtlPolicies")
    .set({ maxTtlMs: sql`case id ${sql.join(cases, sql` `)} end`, updatedAt, ...incrementedVersion })
    .where("organizationId", "=", organization.id)
    .where(
      tx.dialect.isOneOf(
        sql.ref("id"),
        changes.map(({ before }) => before.id),
      ),
    )
    .execute();
}
