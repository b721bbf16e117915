/** SQL of the background jobs for state versions. Each query uses an index and returns a batch. */
import type { Capability } from "../../../../access/capability.ts";
import { sql } from "kysely";
import type { Tx } from "../../../../database/database.ts";
import type { StateVersionTable } from "../../../../database/schema/state.ts";
import type { RetentionPolicy } from "../../../register/data-retention-policies/reads.ts";
import { lockClause } from "../../../shared/locks.ts";
import { incrementedVersion, updateRow } from "../../../shared/versions.ts";
import type { ParsedStateColumns } from "../rules.ts";
import type { DiscardedVersion } from "../writes.ts";
import { isInOpenOrganization, openWithId } from "../../../shared/open-organizations.ts";

export interface UnparsedQuery {
  readonly bytesMax: number;
  readonly inProgress: readonly string[];
  readonly failed: readonly string[];
}

/** Oldest first. An older state of the same workspace comes first, whatever its size: the newer one is compared with it. */
export async function findUnparsed(
  tx: Tx,
  { bytesMax, inProgress, failed }: UnparsedQuery,
): Promise<StateVersionTable | undefined> {
  const isNone = (column: string, ids: readonly string[]) =>
    sql<boolean>`not ${tx.dialect.isOneOf(sql.ref(column), ids)}`;
  return tx.db
    .selectFrom("stateVersions as v")
    .selectAll("v")
    .where("v.resourcesProcessed", "=", 0)
    .where("v.status", "=", "finalized")
    .where("v.size", "<=", Math.floor(bytesMax))
    .where(isInOpenOrganization("v.organizationId"))
    .where(isNone("v.id", [...inProgress, ...failed]))
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

/** Returns whether the version still has to be processed. Also locks the workspace. */
export async function lockUnparsed(tx: Tx, id: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("stateVersions as v")
    .innerJoin("workspaces as w", "w.id", "v.workspaceId")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .select("v.id")
    .where("v.id", "=", id)
    .where("v.resourcesProcessed", "=", 0)
    .where("v.status", "=", "finalized")
    .modifyEnd(lockClause(tx.dialect, "w", "change"))
    .modifyEnd(tx.dialect.lockRows("v"))
    .executeTakeFirst();
  return row !== undefined;
}

export async function hasOrphanedResources(tx: Tx, id: string): Promise<boolean> {
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

export async function finishParsing(
  tx: Tx,
  _by: Capability<"job">,
  id: string,
  columns: ParsedStateColumns,
): Promise<void> {
  await updateRow(tx, "stateVersions", id, columns);
}

export async function discardExpiredUploads(
  tx: Tx,
  _by: Capability<"job">,
  at: string,
  limit: number,
): Promise<DiscardedVersion[]> {
  const expired = await tx.db
    .selectFrom("stateVersions as v")
    .innerJoin("workspaces as w", "w.id", "v.workspaceId")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .select(["v.id", "v.organizationId"])
    .where("v.status", "=", "pending")
    .where("v.uploadExpiresAt", "<", at)
    .orderBy("v.workspaceId")
    .limit(limit)
    .modifyEnd(lockClause(tx.dialect, "w", "change"))
    .modifyEnd(tx.dialect.lockRows("v"))
    .execute();
  const ids = expired.map((version) => version.id);
  await tx.db
    .updateTable("stateVersions")
    .set({ status: "discarded", intermediate: 0, uploadExpiresAt: null, ...incrementedVersion })
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
  return expired;
}

/** Skips locked workspaces: the order by age does not allow waiting for them without a risk of deadlock. */
export async function findVersionsPastRetention(
  tx: Tx,
  { organizationId, workspaceId }: RetentionPolicy,
  before: string,
  limit: number,
): Promise<StateVersionTable[]> {
  const candidates = tx.db
    .selectFrom("stateVersions as v")
    .innerJoin("workspaces as w", "w.id", "v.workspaceId")
    .selectAll("v")
    .where("v.organizationId", "=", organizationId)
    .where("v.createdAt", "<", before)
    .where("v.intermediate", "=", 0)
    .where("v.status", "<>", "pending")
    .where(sql<boolean>`(w.current_state_version_id is null or w.current_state_version_id <> v.id)`);
  const governedVersions =
    workspaceId === null
      ? candidates.where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("dataRetentionPolicies as own").select("own.id").whereRef("own.workspaceId", "=", "w.id"),
            ),
          ),
        )
      : candidates.where("v.workspaceId", "=", workspaceId);
  return governedVersions
    .orderBy("v.createdAt")
    .orderBy("v.id")
    .limit(limit)
    .modifyEnd(tx.dialect.lockRowsSkipLocked("w"))
    .modifyEnd(tx.dialect.lockRowsSkipLocked("v", "removal"))
    .execute();
}

/** The database deletes outputs with their versions; a job removes the contents and resources later. */
export async function deleteVersions(tx: Tx, _by: Capability<"job">, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.db
    .deleteFrom("stateVersions")
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
}

/** Skips versions until the current one is processed, because that is compared with them. */
export async function findSuperseded(tx: Tx): Promise<string | undefined> {
  const row = await tx.db
    .selectFrom("stateVersions as v")
    .innerJoin("workspaces as w", "w.id", "v.workspaceId")
    .leftJoin("stateVersions as c", "c.id", "w.currentStateVersionId")
    .select("v.id")
    .where("v.superseded", "=", 1)
    .where(isInOpenOrganization("v.organizationId"))
    .where("v.resourcesProcessed", "=", 1)
    .where((where) => where.or([where("c.resourcesProcessed", "=", 1), where("c.id", "is", null)]))
    .limit(1)
    .executeTakeFirst();
  return row?.id;
}

/** Lock order: workspace, then version. */
export async function lockVersion(tx: Tx, id: string): Promise<void> {
  await tx.db
    .selectFrom("stateVersions as v")
    .innerJoin("workspaces as w", "w.id", "v.workspaceId")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .select("v.id")
    .where("v.id", "=", id)
    .modifyEnd(lockClause(tx.dialect, "w", "change"))
    .modifyEnd(tx.dialect.lockRows("v"))
    .execute();
}

/** Keeps the version number, because documents don't contain the resources. */
export async function finishSuperseded(tx: Tx, _by: Capability<"job">, stateVersionId: string): Promise<void> {
  await tx.db.updateTable("stateVersions").set({ superseded: 0 }).where("id", "=", stateVersionId).execute();
}
