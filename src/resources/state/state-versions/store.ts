/** SQL of state versions. Every change requires a lock on the workspace's row, which orders the versions. */
import { type Kysely, sql } from "kysely";
import { actorId, principalOf } from "../../../access/actor.ts";
import { type Granted, withProofOf } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { StateVersionTable } from "../../../database/schema/state.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { factsColumns, type OrganizationFacts } from "../../identity/organizations/definition.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import type { Context } from "../../shared/context.ts";
import {
  workspaceAccessColumns,
  type WorkspaceAccessRow,
  workspacePermissionInputOf,
} from "../../shared/grants/reads.ts";
import { lockClause } from "../../shared/locks.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { incrementedVersion, updateRow } from "../../shared/versions.ts";
import { type StateUploadGrant, uploadUrl } from "./arrival/upload-urls.ts";
import type { AdjacentStateVersions, StateVersionUrls, StateVersionView } from "./definition.ts";
import type { StateDiscarder } from "../state-writers.ts";
import type { LatestVersion } from "./rules.ts";
import { openWithId } from "../../shared/open-organizations.ts";

type StateVersionContextColumn =
  | keyof OrganizationFacts
  | "workspaceName"
  | "workspaceNameVersion"
  | "currentStateVersionId"
  | "lockExpiresAt";
type StateVersionRow = StateVersionTable &
  AdjacentStateVersions &
  WorkspaceAccessRow &
  Pick<StateVersionView, StateVersionContextColumn>;

function versionsInOrder(db: Kysely<Schema>) {
  const closest = (pick: "max" | "min", beyond: "<" | ">") =>
    sql<number>`(select ${sql.raw(pick)}(other.position) from state_versions as other
      where other.workspace_id = v.workspace_id and other.position ${sql.raw(beyond)} v.position)`;
  return db
    .selectFrom("stateVersions as v")
    .leftJoin("stateVersions as previous", (join) =>
      join.onRef("previous.workspaceId", "=", "v.workspaceId").on("previous.position", "=", closest("max", "<")),
    )
    .leftJoin("stateVersions as next", (join) =>
      join.onRef("next.workspaceId", "=", "v.workspaceId").on("next.position", "=", closest("min", ">")),
    );
}

const adjacentColumns = [
  "previous.id as previousId",
  "previous.position as previousPosition",
  "next.id as nextId",
  "next.position as nextPosition",
] as const;

function versionForActor(db: Kysely<Schema>, principal: string) {
  return versionsInOrder(db)
    .innerJoin("workspaces as w", "w.id", "v.workspaceId")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .selectAll("v")
    .select(adjacentColumns)
    .select([...factsColumns, "o.allowForceDeleteWorkspaces"])
    .select([
      "w.name as workspaceName",
      "w.factsVersion as workspaceNameVersion",
      "w.currentStateVersionId",
      "w.lockExpiresAt",
    ])
    .select(workspaceAccessColumns(principal));
}

type StateVersionIdQuery = { id: string; principal: string };

// Lock order: workspace, then version, because a transaction that waited for the workspace must see the current version row.
const byId = prepared<StateVersionIdQuery, StateVersionRow>((db, { id, principal }) =>
  versionForActor(db, principal).where("v.id", "=", id),
);
const byIdLocked = prepared<StateVersionIdQuery, StateVersionRow>((db, { id, principal }, dialect) =>
  versionForActor(db, principal)
    .where("v.id", "=", id)
    .modifyEnd(lockClause(dialect, "w", "change"))
    .modifyEnd(dialect.lockRows("v")),
);
const current = prepared<StateVersionIdQuery, StateVersionRow>((db, { id, principal }) =>
  versionForActor(db, principal).where("w.id", "=", id).where("v.id", "=", sql.ref<string>("w.currentStateVersionId")),
);

export type StateVersionContext = Pick<Context, "actor" | "vault" | "options">;

export async function findStateVersion(
  tx: Tx,
  context: StateVersionContext,
  id: string,
  lock = false,
): Promise<StateVersionView | undefined> {
  const [row] = await (lock ? byIdLocked : byId)(tx, { id, principal: principalOf(context.actor) });
  return row && toView(row, context);
}

export async function findCurrentStateVersion(
  tx: Tx,
  context: StateVersionContext,
  workspaceId: string,
): Promise<StateVersionView | undefined> {
  const [row] = await current(tx, { id: workspaceId, principal: principalOf(context.actor) });
  return row && toView(row, context);
}

export async function findStateVersions(
  tx: Tx,
  context: StateVersionContext,
  ids: readonly string[],
): Promise<StateVersionView[]> {
  const rows = await versionForActor(tx.db, principalOf(context.actor))
    .where(tx.dialect.isOneOf(sql.ref("v.id"), ids))
    .execute();
  return rows.map((row) => toView(row, context));
}

function toView(row: StateVersionRow, context: StateVersionContext): StateVersionView {
  return { ...row, ...workspacePermissionInputOf(context.actor, row), urls: urlsOf(row, context) };
}

const noAdjacentVersions: AdjacentStateVersions = {
  previousId: null,
  previousPosition: null,
  nextId: null,
  nextPosition: null,
};

export function stateVersionViewIn(
  row: StateVersionTable & Partial<AdjacentStateVersions>,
  workspace: WorkspaceView,
  context: StateVersionContext,
): StateVersionView {
  const { access, owner, allowForceDeleteWorkspaces } = workspace;
  return {
    ...noAdjacentVersions,
    ...row,
    access,
    owner,
    allowForceDeleteWorkspaces,
    organizationName: workspace.organizationName,
    organizationFactsVersion: workspace.organizationFactsVersion,
    workspaceName: workspace.name,
    workspaceNameVersion: workspace.factsVersion,
    currentStateVersionId: workspace.currentStateVersionId,
    lockExpiresAt: workspace.lockExpiresAt,
    urls: urlsOf(row, context),
  };
}

export async function pageOfVersions(
  tx: Tx,
  context: StateVersionContext,
  workspace: Granted<WorkspaceView, "can-read-state-versions">,
  { page, status }: { readonly page: Page; readonly status: string | undefined },
): Promise<{ views: StateVersionView[]; totalCount: number }> {
  const conditions = sql<boolean>`v.organization_id = ${workspace.organizationId} and v.workspace_id = ${workspace.id}
    and ${status === undefined ? sql`1 = 1` : sql`v.status = ${status}`}`;
  const { rows, totals } = await fetchPage(tx, {
    rows: versionsInOrder(tx.db).selectAll("v").select(adjacentColumns).where(conditions),
    order: [
      { column: "v.position", descending: true },
      { column: "v.id", descending: true },
    ],
    page,
    totals: { totalCount: countOf(tx.db.selectFrom("stateVersions as v").select("v.id").where(conditions)) },
  });
  return { views: rows.map((row) => stateVersionViewIn(row, workspace, context)), totalCount: totals.totalCount };
}

export interface StateSuccession {
  readonly position: number;
  readonly previous: Pick<AdjacentStateVersions, "previousId" | "previousPosition">;
  readonly latest: LatestVersion | undefined;
  /** The latest finalized version: a pending one may never get its content. */
  readonly predecessorId: string | undefined;
  readonly hasPending: boolean;
}

export async function findSuccession(tx: Tx, workspaceId: string): Promise<StateSuccession> {
  const versions = (alias: string) =>
    sql`from state_versions as ${sql.table(alias)} where ${sql.ref(`${alias}.workspaceId`)} = ${workspaceId}`;
  const { rows } = await sql<
    Partial<LatestVersion> & { last: number | null; lastId: string | null; predecessor: string | null; pending: number }
  >`
    select summary.last, summary.last_id, summary.predecessor, summary.pending, latest.id, latest.serial, latest.md5, latest.lineage, latest.status
    from (
      select (select max(a.position) ${versions("a")}) as last,
        (select b.id ${versions("b")} order by b.position desc limit 1) as last_id,
        (select f.id ${versions("f")} and f.status = 'finalized' order by f.position desc limit 1) as predecessor,
        (select count(*) ${versions("p")} and p.status = 'pending') as pending
    ) as summary
    left join (
      select l.id, l.serial, l.md5, l.lineage, l.status ${versions("l")} and l.status <> 'discarded'
      order by l.position desc limit 1
    ) as latest on true`.execute(tx.db);
  const { last, lastId, predecessor, pending, ...latest } = rows[0] ?? {
    last: null,
    lastId: null,
    predecessor: null,
    pending: 0,
  };
  return {
    position: Number(last ?? 0) + 1,
    previous: { previousId: lastId, previousPosition: last },
    latest: latest.id == null ? undefined : (latest as LatestVersion),
    predecessorId: predecessor ?? undefined,
    hasPending: Number(pending) > 0,
  };
}

export async function insertStateVersion(
  tx: Tx,
  _into: Granted<WorkspaceView, "can-create-state-versions">,
  row: StateVersionTable,
): Promise<void> {
  await tx.db.insertInto("stateVersions").values(row).execute();
}

export async function updateStateVersion(
  tx: Tx,
  version: Granted<Pick<StateVersionTable, "id">, "can-update" | "can-upload" | "can-create-state-versions">,
  changes: Partial<StateVersionTable>,
): Promise<void> {
  await updateRow(tx, "stateVersions", version.id, changes);
}

export async function discardVersions(
  tx: Tx,
  _by: StateDiscarder,
  { workspaceId, position }: { readonly workspaceId: string; readonly position?: number },
): Promise<Pick<StateVersionTable, "id" | "organizationId">[]> {
  return tx.db
    .updateTable("stateVersions")
    .set({ status: "discarded", uploadExpiresAt: null, intermediate: 0, ...incrementedVersion })
    .where("workspaceId", "=", workspaceId)
    .where("status", "=", "pending")
    .$if(position !== undefined, (query) => query.where("position", "<", position ?? 0))
    .returning(["id", "organizationId"])
    .execute();
}

type VersionForUpload = Granted<
  StateVersionTable & Pick<WorkspaceTable, "lockExpiresAt">,
  "can-upload" | "can-create-state-versions"
>;

/** Checks no caller: the signed URL is the permission. */
export async function findForUpload(
  tx: Tx,
  grant: StateUploadGrant,
  lock = false,
): Promise<VersionForUpload | undefined> {
  const row = await tx.db
    .selectFrom("stateVersions as v")
    .innerJoin("workspaces as w", "w.id", "v.workspaceId")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .selectAll("v")
    .select("w.lockExpiresAt")
    .where("v.id", "=", grant.id)
    .$if(lock, (query) => query.modifyEnd(lockClause(tx.dialect, "w", "change")).modifyEnd(tx.dialect.lockRows("v")))
    .executeTakeFirst();
  return row && withProofOf(grant, row);
}

export async function findInWorkspace(
  tx: Tx,
  workspace: Granted<WorkspaceView, "can-create-state-versions">,
  id: string,
): Promise<Granted<StateVersionTable, "can-create-state-versions"> | undefined> {
  const row = await tx.db
    .selectFrom("stateVersions")
    .selectAll()
    .where("id", "=", id)
    .where("workspaceId", "=", workspace.id)
    .executeTakeFirst();
  return row && withProofOf(workspace, row);
}

/** Upload URLs are credentials: only the version's creator sees them, and only while an upload is possible. */
function urlsOf(version: StateVersionTable, context: StateVersionContext): StateVersionUrls {
  const [pending, finalized] = [version.status === "pending", version.status === "finalized"];
  const base = `${context.options.publicUrl}/api/v2/state-versions/${version.id}`;
  const expiresAt = version.createdById === actorId(context.actor) ? version.uploadExpiresAt : null;
  return {
    download: finalized ? `${base}/download` : null,
    jsonDownload: finalized && version.hasJson === 1 ? `${base}/json-download` : null,
    upload: pending && expiresAt !== null ? uploadUrl(context, version.id, "state", expiresAt) : null,
    jsonUpload:
      (pending || finalized) && version.hasJson === 0 && expiresAt !== null
        ? uploadUrl(context, version.id, "json", expiresAt)
        : null,
  };
}
