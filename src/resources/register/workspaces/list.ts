/**
 * The list of workspaces: the statement that is asked most and grows most. A page and everything about it come in one
 * statement, its total in the one before, from counters. How the page is found depends on how much the caller may read.
 * See docs/performance.md.
 */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import { principalOf } from "../../../access/actor.ts";
import { bitOf, holds } from "../../../access/permission-set.ts";
import type { Tx } from "../../../database/database.ts";
import { fewMax } from "../../../database/name-index.ts";
import { type Prepared, prepared } from "../../../database/prepared.ts";
import { notFound } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import { actorTeams, standingSelection } from "../../shared/grants/reads.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { type OrganizationRow, toOrganizationView } from "../../identity/organizations/reads.ts";
import type { Context } from "../../shared/context.ts";
import { connectedColumns, connectedJoins, type ConnectedRow } from "./connected.ts";
import { type Asked, conditionsOf, indexedParts, isFiltered, knownTotal, type WorkspaceSearch } from "./search.ts";
import { inOrganization } from "./store.ts";
import type { WorkspaceView } from "./view.ts";

const readable = bitOf("runs", "read");

// --- the organization, and how many workspaces of it the caller may read

interface Counts {
  /** In the whole organization. */
  readonly everything: number;
  /** In projects to which a team of the caller has access. */
  readonly inProjects: number;
  /** Given to a team of the caller one by one, in other projects. */
  readonly single: number;
}

/** What the caller's teams hold, by project and by workspace, added up: two small tables that a statement joins. */
function grantTables(organizationId: RawBuilder<string>, principal: string): RawBuilder<unknown> {
  // CROSS JOIN keeps the order of the tables: from the caller's few teams to their records, never the other way round.
  return sql`mine as materialized ${actorTeams(organizationId, principal)},
    granted as materialized (
      select g.project_id as project_id, bit_or(g.permissions) as mask from mine cross join team_projects as g
      where g.organization_id = ${organizationId} and g.team_id = mine.team_id and ${inForce("g")} group by g.project_id),
    single as materialized (
      select g.workspace_id as workspace_id, bit_or(g.permissions) as mask from mine cross join team_workspaces as g
      where g.organization_id = ${organizationId} and g.team_id = mine.team_id and ${inForce("g")} group by g.workspace_id)`;
}

type OrganizationWithCounts = OrganizationRow & Counts;

const organizationWithCounts = prepared<
  { nameKey: string; principal: string; readable: number },
  OrganizationWithCounts
>((db, p) => {
  const found = sql<string>`(select id from organizations where name_key = ${p.nameKey})`;
  const inProjects = sql`select project_id from granted where (mask & ${p.readable}) <> 0`;
  const statement = sql<OrganizationWithCounts>`
    with ${grantTables(found, p.principal)}
    select o.*, ${standingSelection(sql.ref("o.id"), p.principal)},
      (select coalesce(sum(workspace_count), 0) from projects where organization_id = o.id) as everything,
      (select coalesce(sum(workspace_count), 0) from projects where id in (${inProjects})) as in_projects,
      (select count(*) from single inner join workspaces as w on w.id = single.workspace_id
        where (single.mask & ${p.readable}) <> 0 and w.project_id not in (${inProjects})) as single
    from organizations as o where o.name_key = ${p.nameKey}`;
  return { compile: () => statement.compile(db) };
});

/** Raises `not-found` where the caller may not know of the organization. */
export async function loadOrganizationToList(
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  name: string,
): Promise<{ organization: OrganizationView; counts: Counts }> {
  const [row] = await organizationWithCounts(tx, { nameKey: fold(name), principal: principalOf(actor), readable });
  const organization = row && toOrganizationView(actor, row);
  if (organization === undefined || !organization.standing.member) throw notFound("organization");
  const { everything, inProjects, single } = row!;
  return {
    organization,
    counts: { everything: Number(everything), inProjects: Number(inProjects), single: Number(single) },
  };
}

// --- the page

/** How the page is found among an organization's workspaces. */
type Plan =
  /** The caller may read all of them. */
  | "everything"
  /** Walk through all in order, and take those that the caller may read, until the page is full. */
  | "walk"
  /** Take all that the caller may read, project by project, and sort them. */
  | "by-project";

/** A walk passes so many for each that it finds; collecting takes all that there are. The cheaper one is taken. */
function planFor(counts: Counts, search: WorkspaceSearch, readsAll: boolean): Plan {
  if (readsAll) return "everything";
  const mine = counts.inProjects + counts.single;
  if (isFiltered(search) || search.projectId !== undefined || mine === 0) return "by-project";
  const walked = (search.page.number * search.page.size * counts.everything) / mine;
  return walked < mine ? "walk" : "by-project";
}

const sortColumns = {
  name: "name",
  "latest-change-at": "latest_change_at",
  "current-run.created-at": "current_run_created_at",
} as const;

interface Shape {
  readonly plan: Plan;
  readonly column: (typeof sortColumns)[keyof typeof sortColumns];
  readonly descending: boolean;
  /** Whether the page is nearer to the list's end, and so looked for from there. */
  readonly fromEnd?: boolean;
}

/** Ties break by id, so that pages never overlap; workspaces without a run come last in both directions. */
function order({ column, descending, fromEnd = false }: Shape): RawBuilder<unknown> {
  const nulls = column === "current_run_created_at" ? ` nulls ${fromEnd ? "first" : "last"}` : "";
  const direction = sql.raw(`${descending === fromEnd ? "asc" : "desc"}${nulls}`);
  return sql`order by w.${sql.raw(column)} ${direction}, w.id ${sql.raw(fromEnd ? "desc" : "asc")}`;
}

/** Only what the conditions look at: with more, no index holds everything, and every row has to be read. */
function columnsLookedAt(search: WorkspaceSearch): string[] {
  const { part, wildcard, projectId, tags, tagged, excludedTags, runStatuses, lockedBefore } = search;
  const looksAtProjects = projectId !== undefined || tags.length + tagged.length + excludedTags.length > 0;
  return [
    ...(part || wildcard ? ["name_key"] : []),
    ...(looksAtProjects ? ["project_id"] : []),
    ...(runStatuses.length > 0 ? ["current_run_status"] : []),
    ...(lockedBefore === undefined ? [] : ["locked_at", "lock_expires_at"]),
  ];
}

function columnsOf({ column }: Shape, looked: readonly string[]): RawBuilder<unknown> {
  return sql.raw([...new Set(["id", column, ...looked])].map((name) => `v.${name} as ${name}`).join(", "));
}

/** The workspaces among which the page is looked for, called `w`, with the columns that the search looks at. */
function candidates(shape: Shape, organizationId: string, looked: readonly string[]): RawBuilder<unknown> {
  const { plan } = shape;
  const chosen = columnsOf(shape, looked);
  const inProjects = sql`(select project_id from granted where (mask & ${readable}) <> 0)`;
  const singles = sql`(select workspace_id from single where (mask & ${readable}) <> 0)`;
  if (plan === "everything")
    return sql`(select ${chosen} from workspaces as v where v.organization_id = ${organizationId}) as w`;
  if (plan === "walk") {
    return sql`(select ${chosen} from workspaces as v where v.organization_id = ${organizationId}
      and (v.project_id in ${inProjects} or v.id in ${singles})) as w`;
  }
  return sql`(select ${chosen} from workspaces as v
      where v.organization_id = ${organizationId} and v.project_id in ${inProjects}
    union all
    select ${chosen} from single cross join workspaces as v
      where v.id = single.workspace_id and (single.mask & ${readable}) <> 0 and v.project_id not in ${inProjects}) as w`;
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
function wholeRows(shape: Shape): RawBuilder<unknown> {
  return sql`select ${connectedColumns}, granted.mask as project_access, single.mask as workspace_access
    from page cross join workspaces as w ${connectedJoins}
    left join granted on granted.project_id = w.project_id
    left join single on single.workspace_id = w.id
    where w.id = page.id
    ${order({ ...shape, fromEnd: false })}`;
}

type PageRow = ConnectedRow & { readonly projectAccess: number | null; readonly workspaceAccess: number | null };

interface PageParameters {
  readonly organizationId: string;
  readonly principal: string;
  readonly limit: number;
  readonly offset: number;
}

const unfiltered = new Map<string, Prepared<PageParameters, PageRow>>();

/** The size of pages unless another is asked for, and the largest. */
const usualSizes: readonly number[] = [20, 100];

/**
 * First pages of the usual sizes have their size in their text: PostgreSQL plans a statement about a large organization anew each
 * time, if it is told only then how many rows are wanted, which costs it more than to answer.
 */
function usualSize({ limit, offset }: PageParameters): number | undefined {
  return offset === 0 && usualSizes.includes(limit) ? limit : undefined;
}

function cut(p: PageParameters, size: number | undefined): RawBuilder<unknown> {
  return size === undefined ? sql`limit ${p.limit} offset ${p.offset}` : sql`limit ${sql.lit(size)}`;
}

/** Compiled once for each shape, of which there are twenty-four, and for each of the usual sizes. */
function unfilteredPage(shape: Shape, size: number | undefined): Prepared<PageParameters, PageRow> {
  const key = `${shape.plan} ${shape.column} ${shape.descending} ${shape.fromEnd} ${size}`;
  let statement = unfiltered.get(key);
  if (statement === undefined) {
    statement = prepared<PageParameters, PageRow>((db, p) => {
      const text = sql<PageRow>`
        with ${grantTables(sql<string>`${p.organizationId}`, p.principal)},
        page as materialized (select w.id from ${candidates(shape, p.organizationId, [])} ${order(shape)} ${cut(p, size)})
        ${wholeRows(shape)}`;
      return { compile: () => text.compile(db) };
    });
    unfiltered.set(key, statement);
  }
  return statement;
}

/** A page of a list whose length is known: whatever lies before it is walked through, so that the shorter way is taken. */
async function countedPage(tx: Tx, shape: Shape, p: PageParameters, total: number): Promise<PageRow[]> {
  const limit = Math.min(p.limit, Math.max(0, total - p.offset));
  const behind = total - p.offset - limit;
  if (shape.plan !== "everything" || behind >= p.offset)
    return unfilteredPage({ ...shape, fromEnd: false }, usualSize(p))(tx, p);
  const backwards = { ...p, limit, offset: Math.max(0, behind) };
  return unfilteredPage({ ...shape, fromEnd: true }, usualSize(backwards))(tx, backwards);
}

/** The candidates of a search: among all workspaces of a large organization, the index of names finds those that may match. */
function searchCandidates(tx: Tx, shape: Shape, organizationId: string, search: WorkspaceSearch): RawBuilder<unknown> {
  const looked = columnsLookedAt(search);
  const parts = indexedParts(search);
  if (shape.plan !== "everything" || parts.length === 0 || search.projectId !== undefined)
    return candidates(shape, organizationId, looked);
  return sql`${tx.dialect.names.candidates(columnsOf(shape, looked), { organizationId, parts })} as w`;
}

/** With filters the matches have to be counted, so that they are all found; the page is cut from them. */
async function filteredPage(
  tx: Tx,
  shape: Shape,
  search: WorkspaceSearch,
  p: PageParameters,
  asked: Asked,
): Promise<{ rows: PageRow[]; totalCount: number }> {
  const conditions = conditionsOf(tx, p.organizationId, search, asked);
  const total = shape.plan === "everything" ? knownTotal(tx, p.organizationId, search) : undefined;
  if (total !== undefined) return walkedPage(tx, shape, search, p, total);
  const result = await sql<PageRow & { totalCount: number }>`
    with ${grantTables(sql<string>`${p.organizationId}`, p.principal)},
    matching as materialized (
      select w.id as id, w.${sql.raw(shape.column)} as ${sql.raw(shape.column)}
      from ${searchCandidates(tx, shape, p.organizationId, search)} where ${sql.join(conditions, sql` and `)}),
    page as materialized (select w.id from matching as w ${order(shape)} ${cut(p, usualSize(p))})
    select * from (select count(*) as total_count from matching) as counted
    left join (${wholeRows(shape)}) as w on true ${order(shape)}`.execute(tx.db);
  return { rows: result.rows.filter((row) => row.id !== null), totalCount: Number(result.rows[0]?.totalCount ?? 0) };
}

/** One of two ways to a page, of which the number of matches chooses. */
interface Way {
  readonly found: RawBuilder<unknown>;
  readonly conditions: readonly RawBuilder<SqlBool>[];
  /** Asked of `counted`. */
  readonly isChosen: RawBuilder<SqlBool>;
}

const all = (conditions: readonly RawBuilder<SqlBool>[]) => sql.join(conditions, sql` and `);

/** Nothing is looked for where no row is wanted. (The embedded database would ask a condition on the number for each row.) */
function limitedWay(shape: Shape, { found, conditions, isChosen }: Way, p: PageParameters): RawBuilder<unknown> {
  return sql`select id from (select w.id as id from ${found} where ${all(conditions)} ${order(shape)}
    limit (select case when ${isChosen} then cast(${p.limit} as bigint) else 0 end from counted) offset ${p.offset}) as chosen`;
}

/**
 * PostgreSQL asks such a condition once, and plans for a limit that it knows. So well that it would walk to few matches, too, which
 * have to be found before they are sorted.
 */
function gatedWay(
  shape: Shape,
  { found, conditions, isChosen }: Way,
  p: PageParameters,
  isFoundFirst: boolean,
): RawBuilder<unknown> {
  const column = sql.raw(shape.column);
  const gate = sql<SqlBool>`(select ${isChosen} from counted)`;
  const matching = sql`select w.id as id, w.${column} as ${column} from ${found} where ${all([gate, ...conditions])}`;
  return isFoundFirst
    ? sql`select id from (with few as materialized (${matching})
        select w.id as id from few as w ${order(shape)} ${cut(p, usualSize(p))}) as chosen`
    : sql`select id from (${matching} ${order(shape)} ${cut(p, usualSize(p))}) as chosen`;
}

/**
 * Where it is known how many a search finds, many of them need not be found: a walk in order ends when the page is full. Few are
 * all found, and sorted.
 */
async function walkedPage(
  tx: Tx,
  shape: Shape,
  search: WorkspaceSearch,
  p: PageParameters,
  total: RawBuilder<number>,
): Promise<{ rows: PageRow[]; totalCount: number }> {
  const { organizationId } = p;
  const few = {
    found: searchCandidates(tx, shape, organizationId, search),
    conditions: conditionsOf(tx, organizationId, search, "sets"),
    isChosen: sql<SqlBool>`total_count <= ${fewMax}`,
  };
  const many = {
    found: candidates(shape, organizationId, columnsLookedAt(search)),
    conditions: conditionsOf(tx, organizationId, search, "one by one"),
    isChosen: sql<SqlBool>`total_count > ${fewMax}`,
  };
  const pageOf = tx.dialect.plansOpenLimits ? limitedWay : gatedWay;
  const result = await sql<PageRow & { totalCount: number }>`
    with ${grantTables(sql<string>`${organizationId}`, p.principal)},
    counted as materialized (select ${total} as total_count),
    page as materialized (${pageOf(shape, few, p, true)} union all ${pageOf(shape, many, p, false)})
    select * from counted left join (${wholeRows(shape)}) as w on true ${order(shape)}`.execute(tx.db);
  return { rows: result.rows.filter((row) => row.id !== null), totalCount: Number(result.rows[0]?.totalCount ?? 0) };
}

export async function listReadableWorkspaces(
  tx: Tx,
  { actor, options }: Pick<Context, "actor" | "options">,
  { organization, counts }: { organization: OrganizationView; counts: Counts },
  search: WorkspaceSearch,
): Promise<{ views: WorkspaceView[]; totalCount: number }> {
  const readsAll = holds(organization.standing.everywhere, "runs", "read");
  const shape: Shape = {
    plan: planFor(counts, search, readsAll),
    column: sortColumns[search.sort?.key ?? "name"],
    descending: search.sort?.descending ?? false,
  };
  const { number, size } = search.page;
  const parameters = {
    organizationId: organization.id,
    principal: principalOf(actor),
    limit: size,
    offset: (number - 1) * size,
  };
  const narrow = isFiltered(search) || search.projectId !== undefined;
  const readableCount = readsAll ? counts.everything : counts.inProjects + counts.single;
  const { rows, totalCount } = narrow
    ? await filteredPage(tx, shape, search, parameters, !readsAll && readableCount <= fewMax ? "one by one" : "sets")
    : { rows: await countedPage(tx, shape, parameters, readableCount), totalCount: readableCount };
  return { views: rows.map((row) => inOrganization(row, organization, options)), totalCount };
}
