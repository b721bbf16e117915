/** What neighbours have done to workspaces, by sets. */
import { sql } from "kysely";
import type { Tx } from "../../database/database.ts";

/** A project's new duration reaches every workspace of it without an override: one statement. */
export async function inheritDuration(
  tx: Tx,
  project: {
    readonly organizationId: string;
    readonly id: string;
    readonly autoDestroyActivityDuration: string | null;
  },
): Promise<void> {
  await tx.db
    .updateTable("workspaces")
    .set({
      autoDestroyActivityDuration: project.autoDestroyActivityDuration,
      autoDestroyAt: null,
      version: sql`version + 1`,
    })
    .where("organizationId", "=", project.organizationId)
    .where("projectId", "=", project.id)
    .where("inheritsProjectAutoDestroy", "=", 1)
    .execute();
}

/** Something in the organization has changed that documents show: of all its workspaces, or of those that follow its defaults. */
export async function raiseWorkspaceVersions(
  tx: Tx,
  organizationId: string,
  whose: "all" | "followers",
): Promise<void> {
  await tx.db
    .updateTable("workspaces")
    .set({ version: sql`version + 1` })
    .where("organizationId", "=", organizationId)
    .$if(whose === "followers", (query) =>
      query.where((where) =>
        where.or([where("overwritesExecutionMode", "=", 0), where("overwritesAgentPool", "=", 0)]),
      ),
    )
    .execute();
}
