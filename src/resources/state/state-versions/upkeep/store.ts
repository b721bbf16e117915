/** SQL of what is done for state versions by jobs. Each look-up has its index, and takes a batch. */
import { sql } from "kysely";
import type { Tx } from "../../../../database/database.ts";
import type { StateVersionTable } from "../../../../database/schema/state.ts";

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

/** A policy that removes: of a workspace, or of the whole organization where that is null. */
export interface DeletingPolicy {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly deleteOlderThanNDays: number;
}

/** Some of them, in the order of their ids. */
export async function findPolicies(tx: Tx, after: string, limit: number): Promise<DeletingPolicy[]> {
  const rows = await tx.db
    .selectFrom("dataRetentionPolicies")
    .select(["id", "organizationId", "workspaceId", "deleteOlderThanNDays"])
    .where("deleteOlderThanNDays", "is not", null)
    .where("id", ">", after)
    .orderBy("id")
    .limit(limit)
    .execute();
  return rows as DeletingPolicy[];
}

/**
 * Versions under a policy that were made before a time. A workspace's own policy comes before the organization's. The state in
 * force and those under a lock are not among them.
 */
export async function findOutlived(
  tx: Tx,
  { organizationId, workspaceId }: DeletingPolicy,
  before: string,
  limit: number,
): Promise<StateVersionTable[]> {
  const found = tx.db
    .selectFrom("stateVersions as v")
    .innerJoin("workspaces as w", "w.id", "v.workspaceId")
    .selectAll("v")
    .where("v.organizationId", "=", organizationId)
    .where("v.createdAt", "<", before)
    .where("v.intermediate", "=", 0)
    .where("v.status", "<>", "pending")
    .where(sql<boolean>`(w.current_state_version_id is null or w.current_state_version_id <> v.id)`);
  const governed =
    workspaceId === null
      ? found.where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("dataRetentionPolicies as own").select("own.id").whereRef("own.workspaceId", "=", "w.id"),
            ),
          ),
        )
      : found.where("v.workspaceId", "=", workspaceId);
  return governed.orderBy("v.createdAt").orderBy("v.id").limit(limit).modifyEnd(tx.dialect.lockRows("w")).execute();
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
