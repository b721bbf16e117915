/** What neighbours have done to organizations. */
import { sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import { raised, updateRow } from "../../shared/versions.ts";
import { deleteOrganizationRow, updateOrganizationRow } from "./store.ts";

/** A site admin changes what its owners do not. */
export async function administerOrganization(
  tx: Tx,
  organization: Granted<OrganizationTable, "can-administer">,
  changes: Partial<OrganizationTable>,
): Promise<void> {
  await updateOrganizationRow(tx, organization, changes);
}

/** A site admin deletes it, with everything of it. */
export async function removeOrganization(
  tx: Tx,
  organization: Granted<OrganizationTable, "can-administer">,
): Promise<void> {
  await deleteOrganizationRow(tx, organization);
}

/** Something that the organization's document shows has changed elsewhere. */
export async function raiseOrganizationVersion(
  tx: Tx,
  { id }: Granted<OrganizationTable, "can-update">,
): Promise<void> {
  await updateRow(tx, "organizations", id, {});
}

/** Keeps the counter that an unfiltered project list shows. The document does not show it, so the version stays. */
export async function countProjects(
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

/** Something can execute for the organization, or could once: engines leave runs to the service from then on. */
export async function noteOperations(tx: Tx, organizationId: string): Promise<void> {
  await tx.db
    .updateTable("organizations")
    .set({ operations: 1, ...raised })
    .where("id", "=", organizationId)
    .where("operations", "=", 0)
    .execute();
}
