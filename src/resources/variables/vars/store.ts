/** SQL of variables. Whoever changes one holds its owner's row first: the workspace's or the set's. */
import { sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { type Standing, standingOf, type StandingRow } from "../../../access/organization.ts";
import type { WorkspaceFacts } from "../../../access/permissions.ts";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { VarTable } from "../../../database/schema/variables.ts";
import { sealedMoreBytes } from "../../../database/vault.ts";
import type { Page } from "../../../jsonapi/query.ts";
import {
  projectGrants,
  standingColumns,
  type WorkspaceAccessRow,
  workspaceAccessColumns,
  workspaceFactsOf,
} from "../../shared/grants/reads.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";
import { appliedSets, ownPlace, type PlaceOfWorkspace } from "../varsets/reads.ts";
import type { Readable, ReadableWorkspace, Writable } from "./owner.ts";
import { type Others, valuesBytesMax, varsMax } from "./rules.ts";

// --- one, for reading

/** What the caller may do to a workspace, and the variable that was asked for, if the workspace has it. */
export interface VarPlace extends WorkspaceFacts {
  readonly variable: VarTable | undefined;
}

/** The same for a set. */
export interface VarsetVarPlace {
  readonly standing: Standing;
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

/** A variable's columns are all there, or all null. */
type VarOrNulls = { [Name in keyof Omit<VarTable, "organizationId">]: VarTable[Name] | null };
const variableIn = (row: VarOrNulls): VarTable | undefined => (row.id === null ? undefined : (row as VarTable));

type ByIds = { ownerId: string; varId: string; principal: string };

const inWorkspace = prepared<ByIds, WorkspaceAccessRow & VarOrNulls>((db, { ownerId, varId, principal }) =>
  db
    .selectFrom("workspaces as w")
    .innerJoin("organizations as o", "o.id", "w.organizationId")
    .leftJoin("vars as v", (join) => join.onRef("v.workspaceId", "=", "w.id").on("v.id", "=", varId))
    .select(["w.organizationId", "o.allowForceDeleteWorkspaces"])
    .select(varColumns)
    .select(workspaceAccessColumns(principal))
    .where("w.id", "=", ownerId),
);

/**
 * One statement: the variable and all that the caller holds on its workspace. The workspace comes also without it, so that
 * whoever may not read variables is told that, whichever there are.
 */
export async function findPlace(
  tx: Tx,
  actor: Actor,
  { workspaceId, varId }: { readonly workspaceId: string; readonly varId: string },
): Promise<VarPlace | undefined> {
  const [row] = await inWorkspace(tx, { ownerId: workspaceId, varId, principal: principalOf(actor) });
  return row && { ...workspaceFactsOf(actor, row), variable: variableIn(row) };
}

type VarsetRow = Omit<VarsetVarPlace, "standing" | "variable"> & StandingRow;

const inVarset = prepared<ByIds, VarsetRow & VarOrNulls>((db, { ownerId, varId, principal }) =>
  db
    .selectFrom("varsets as s")
    .leftJoin("vars as v", (join) => join.onRef("v.varsetId", "=", "s.id").on("v.id", "=", varId))
    .select(["s.organizationId", "s.parentProjectId"])
    .select(varColumns)
    .select(standingColumns(sql.ref("s.organizationId"), principal))
    .select(projectGrants(sql.ref("s.organizationId"), sql.ref("s.parentProjectId"), principal))
    .where("s.id", "=", ownerId),
);

/** One statement: the variable and all that decides whether the caller may see its set. */
export async function findVarsetPlace(
  tx: Tx,
  actor: Actor,
  { varsetId, varId }: { readonly varsetId: string; readonly varId: string },
): Promise<VarsetVarPlace | undefined> {
  const [row] = await inVarset(tx, { ownerId: varsetId, varId, principal: principalOf(actor) });
  return row && { ...row, standing: standingOf(actor, row), variable: variableIn(row) };
}

// --- many

/** An owner's own variables. */
export function ownVars(tx: Tx, { column, thing }: Readable) {
  return tx.db
    .selectFrom("vars as v")
    .selectAll("v")
    .where("v.organizationId", "=", thing.organizationId)
    .where(`v.${column}`, "=", thing.id);
}
type VarRows = ReturnType<typeof ownVars>;

/** Of each category and key the variable that wins, with its place: a workspace's own, or that of a set that applies to it. */
function winners(workspace: PlaceOfWorkspace) {
  const { id, organizationId } = workspace;
  return sql<{ id: string; place: number }>`(
    select id, place from (
      select id, place, row_number() over (partition by category, key order by place, set_key) as nth from (
        select own.id, own.category, own.key, ${sql.lit(ownPlace)} as place, '' as set_key from vars as own
        where own.organization_id = ${organizationId} and own.workspace_id = ${id}
        union all
        select given.id, given.category, given.key, s.place, s.name_key
        from ${appliedSets(workspace)} as s
        inner join vars as given on given.organization_id = ${organizationId} and given.varset_id = s.id
      ) as candidates
    ) as ranked where nth = 1)`;
}

export function varsInForce(tx: Tx, workspace: ReadableWorkspace): VarRows {
  return tx.db
    .selectFrom("vars as v")
    .selectAll("v")
    .where(sql<boolean>`v.id in (select id from ${winners(workspace)} as won)`);
}

/** All of them, with the place by which each wins, by category and key: one statement. */
export async function listWinningVars(
  tx: Tx,
  workspace: PlaceOfWorkspace,
): Promise<(VarTable & { readonly place: number })[]> {
  return tx.db
    .selectFrom("vars as v")
    .innerJoin(winners(workspace).as("won"), "won.id", "v.id")
    .selectAll("v")
    .select("won.place")
    .orderBy("v.category")
    .orderBy("v.key")
    .execute();
}

/** By key: a page with the total, or all of them. */
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

/** The variables of sets, set by set and by key: as many as one set may have, and no more than its values may hold. */
export async function listVarsOfSets(tx: Tx, organizationId: string, ids: readonly string[]): Promise<VarTable[]> {
  const fitting = sql`
    select id from (
      select id, sum(length(value) - ${sql.lit(sealedMoreBytes)})
        over (order by varset_id, key, id rows unbounded preceding) as value_bytes
      from vars where organization_id = ${organizationId} and ${tx.dialect.isOneOf(sql.ref("varset_id"), ids)}
    ) as summed where value_bytes <= ${sql.lit(valuesBytesMax)}`;
  return tx.db
    .selectFrom("vars as v")
    .selectAll("v")
    .where(sql<boolean>`v.id in (${fitting})`)
    .orderBy("v.varsetId")
    .orderBy("v.key")
    .orderBy("v.id")
    .limit(varsMax)
    .execute();
}

// --- for a change

/** Locked with its owner. */
export async function findVar(tx: Tx, { column, thing }: Writable, id: string): Promise<VarTable | undefined> {
  return tx.db.selectFrom("vars").selectAll().where("id", "=", id).where(column, "=", thing.id).executeTakeFirst();
}

/** What the owner has beside the variable of this id, in one statement. */
export async function lookUpOthers(
  tx: Tx,
  { column, thing }: Writable,
  { id, category, key }: Pick<VarTable, "id" | "category" | "key">,
): Promise<Others> {
  const row = await tx.db
    .selectFrom("vars")
    .select(({ fn }) => [
      fn.countAll<number>().as("count"),
      fn.countAll<number>().filterWhere("category", "=", category).filterWhere("key", "=", key).as("taken"),
      sql<number | null>`sum(length(value) - ${sql.lit(sealedMoreBytes)})`.as("valueBytes"),
    ])
    .where("organizationId", "=", thing.organizationId)
    .where(column, "=", thing.id)
    .where("id", "<>", id)
    .executeTakeFirst();
  return {
    count: Number(row?.count ?? 0),
    valueBytes: Number(row?.valueBytes ?? 0),
    taken: Number(row?.taken ?? 0) > 0,
  };
}

export async function insertVar(tx: Tx, _owner: Writable, row: VarTable): Promise<void> {
  await tx.db.insertInto("vars").values(row).execute();
}

export async function updateVarRow(tx: Tx, _owner: Writable, id: string, changes: Partial<VarTable>): Promise<void> {
  await updateRow(tx, "vars", id, changes);
}

export async function deleteVarRow(tx: Tx, { column, thing }: Writable, id: string): Promise<void> {
  await tx.db.deleteFrom("vars").where("id", "=", id).where(column, "=", thing.id).execute();
}
