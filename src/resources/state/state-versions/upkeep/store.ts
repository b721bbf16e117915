/** SQL of what is done for state versions by jobs. Each look-up has its index, and takes a batch. */
import type { Capability } from "../../../../access/capability.ts";
import { sql } from "kysely";
import type { Tx } from "../../../../database/database.ts";
import type { StateVersionTable } from "../../../../database/schema/state.ts";
import type { DeletingPolicy } from "../../../register/data-retention-policies/reads.ts";
import { held } from "../../../shared/locks.ts";
import { raised, updateRow } from "../../../shared/versions.ts";
import type { ReadColumns } from "../rules.ts";
import type { DiscardedVersion } from "../writes.ts";

export interface Waiting {
  readonly bytesMax: number;
  /** Those that are being read. */
  readonly underWay: readonly string[];
  /** Those that could not be. */
  readonly failed: readonly string[];
}

/**
 * The oldest state that waits to be read, of those that have at most so many bytes. An older one of the same workspace comes
 * first, whatever its size: it is what the other is compared with.
 */
export async function findUnread(
  tx: Tx,
  { bytesMax, underWay, failed }: Waiting,
): Promise<StateVersionTable | undefined> {
  const isNone = (column: string, ids: readonly string[]) =>
    sql<boolean>`not ${tx.dialect.isOneOf(sql.ref(column), ids)}`;
  return tx.db
    .selectFrom("stateVersions as v")
    .selectAll("v")
    .where("v.resourcesProcessed", "=", 0)
    .where("v.status", "=", "finalized")
    .where("v.size", "<=", Math.floor(bytesMax))
    .where(isNone("v.id", [...underWay, ...failed]))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("stateVersions as e")
            .select("e.id")
            .whereRef("e.workspaceId", "=", "v.workspaceId")
            .whereRef("e.position", "<", "v.position")
            .where("e.resourcesProcessed", "=", 0)
            .where("e.status", "=", "finalized")
            .where(isNone("e.id", failed)),
        ),
      ),
    )
    .orderBy("v.createdAt")
    .orderBy("v.id")
    .limit(1)
    .executeTakeFirst();
}

/** Whether it still waits to be read; nobody else changes it, or what its workspace keeps of it, from now on. */
export async function lockUnread(tx: Tx, id: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("stateVersions as v")
    .innerJoin("workspaces as w", "w.id", "v.workspaceId")
    .innerJoin("organizations as o", "o.id", "w.organizationId")
    .select("v.id")
    .where("v.id", "=", id)
    .where("v.resourcesProcessed", "=", 0)
    .where("v.status", "=", "finalized")
    .modifyEnd(held(tx.dialect, "w", true))
    .modifyEnd(tx.dialect.lockRows("v"))
    .executeTakeFirst();
  return row !== undefined;
}

/** Whether a version is gone, for good, and its resources are not. */
export async function hasLeftResources(tx: Tx, id: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("stateResources as r")
    .leftJoin("stateVersions as v", "v.id", "r.stateVersionId")
    .select("r.address")
    .where("r.stateVersionId", "=", id)
    .where("v.id", "is", null)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export async function finishReading(tx: Tx, _by: Capability<"job">, id: string, read: ReadColumns): Promise<void> {
  await updateRow(tx, "stateVersions", id, read);
}

/** Versions whose upload URL has expired are awaited no more. Gives them. */
export async function discardExpiredUploads(
  tx: Tx,
  _by: Capability<"job">,
  at: string,
  limit: number,
): Promise<DiscardedVersion[]> {
  const expired = await tx.db
    .selectFrom("stateVersions as v")
    .innerJoin("workspaces as w", "w.id", "v.workspaceId")
    .innerJoin("organizations as o", "o.id", "w.organizationId")
    .select(["v.id", "v.organizationId"])
    .where("v.status", "=", "pending")
    .where("v.uploadExpiresAt", "<", at)
    .orderBy("v.workspaceId")
    .limit(limit)
    .modifyEnd(held(tx.dialect, "w", true))
    .modifyEnd(tx.dialect.lockRows("v"))
    .execute();
  const ids = expired.map((version) => version.id);
  await tx.db
    .updateTable("stateVersions")
    .set({ status: "discarded", intermediate: 0, uploadExpiresAt: null, ...raised })
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
  return expired;
}

/**
 * Versions under a policy that were made before a time. A workspace's own policy comes before the organization's. The state in
 * force and those under a lock are not among them; nor, for now, those of workspaces that somebody holds: in the order of their
 * age their workspaces can't be waited for.
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
  return governed
    .orderBy("v.createdAt")
    .orderBy("v.id")
    .limit(limit)
    .modifyEnd(tx.dialect.lockFreeRows("w"))
    .modifyEnd(tx.dialect.lockFreeRows("v", "removal"))
    .execute();
}

/** Their outputs go with them; contents and resources are left for the clean-up of what nothing leads to. */
export async function deleteVersions(tx: Tx, _by: Capability<"job">, ids: readonly string[]): Promise<void> {
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

/** Holds it, and its workspace before it, as for every change of a version. */
export async function lockVersion(tx: Tx, id: string): Promise<void> {
  await tx.db
    .selectFrom("stateVersions as v")
    .innerJoin("workspaces as w", "w.id", "v.workspaceId")
    .innerJoin("organizations as o", "o.id", "w.organizationId")
    .select("v.id")
    .where("v.id", "=", id)
    .modifyEnd(held(tx.dialect, "w", true))
    .modifyEnd(tx.dialect.lockRows("v"))
    .execute();
}

/** Its resources are gone; its document never showed them, so its version stays. */
export async function finishSuperseded(tx: Tx, _by: Capability<"job">, stateVersionId: string): Promise<void> {
  await tx.db.updateTable("stateVersions").set({ superseded: 0 }).where("id", "=", stateVersionId).execute();
}
