/**
 * The workspaces of an organization that a caller may read, and a page of them, as pieces of a statement. They know nothing of what
 * is searched for: `list.ts` and `found.ts` put them together.
 */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import { bitOf } from "../../../access/permission-set.ts";
import type { Dialect } from "../../../database/dialect.ts";
import { grantTables as grantTablesOf } from "../../shared/grants/sums.ts";
import { connectedColumns, connectedJoins, type ConnectedRow } from "./connected.ts";

export const readable = bitOf("runs", "read");

/** What the caller's teams hold, by project and by workspace, added up: two small tables that a statement joins. */
export const grantTables = (organizationId: RawBuilder<string>, principal: string): RawBuilder<unknown> =>
  grantTablesOf("", organizationId, principal);

const inProjects = sql`(select project_id from granted where (mask & ${sql.lit(readable)}) <> 0)`;
const singles = sql`(select workspace_id from single where (mask & ${sql.lit(readable)}) <> 0)`;

/** Whether a workspace is among those that the caller's teams may read. */
export const mayRead = (table: "v" | "w"): RawBuilder<SqlBool> =>
  sql<SqlBool>`(${sql.ref(`${table}.projectId`)} in ${inProjects} or ${sql.ref(`${table}.id`)} in ${singles})`;

/** The projects in which the caller may read anything. */
export const callersProjects: RawBuilder<unknown> = sql`
  select project_id from granted union select v.project_id from single cross join workspaces as v where v.id = single.workspace_id`;

/** How the page is found among an organization's workspaces. */
export type Plan =
  /** The caller may read all of them. */
  | "everything"
  /** Walk through all in order, and take those that the caller may read, until the page is full. */
  | "walk"
  /** Take all that the caller may read, project by project, and sort them. */
  | "by-project";

export const sortColumns = {
  name: "name",
  "latest-change-at": "latest_change_at",
  "current-run.created-at": "current_run_created_at",
} as const;

export interface Shape {
  readonly plan: Plan;
  readonly column: (typeof sortColumns)[keyof typeof sortColumns];
  readonly descending: boolean;
  /** Whether the page is nearer to the list's end, and so looked for from there. */
  readonly fromEnd?: boolean;
}

/** Ties break by id, so that pages never overlap; workspaces without a run come last in both directions. */
export function order({ column, descending, fromEnd = false }: Shape): RawBuilder<unknown> {
  const nulls = column === "current_run_created_at" ? ` nulls ${fromEnd ? "first" : "last"}` : "";
  const direction = sql.raw(`${descending === fromEnd ? "asc" : "desc"}${nulls}`);
  return sql`order by w.${sql.raw(column)} ${direction}, w.id ${sql.raw(fromEnd ? "desc" : "asc")}`;
}

/**
 * A workspace's id, what it is sorted by, and what the search looks at. With more, no index holds everything, and every row has to be
 * read. Names are of letters that both engines fold, so that the index in the order of names tells of `name_key` to those who walk along it.
 */
export function columnsOf({ column }: Shape, looked: readonly string[], isWalked = false): RawBuilder<unknown> {
  const textOf = (name: string) =>
    isWalked && column === "name" && name === "name_key" ? "lower(v.name)" : `v.${name}`;
  return sql.raw([...new Set(["id", column, ...looked])].map((name) => `${textOf(name)} as ${name}`).join(", "));
}

/** The workspaces among which the page is looked for, called `w`, with the columns that the search looks at. */
export function candidates(
  shape: Shape,
  organizationId: string,
  looked: readonly string[],
  isWalked = false,
): RawBuilder<unknown> {
  const { plan } = shape;
  const chosen = columnsOf(shape, looked, isWalked);
  if (plan === "everything")
    return sql`(select ${chosen} from workspaces as v where v.organization_id = ${organizationId}) as w`;
  if (plan === "walk")
    return sql`(select ${chosen} from workspaces as v where v.organization_id = ${organizationId} and ${mayRead("v")}) as w`;
  return sql`(select ${chosen} from workspaces as v
      where v.organization_id = ${organizationId} and v.project_id in ${inProjects}
    union all
    select ${chosen} from single cross join workspaces as v
      where v.id = single.workspace_id and (single.mask & ${sql.lit(readable)}) <> 0 and v.project_id not in ${inProjects}) as w`;
}

/** All that a caller who may not read everything may read: the tables that a statement begins with, and the workspaces, called `w`. */
export function collectedWorkspaces(
  organizationId: string,
  principal: string,
  columns: readonly string[],
): { readonly tables: RawBuilder<unknown>; readonly from: RawBuilder<unknown> } {
  const shape: Shape = { plan: "by-project", column: "name", descending: false };
  return {
    tables: grantTables(sql<string>`${organizationId}`, principal),
    from: candidates(shape, organizationId, columns),
  };
}

/** Whole rows of a page's workspaces, with what the caller's teams hold on each. */
export function wholeRows(shape: Shape): RawBuilder<unknown> {
  return sql`select ${connectedColumns}, granted.mask as project_access, single.mask as workspace_access
    from page cross join workspaces as w ${connectedJoins}
    left join granted on granted.project_id = w.project_id
    left join single on single.workspace_id = w.id
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

/** The size of pages unless another is asked for, the largest, and how far pages go that are still near. */
const reaches: readonly number[] = [20, 100, 1_000];

/** How far into a list a page reaches, in a few steps, and whether it is all of that. Undefined for a deep page. */
export type Reach = { readonly rows: number; readonly isPage: boolean } | undefined;

export function reachOf({ limit, offset }: PageParameters): Reach {
  const rows = reaches.find((reach) => offset + limit <= reach);
  return rows === undefined ? undefined : { rows, isPage: offset === 0 && limit === rows };
}

/**
 * The ids of a page of `w`, from what stands between SELECT and ORDER BY. PostgreSQL plans a statement about a large organization anew
 * each time, if it is told only then how many rows are wanted, which costs it more than to answer. So how far a near page reaches
 * is in its text, and the page is cut from that.
 */
export function pageOf(
  { plansOpenLimits }: Dialect,
  shape: Shape,
  found: RawBuilder<unknown>,
  p: PageParameters,
  reach: Reach,
): RawBuilder<unknown> {
  const [sorted, cut, column] = [order(shape), sql`limit ${p.limit} offset ${p.offset}`, sql.raw(shape.column)];
  if (plansOpenLimits || reach === undefined) return sql`select w.id as id ${found} ${sorted} ${cut}`;
  if (reach.isPage) return sql`select w.id as id ${found} ${sorted} limit ${sql.lit(reach.rows)}`;
  return sql`select w.id as id from (
    select w.id as id, w.${column} as ${column} ${found} ${sorted} limit ${sql.lit(reach.rows)}) as w ${sorted} ${cut}`;
}
