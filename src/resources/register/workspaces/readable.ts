/** SQL fragments for the workspaces that a caller can read, and for a page of them. They must not depend on search filters. */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import { permissionBit } from "../../../access/permission-set.ts";
import type { Dialect } from "../../../database/dialect.ts";
import { grantTables as grantTablesOf } from "../../shared/grants/sums.ts";
import { connectedColumns, connectedJoins, type ConnectedRow } from "./connected.ts";

export const readRunsBit = permissionBit("runs", "read");

/** Grants of the caller's teams, summed by project (`project_grants`) and by workspace (`workspace_grants`). */
export const grantTables = (organizationId: RawBuilder<string>, principal: string): RawBuilder<unknown> =>
  grantTablesOf("", organizationId, principal);

const grantedProjects = sql`(select project_id from project_grants where (mask & ${sql.lit(readRunsBit)}) <> 0)`;
const grantedWorkspaces = sql`(select workspace_id from workspace_grants where (mask & ${sql.lit(readRunsBit)}) <> 0)`;

export const canRead = (table: "v" | "w"): RawBuilder<SqlBool> =>
  sql<SqlBool>`(${sql.ref(`${table}.projectId`)} in ${grantedProjects} or ${sql.ref(`${table}.id`)} in ${grantedWorkspaces})`;

/** Projects in which the caller's teams have access to the project or to a workspace. */
export const callersProjects: RawBuilder<unknown> = sql`
  select project_id from project_grants
  union select v.project_id from workspace_grants cross join workspaces as v where v.id = workspace_grants.workspace_id`;

export type PageStrategy =
  /** The caller can read every workspace, so grants are not checked. */
  | "all"
  /** Takes readable workspaces in order until the page is full. */
  | "walk"
  /** Collects all readable workspaces, by project and individually, and sorts them. */
  | "collect";

export const sortColumns = {
  name: "name",
  "latest-change-at": "latest_change_at",
  "current-run.created-at": "current_run_created_at",
} as const;

export interface PageShape {
  readonly strategy: PageStrategy;
  readonly column: (typeof sortColumns)[keyof typeof sortColumns];
  readonly descending: boolean;
  readonly fromEnd?: boolean;
}

/** The id breaks ties, so that pages never overlap. Workspaces without a run come last in both directions. */
export function order({ column, descending, fromEnd = false }: PageShape): RawBuilder<unknown> {
  const nulls = column === "current_run_created_at" ? ` nulls ${fromEnd ? "first" : "last"}` : "";
  const direction = sql.raw(`${descending === fromEnd ? "asc" : "desc"}${nulls}`);
  return sql`order by w.${sql.raw(column)} ${direction}, w.id ${sql.raw(fromEnd ? "desc" : "asc")}`;
}

/** With more columns, no index covers the query. Both databases fold names alike, so an index on names also yields `name_key`. */
export function columnsOf({ column }: PageShape, searched: readonly string[], isWalked = false): RawBuilder<unknown> {
  const textOf = (name: string) =>
    isWalked && column === "name" && name === "name_key" ? "lower(v.name)" : `v.${name}`;
  return sql.raw([...new Set(["id", column, ...searched])].map((name) => `${textOf(name)} as ${name}`).join(", "));
}

export function candidates(
  shape: PageShape,
  organizationId: string,
  searched: readonly string[],
  isWalked = false,
): RawBuilder<unknown> {
  const { strategy } = shape;
  const columns = columnsOf(shape, searched, isWalked);
  if (strategy === "all")
    return sql`(select ${columns} from workspaces as v where v.organization_id = ${organizationId}) as w`;
  if (strategy === "walk")
    return sql`(select ${columns} from workspaces as v where v.organization_id = ${organizationId} and ${canRead("v")}) as w`;
  return sql`(select ${columns} from workspaces as v
      where v.organization_id = ${organizationId} and v.project_id in ${grantedProjects}
    union all
    select ${columns} from workspace_grants cross join workspaces as v
      where v.id = workspace_grants.workspace_id and (workspace_grants.mask & ${sql.lit(readRunsBit)}) <> 0
        and v.project_id not in ${grantedProjects}) as w`;
}

export function collectedWorkspaces(
  organizationId: string,
  principal: string,
  columns: readonly string[],
): { readonly tables: RawBuilder<unknown>; readonly from: RawBuilder<unknown> } {
  const shape: PageShape = { strategy: "collect", column: "name", descending: false };
  return {
    tables: grantTables(sql<string>`${organizationId}`, principal),
    from: candidates(shape, organizationId, columns),
  };
}

export function pageRows(shape: PageShape): RawBuilder<unknown> {
  return sql`select ${connectedColumns}, project_grants.mask as project_access, workspace_grants.mask as workspace_access
    from page cross join workspaces as w ${connectedJoins}
    left join project_grants on project_grants.project_id = w.project_id
    left join workspace_grants on workspace_grants.workspace_id = w.id
    where w.id = page.id
    ${order({ ...shape, fromEnd: false })}`;
}

export type PageRow = ConnectedRow & { readonly projectAccess: number | null; readonly workspaceAccess: number | null };

export interface PageParameters {
  readonly organizationId: string;
  readonly principal: string;
  readonly limit: number;
  readonly offset: number;
}

/** The default page size, the largest one, and the limit of near pages. */
const pageDepths: readonly number[] = [20, 100, 1_000];

/** Rows to read for a page, rounded up to one of a few steps; undefined for a page far into the list. */
export type PageDepth = { readonly rows: number; readonly isPage: boolean } | undefined;

export function pageDepthOf({ limit, offset }: PageParameters): PageDepth {
  const rows = pageDepths.find((depth) => offset + limit <= depth);
  return rows === undefined ? undefined : { rows, isPage: offset === 0 && limit === rows };
}

/** Near pages have a literal limit: PostgreSQL would plan a statement with a parameter as its limit on each execution. */
export function pageOf(
  { plansBoundLimits }: Dialect,
  shape: PageShape,
  source: RawBuilder<unknown>,
  p: PageParameters,
  depth: PageDepth,
): RawBuilder<unknown> {
  const [sorted, cut, column] = [order(shape), sql`limit ${p.limit} offset ${p.offset}`, sql.raw(shape.column)];
  if (plansBoundLimits || depth === undefined) return sql`select w.id as id ${source} ${sorted} ${cut}`;
  if (depth.isPage) return sql`select w.id as id ${source} ${sorted} limit ${sql.lit(depth.rows)}`;
  return sql`select w.id as id from (
    select w.id as id, w.${column} as ${column} ${source} ${sorted} limit ${sql.lit(depth.rows)}) as w ${sorted} ${cut}`;
}
