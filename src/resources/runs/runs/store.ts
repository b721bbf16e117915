/** SQL for runs. Writers must hold the lock on the workspace row, which orders all changes to its runs. */
import { type Kysely, sql } from "kysely";
import { principalOf } from "../../../access/actor.ts";
import { runPermissions } from "../../../access/permissions/run.ts";
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import type { Dialect } from "../../../database/dialect.ts";
import { prepared } from "../../../database/prepared.ts";
import type { RunTable } from "../../../database/schema/runs.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import { factsColumns } from "../../identity/organizations/definition.ts";
import { hasFailedToFetch } from "../phases/claims.ts";
import { hasLeaseExpired } from "../../register/workspaces/lock-holder.ts";
import type { Context } from "../../shared/context.ts";
import {
  projectGrantMask,
  workspaceGrantMask,
  workspaceAccessColumns,
  type WorkspaceAccessRow,
  workspacePermissionInputOf,
} from "../../shared/grants/reads.ts";
import { lockClause } from "../../shared/locks.ts";
import { incrementedVersion, updateRow } from "../../shared/versions.ts";
import type { RunTransition } from "../capabilities.ts";
import type { EndedRun, UsableConfiguration } from "./rules.ts";
import { openRunVariables } from "./variables.ts";
import type { LoadedRun, RunRelatedColumns, RunView } from "./view.ts";
import { isInOpenOrganization, openWithId } from "../../shared/open-organizations.ts";

export type RunRow = LoadedRun &
  RunRelatedColumns &
  WorkspaceAccessRow &
  Pick<RunView, "organizationName" | "organizationFactsVersion">;

/** How long an agent counts as connected after its last ping. */
const agentConnectedMs = 30_000;
/** Bounds the ids in a run's document; the full list has its own route. */
const linkedMax = 1000;

function runsWithWorkspace(db: Kysely<Schema>) {
  return db
    .selectFrom("runs as r")
    .innerJoin("runPhases as pl", "pl.id", "r.planId")
    .innerJoin("runPhases as ap", "ap.id", "r.applyId")
    .innerJoin("workspaces as w", "w.id", "r.workspaceId")
    .innerJoin("organizations as o", openWithId("r.organizationId"))
    .leftJoin("configurationVersions as cv", "cv.id", "r.configurationVersionId")
    .selectAll("r")
    .select([
      "cv.approvedAt as configurationApprovedAt",
      "w.projectId",
      "w.lockedByType",
      "w.lockedById",
      "w.lockedByName",
      "w.lockExpiresAt",
      "w.currentRunId",
      "w.currentRunStatus",
      "w.currentStateVersionId",
      "w.currentConfigurationVersionId",
      "pl.status as planStatus",
      "pl.statusTimestamps as planTimestamps",
      "pl.attempt as planAttempt",
      "pl.logBytes as planLogBytes",
      "pl.logEnded as planLogEnded",
      "ap.status as applyStatus",
      "ap.statusTimestamps as applyTimestamps",
      "ap.attempt as applyAttempt",
      "ap.logBytes as applyLogBytes",
      "ap.logEnded as applyLogEnded",
    ]);
}

/** Joins only by id, so that the cost of a list depends on its page size. */
export function runsForActor(db: Kysely<Schema>, principal: string, dialect: Dialect) {
  const linked = (column: string, condition: string) =>
    sql<string | null>`(
      select string_agg(linked.id, ',' order by linked.position) from (
        select ${sql.ref(column)} as id, position from run_events
        where run_id = r.id and ${sql.raw(condition)} order by position limit ${sql.lit(linkedMax)}) as linked)`;
  const offer = sql`serving.engines || ${"\t"} || serving.fetching || ${"\t"} || serving.status`;
  const isKnown = sql`(serving.last_ping_ms > ${dialect.nowMs} - ${sql.lit(agentConnectedMs)} or ${hasFailedToFetch(dialect, "serving")})`;
  const waiting = sql`coalesce(
    case when pl.status = 'queued' then pl.rank when ap.status = 'queued' then ap.rank end, -1)`;
  return runsWithWorkspace(db)
    .leftJoin("agentPools as pool", "pool.id", "r.agentPoolId")
    .leftJoin("runs as cause", "cause.id", "r.causedByRunId")
    .leftJoin("workspaces as source", "source.id", "cause.workspaceId")
    .select([
      "source.name as sourceName",
      projectGrantMask(sql.ref("r.organizationId"), sql.ref("source.projectId"), principal).as("sourceProjectAccess"),
      workspaceGrantMask(sql.ref("r.organizationId"), sql.ref("source.id"), principal).as("sourceWorkspaceAccess"),
    ])
    .select(["w.name as workspaceName", "pool.name as agentPoolName", ...factsColumns, "o.allowForceDeleteWorkspaces"])
    .select([
      sql<number>`case when ${waiting} < 0 then 0 else (
        select count(*) from run_phases as ahead
        where ahead.organization_id = r.organization_id and ahead.status = 'queued'
          and (ahead.rank, ahead.queued_ms, ahead.id) <= (
            select own.rank, own.queued_ms, own.id from run_phases as own where own.run_id = r.id and own.status = 'queued')
        ) end`.as("positionInQueue"),
      sql<string | null>`case when ${waiting} < 0 then null
        when r.execution_mode = 'agent' then (
          select string_agg(${offer}, ${"\n"}) from agents as serving where serving.agent_pool_id = r.agent_pool_id and ${isKnown})
        else (
          select string_agg(${offer}, ${"\n"}) from agents as serving where serving.site_agent_pool_id is not null and ${isKnown})
        end`.as("offeredEngines"),
      linked("id", "true").as("eventIds"),
      linked("comment_id", "comment_id is not null").as("commentIds"),
    ])
    .select(workspaceAccessColumns(principal));
}

type RunQuery = { id: string; principal: string };

const byId = prepared<RunQuery, RunRow>((db, { id, principal }, dialect) =>
  runsForActor(db, principal, dialect).where("r.id", "=", id),
);
// Lock order: workspace, then run and phases. A transaction that waited for the workspace must not continue with stale rows.
const byIdLocked = prepared<RunQuery, RunRow>((db, { id, principal }, dialect) =>
  ["r", "pl", "ap"].reduce(
    (query, table) => query.modifyEnd(dialect.lockRows(table)),
    runsForActor(db, principal, dialect)
      .where("r.id", "=", id)
      .modifyEnd(lockClause(dialect, "w", "change")),
  ),
);
const byIdLockedUnchecked = prepared<{ id: string }, LoadedRun>((db, { id }, dialect) =>
  ["r", "pl", "ap"].reduce(
    (query, table) => query.modifyEnd(dialect.lockRows(table)),
    runsWithWorkspace(db)
      .where("r.id", "=", id)
      .modifyEnd(lockClause(dialect, "w", "change")),
  ),
);

export type RunCaller = Pick<Context, "actor" | "vault">;

export async function findRun(tx: Tx, context: RunCaller, id: string, lock = false): Promise<RunView | undefined> {
  const [row] = await (lock ? byIdLocked : byId)(tx, { id, principal: principalOf(context.actor) });
  return row && toRunView(row, context);
}

export async function findRuns(tx: Tx, context: RunCaller, ids: readonly string[]): Promise<RunView[]> {
  const rows = await runsForActor(tx.db, principalOf(context.actor), tx.dialect)
    .where(tx.dialect.isOneOf(sql.ref("r.id"), ids))
    .execute();
  return rows.map((row) => toRunView(row, context));
}

/** For agents and jobs, which have no user whose access would have to be loaded. */
export async function findRunLocked(tx: Tx, id: string): Promise<LoadedRun | undefined> {
  const [row] = await byIdLockedUnchecked(tx, { id });
  return row;
}

export async function findRunById(tx: Tx, id: string): Promise<LoadedRun | undefined> {
  return runsWithWorkspace(tx.db).where("r.id", "=", id).executeTakeFirst();
}

export function toRunView(row: RunRow, { actor, vault }: RunCaller): RunView {
  const facts = workspacePermissionInputOf(actor, row);
  const { sourceProjectAccess: projectAccess, sourceWorkspaceAccess: workspaceAccess } = row;
  const source = workspacePermissionInputOf(actor, { ...row, projectAccess, workspaceAccess });
  return {
    ...row,
    // An expired lock lease counts as unlocked.
    ...(hasLeaseExpired(row) && { lockedByType: null, lockedById: null, lockedByName: null }),
    ...facts,
    positionInQueue: Number(row.positionInQueue),
    permissions: runPermissions(actor, { ...row, ...facts }),
    triggeringSourceName: workspacePermissions(source)["can-read-run"] ? row.sourceName : null,
    shownVariables: openRunVariables({ vault }, row),
  };
}

export async function insertRun(tx: Tx, _by: RunTransition, row: RunTable): Promise<void> {
  await tx.db
    .insertInto("runs")
    .values({
      ...row,
      position: sql<number>`(
        select coalesce(max(earlier.position), 0) + 1 from runs as earlier where earlier.workspace_id = ${row.workspaceId})`,
    })
    .execute();
}

export async function updateRun(tx: Tx, _by: RunTransition, id: string, changes: Partial<RunTable>): Promise<void> {
  await updateRow(tx, "runs", id, changes);
}

/** Leaves out plan-only runs, and saved plans until they are confirmed. */
export async function findNextAndLastRun(
  tx: Tx,
  { organizationId, workspaceId }: Pick<RunTable, "organizationId" | "workspaceId">,
): Promise<{ next: LoadedRun | undefined; last: LoadedRun | undefined }> {
  const ofWorkspace = () =>
    runsWithWorkspace(tx.db)
      .where("r.organizationId", "=", organizationId)
      .where("r.workspaceId", "=", workspaceId)
      // Written exactly as in the partial index, so that the index is used.
      .where(sql<boolean>`r.plan_only = 0`);
  const waiting = ofWorkspace()
    .where("r.endedAt", "is", null)
    .where("r.status", "=", "pending")
    .where("r.savePlan", "=", 0)
    .orderBy("r.position")
    .limit(1);
  const ended = ofWorkspace()
    .where("r.endedAt", "is not", null)
    .where((where) => where.or([where("r.savePlan", "=", 0), where("r.confirmedById", "is not", null)]))
    .orderBy("r.position", "desc")
    .limit(1);
  const { rows } = await sql<LoadedRun>`
    select * from ${waiting} as waiting union all select * from ${ended} as ended`.execute(tx.db);
  return { next: rows.find((row) => row.endedAt === null), last: rows.find((row) => row.endedAt !== null) };
}

export interface UsableConfigurationRow extends UsableConfiguration, WorkspaceAccessRow {
  readonly workspaceId: string;
}

export async function findConfiguration(
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  organizationId: string,
  id: string,
): Promise<UsableConfigurationRow | undefined> {
  const [row] = await configuration(tx, { organizationId, id, principal: principalOf(actor) });
  return row;
}

const configuration = prepared<{ organizationId: string; id: string; principal: string }, UsableConfigurationRow>(
  (db, { organizationId, id, principal }) =>
    db
      .selectFrom("configurationVersions as c")
      .innerJoin("workspaces as w", "w.id", "c.workspaceId")
      .innerJoin("organizations as o", openWithId("c.organizationId"))
      .select(["c.id", "c.status", "c.speculative", "c.ingress", "c.approvedAt", "c.workspaceId", "c.organizationId"])
      .select(["o.allowForceDeleteWorkspaces"])
      .select(workspaceAccessColumns(principal))
      .where("c.organizationId", "=", organizationId)
      .where("c.id", "=", id),
);

/** The workspace must be locked. */
export async function findWaitingBefore(
  tx: Tx,
  run: Pick<RunTable, "organizationId" | "workspaceId" | "position">,
): Promise<LoadedRun[]> {
  return runsWithWorkspace(tx.db)
    .where("r.organizationId", "=", run.organizationId)
    .where("r.workspaceId", "=", run.workspaceId)
    .where("r.endedAt", "is", null)
    .where("r.status", "=", "pending")
    .where("r.planOnly", "=", 0)
    .where("r.savePlan", "=", 0)
    .where("r.position", "<", run.position)
    .orderBy("r.position")
    .execute();
}

/** The workspace must be locked. */
export async function findSavedPlans(
  tx: Tx,
  { organizationId, workspaceId }: Pick<RunTable, "organizationId" | "workspaceId">,
): Promise<LoadedRun[]> {
  return runsWithWorkspace(tx.db)
    .where("r.organizationId", "=", organizationId)
    .where("r.workspaceId", "=", workspaceId)
    .where("r.endedAt", "is", null)
    .where("r.status", "=", "planned_and_saved")
    .orderBy("r.position")
    .execute();
}

export async function findUnfinishedRuns(
  tx: Tx,
  workspace: { id: string; organizationId: string },
): Promise<RunTable[]> {
  return tx.db
    .selectFrom("runs as r")
    .selectAll("r")
    .where("r.organizationId", "=", workspace.organizationId)
    .where("r.workspaceId", "=", workspace.id)
    .where("r.endedAt", "is", null)
    .orderBy("r.position")
    .execute();
}

export async function findRunningAssessment(tx: Tx, workspaceId: string): Promise<string | undefined> {
  const row = await tx.db
    .selectFrom("assessmentResults as a")
    .innerJoin("runs as r", "r.id", "a.runId")
    .select("a.runId")
    .where("a.workspaceId", "=", workspaceId)
    .where("a.finished", "=", 0)
    .where("r.endedAt", "is", null)
    .where("r.canceledAt", "is", null)
    .executeTakeFirst();
  return row?.runId;
}

/** Their timestamps are known: only their creation has happened. The caller must check the transition of each run. */
export async function discardWaitingRuns(
  tx: Tx,
  _by: RunTransition,
  waiting: readonly Pick<RunTable, "id">[],
  at: string,
): Promise<void> {
  const ids = waiting.map(({ id }) => id);
  await tx.db
    .updateTable("runs")
    .set({
      status: "discarded",
      statusTimestamps: sql<string>`'{"plan-queueable-at":"' || created_at || '","discarded-at":"' || ${at} || '"}'`,
      endedAt: at,
      ...incrementedVersion,
    })
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
}

const endedRuns = prepared<Pick<RunTable, "organizationId" | "workspaceId"> & { limit: number }, EndedRun>(
  (db, { organizationId, workspaceId, limit }) =>
    db
      .selectFrom("runs as r")
      .innerJoin("runPhases as pl", "pl.id", "r.planId")
      .innerJoin("runPhases as ap", "ap.id", "r.applyId")
      .select(["r.status", "pl.statusTimestamps as planTimestamps", "ap.statusTimestamps as applyTimestamps"])
      .where("r.organizationId", "=", organizationId)
      .where("r.workspaceId", "=", workspaceId)
      // Written exactly as in the partial index, so that the index is used.
      .where(sql<boolean>`r.plan_only = 0 and r.status in ('applied', 'errored')`)
      .orderBy("r.endedAt", "desc")
      .orderBy("r.position", "desc")
      .limit(limit),
);

export const findEndedRuns = (
  tx: Tx,
  { organizationId, workspaceId }: Pick<RunTable, "organizationId" | "workspaceId">,
  limit: number,
): Promise<EndedRun[]> => endedRuns(tx, { organizationId, workspaceId, limit });

export async function findOldSavedPlan(tx: Tx, before: string): Promise<string | undefined> {
  const row = await tx.db
    .selectFrom("runs")
    .select("id")
    .where("endedAt", "is", null)
    .where("status", "=", "planned_and_saved")
    .where("createdAt", "<", before)
    .where(isInOpenOrganization("runs.organizationId"))
    .limit(1)
    .executeTakeFirst();
  return row?.id;
}

/** The workspace must be locked. */
export async function findLatestRunId(
  tx: Tx,
  { id, organizationId }: { readonly id: string; readonly organizationId: string },
): Promise<string | undefined> {
  const row = await tx.db
    .selectFrom("runs")
    .select("id")
    .where("organizationId", "=", organizationId)
    .where("workspaceId", "=", id)
    .orderBy("position", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.id;
}
