/** Writes to organizations for other modules. */
import { sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import type { Context } from "../../shared/context.ts";
import { incrementedVersion, updateRow } from "../../shared/versions.ts";
import { closeOrganizationRow, updateOrganizationRow } from "./store.ts";

export async function administerOrganization(
  tx: Tx,
  organization: Granted<OrganizationTable, "can-administer">,
  changes: Partial<OrganizationTable>,
): Promise<void> {
  await updateOrganizationRow(tx, organization, changes);
}

export const closedOrganizationsJob = "closed-organizations";

export async function closeOrganization(
  tx: Tx,
  { wake }: Pick<Context, "wake">,
  organization: Granted<OrganizationTable, "can-destroy" | "can-administer">,
): Promise<void> {
  await closeOrganizationRow(tx, organization);
  tx.afterCommit?.(() => wake?.(closedOrganizationsJob));
}

/** Call when another table changes something that the organization's document shows. */
export async function incrementOrganizationVersion(
  tx: Tx,
  { id }: Granted<OrganizationTable, "can-update">,
): Promise<void> {
  await updateRow(tx, "organizations", id, {});
}

/** No document shows the count, so the version doesn't change. */
export async function adjustProjectCount(
  tx: Tx,
  _by: Granted<object, "can-create-project" | "can-destroy">,
  organizationId: string,
  change: 1 | -1,
): Promise<void> {
  await tx.db
    .updateTable("organizations")
    .set({ projectCount: sql`project_count + ${change}` })
    .where("id", "=", organizationId)
    .execute();
}

/** Call after each change of its access rules, with the organization locked as for removal. No document shows the count. */
export async function countEnabledRules(
  tx: Tx,
  _by: Granted<object, "can-update">,
  organizationId: string,
): Promise<void> {
  await tx.db
    .updateTable("organizations")
    .set({
      enabledRuleCount: sql`(select count(*) from access_rules where organization_id = ${organizationId} and enabled = 1)`,
    })
    .where("id", "=", organizationId)
    .execute();
}

/** Locks the organization for reference. From then on clients run remotely; this is never undone. */
export async function markOperationsAvailable(tx: Tx, organizationId: string): Promise<void> {
  const organization = await tx.db
    .selectFrom("openOrganizations as o")
    .select("o.operations")
    .where("o.id", "=", organizationId)
    .modifyEnd(tx.dialect.lockRows("o", "reference"))
    .executeTakeFirst();
  if (organization?.operations !== 0) return;
  await tx.db
    .updateTable("organizations")
    .set({ operations: 1, ...incrementedVersion })
    .where("id", "=", organizationId)
    .where("operations", "=", 0)
    .execute();
}
