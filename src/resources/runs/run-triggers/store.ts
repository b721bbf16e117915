/** SQL for run triggers, and for applies whose runs are not started yet. Writers must lock both workspaces. */
import { type Kysely, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import { canSeeWorkspace } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import { insertRow } from "../../../database/prepared.ts";
import type { RunTable, RunTriggerTable } from "../../../database/schema/runs.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page } from "../../../jsonapi/query.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import {
  projectGrantMask,
  workspaceGrantMask,
  workspaceAccessColumns,
  type WorkspaceAccessRow,
  workspacePermissionInputOf,
} from "../../shared/grants/reads.ts";
import { type RowLock, lockableStatement } from "../../shared/locks.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import type { Capability } from "../../../access/capability.ts";
import type { RunTriggerForActor, RunTriggerView } from "./definition.ts";
import { isInOpenOrganization, openWithId } from "../../shared/open-organizations.ts";

const triggers = (db: Kysely<Schema>, principal: string) => {
  const organizationId = sql.ref<string>("t.organizationId");
  return db
    .selectFrom("runTriggers as t")
    .innerJoin("workspaces as w", "w.id", "t.workspaceId")
    .innerJoin("workspaces as s", "s.id", "t.sourceableId")
    .innerJoin("organizations as o", openWithId("t.organizationId"))
    .selectAll("t")
    .select(["w.name as workspaceName", "w.factsVersion as workspaceFactsVersion"])
    .select(["s.name as sourceableName", "s.factsVersion as sourceableFactsVersion", "o.allowForceDeleteWorkspaces"])
    .select(workspaceAccessColumns(principal))
    .select([
      projectGrantMask(organizationId, sql.ref("s.projectId"), principal).as("sourceProjectAccess"),
      workspaceGrantMask(organizationId, sql.ref("s.id"), principal).as("sourceWorkspaceAccess"),
    ]);
};

type RunTriggerRow = RunTriggerView &
  WorkspaceAccessRow & { readonly sourceProjectAccess: number | null; readonly sourceWorkspaceAccess: number | null };

function toView(row: RunTriggerRow, actor: Actor): RunTriggerForActor {
  const facts = workspacePermissionInputOf(actor, row);
  const ofSource = { projectAccess: row.sourceProjectAccess, workspaceAccess: row.sourceWorkspaceAccess };
  const sourceFacts = workspacePermissionInputOf(actor, { ...row, ...ofSource });
  return {
    ...row,
    ...facts,
    workspaceName: canSeeWorkspace(facts.access) ? row.workspaceName : null,
    sourceableName: canSeeWorkspace(sourceFacts.access) ? row.sourceableName : null,
  };
}

type RunTriggerQuery = { id: string; principal: string };

const byId = lockableStatement<RunTriggerQuery, RunTriggerRow>("w", (db, { id, principal }) =>
  triggers(db, principal).where("t.id", "=", id),
);

export async function findRunTrigger(
  tx: Tx,
  actor: Actor,
  id: string,
  lock: RowLock = false,
): Promise<RunTriggerForActor | undefined> {
  const [row] = await byId(tx, { id, principal: principalOf(actor) }, lock);
  return row && toView(row, actor);
}

export async function pageOfTriggers(
  tx: Tx,
  actor: Actor,
  { organizationId, id }: Pick<WorkspaceView, "organizationId" | "id">,
  side: "workspaceId" | "sourceableId",
  page: Page,
): Promise<{ views: RunTriggerView[]; totalCount: number }> {
  const rows = triggers(tx.db, principalOf(actor))
    .where("t.organizationId", "=", organizationId)
    .where(sql.ref<string>(`t.${side}`), "=", id);
  const order = [
    { column: "t.createdAt", descending: true },
    { column: "t.id", descending: true },
  ];
  const totalCount = countOf(rows.clearSelect().select("t.id"));
  const found = await fetchPage(tx, { rows, order, page, totals: { totalCount } });
  return { views: found.rows.map((row) => toView(row, actor)), totalCount: found.totals.totalCount };
}

export async function findSourceIds(tx: Tx, workspaceId: string): Promise<string[]> {
  const rows = await tx.db
    .selectFrom("runTriggers")
    .select("sourceableId")
    .where("workspaceId", "=", workspaceId)
    .execute();
  return rows.map(({ sourceableId }) => sourceableId);
}

export async function insertTrigger(
  tx: Tx,
  _into: Granted<WorkspaceView, "can-update">,
  { id, organizationId, workspaceId, sourceableId, createdAt, version }: RunTriggerTable,
): Promise<void> {
  await insertRow(tx, "runTriggers", { id, organizationId, workspaceId, sourceableId, createdAt, version });
}

export async function deleteTrigger(tx: Tx, { id }: Granted<RunTriggerForActor, "can-update">): Promise<void> {
  await tx.db.deleteFrom("runTriggers").where("id", "=", id).execute();
}

export type FiringRun = Pick<RunTable, "id" | "organizationId" | "workspaceId" | "chainLength">;

export async function findFiring(tx: Tx): Promise<FiringRun | undefined> {
  return tx.db
    .selectFrom("runTriggerFirings as f")
    .innerJoin("runs as r", "r.id", "f.runId")
    .select(["r.id", "r.organizationId", "r.workspaceId", "r.chainLength"])
    .where(isInOpenOrganization("r.organizationId"))
    .orderBy("f.createdAt")
    .orderBy("f.runId")
    .limit(1)
    .executeTakeFirst();
}

export async function findTargetIds(tx: Tx, sourceableId: string): Promise<string[]> {
  const rows = await tx.db
    .selectFrom("runTriggers")
    .select("workspaceId")
    .where("sourceableId", "=", sourceableId)
    .orderBy("workspaceId")
    .execute();
  return rows.map(({ workspaceId }) => workspaceId);
}

export async function deleteFiring(tx: Tx, _by: Capability<"job">, runId: string): Promise<boolean> {
  const { numDeletedRows } = await tx.db.deleteFrom("runTriggerFirings").where("runId", "=", runId).executeTakeFirst();
  return Number(numDeletedRows) === 1;
}
