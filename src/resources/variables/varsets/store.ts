/** SQL of variable sets and their scope. Writers must lock the variable set's row first. */
import { type Expression, type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import { checkedStandingOf } from "../../../access/organization.ts";
import { permissionBit, hasPermission } from "../../../access/permission-set.ts";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { VarsetTable } from "../../../database/schema/variables.ts";
import { containsWords } from "../../../database/dialect.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import { now } from "../../../kernel/time.ts";
import {
  factsColumns,
  type OrganizationFacts,
  type OrganizationView,
} from "../../identity/organizations/definition.ts";
import { readableCondition } from "../../register/workspaces/reads.ts";
import {
  hasProjectGrant,
  hasWorkspaceGrant,
  projectGrants,
  standingColumns,
  type StandingInput,
} from "../../shared/grants/reads.ts";
import { type RowLock, lockableStatement } from "../../shared/locks.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";
import type { VarsetLinkKind, VarsetLinks, VarsetView } from "./definition.ts";
import type { VarsetReferenceMatches } from "./rules.ts";
import { openWithId } from "../../shared/open-organizations.ts";

type ManagedVarset = Granted<VarsetView, "can-manage">;

const workspaceBit = permissionBit("runs", "read");
const projectBit = permissionBit("settings", "read");
const setBit = permissionBit("variableSets", "read");

interface VarsetRow extends VarsetTable, OrganizationFacts, StandingInput {
  readonly projectAccess: number | null;
  /** Ids joined by commas; `hiddenPrefix` marks those that the caller's teams can't read. */
  readonly varList: string | null;
  readonly workspaceList: string | null;
  readonly projectList: string | null;
}

/** No id begins with it. */
const hiddenPrefix = "-";

function selectVarsets(db: Kysely<Schema>, organizationId: Expression<string>, principal: string) {
  const marked = (readable: RawBuilder<SqlBool>, column: string) =>
    sql`case when ${readable} then '' else ${sql.lit(hiddenPrefix)} end || ${sql.ref(column)}`;
  const readableWorkspace = sql<SqlBool>`(
    ${hasProjectGrant(organizationId, sql.ref("w.projectId"), principal, workspaceBit)}
    or ${hasWorkspaceGrant(organizationId, sql.ref("w.id"), principal, workspaceBit)})`;
  const readableProject = hasProjectGrant(organizationId, sql.ref("l.projectId"), principal, projectBit);
  return db
    .selectFrom("varsets as s")
    .innerJoin("organizations as o", openWithId("s.organizationId"))
    .selectAll("s")
    .select(factsColumns)
    .select(standingColumns(organizationId, principal))
    .select(projectGrants(organizationId, sql.ref("s.parentProjectId"), principal))
    .select([
      sql<string | null>`(
        select string_agg(v.id, ',' order by v.key, v.id) from vars as v
        where v.organization_id = ${organizationId} and v.varset_id = s.id)`.as("varList"),
      sql<string | null>`(
        select string_agg(${marked(readableWorkspace, "l.workspaceId")}, ',' order by l.workspace_id)
        from varset_workspaces as l inner join workspaces as w on w.id = l.workspace_id
        where l.varset_id = s.id)`.as("workspaceList"),
      sql<string | null>`(
        select string_agg(${marked(readableProject, "l.projectId")}, ',' order by l.project_id)
        from varset_projects as l where l.varset_id = s.id)`.as("projectList"),
    ]);
}

const idsIn = (list: string | null): string[] => (list === null ? [] : list.split(","));

function toVarsetView(actor: Actor, row: VarsetRow): VarsetView {
  const { varList, workspaceList, projectList, ...set } = row;
  const standing = checkedStandingOf(actor, row);
  const marked = { workspaces: idsIn(workspaceList), projects: idsIn(projectList) };
  const readsAll = {
    workspaces: hasPermission(standing.organizationWideMask, "runs", "read"),
    projects: hasPermission(standing.organizationWideMask, "settings", "read"),
  };
  const linksOf = (kind: VarsetLinkKind, isReadable: boolean) =>
    marked[kind]
      .filter((id) => (readsAll[kind] || !id.startsWith(hiddenPrefix)) === isReadable)
      .map((id) => (id.startsWith(hiddenPrefix) ? id.slice(hiddenPrefix.length) : id))
      .sort();
  return {
    ...set,
    standing,
    varIds: idsIn(varList),
    links: { workspaces: linksOf("workspaces", true), projects: linksOf("projects", true) },
    hiddenLinks: { workspaces: linksOf("workspaces", false), projects: linksOf("projects", false) },
    version: set.version + set.linkedCount - marked.workspaces.length - marked.projects.length,
  };
}

type VarsetIdQuery = { id: string; principal: string };

/** Not a column of `s`, so that the engines evaluate it once and not for each linked workspace. */
const organizationOf = (id: string) => sql<string>`(select organization_id from varsets where id = ${id})`;

const byId = prepared<VarsetIdQuery, VarsetRow>((db, { id, principal }) =>
  selectVarsets(db, organizationOf(id), principal).where("s.id", "=", id),
);
const lockVarset = lockableStatement<{ id: string }, { id: string }>("s", (db, { id }) =>
  db
    .selectFrom("varsets as s")
    .innerJoin("organizations as o", openWithId("s.organizationId"))
    .select("s.id")
    .where("s.id", "=", id),
);

/** Locks the row in a separate statement, because a statement that waits for a row lock reads the lists as of before the wait. */
export async function findVarset(
  tx: Tx,
  actor: Actor,
  id: string,
  lock: RowLock = false,
): Promise<VarsetView | undefined> {
  if (lock !== false) await lockVarset(tx, { id }, lock);
  const [row] = await byId(tx, { id, principal: principalOf(actor) });
  return row && toVarsetView(actor, row);
}

export type VarsetCondition = RawBuilder<SqlBool>;

export interface VarsetSearch {
  readonly page: Page;
  readonly searchText: string | undefined;
  readonly condition: VarsetCondition | undefined;
  /** Whether the caller reads the sets that projects own; undefined if that depends on the project. */
  readonly readsOwned: boolean | undefined;
}

export async function listVarsetRows(
  tx: Tx,
  actor: Actor,
  organizationId: string,
  { page, searchText, condition, readsOwned }: VarsetSearch,
): Promise<{ views: VarsetView[]; totalCount: number }> {
  const principal = principalOf(actor);
  const organization = sql<string>`${organizationId}`;
  let rows = selectVarsets(tx.db, organization, principal).where("s.organizationId", "=", organizationId);
  if (condition !== undefined) rows = rows.where(condition);
  if (searchText) rows = rows.where(containsWords(tx.dialect, [sql.ref("s.nameKey")], searchText));
  if (readsOwned !== true) {
    const readable =
      readsOwned === undefined
        ? hasProjectGrant(organization, sql.ref("s.parentProjectId"), principal, setBit)
        : sql<SqlBool>`1 = 0`;
    rows = rows.where(sql<SqlBool>`(s.parent_project_id is null or ${readable})`);
  }
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "s.nameKey" }, { column: "s.id" }],
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("s.id")) },
  });
  return { views: found.rows.map((row) => toVarsetView(actor, row)), totalCount: found.totals.totalCount };
}

export interface WorkspaceLocation {
  readonly id: string;
  readonly organizationId: string | Expression<string>;
  readonly projectId: string | Expression<string>;
}

/** The ranking of a workspace's own variables, in the middle of those of variable sets. */
export const ownRanking = 6;

/**
 * Lowest ranking first, ties by `name_key`. Sets rank after the workspace's own variables: a project's sets before the organization's, and
 * narrower scope before wider. Priority sets rank before them, in the opposite order, so that a global priority set wins.
 */
export function appliedSets({ id, organizationId, projectId }: WorkspaceLocation): RawBuilder<unknown> {
  const distance = sql`(l.scope + case when s.parent_project_id is null then 2 else 0 end)`;
  return sql`(
    select s.id, s.name_key,
      min(case when s.priority = 1 then ${sql.lit(ownRanking)} - ${distance}
        else ${sql.lit(ownRanking)} + ${distance} end) as ranking
    from (
      select varset_id, 1 as scope from varset_workspaces where workspace_id = ${id}
      union all
      select varset_id, 2 from varset_projects where project_id = ${projectId}
      union all
      select id, 3 from varsets where organization_id = ${organizationId} and global = 1
    ) as l
    inner join varsets as s on s.id = l.varset_id
    where s.organization_id = ${organizationId}
      and (s.parent_project_id is null or s.parent_project_id = ${projectId})
    group by s.id, s.name_key, s.priority)`;
}

export function appliesToWorkspace(workspace: WorkspaceLocation): VarsetCondition {
  return sql<SqlBool>`s.id in (select id from ${appliedSets(workspace)} as applied)`;
}

export function appliesToProject(projectId: string): VarsetCondition {
  return sql<SqlBool>`(s.global = 1 or s.parent_project_id = ${projectId}
    or s.id in (select varset_id from varset_projects where project_id = ${projectId}))`;
}

export function linkedTo(tx: Tx, ids: readonly string[]): RawBuilder<boolean> {
  return sql<boolean>`w.id in (
    select workspace_id from varset_workspaces where ${tx.dialect.isOneOf(sql.ref("varset_id"), ids)})`;
}

export interface VarsetReferences {
  readonly name?: string | undefined;
  readonly workspaces?: readonly string[] | undefined;
  readonly projects?: readonly string[] | undefined;
}

export async function lookUpReferences(
  tx: Tx,
  actor: Actor,
  { organizationId, standing }: Pick<VarsetView, "organizationId" | "standing">,
  references: VarsetReferences,
): Promise<VarsetReferenceMatches> {
  const { isOneOf } = tx.dialect;
  const { name, workspaces = [], projects = [] } = references;
  const nameKey = name === undefined ? "" : fold(name);
  const anything = sql<SqlBool>`1 = 1`;
  const readableWorkspace = readableCondition(actor, { id: organizationId, standing }) ?? anything;
  const readableProject = hasPermission(standing.organizationWideMask, "settings", "read")
    ? anything
    : hasProjectGrant(sql<string>`${organizationId}`, sql.ref("p.id"), principalOf(actor), projectBit);
  const { rows } = await sql<{ kind: string; id: string; projectId: string }>`
    select 'name' as kind, id, '' as project_id from varsets
    where organization_id = ${organizationId} and name_key = ${nameKey}
    union all
    select 'workspace' as kind, w.id, w.project_id from workspaces as w
    where w.organization_id = ${organizationId} and ${isOneOf(sql.ref("w.id"), workspaces)} and ${readableWorkspace}
    union all
    select 'project' as kind, p.id, p.id from projects as p
    where p.organization_id = ${organizationId} and ${isOneOf(sql.ref("p.id"), projects)} and ${readableProject}`.execute(
    tx.db,
  );
  const rowsOf = (kind: string) => rows.filter((row) => row.kind === kind);
  return {
    nameTaken: rowsOf("name").length > 0,
    workspaces: new Map(rowsOf("workspace").map((row) => [row.id, row.projectId])),
    projects: new Set(rowsOf("project").map((row) => row.id)),
  };
}

export type VarsetOwner = Granted<OrganizationView, "can-manage-varsets">;

export async function insertVarset(tx: Tx, _into: VarsetOwner, row: VarsetTable, links: VarsetLinks): Promise<void> {
  await tx.db.insertInto("varsets").values(row).execute();
  await insertLinkRows(tx, row, "workspaces", links.workspaces);
  await insertLinkRows(tx, row, "projects", links.projects);
}

/** `countChange` is the number of added links, negative if links were removed. */
export async function updateVarsetRow(
  tx: Tx,
  set: ManagedVarset,
  changes: Partial<VarsetTable>,
  countChange = 0,
): Promise<string> {
  const updatedAt = now();
  await updateRow(tx, "varsets", set.id, { ...changes, linkedCount: sql`linked_count + ${countChange}`, updatedAt });
  return updatedAt;
}

export async function deleteVarsetRow(tx: Tx, set: ManagedVarset): Promise<void> {
  await tx.db.deleteFrom("varsets").where("id", "=", set.id).execute();
}

const linkTables = {
  workspaces: { links: "varset_workspaces", column: "workspace_id", targets: "workspaces" },
  projects: { links: "varset_projects", column: "project_id", targets: "projects" },
} as const;

export async function insertLinks(
  tx: Tx,
  set: ManagedVarset,
  kind: VarsetLinkKind,
  ids: readonly string[],
): Promise<string[]> {
  return insertLinkRows(tx, set, kind, ids);
}

async function insertLinkRows(
  tx: Tx,
  { id, organizationId }: Pick<VarsetTable, "id" | "organizationId">,
  kind: VarsetLinkKind,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const { links, column, targets } = linkTables[kind];
  const { rows } = await sql<{ linkedId: string }>`
    insert into ${sql.table(links)} (organization_id, varset_id, ${sql.ref(column)})
    select organization_id, ${id}, id from ${sql.table(targets)}
    where organization_id = ${organizationId} and ${tx.dialect.isOneOf(sql.ref("id"), ids)} order by id
    on conflict do nothing returning ${sql.ref(column)} as linked_id`.execute(tx.db);
  return rows.map((row) => row.linkedId).toSorted();
}

export async function deleteLinks(
  tx: Tx,
  set: ManagedVarset,
  kind: VarsetLinkKind,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const { links, column } = linkTables[kind];
  const { rows } = await sql<{ linkedId: string }>`
    delete from ${sql.table(links)}
    where varset_id = ${set.id} and ${tx.dialect.isOneOf(sql.ref(column), ids)}
    returning ${sql.ref(column)} as linked_id`.execute(tx.db);
  return rows.map((row) => row.linkedId).toSorted();
}
