/** Changes of workspace rows that other resources make. */
import type { Capability } from "../../../access/capability.ts";
import { sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import { RetryTransaction, type Tx } from "../../../database/database.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { lockClause } from "../../shared/locks.ts";
import type { CurrentStateColumns } from "../../shared/hooks.ts";
import { incrementedVersion, updateRow } from "../../shared/versions.ts";
import type { ProjectView } from "../projects/definition.ts";
import type { LockColumns } from "./lock-holder.ts";
import { updateWorkspaceRow } from "./store.ts";
import type { WorkspaceView } from "./view.ts";
import { noRepository } from "./vcs.ts";
import { openWithId } from "../../shared/open-organizations.ts";

/** Only the project id changes: inherited settings are resolved when a workspace is read. */
export async function moveWorkspaceRows(
  tx: Tx,
  destination: Granted<ProjectView, "can-move-workspaces">,
  movedWorkspaces: readonly Granted<Pick<WorkspaceTable, "id">, "can-move-workspaces">[],
  updatedAt: string,
): Promise<void> {
  const ids = movedWorkspaces.map(({ id }) => id);
  await tx.db
    .updateTable("workspaces")
    .set({ projectId: destination.id, updatedAt, ...incrementedVersion })
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
}

/** Throws the version, because the workspace's document shows its retention policy. */
export async function touchAfterRetentionChange(
  tx: Tx,
  workspace: Granted<WorkspaceView, "can-update">,
): Promise<void> {
  await updateWorkspaceRow(tx, workspace, {});
}

/** In the transaction that creates the workspace, so the version need not change. */
export async function setFirstTagNames(
  tx: Tx,
  workspace: Granted<Pick<WorkspaceTable, "id">, "can-create-workspace">,
  tagNames: string,
): Promise<void> {
  await tx.db.updateTable("workspaces").set({ tagNames }).where("id", "=", workspace.id).execute();
}

/** The caller has locked the workspaces. */
export async function rewriteTagNames(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.db
    .updateTable("workspaces")
    .set({
      tagNames: sql`coalesce((
        select string_agg(t.name, ',' order by t.name) from workspace_tags as wt inner join tags as t on t.id = wt.tag_id
        where wt.workspace_id = workspaces.id), '')`,
      ...incrementedVersion,
    })
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
}

/** Ids joined by commas. The caller has locked the row, so no concurrent change is lost. */
export async function setVarIds(
  tx: Tx,
  workspace: Granted<WorkspaceView, "can-update-variable">,
  varIds: string,
): Promise<void> {
  await updateWorkspaceRow(tx, workspace, { varIds });
}

/** The values disconnect a workspace. */
const connections = {
  sshKeyId: { sshKeyId: null },
  vcsOauthTokenId: noRepository,
} as const;

export interface ConnectionFilter {
  readonly organizationId: string;
  readonly by: keyof typeof connections;
  readonly ids: readonly string[];
}

/** Locks in the order of ids. Call it before locking the row that they refer to: connecting a workspace locks in the same order. */
export async function lockConnected(tx: Tx, { organizationId, by, ids }: ConnectionFilter): Promise<string[]> {
  const rows = await tx.db
    .selectFrom("workspaces as w")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .select("w.id")
    .where("w.organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref(`w.${by}`), ids))
    .orderBy("w.id")
    .modifyEnd(lockClause(tx.dialect, "w", "change"))
    .execute();
  return rows.map(({ id }) => id);
}

/** The caller has locked the row that they refer to. Throws `RetryTransaction`. */
export async function disconnectWorkspaces(
  tx: Tx,
  _by: Granted<object, "can-update-oauth" | "can-update-ssh-keys">,
  connected: ConnectionFilter,
  lockedIds: readonly string[],
): Promise<void> {
  await changeConnected(tx, connected, lockedIds, connections[connected.by]);
}

/** For changes of the connection that the documents show. The caller has locked that row. Throws `RetryTransaction`. */
export async function touchConnected(
  tx: Tx,
  _by: Granted<object, "can-update-oauth">,
  connected: ConnectionFilter,
  lockedIds: readonly string[],
): Promise<void> {
  await changeConnected(tx, connected, lockedIds, {});
}

/** Throws `RetryTransaction` if a workspace was connected after `lockConnected`. */
async function changeConnected(
  tx: Tx,
  { organizationId, by, ids }: ConnectionFilter,
  lockedIds: readonly string[],
  changes: Partial<WorkspaceTable>,
): Promise<void> {
  const { isOneOf } = tx.dialect;
  const others = tx.db
    .selectFrom("workspaces as w")
    .select("w.id")
    .where("w.organizationId", "=", organizationId)
    .where(isOneOf(sql.ref(`w.${by}`), ids))
    .where((where) => where.not(isOneOf(sql.ref("w.id"), lockedIds)));
  // Reads the others without locking them: waiting for their locks here could deadlock.
  const changed =
    lockedIds.length === 0
      ? (await others.limit(1).execute()).length
      : await tx.db
          .updateTable("workspaces")
          .set({ ...changes, ...incrementedVersion })
          .where(isOneOf(sql.ref("id"), lockedIds))
          .where((where) => where.not(where.exists(others)))
          .executeTakeFirst()
          .then(({ numUpdatedRows }) => Number(numUpdatedRows));
  if (changed !== lockedIds.length) throw new RetryTransaction("a workspace was connected concurrently");
}

/** The auto-destroy schedule counts from this time. */
export async function recordStateWritten(
  tx: Tx,
  _by: Granted<object, "can-create-state-versions" | "can-upload">,
  workspaceId: string,
  at: string,
): Promise<void> {
  await tx.db
    .updateTable("workspaces")
    .set({
      latestChangeAt: at,
      // Schedules a failed auto-destroy again.
      autoDestroyStatus: sql<string | null>`nullif(auto_destroy_status, 'errored')`,
      ...incrementedVersion,
    })
    .where("id", "=", workspaceId)
    .execute();
}

/** The caller has locked the row. */
export async function setImportedState(
  tx: Tx,
  _by: Granted<object, "can-create-state-versions">,
  workspaceId: string,
  columns: CurrentStateColumns & Pick<WorkspaceTable, "latestChangeAt">,
): Promise<void> {
  await updateRow(tx, "workspaces", workspaceId, columns);
}

/** Changes nothing if that state is no longer the current one. */
export async function recordParsedState(
  tx: Tx,
  _by: Capability<"job">,
  stateVersion: { readonly id: string; readonly workspaceId: string },
  parsed: { readonly resourceCount: number; readonly outputIds: string },
): Promise<void> {
  await tx.db
    .updateTable("workspaces")
    .set({ ...parsed, ...incrementedVersion })
    .where("id", "=", stateVersion.workspaceId)
    .where("currentStateVersionId", "=", stateVersion.id)
    .execute();
}

type RunColumnName =
  | "currentRunId"
  | "currentRunStatus"
  | "currentRunCreatedAt"
  | "runsCount"
  | "runFailures"
  | "planDurationAverage"
  | "applyDurationAverage"
  | "autoDestroyAt"
  | "autoDestroyStatus"
  | "currentAssessmentResultId"
  | "lastAssessmentResultAt";

export type RunColumns = Partial<LockColumns & CurrentStateColumns & Pick<WorkspaceTable, RunColumnName>>;

/** The transaction of the run's transition has locked the row. */
export async function setRunColumns(
  tx: Tx,
  _by: Capability<"run-transition" | "job">,
  workspaceId: string,
  columns: RunColumns,
): Promise<void> {
  await updateRow(tx, "workspaces", workspaceId, columns);
}

type ConfigurationWriter = Granted<object, "can-queue-run" | "can-upload" | "run-transition" | "job">;

/** Also sets the workspace's readme. The caller has locked the row. */
export async function setCurrentConfiguration(
  tx: Tx,
  _by: ConfigurationWriter,
  workspaceId: string,
  version: { readonly id: string; readonly hasReadme: number } | null,
): Promise<void> {
  const columns = {
    currentConfigurationVersionId: version?.id ?? null,
    readmeConfigurationVersionId: version?.hasReadme === 1 ? version.id : null,
  };
  await updateRow(tx, "workspaces", workspaceId, columns);
}
