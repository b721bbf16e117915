/** Finds a page of matches and their total in one statement, which counts each filter's matches and executes the cheapest branch. */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { indexLookupMax } from "../../../database/name-index.ts";
import {
  candidates,
  columnsOf,
  grantTables,
  canRead,
  order,
  type PageParameters,
  pageOf,
  type PageRow,
  pageDepthOf,
  type PageShape,
  pageRows,
} from "./readable.ts";
import { conditionsOf, candidateSetsOf, indexedParts, storedTotal, type WorkspaceSearch } from "./search.ts";

interface WorkspaceSearchResult {
  readonly rows: PageRow[];
  readonly totalCount: number;
}

/** `readableCount` includes workspaces that the search does not match. */
export async function searchPage(
  tx: Tx,
  shape: PageShape,
  search: WorkspaceSearch,
  p: PageParameters,
  readableCount: number,
): Promise<WorkspaceSearchResult> {
  const total = shape.strategy === "all" ? storedTotal(tx, p.organizationId, search) : undefined;
  return total === undefined
    ? collectedPage(tx, shape, search, p, readableCount)
    : walkedPage(tx, shape, search, p, total);
}

type CountedPageRow = PageRow & { readonly totalCount: number };

const toSearchResult = (rows: readonly CountedPageRow[]): WorkspaceSearchResult => ({
  rows: rows.filter((row) => row.id !== null),
  totalCount: Number(rows[0]?.totalCount ?? 0),
});

const all = (conditions: readonly RawBuilder<SqlBool>[]) =>
  sql.join(conditions, sql` and `) as unknown as RawBuilder<SqlBool>;

/** With more columns, no index would cover the query. */
function searchedColumns(search: WorkspaceSearch): string[] {
  const { nameText, wildcard, projectId, tags, tagFilters, excludedTags, runStatuses, lockedBefore } = search;
  const needsProject = projectId !== undefined || tags.length + tagFilters.length + excludedTags.length > 0;
  return [
    ...(nameText || wildcard ? ["name_key"] : []),
    ...(needsProject ? ["project_id"] : []),
    ...(runStatuses.length > 0 ? ["current_run_status"] : []),
    ...(lockedBefore === undefined ? [] : ["locked_at", "lock_expires_at"]),
  ];
}

function searchCandidates(
  tx: Tx,
  shape: PageShape,
  organizationId: string,
  search: WorkspaceSearch,
): RawBuilder<unknown> {
  const searched = searchedColumns(search);
  const parts = indexedParts(search);
  if (shape.strategy !== "all" || parts.length === 0 || search.projectId !== undefined)
    return candidates(shape, organizationId, searched);
  return sql`${tx.dialect.names.candidates(columnsOf(shape, searched), { organizationId, parts })} as w`;
}

interface QueryBranch {
  readonly from: RawBuilder<unknown>;
  readonly conditions: readonly RawBuilder<SqlBool>[];
  /** Does not depend on the row. */
  readonly isSelected: RawBuilder<SqlBool>;
}

/** A branch that is not chosen costs nothing: PostgreSQL evaluates its condition once, SQLite stops at a limit of 0. */
function conditionalBranch(
  tx: Tx,
  { from, conditions, isSelected }: QueryBranch,
  column: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const select = sql`select w.id as id, w.${column} as ${column} ${from}`;
  return tx.dialect.plansBoundLimits
    ? sql`select * from (${select} where ${all(conditions)} limit (case when ${isSelected} then -1 else 0 end))`
    : sql`${select} where ${all([isSelected, ...conditions])}`;
}

function candidateBranch(
  tx: Tx,
  shape: PageShape,
  { ids, rest }: ReturnType<typeof candidateSetsOf>[number],
  isSelected: RawBuilder<SqlBool>,
  organizationId: string,
): QueryBranch {
  const some = tx.dialect.plansBoundLimits
    ? sql`select every.workspace_id as workspace_id from (${ids}) as every limit (case when ${isSelected} then -1 else 0 end)`
    : sql`select every.workspace_id as workspace_id from (${ids}) as every where ${isSelected} limit ${sql.lit(indexLookupMax + 1)}`;
  return {
    from: sql`from (select distinct chosen.workspace_id as workspace_id from (${some}) as chosen) as driver
      cross join workspaces as w`,
    conditions: [
      sql<SqlBool>`w.id = driver.workspace_id`,
      ...(shape.strategy === "all" ? [] : [canRead("w")]),
      ...conditionsOf(tx, organizationId, rest, "per-row"),
    ],
    isSelected,
  };
}

/** A row from a filter's set needs a lookup; an index covers a readable row. */
const candidateCost = 4;

/** Starts from the smallest set of the filters if that is cheaper than checking all readable workspaces. */
function branchesOf(tx: Tx, shape: PageShape, search: WorkspaceSearch, organizationId: string, readableCount: number) {
  const candidateSets = search.projectId === undefined ? candidateSetsOf(tx, organizationId, search) : [];
  const isPerProject = shape.strategy !== "all" && readableCount <= indexLookupMax;
  const sizeMax = sql`cast(${Math.min(indexLookupMax, Math.floor(readableCount / candidateCost))} as bigint)`;
  const size = (position: number) => sql.raw(`size_${position}`);
  const ofSizes = (...conditions: RawBuilder<SqlBool>[]) => sql<SqlBool>`(select ${all(conditions)} from sizes)`;
  const isNarrowest = (position: number) =>
    ofSizes(
      sql<SqlBool>`${size(position)} <= ${sizeMax}`,
      ...candidateSets.flatMap((_, other) =>
        other === position
          ? []
          : [sql<SqlBool>`${size(position)} ${sql.raw(other < position ? "<" : "<=")} ${size(other)}`],
      ),
    );
  const rest: QueryBranch = {
    from: sql`from ${searchCandidates(tx, shape, organizationId, search)}`,
    conditions: conditionsOf(tx, organizationId, search, isPerProject ? "per-project" : "id-sets"),
    isSelected:
      candidateSets.length === 0
        ? sql<SqlBool>`1 = 1`
        : ofSizes(...candidateSets.map((_, position) => sql<SqlBool>`${size(position)} > ${sizeMax}`)),
  };
  return {
    sizes: sql.join([
      sql`1 as one`,
      ...candidateSets.map((candidateSet, position) => sql`${candidateSet.size} as ${size(position)}`),
    ]),
    branches: [
      ...candidateSets.map((candidateSet, position) =>
        candidateBranch(tx, shape, candidateSet, isNarrowest(position), organizationId),
      ),
      rest,
    ],
  };
}

async function collectedPage(
  tx: Tx,
  shape: PageShape,
  search: WorkspaceSearch,
  p: PageParameters,
  readableCount: number,
): Promise<WorkspaceSearchResult> {
  const { sizes, branches } = branchesOf(tx, shape, search, p.organizationId, readableCount);
  const column = sql.raw(shape.column);
  const { rows } = await sql<CountedPageRow>`${tx.dialect.genericPlanHint}
    with ${grantTables(sql<string>`${p.organizationId}`, p.principal)},
    sizes as materialized (select ${sizes}),
    matching as materialized (${sql.join(
      branches.map((branch) => conditionalBranch(tx, branch, column)),
      sql` union all `,
    )}),
    page as materialized (${pageOf(tx.dialect, shape, sql`from matching as w`, p, pageDepthOf(p))})
    select * from (select count(*) as total_count from matching) as counted
    left join (${pageRows(shape)}) as w on true ${order(shape)}`.execute(tx.db);
  return toSearchResult(rows);
}

/** A limit of 0 skips the branch. SQLite would evaluate a condition on the total for each row. */
function limitedBranch(
  shape: PageShape,
  { from, conditions, isSelected }: QueryBranch,
  p: PageParameters,
): RawBuilder<unknown> {
  return sql`select id from (select w.id as id ${from} where ${all(conditions)} ${order(shape)}
    limit (case when ${isSelected} then cast(${p.limit} as bigint) else 0 end) offset ${p.offset}) as chosen`;
}

/** With a literal LIMIT, PostgreSQL scans in order even for few matches. `collectsFirst` makes it collect and sort them. */
function gatedPage(
  tx: Tx,
  shape: PageShape,
  { from, conditions, isSelected }: QueryBranch,
  p: PageParameters,
  collectsFirst: boolean,
): RawBuilder<unknown> {
  const column = sql.raw(shape.column);
  const matches = sql`${from} where ${all([isSelected, ...conditions])}`;
  if (!collectsFirst) return sql`select id from (${pageOf(tx.dialect, shape, matches, p, pageDepthOf(p))}) as chosen`;
  return sql`select id from (with few as materialized (select w.id as id, w.${column} as ${column} ${matches})
    ${pageOf(tx.dialect, shape, sql`from few as w`, p, pageDepthOf(p))}) as chosen`;
}

/** With many matches, a walk in order stops when the page is full; few matches are all collected and sorted. */
async function walkedPage(
  tx: Tx,
  shape: PageShape,
  search: WorkspaceSearch,
  p: PageParameters,
  total: RawBuilder<number>,
): Promise<WorkspaceSearchResult> {
  const { organizationId } = p;
  const isFew = sql<SqlBool>`(select total_count <= ${sql.lit(indexLookupMax)} from counted)`;
  // An index has the workspaces of a status in order.
  const [candidateSet] = search.runStatuses.length > 0 ? [] : candidateSetsOf(tx, organizationId, search);
  const few: QueryBranch = candidateSet
    ? candidateBranch(tx, shape, candidateSet, isFew, organizationId)
    : {
        from: sql`from ${searchCandidates(tx, shape, organizationId, search)}`,
        conditions: conditionsOf(tx, organizationId, search, "id-sets"),
        isSelected: isFew,
      };
  const many: QueryBranch = {
    from: sql`from ${candidates(shape, organizationId, searchedColumns(search), true)}`,
    conditions: conditionsOf(tx, organizationId, search, "per-row"),
    isSelected: sql<SqlBool>`not ${isFew}`,
  };
  const page = tx.dialect.plansBoundLimits
    ? sql`${limitedBranch(shape, few, p)} union all ${limitedBranch(shape, many, p)}`
    : sql`${gatedPage(tx, shape, few, p, true)} union all ${gatedPage(tx, shape, many, p, false)}`;
  const { rows } = await sql<CountedPageRow>`${tx.dialect.genericPlanHint}
    with ${grantTables(sql<string>`${organizationId}`, p.principal)},
    counted as materialized (select ${total} as total_count),
    page as materialized (${page})
    select * from counted left join (${pageRows(shape)}) as w on true ${order(shape)}`.execute(tx.db);
  return toSearchResult(rows);
}
