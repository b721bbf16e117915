/** SQL of what is done for state versions by jobs. Each look-up has its index, and takes a batch. */
import { sql } from "kysely";
import type { Tx } from "../../database/database.ts";
import type { StateVersionTable } from "../../database/schema/state.ts";

/** The oldest state that waits to be read, after a place in their order (`CREATED-AT ID`). */
export async function findUnread(tx: Tx, after: string): Promise<StateVersionTable | undefined> {
  const [createdAt = "", id = ""] = after.split(" ");
  return tx.db
    .selectFrom("stateVersions")
    .selectAll()
    .where("resourcesProcessed", "=", 0)
    .where("status", "=", "finalized")
    .where((where) =>
      where.or([
        where("createdAt", ">", createdAt),
        where.and([where("createdAt", "=", createdAt), where("id", ">", id)]),
      ]),
    )
    .orderBy("createdAt")
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
}

export async function countResources(tx: Tx, stateVersionId: string): Promise<number> {
  const { count } = await tx.db
    .selectFrom("stateResources")
    .select((select) => select.fn.countAll<number>().as("count"))
    .where("stateVersionId", "=", stateVersionId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Versions whose upload URL has expired, with their workspaces' rows locked. */
export async function findExpiredUploads(tx: Tx, at: string, limit: number): Promise<StateVersionTable[]> {
  return tx.db
    .selectFrom("stateVersions as v")
    .innerJoin("workspaces as w", "w.id", "v.workspaceId")
    .selectAll("v")
    .where("v.status", "=", "pending")
    .where("v.uploadExpiresAt", "<", at)
    .orderBy("v.workspaceId")
    .limit(limit)
    .modifyEnd(tx.dialect.lockRows("w"))
    .modifyEnd(tx.dialect.lockRows("v"))
    .execute();
}

/** The different numbers of days that policies name: few, however many policies there are. */
export async function retentionPeriods(tx: Tx): Promise<number[]> {
  const rows = await tx.db
    .selectFrom("dataRetentionPolicies")
    .select("deleteOlderThanNDays")
    .distinct()
    .where("deleteOlderThanNDays", "is not", null)
    .execute();
  return rows.map((row) => Number(row.deleteOlderThanNDays));
}

/**
 * Versions made before a time, where the policy in force names so many days: the workspace's own, or the organization's where
 * it has none. The state in force and those under a lock are not among them.
 */
export async function findOutlived(tx: Tx, days: number, before: string, limit: number): Promise<StateVersionTable[]> {
  return tx.db
    .selectFrom("stateVersions as v")
    .innerJoin("workspaces as w", "w.id", "v.workspaceId")
    .leftJoin("dataRetentionPolicies as own", "own.workspaceId", "w.id")
    .leftJoin("dataRetentionPolicies as general", (join) =>
      join.onRef("general.organizationId", "=", "w.organizationId").on("general.workspaceId", "is", null),
    )
    .selectAll("v")
    .where("v.createdAt", "<", before)
    .where("v.intermediate", "=", 0)
    .where("v.status", "<>", "pending")
    .where(sql<boolean>`(w.current_state_version_id is null or w.current_state_version_id <> v.id)`)
    .where(
      sql<boolean>`case when own.id is null then general.delete_older_than_n_days else own.delete_older_than_n_days end = ${days}`,
    )
    .orderBy("v.id")
    .limit(limit)
    .modifyEnd(tx.dialect.lockRows("w"))
    .execute();
}

/** Their outputs and resources go with them; their contents are left for the clean-up of what nothing leads to. */
export async function deleteVersions(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.db
    .deleteFrom("stateVersions")
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
}

/** A version that another has taken the place of, once that one was read: until then it is what the other is compared with. */
export async function findSuperseded(tx: Tx): Promise<string | undefined> {
  const row = await tx.db
    .selectFrom("stateVersions as v")
    .innerJoin("workspaces as w", "w.id", "v.workspaceId")
    .leftJoin("stateVersions as c", "c.id", "w.currentStateVersionId")
    .select("v.id")
    .where("v.superseded", "=", 1)
    .where("v.resourcesProcessed", "=", 1)
    .where((where) => where.or([where("c.resourcesProcessed", "=", 1), where("c.id", "is", null)]))
    .limit(1)
    .executeTakeFirst();
  return row?.id;
}

/** Some of its resources. Tells whether all are gone. */
export async function removeSuperseded(tx: Tx, stateVersionId: string, limit: number): Promise<boolean> {
  const some = tx.db
    .selectFrom("stateResources")
    .select("address")
    .where("stateVersionId", "=", stateVersionId)
    .limit(limit);
  const { numDeletedRows } = await tx.db
    .deleteFrom("stateResources")
    .where("stateVersionId", "=", stateVersionId)
    .where("address", "in", some)
    .executeTakeFirst();
  if (Number(numDeletedRows) === limit) return false;
  await tx.db.updateTable("stateVersions").set({ superseded: 0 }).where("id", "=", stateVersionId).execute();
  return true;
}
