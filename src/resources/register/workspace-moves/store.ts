/** SQL of moves: one statement for the whole set, whatever its size. What moves is written by the workspaces' own folder. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { held } from "../../shared/locks.ts";

export type MovingRow = Pick<
  WorkspaceTable,
  "id" | "name" | "projectId" | "autoDestroyAt" | "autoDestroyActivityDuration" | "inheritsProjectAutoDestroy"
>;

/** Holds the rows in the order of their ids, so that two moves of the same workspaces wait for each other and never cross. */
export async function lockWorkspaces(tx: Tx, organizationId: string, ids: readonly string[]): Promise<MovingRow[]> {
  return tx.db
    .selectFrom("workspaces as w")
    .innerJoin("organizations as o", "o.id", "w.organizationId")
    .select(["w.id", "w.name", "w.projectId"])
    .select(["w.autoDestroyAt", "w.autoDestroyActivityDuration", "w.inheritsProjectAutoDestroy"])
    .where("w.organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("w.id"), ids))
    .orderBy("w.id")
    .modifyEnd(held(tx.dialect, "w", true))
    .execute();
}
