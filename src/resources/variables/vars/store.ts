/** SQL of variables. Writers must lock the owner's row first. */
import { sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { type OrganizationStanding, checkedStandingOf, type StandingRow } from "../../../access/organization.ts";
import type { WorkspacePermissionInput } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { VarTable } from "../../../database/schema/variables.ts";
import { sealOverheadBytes } from "../../../database/vault.ts";
import type { Page } from "../../../jsonapi/query.ts";
import {
  projectGrants,
  standingColumns,
  type WorkspaceAccessRow,
  workspaceAccessColumns,
  workspacePermissionInputOf,
} from "../../shared/grants/reads.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { type ChangedRow, updateRow, updateRows } from "../../shared/versions.ts";
import { appliedSets, ownRanking, type WorkspaceLocation } from "../varsets/reads.ts";
import type { ReadableVarOwner, ReadableWorkspace, WritableVarOwner } from "./owner.ts";
import { varsMax, type VarPrecedence } from "./definition.ts";
import { type OtherVars, valuesBytesMax } from "./rules.ts";
import { openWithId } from "../../shared/open-organizations.ts";

export interface WorkspaceVarLookup extends WorkspacePermissionInput {
  readonly variable: VarTable | undefined;
}

export interface VarsetVarLookup {
  readonly standing: OrganizationStanding;
  readonly parentProjectId: string | null;
  readonly projectAccess: number | null;
  readonly variable: VarTable | undefined;
}

const varColumns = [
  "v.id",
  "v.workspaceId",
  "v.varsetId",
  "v.key",
  "v.value",
  "v.description",
  "v.category",
  "v.hcl",
  "v.sensitive",
  "v.createdAt",
  "v.version",
] as const;

/** A left join: either all set or all null. */
type VarOrNulls = { [Name in keyof Omit<VarTable, "organizationId">]: VarTable[Name] | null };
const variableIn = (row: VarOrNulls): VarTable | undefined => (row.id === null ? undefined : (row as VarTable));

type VarLookupIds = { ownerId: string; varId: string; principal: string };

const inWorkspace = prepared<VarLookupIds, WorkspaceAccessRow & VarOrNulls>((db, { ownerId, varId, principal }) =>
  db
    .selectFrom("workspaces as w")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .leftJoin("vars as v", (join) => join.onRef("v.workspaceId", "=", "w.id").on("v.id", "=", varId))
    .select(["w.organizationId", "o.allowForceDeleteWorkspaces"])
    .select(varColumns)
    .select(workspaceAccessColumns(principal))
    .where("w.id", "=", ownerId),
);

/** Returns the workspace even without the variable, so that the error doesn't reveal whether the variable exists. */
export async function findWorkspaceVar(
  tx: Tx,
  actor: Actor,
  { workspaceId, varId }: { readonly workspaceId: string; readonly varId: string },
): Promise<WorkspaceVarLookup | undefined> {
  const [row] = await inWorkspace(tx, { ownerId: workspaceId, varId, principal: principalOf(actor) });
  return row && { ...workspacePermissionInputOf(actor, row), variable: variableIn(row) };
}

type VarsetAccessRow = Omit<VarsetVarLookup, "standing" | "variable"> & StandingRow;

const inVarset = prepared<VarLookupIds, VarsetAccessRow & VarOrNulls>((db, { ownerId, varId, principal }) =>
  db
    .selectFrom("varsets as s")
    .leftJoin("vars as v", (join) => join.onRef("v.varsetId", "=", "s.id").on("v.id", "=", varId))
    .select(["s.organizationId", "s.parentProjectId"])
    .select(varColumns)
    .select(standingColumns(sql.ref("s.organizationId"), principal))
    .select(projectGrants(sql.ref("s.organizationId"), sql.ref("s.parentProjectId"), principal))
    .where("s.id", "=", ownerId),
);

export async function findVarsetVar(
  tx: Tx,
  actor: Actor,
  { varsetId, varId }: { readonly varsetId: string; readonly varId: string },
): Promise<VarsetVarLookup | undefined> {
  const [row] = await inVarset(tx, { ownerId: varsetId, varId, principal: principalOf(actor) });
  return row && { ...row, standing: checkedStandingOf(actor, row), variable: variableIn(row) };
}

export function ownVars(tx: Tx, { column, resource }: ReadableVarOwner) {
  return tx.db
    .selectFrom("vars as v")
    .selectAll("v")
    .where("v.organizationId", "=", resource.organizationId)
    .where(`v.${column}`, "=", resource.id);
}
type VarRows = ReturnType<typeof ownVars>;

function candidates(workspace: WorkspaceLocation) {
  const { id, organizationId } = workspace;
  return sql`(
    select own.id, own.varset_id, own.category, own.key, ${sql.lit(ownRanking)} as ranking, '' as set_key from vars as own
    where own.organization_id = ${organizationId} and own.workspace_id = ${id}
    union all
    select v.id, v.varset_id, v.category, v.key, s.ranking, s.name_key
    from ${appliedSets(workspace)} as s
    inner join vars as v on v.organization_id = ${organizationId} and v.varset_id = s.id)`;
}

function winners(workspace: WorkspaceLocation) {
  return sql<{ id: string; ranking: number }>`(
    select id, ranking from (
      select id, ranking, row_number() over (partition by category, key order by ranking, set_key) as nth
      from ${candidates(workspace)} as candidates
    ) as ranked where nth = 1)`;
}

interface PrecedenceRow {
  readonly winnerId: string;
  /** Ids joined by commas, in order of precedence. */
  readonly overwrittenList: string | null;
}

function rankedInSet(workspace: WorkspaceLocation, varsetId: string) {
  const order = sql`partition by category, key order by ranking, set_key`;
  return sql<{ id: string } & PrecedenceRow>`(
    select id, winner_id, overwritten_list from (
      select id, varset_id,
        first_value(id) over (${order}) as winner_id,
        string_agg(id, ',') over (${order} rows between 1 following and unbounded following) as overwritten_list
      from ${candidates(workspace)} as candidates
    ) as ranked where varset_id = ${varsetId})`;
}

export type RankedVar = VarTable & { readonly precedence: VarPrecedence };

const rankedVar = ({ winnerId, overwrittenList, ...row }: VarTable & PrecedenceRow): RankedVar => ({
  ...row,
  precedence: {
    overwriterId: winnerId === row.id ? null : winnerId,
    overwrittenIds: overwrittenList?.split(",") ?? [],
  },
});

export async function listVarsOfAppliedSet(
  tx: Tx,
  workspace: ReadableWorkspace,
  varsetId: string,
): Promise<RankedVar[] | undefined> {
  const rows = await tx.db
    .selectFrom(sql<{ id: string }>`${appliedSets(workspace)}`.as("s"))
    .leftJoin(rankedInSet(workspace, varsetId).as("ranked"), (join) => join.on(sql`1`, "=", sql`1`))
    .leftJoin("vars as v", "v.id", "ranked.id")
    .selectAll("v")
    .select(["ranked.winnerId", "ranked.overwrittenList"])
    .where("s.id", "=", varsetId)
    .orderBy("v.key")
    .orderBy("v.id")
    .execute();
  if (rows.length === 0) return undefined;
  return rows.filter((row) => row.id !== null).map((row) => rankedVar(row as VarTable & PrecedenceRow));
}

export async function findRankedVar(
  tx: Tx,
  actor: Actor,
  { workspaceId, varsetId, varId }: { readonly workspaceId: string; readonly varsetId: string; readonly varId: string },
): Promise<(WorkspacePermissionInput & { readonly variable: RankedVar | undefined }) | undefined> {
  const workspaceColumn = (column: string) =>
    sql<string>`(select ${sql.ref(column)} from workspaces where id = ${workspaceId})`;
  const workspace = {
    id: workspaceId,
    organizationId: workspaceColumn("organization_id"),
    projectId: workspaceColumn("project_id"),
  };
  const row = await tx.db
    .selectFrom("workspaces as w")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .leftJoin(rankedInSet(workspace, varsetId).as("ranked"), (join) => join.on("ranked.id", "=", varId))
    .leftJoin("vars as v", "v.id", "ranked.id")
    .select(["w.organizationId", "o.allowForceDeleteWorkspaces", "ranked.winnerId", "ranked.overwrittenList"])
    .select(varColumns)
    .select(workspaceAccessColumns(principalOf(actor)))
    .where("w.id", "=", workspaceId)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const variable = variableIn(row) as (VarTable & PrecedenceRow) | undefined;
  return { ...workspacePermissionInputOf(actor, row), variable: variable && rankedVar(variable) };
}

export function varsInForce(tx: Tx, workspace: ReadableWorkspace): VarRows {
  return tx.db
    .selectFrom("vars as v")
    .selectAll("v")
    .where(sql<boolean>`v.id in (select id from ${winners(workspace)} as won)`);
}

export async function listWinningVars(
  tx: Tx,
  workspace: WorkspaceLocation,
): Promise<(VarTable & { readonly ranking: number })[]> {
  return tx.db
    .selectFrom("vars as v")
    .innerJoin(winners(workspace).as("won"), "won.id", "v.id")
    .selectAll("v")
    .select("won.ranking")
    .orderBy("v.category")
    .orderBy("v.key")
    .execute();
}

export async function listVarRows(
  tx: Tx,
  rows: VarRows,
  page: Page | undefined,
): Promise<{ rows: VarTable[]; totalCount?: number }> {
  if (page === undefined) return { rows: await rows.orderBy("v.key").orderBy("v.id").execute() };
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "v.key" }, { column: "v.id" }],
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("v.id")) },
  });
  return { rows: found.rows, totalCount: found.totals.totalCount };
}

/** Bounded like a single variable set, in number and size of values. */
export async function listVarsOfSets(tx: Tx, organizationId: string, ids: readonly string[]): Promise<VarTable[]> {
  const withinSizeLimit = sql`
    select id from (
      select id, sum(length(value) - ${sql.lit(sealOverheadBytes)})
        over (order by varset_id, key, id rows unbounded preceding) as value_bytes
      from vars where organization_id = ${organizationId} and ${tx.dialect.isOneOf(sql.ref("varset_id"), ids)}
    ) as summed where value_bytes <= ${sql.lit(valuesBytesMax)}`;
  return tx.db
    .selectFrom("vars as v")
    .selectAll("v")
    .where(sql<boolean>`v.id in (${withinSizeLimit})`)
    .orderBy("v.varsetId")
    .orderBy("v.key")
    .orderBy("v.id")
    .limit(varsMax)
    .execute();
}

export const storedValueBytes = (rows: readonly VarTable[]): ReadonlyMap<string, number> =>
  new Map(rows.map(({ id, value }) => [id, value.length - sealOverheadBytes]));

export async function findVars(tx: Tx, { column, resource }: WritableVarOwner): Promise<VarTable[]> {
  return tx.db
    .selectFrom("vars")
    .selectAll()
    .where("organizationId", "=", resource.organizationId)
    .where(column, "=", resource.id)
    .execute();
}

export async function updateVarRows(tx: Tx, _owner: WritableVarOwner, rows: readonly ChangedRow[]): Promise<void> {
  await updateRows(tx, "vars", rows);
}

export async function findVar(
  tx: Tx,
  { column, resource }: WritableVarOwner,
  id: string,
): Promise<VarTable | undefined> {
  return tx.db.selectFrom("vars").selectAll().where("id", "=", id).where(column, "=", resource.id).executeTakeFirst();
}

export async function countOtherVars(
  tx: Tx,
  { column, resource }: WritableVarOwner,
  { id, category, key }: Pick<VarTable, "id" | "category" | "key">,
): Promise<OtherVars> {
  const row = await tx.db
    .selectFrom("vars")
    .select(({ fn }) => [
      fn.countAll<number>().as("count"),
      fn.countAll<number>().filterWhere("category", "=", category).filterWhere("key", "=", key).as("taken"),
      sql<number | null>`sum(length(value) - ${sql.lit(sealOverheadBytes)})`.as("valueBytes"),
    ])
    .where("organizationId", "=", resource.organizationId)
    .where(column, "=", resource.id)
    .where("id", "<>", id)
    .executeTakeFirst();
  return {
    count: Number(row?.count ?? 0),
    valueBytes: Number(row?.valueBytes ?? 0),
    taken: Number(row?.taken ?? 0) > 0,
  };
}

export async function insertVar(tx: Tx, _owner: WritableVarOwner, row: VarTable): Promise<void> {
  await tx.db.insertInto("vars").values(row).execute();
}

export async function updateVarRow(
  tx: Tx,
  _owner: WritableVarOwner,
  id: string,
  changes: Partial<VarTable>,
): Promise<void> {
  await updateRow(tx, "vars", id, changes);
}

export async function deleteVarRow(tx: Tx, { column, resource }: WritableVarOwner, id: string): Promise<void> {
  await tx.db.deleteFrom("vars").where("id", "=", id).where(column, "=", resource.id).execute();
}
