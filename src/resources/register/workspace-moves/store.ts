/** SQL of moves. It must not change workspaces: `workspaces/writes.ts` does. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { lockClause } from "../../shared/locks.ts";
import { openWithId } from "../../shared/open-organizations.ts";

export interface LockedWorkspaceRow extends MovingRow {
  readonly enabledRuleCount: number;
}

export type MovingRow = Pick<
  WorkspaceTable,
  "id" | "name" | "projectId" | "autoDestroyAt" | "autoDestroyActivityDuration" | "inheritsProjectAutoDestroy"
>;

/** Locks in the order of ids, so that concurrent moves of the same workspaces can't deadlock. */
export async function lockWorkspaces(
  tx: Tx,
  organizationId: string,
  ids: readonly string[],
): Promise<LockedWorkspaceRow[]> {
  return tx.db
    .selectFrom("workspaces as w")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .select(["w.id", "w.name", "w.projectId", "o.enabledRuleCount"])
    .select(["w.autoDestroyAt", "w.autoDestroyActivityDuration", "w.inheritsProjectAutoDestroy"])
    .where("w.organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("w.id"), ids))
    .orderBy("w.id")
    .modifyEnd(lockClause(tx.dialect, "w", "change"))
    .execute();
}
