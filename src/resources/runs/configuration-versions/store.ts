/** SQL for configuration versions. Writers must hold the lock on the workspace row, which orders all changes. */
import { Capability } from "../../../access/capability.ts";
import type { WorkspacePermissionInput } from "../../../access/permissions/workspace.ts";
import { type Kysely, sql } from "kysely";
import { principalOf } from "../../../access/actor.ts";
import { type Granted, withProofOf } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { insertRow, prepared } from "../../../database/prepared.ts";
import type { ConfigurationVersionTable } from "../../../database/schema/runs.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { now } from "../../../kernel/time.ts";
import type { RetentionPolicy } from "../../register/data-retention-policies/reads.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import {
  workspaceAccessColumns,
  type WorkspaceAccessRow,
  workspacePermissionInputOf,
} from "../../shared/grants/reads.ts";
import type { Context } from "../../shared/context.ts";
import { lockClause } from "../../shared/locks.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";
import type { ConfigurationVersionView } from "./definition.ts";
import type { ConfigurationWriteGrant } from "./rules.ts";
import type { ConfigurationUploadGrant } from "./upload-urls.ts";
import { isInOpenOrganization, openWithId } from "../../shared/open-organizations.ts";

type ConfigurationCaller = Pick<Context, "actor">;
type ConfigurationVersionRow = ConfigurationVersionTable &
  WorkspaceAccessRow &
  Pick<ConfigurationVersionView, "currentConfigurationVersionId">;
type ConfigurationQuery = { id: string; principal: string };

const workspacesForActor = (db: Kysely<Schema>, principal: string) =>
  db
    .selectFrom("workspaces as w")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .select(["w.currentConfigurationVersionId", "o.allowForceDeleteWorkspaces"])
    .select(workspaceAccessColumns(principal));

const versionForActor = (db: Kysely<Schema>, principal: string) =>
  workspacesForActor(db, principal).innerJoin("configurationVersions as v", "v.workspaceId", "w.id").selectAll("v");

// Lock order: workspace, then version. A transaction that waited for the workspace must not continue with a stale version.
const byId = prepared<ConfigurationQuery, ConfigurationVersionRow>((db, { id, principal }) =>
  versionForActor(db, principal).where("v.id", "=", id),
);
const byIdLocked = prepared<ConfigurationQuery, ConfigurationVersionRow>((db, { id, principal }, dialect) =>
  versionForActor(db, principal)
    .where("v.id", "=", id)
    .modifyEnd(lockClause(dialect, "w", "change"))
    .modifyEnd(dialect.lockRows("v")),
);

/** With the caller's access to the run's workspace: the configuration may have been promoted from another. */
const byRun = prepared<ConfigurationQuery, ConfigurationVersionRow>((db, { id, principal }) =>
  workspacesForActor(db, principal)
    .innerJoin("runs as r", "r.workspaceId", "w.id")
    .innerJoin("configurationVersions as v", "v.id", "r.configurationVersionId")
    .selectAll("v")
    .where("r.id", "=", id),
);

export async function findConfigurationVersion(
  tx: Tx,
  { actor }: ConfigurationCaller,
  id: string,
  lock = false,
): Promise<ConfigurationVersionView | undefined> {
  const [row] = await (lock ? byIdLocked : byId)(tx, { id, principal: principalOf(actor) });
  return row && toView(row, actor);
}

export async function findConfigurationOfRun(
  tx: Tx,
  { actor }: ConfigurationCaller,
  runId: string,
): Promise<ConfigurationVersionView | undefined> {
  const [row] = await byRun(tx, { id: runId, principal: principalOf(actor) });
  return row && toView(row, actor);
}

const toView = (row: ConfigurationVersionRow, actor: Context["actor"]): ConfigurationVersionView => ({
  ...row,
  ...workspacePermissionInputOf(actor, row),
  uploadUrl: null,
});

export type ConfiguredParent = WorkspacePermissionInput &
  Pick<ConfigurationVersionView, "organizationId" | "currentConfigurationVersionId">;

export function toConfigurationView(
  row: ConfigurationVersionTable,
  workspace: ConfiguredParent,
): ConfigurationVersionView {
  const { access, owner, allowForceDeleteWorkspaces, currentConfigurationVersionId } = workspace;
  return { ...row, access, owner, allowForceDeleteWorkspaces, currentConfigurationVersionId, uploadUrl: null };
}

export async function pageOfVersions(
  tx: Tx,
  workspace: Granted<WorkspaceView, "can-read-run">,
  page: Page,
): Promise<{ views: ConfigurationVersionView[]; totalCount: number }> {
  const found = tx.db
    .selectFrom("configurationVersions as v")
    .where("v.organizationId", "=", workspace.organizationId)
    .where("v.workspaceId", "=", workspace.id);
  const { rows, totals } = await fetchPage(tx, {
    rows: found.selectAll("v"),
    order: [
      { column: "v.position", descending: true },
      { column: "v.id", descending: true },
    ],
    page,
    totals: { totalCount: countOf(found.select("v.id")) },
  });
  return { views: rows.map((row) => toConfigurationView(row, workspace)), totalCount: totals.totalCount };
}

const lastPosition = prepared<{ workspaceId: string }, { last: number | null }>((db, { workspaceId }) =>
  db
    .selectFrom("configurationVersions")
    .select((select) => select.fn.max("position").as("last"))
    .where("workspaceId", "=", workspaceId),
);

/** The workspace must be locked. */
export async function nextPosition(tx: Tx, workspaceId: string): Promise<number> {
  const [row] = await lastPosition(tx, { workspaceId });
  return Number(row?.last ?? 0) + 1;
}

export async function insertConfigurationVersion(
  tx: Tx,
  _into: ConfigurationWriteGrant,
  row: ConfigurationVersionTable,
): Promise<void> {
  await insertRow(tx, "configurationVersions", row);
}

export async function updateConfigurationVersion(
  tx: Tx,
  _by: ConfigurationWriteGrant | Granted<object, "can-update">,
  id: string,
  changes: Partial<ConfigurationVersionTable>,
): Promise<void> {
  await updateRow(tx, "configurationVersions", id, changes);
}

/** Does not raise the version number: no document shows the approval. */
export async function setConfigurationApproved(
  tx: Tx,
  { workspaceId }: Granted<{ readonly workspaceId: string }, "run-transition">,
  id: string,
): Promise<void> {
  await tx.db
    .updateTable("configurationVersions")
    .set({ approvedAt: now() })
    .where("id", "=", id)
    .where("workspaceId", "=", workspaceId)
    .where("approvedAt", "is", null)
    .execute();
}

export interface AwaitedConfiguration extends ConfigurationVersionTable {
  readonly workingDirectory: string | null;
  readonly currentConfigurationVersionId: string | null;
}

/** Loads no permissions: a signed URL or a job's capability is sufficient. */
export async function findAwaitedConfiguration(
  tx: Tx,
  by: ConfigurationUploadGrant | Capability<"job">,
  id: string,
  lock = false,
): Promise<Granted<AwaitedConfiguration, "can-upload" | "job"> | undefined> {
  const row = await tx.db
    .selectFrom("configurationVersions as v")
    .innerJoin("workspaces as w", "w.id", "v.workspaceId")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .selectAll("v")
    .select(["w.workingDirectory", "w.currentConfigurationVersionId"])
    .where("v.id", "=", id)
    .$if(lock, (query) => query.modifyEnd(lockClause(tx.dialect, "w", "change")).modifyEnd(tx.dialect.lockRows("v")))
    .executeTakeFirst();
  if (row === undefined) return undefined;
  return by instanceof Capability ? by.proofFor(row) : withProofOf(by, row);
}

export async function hasRun(tx: Tx, id: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("runs")
    .select("id")
    .where("configurationVersionId", "=", id)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export async function hasRunInProgress(tx: Tx, id: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("runs")
    .select("id")
    .where("configurationVersionId", "=", id)
    .where("endedAt", "is", null)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export async function latestRunIds(tx: Tx, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.db
    .selectFrom("runs as r")
    .select(["r.id", "r.configurationVersionId"])
    .where(tx.dialect.isOneOf(sql.ref("r.configurationVersionId"), ids))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("runs as later")
            .select("later.id")
            .whereRef("later.configurationVersionId", "=", "r.configurationVersionId")
            .where(sql<boolean>`(later.created_at, later.id) > (r.created_at, r.id)`),
        ),
      ),
    )
    .execute();
  return new Map(rows.map((row) => [row.configurationVersionId ?? "", row.id]));
}

export async function findVersions(
  tx: Tx,
  organizationId: string,
  ids: readonly string[],
): Promise<ConfigurationVersionTable[]> {
  return tx.db
    .selectFrom("configurationVersions as v")
    .selectAll("v")
    .where("v.organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("v.id"), ids))
    .execute();
}

export async function findExpiredUpload(tx: Tx, at: string): Promise<string | undefined> {
  const row = await tx.db
    .selectFrom("configurationVersions as v")
    .select("v.id")
    .where(sql<boolean>`v.status = 'pending'`)
    .where("v.uploadExpiresAt", "<", at)
    .where(isInOpenOrganization("v.organizationId"))
    .orderBy("v.uploadExpiresAt")
    .limit(1)
    .executeTakeFirst();
  return row?.id;
}

export type ExpiredConfiguration = Pick<ConfigurationVersionTable, "id" | "createdAt">;

export async function findExpiredConfiguration(
  tx: Tx,
  { organizationId, workspaceId }: RetentionPolicy,
  before: string,
  after: ExpiredConfiguration | undefined,
): Promise<ExpiredConfiguration | undefined> {
  return tx.db
    .selectFrom("configurationVersions as v")
    .innerJoin("workspaces as w", "w.id", "v.workspaceId")
    .select(["v.id", "v.createdAt"])
    .where("v.organizationId", "=", organizationId)
    .where(sql<boolean>`v.status in ('uploaded', 'backing_data_soft_deleted')`)
    .where("v.createdAt", "<", before)
    .where(sql<boolean>`(w.current_configuration_version_id is null or w.current_configuration_version_id <> v.id)`)
    .where(
      sql<boolean>`not exists (select 1 from runs as r where r.configuration_version_id = v.id and r.ended_at is null)`,
    )
    .$if(workspaceId !== null, (query) => query.where("v.workspaceId", "=", workspaceId ?? ""))
    .$if(workspaceId === null, (query) =>
      query.where(
        sql<boolean>`not exists (select 1 from data_retention_policies as own where own.workspace_id = w.id)`,
      ),
    )
    .$if(after !== undefined, (query) =>
      query.where(sql<boolean>`(v.created_at, v.id) > (${after?.createdAt ?? ""}, ${after?.id ?? ""})`),
    )
    .orderBy("v.createdAt")
    .orderBy("v.id")
    .limit(1)
    .executeTakeFirst();
}
