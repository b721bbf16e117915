/**
 * A page of what a search finds, and how many that is, in one statement. Which way is the shortest depends on how many there are of
 * what: the statement counts that, as far as it matters, and goes one of its ways; the others are not begun.
 */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { fewMax } from "../../../database/name-index.ts";
import {
  candidates,
  columnsOf,
  grantTables,
  mayRead,
  order,
  type PageParameters,
  pageOf,
  type PageRow,
  reachOf,
  type Shape,
  wholeRows,
} from "./readable.ts";
import { conditionsOf, driversOf, indexedParts, knownTotal, type WorkspaceSearch } from "./search.ts";

interface Found {
  readonly rows: PageRow[];
  readonly totalCount: number;
}

/** `readableCount`: how many workspaces the caller may read in all. */
export async function foundPage(
  tx: Tx,
  shape: Shape,
  search: WorkspaceSearch,
  p: PageParameters,
  readableCount: number,
): Promise<Found> {
  const total = shape.plan === "everything" ? knownTotal(tx, p.organizationId, search) : undefined;
  return total === undefined
    ? collectedPage(tx, shape, search, p, readableCount)
    : walkedPage(tx, shape, search, p, total);
}

type Counted = PageRow & { readonly totalCount: number };

const toFound = (rows: readonly Counted[]): Found => ({
  rows: rows.filter((row) => row.id !== null),
  totalCount: Number(rows[0]?.totalCount ?? 0),
});

const all = (conditions: readonly RawBuilder<SqlBool>[]) =>
  sql.join(conditions, sql` and `) as unknown as RawBuilder<SqlBool>;

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

/** The candidates of a search: among all workspaces of a large organization, the index of names finds those that may match. */
function searchCandidates(tx: Tx, shape: Shape, organizationId: string, search: WorkspaceSearch): RawBuilder<unknown> {
  const looked = columnsLookedAt(search);
  const parts = indexedParts(search);
  if (shape.plan !== "everything" || parts.length === 0 || search.projectId !== undefined)
    return candidates(shape, organizationId, looked);
  return sql`${tx.dialect.names.candidates(columnsOf(shape, looked), { organizationId, parts })} as w`;
}

// --- where the matches have to be found to be counted

/** One of the ways to all matches: `w`, with its id and what it is sorted by. */
interface Way {
  readonly from: RawBuilder<unknown>;
  readonly conditions: readonly RawBuilder<SqlBool>[];
  /** The same for all rows. */
  readonly isChosen: RawBuilder<SqlBool>;
}

/**
 * A way that is not chosen costs nothing. PostgreSQL asks a condition that is the same for all rows once; the embedded database would
 * ask it of each row, but looks for nothing where no row is wanted.
 */
function gated(tx: Tx, { from, conditions, isChosen }: Way, column: RawBuilder<unknown>): RawBuilder<unknown> {
  const select = sql`select w.id as id, w.${column} as ${column} ${from}`;
  return tx.dialect.plansOpenLimits
    ? sql`select * from (${select} where ${all(conditions)} limit (case when ${isChosen} then -1 else 0 end))`
    : sql`${select} where ${all([isChosen, ...conditions])}`;
}

/** From the ids of one filter's set to those of them that the rest of the search finds, and that the caller may read. */
function driven(
  tx: Tx,
  shape: Shape,
  { ids, rest }: ReturnType<typeof driversOf>[number],
  isChosen: RawBuilder<SqlBool>,
  organizationId: string,
): Way {
  const some = tx.dialect.plansOpenLimits
    ? sql`select every.workspace_id as workspace_id from (${ids}) as every limit (case when ${isChosen} then -1 else 0 end)`
    : sql`select every.workspace_id as workspace_id from (${ids}) as every where ${isChosen} limit ${sql.lit(fewMax + 1)}`;
  return {
    from: sql`from (select distinct chosen.workspace_id as workspace_id from (${some}) as chosen) as driver
      cross join workspaces as w`,
    conditions: [
      sql<SqlBool>`w.id = driver.workspace_id`,
      ...(shape.plan === "everything" ? [] : [mayRead("w")]),
      ...conditionsOf(tx, organizationId, rest, "one by one"),
    ],
    isChosen,
  };
}

/** So much dearer is one of a filter's set, whose row has to be found and read, than one that the caller may read, which an index tells of. */
const dearer = 4;

/**
 * The ways to all that a search finds. The narrowest filter's set is gone through, where that is cheaper than to go through all that the caller may read;
 * otherwise the latter is.
 */
function waysOf(tx: Tx, shape: Shape, search: WorkspaceSearch, organizationId: string, readableCount: number) {
  const drivers = search.projectId === undefined ? driversOf(tx, organizationId, search) : [];
  const isByProject = shape.plan !== "everything" && readableCount <= fewMax;
  const most = sql`cast(${Math.min(fewMax, Math.floor(readableCount / dearer))} as bigint)`;
  const size = (number: number) => sql.raw(`size_${number}`);
  const ofSizes = (...conditions: RawBuilder<SqlBool>[]) => sql<SqlBool>`(select ${all(conditions)} from sizes)`;
  const isNarrowest = (number: number) =>
    ofSizes(
      sql<SqlBool>`${size(number)} <= ${most}`,
      ...drivers.flatMap((_, other) =>
        other === number ? [] : [sql<SqlBool>`${size(number)} ${sql.raw(other < number ? "<" : "<=")} ${size(other)}`],
      ),
    );
  const rest: Way = {
    from: sql`from ${searchCandidates(tx, shape, organizationId, search)}`,
    conditions: conditionsOf(tx, organizationId, search, isByProject ? "by project" : "sets"),
    isChosen:
      drivers.length === 0
        ? sql<SqlBool>`1 = 1`
        : ofSizes(...drivers.map((_, number) => sql<SqlBool>`${size(number)} > ${most}`)),
  };
  return {
    sizes: sql.join([sql`1 as one`, ...drivers.map((driver, number) => sql`${driver.size} as ${size(number)}`)]),
    ways: [...drivers.map((driver, number) => driven(tx, shape, driver, isNarrowest(number), organizationId)), rest],
  };
}

/** All matches are found, and the page is cut from them. */
async function collectedPage(
  tx: Tx,
  shape: Shape,
  search: WorkspaceSearch,
  p: PageParameters,
  readableCount: number,
): Promise<Found> {
  const { sizes, ways } = waysOf(tx, shape, search, p.organizationId, readableCount);
  const column = sql.raw(shape.column);
  const { rows } = await sql<Counted>`${tx.dialect.plannedOnce}
    with ${grantTables(sql<string>`${p.organizationId}`, p.principal)},
    sizes as materialized (select ${sizes}),
    matching as materialized (${sql.join(
      ways.map((way) => gated(tx, way, column)),
      sql` union all `,
    )}),
    page as materialized (${pageOf(tx.dialect, shape, sql`from matching as w`, p, reachOf(p))})
    select * from (select count(*) as total_count from matching) as counted
    left join (${wholeRows(shape)}) as w on true ${order(shape)}`.execute(tx.db);
  return toFound(rows);
}

// --- where something tells how many there are

/** Nothing is looked for where no row is wanted. (The embedded database would ask a condition on the number for each row.) */
function limitedWay(shape: Shape, { from, conditions, isChosen }: Way, p: PageParameters): RawBuilder<unknown> {
  return sql`select id from (select w.id as id ${from} where ${all(conditions)} ${order(shape)}
    limit (case when ${isChosen} then cast(${p.limit} as bigint) else 0 end) offset ${p.offset}) as chosen`;
}

/**
 * PostgreSQL asks such a condition once, and plans for a limit that it knows. So well that it would walk to few matches, too, which
 * have to be found before they are sorted.
 */
function gatedWay(
  tx: Tx,
  shape: Shape,
  { from, conditions, isChosen }: Way,
  p: PageParameters,
  isFoundFirst: boolean,
): RawBuilder<unknown> {
  const column = sql.raw(shape.column);
  const found = sql`${from} where ${all([isChosen, ...conditions])}`;
  if (!isFoundFirst) return sql`select id from (${pageOf(tx.dialect, shape, found, p, reachOf(p))}) as chosen`;
  return sql`select id from (with few as materialized (select w.id as id, w.${column} as ${column} ${found})
    ${pageOf(tx.dialect, shape, sql`from few as w`, p, reachOf(p))}) as chosen`;
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
): Promise<Found> {
  const { organizationId } = p;
  const isFew = sql<SqlBool>`(select total_count <= ${sql.lit(fewMax)} from counted)`;
  // Those with a status are in order in an index of their own.
  const [driver] = search.runStatuses.length > 0 ? [] : driversOf(tx, organizationId, search);
  const few: Way = driver
    ? driven(tx, shape, driver, isFew, organizationId)
    : {
        from: sql`from ${searchCandidates(tx, shape, organizationId, search)}`,
        conditions: conditionsOf(tx, organizationId, search, "sets"),
        isChosen: isFew,
      };
  const many: Way = {
    from: sql`from ${candidates(shape, organizationId, columnsLookedAt(search), true)}`,
    conditions: conditionsOf(tx, organizationId, search, "one by one"),
    isChosen: sql<SqlBool>`not ${isFew}`,
  };
  const page = tx.dialect.plansOpenLimits
    ? sql`${limitedWay(shape, few, p)} union all ${limitedWay(shape, many, p)}`
    : sql`${gatedWay(tx, shape, few, p, true)} union all ${gatedWay(tx, shape, many, p, false)}`;
  const { rows } = await sql<Counted>`${tx.dialect.plannedOnce}
    with ${grantTables(sql<string>`${organizationId}`, p.principal)},
    counted as materialized (select ${total} as total_count),
    page as materialized (${page})
    select * from counted left join (${wholeRows(shape)}) as w on true ${order(shape)}`.execute(tx.db);
  return toFound(rows);
}
