/** What neighbours have done to organizations. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { updateRow } from "../../shared/versions.ts";

/** Something that the organization's document shows has changed elsewhere. */
export async function raiseOrganizationVersion(tx: Tx, organizationId: string): Promise<void> {
  await updateRow(tx, "organizations", organizationId, {});
}

/** Keeps the counter that an unfiltered project list shows. The document does not show it, so the version stays. */
export async function countProjects(tx: Tx, organizationId: string, change: 1 | -1): Promise<void> {
  await tx.db
    .updateTable("organizations")
    .set({ projectCount: sql`project_count + ${change}` })
    .where("id", "=", organizationId)
    .execute();
}
