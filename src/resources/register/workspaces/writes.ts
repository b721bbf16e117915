/** What neighbours have done to workspaces, by sets. */
import type { Capability } from "../../../access/capability.ts";
import { sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import { Overtaken, type Tx } from "../../../database/database.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { held } from "../../shared/locks.ts";
import type { SettledState } from "../../shared/hooks.ts";
import { raised, updateRow } from "../../shared/versions.ts";
import type { ProjectView } from "../projects/definition.ts";
import type { LockColumns } from "./holder.ts";
import { updateWorkspaceRow } from "./store.ts";
import type { WorkspaceView } from "./view.ts";
import { noRepository } from "./vcs.ts";

/** To another project; what is inherited from it is looked up when it is read. */
export async function moveWorkspaceRows(
  tx: Tx,
  destination: Granted<ProjectView, "can-move-workspaces">,
  leaving: readonly Granted<Pick<WorkspaceTable, "id">, "can-move-workspaces">[],
  updatedAt: string,
): Promise<void> {
  const ids = leaving.map(({ id }) => id);
  await tx.db
    .updateTable("workspaces")
    .set({ projectId: destination.id, updatedAt, ...raised })
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
}

/** The document names its policy and the policy's type. */
export async function noteRetentionChanged(tx: Tx, workspace: Granted<WorkspaceView, "can-update">): Promise<void> {
  await updateWorkspaceRow(tx, workspace, {});
}

/** The names of the tags that a workspace was made with. Nobody has seen it without them, so the version stays. */
export async function setFirstTagNames(
  tx: Tx,
  workspace: Granted<Pick<WorkspaceTable, "id">, "can-create-workspace">,
  tagNames: string,
): Promise<void> {
  await tx.db.updateTable("workspaces").set({ tagNames }).where("id", "=", workspace.id).execute();
}

/** Writes the names of their tags, which have changed, onto workspaces that are held: documents show them from there. */
export async function rewriteTagNames(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.db
    .updateTable("workspaces")
    .set({
      tagNames: sql`coalesce((
        select string_agg(t.name, ',' order by t.name) from workspace_tags as wt inner join tags as t on t.id = wt.tag_id
        where wt.workspace_id = workspaces.id), '')`,
      ...raised,
    })
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
}

/** Which variables it has, joined by commas: its document names them. Its row is locked by now, so that no id gets lost. */
export async function setVarIds(
  tx: Tx,
  workspace: Granted<WorkspaceView, "can-update-variable">,
  varIds: string,
): Promise<void> {
  await updateWorkspaceRow(tx, workspace, { varIds });
}

/** What a workspace is connected to by an id of its own row, and what goes with it. */
const connections = {
  sshKeyId: { sshKeyId: null },
  vcsOauthTokenId: noRepository,
} as const;

/** The workspaces that are connected by one of these ids. */
export interface Connected {
  readonly organizationId: string;
  readonly by: keyof typeof connections;
  readonly ids: readonly string[];
}

/**
 * Holds them in the order of their ids, before the row that they are connected by: a workspace that is being connected is held
 * before it too. Gives their ids.
 */
export async function holdConnected(tx: Tx, { organizationId, by, ids }: Connected): Promise<string[]> {
  const found = await tx.db
    .selectFrom("workspaces as w")
    .innerJoin("organizations as o", "o.id", "w.organizationId")
    .select("w.id")
    .where("w.organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref(`w.${by}`), ids))
    .orderBy("w.id")
    .modifyEnd(held(tx.dialect, "w", true))
    .execute();
  return found.map((row) => row.id);
}

/** Once the row that they are connected by is held, for its removal, they have it no more. Raises `Overtaken`. */
export async function disconnect(
  tx: Tx,
  _by: Granted<object, "can-update-oauth" | "can-update-ssh-keys">,
  connected: Connected,
  heldIds: readonly string[],
): Promise<void> {
  await changeConnected(tx, connected, heldIds, connections[connected.by]);
}

/** Once it is held for a change, what their documents show of it may change. Raises `Overtaken`. */
export async function touchConnected(
  tx: Tx,
  _by: Granted<object, "can-update-oauth">,
  connected: Connected,
  heldIds: readonly string[],
): Promise<void> {
  await changeConnected(tx, connected, heldIds, {});
}

/** Raises `Overtaken` where there are others than those who were held before. */
async function changeConnected(
  tx: Tx,
  { organizationId, by, ids }: Connected,
  heldIds: readonly string[],
  changes: Partial<WorkspaceTable>,
): Promise<void> {
  const { isOneOf } = tx.dialect;
  const others = tx.db
    .selectFrom("workspaces as w")
    .select("w.id")
    .where("w.organizationId", "=", organizationId)
    .where(isOneOf(sql.ref(`w.${by}`), ids))
    .where((where) => where.not(isOneOf(sql.ref("w.id"), heldIds)));
  // None of the others is touched to find out: they are not held, and can't be waited for now.
  const changed =
    heldIds.length === 0
      ? (await others.limit(1).execute()).length
      : await tx.db
          .updateTable("workspaces")
          .set({ ...changes, ...raised })
          .where(isOneOf(sql.ref("id"), heldIds))
          .where((where) => where.not(where.exists(others)))
          .executeTakeFirst()
          .then(({ numUpdatedRows }) => Number(numUpdatedRows));
  if (changed !== heldIds.length) throw new Overtaken("a workspace was connected meanwhile");
}

/** A state was written: the workspace is not idle, and its document shows since when. */
export async function noteStateWritten(
  tx: Tx,
  _by: Granted<object, "can-create-state-versions" | "can-upload">,
  workspaceId: string,
  at: string,
): Promise<void> {
  await tx.db
    .updateTable("workspaces")
    .set({
      latestChangeAt: at,
      // Whatever kept it from being destroyed: its time is counted anew.
      autoDestroyStatus: sql<string | null>`nullif(auto_destroy_status, 'errored')`,
      ...raised,
    })
    .where("id", "=", workspaceId)
    .execute();
}

/** A state that was written elsewhere is the one in force, since then. The row is held. */
export async function setBroughtState(
  tx: Tx,
  _by: Granted<object, "can-create-state-versions">,
  workspaceId: string,
  columns: SettledState & Pick<WorkspaceTable, "latestChangeAt">,
): Promise<void> {
  await updateRow(tx, "workspaces", workspaceId, columns);
}

/** What was read out of a state, where that is the one in force. */
export async function noteStateRead(
  tx: Tx,
  _by: Capability<"job">,
  stateVersion: { readonly id: string; readonly workspaceId: string },
  read: { readonly resourceCount: number; readonly outputIds: string },
): Promise<void> {
  await tx.db
    .updateTable("workspaces")
    .set({ ...read, ...raised })
    .where("id", "=", stateVersion.workspaceId)
    .where("currentStateVersionId", "=", stateVersion.id)
    .execute();
}

type OfRuns =
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

/** What a workspace's row tells of its runs: who holds the lock, the current run, the state that an apply left, figures. */
export type RunColumns = Partial<LockColumns & SettledState & Pick<WorkspaceTable, OfRuns>>;

/** With a run's step, in its transaction; the row is held. */
export async function setRunColumns(
  tx: Tx,
  _by: Capability<"run-transition" | "job">,
  workspaceId: string,
  columns: RunColumns,
): Promise<void> {
  await updateRow(tx, "workspaces", workspaceId, columns);
}

/** Whoever brings a configuration, and whoever applies it. */
type ConfigurationBringer = Granted<object, "can-queue-run" | "can-upload" | "run-transition" | "job">;

/** Which configuration runs begin with from now on; its readme is the workspace's. The row is held. */
export async function setCurrentConfiguration(
  tx: Tx,
  _by: ConfigurationBringer,
  workspaceId: string,
  version: { readonly id: string; readonly hasReadme: number } | null,
): Promise<void> {
  const columns = {
    currentConfigurationVersionId: version?.id ?? null,
    readmeConfigurationVersionId: version?.hasReadme === 1 ? version.id : null,
  };
  await updateRow(tx, "workspaces", workspaceId, columns);
}
