/** Lists the projects that the caller can read, with their totals, in one statement. */
import { type Expression, type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { effectiveAccess } from "../../../access/effective.ts";
import { permissionBit, type Mask } from "../../../access/permission-set.ts";
import type { Tx } from "../../../database/database.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import { containsWords } from "../../../database/dialect.ts";
import type { Page, Sort } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { expiredCountOnProject } from "../../shared/grants/in-force.ts";
import { hasProjectGrant, projectGrants } from "../../shared/grants/reads.ts";
import { countOf, fetchPage, type SortColumn } from "../../shared/paging.ts";
import type { ProjectView } from "./definition.ts";
import { organizationColumnsOf } from "./rules.ts";

interface ProjectTagFilter {
  readonly key?: string;
  readonly value?: string;
}

export interface ProjectSearch {
  readonly page: Page;
  readonly sort: Sort<"name"> | undefined;
  /** Words that the name must contain. */
  readonly nameText: string | undefined;
  readonly names: readonly string[] | undefined;
  readonly tagFilters: readonly ProjectTagFilter[];
  /** Permissions that the caller must have on a project, besides reading it. */
  readonly requiredBits: readonly Mask[];
}

const newestFirst: readonly SortColumn[] = [
  { column: "createdAt", descending: true },
  { column: "id", descending: true },
];

const orderOf = ({ sort }: ProjectSearch): readonly SortColumn[] =>
  sort === undefined ? newestFirst : [{ column: "name", descending: sort.descending }, { column: "id" }];

export async function listProjectRows(tx: Tx, actor: Actor, organization: OrganizationView, search: ProjectSearch) {
  const principal = principalOf(actor);
  const { organizationWideMask } = organization.standing;
  const isGrantedEverywhere = (bit: Mask) => (organizationWideMask & bit) === bit;
  const readBit = permissionBit("settings", "read");
  const total = isGrantedEverywhere(readBit)
    ? organization.projectCount
    : countOf(projectsOf(tx.db, organization, principal, [readBit]).select("p.id"));
  const requiredBits = [readBit, ...search.requiredBits];
  const { rows, matching } = requiredBits.every(isGrantedEverywhere)
    ? filterAllProjects(tx, organization, search)
    : filterProjects(tx, projectsOf(tx.db, organization, principal, requiredBits), search);
  const result = await fetchPage(tx, {
    rows: rows
      .selectAll("p")
      .select(projectGrants(sql.ref("p.organizationId"), sql.ref("p.id"), principal))
      .select(expiredCountOnProject(sql.ref("p.id")).as("expiredTeamAccessCount")),
    order: orderOf(search),
    page: search.page,
    totals: { total, matching },
  });
  return {
    views: result.rows.map((row): ProjectView => ({
      ...row,
      ...organizationColumnsOf(organization),
      access: effectiveAccess(organizationWideMask, row.projectAccess),
    })),
    totals: result.totals,
  };
}

function projectsOf(db: Kysely<Schema>, organization: OrganizationView, principal: string, bits: readonly Mask[]) {
  let query = db.selectFrom("projects as p").where("p.organizationId", "=", organization.id);
  for (const bit of bits) {
    if ((organization.standing.organizationWideMask & bit) === bit) continue;
    query = query.where(hasProjectGrant(sql`${organization.id}`, sql.ref("p.id"), principal, bit));
  }
  return query;
}

type ProjectsQuery = ReturnType<typeof projectsOf>;

interface FilteredProjects {
  readonly rows: ProjectsQuery;
  readonly matching: number | Expression<number>;
}

function filterProjects(tx: Tx, query: ProjectsQuery, search: ProjectSearch): FilteredProjects {
  const { names, nameText, tagFilters } = search;
  let rows = tagFilters.reduce((filtered, filter) => filtered.where(isTagged("p", filter)), query);
  if (names !== undefined) rows = rows.where(tx.dialect.isOneOf(sql.ref("p.nameKey"), names.map(fold)));
  else if (nameText !== undefined) rows = rows.where(containsWords(tx.dialect, [sql.ref("p.nameKey")], nameText));
  return { rows, matching: countOf(rows.select("p.id")) };
}

/** Counters have the totals only for a caller who can read everything. */
function filterAllProjects(tx: Tx, organization: OrganizationView, search: ProjectSearch): FilteredProjects {
  if (search.names !== undefined) return filterProjects(tx, projectsByName(tx, organization.id, search.names), search);
  const all = tx.db.selectFrom("projects as p").where("p.organizationId", "=", organization.id);
  const hasNameText = search.nameText !== undefined;
  const [filter, ...moreFilters] = search.tagFilters;
  if (filter === undefined && !hasNameText) return { rows: all, matching: organization.projectCount };
  if (!filter?.key || moreFilters.length > 0 || hasNameText) return filterProjects(tx, all, search);
  return {
    rows: all.where(isOnFirstPages(tx, organization.id, filter, search)),
    matching: sql<number>`(select count(*) ${bindingsWithKey(organization.id, filter)})`,
  };
}

/** Finds projects by name before sorting; without the subquery SQLite walks all projects in order. */
function projectsByName(tx: Tx, organizationId: string, names: readonly string[]): ProjectsQuery {
  const ids = tx.db
    .selectFrom("projects as n")
    .select("n.id")
    .where("n.organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("n.nameKey"), names.map(fold)));
  return tx.db.selectFrom("projects as p").where("p.id", "in", ids);
}

/** An absent or empty key or value matches any. */
function isTagged(table: string, { key, value }: ProjectTagFilter): RawBuilder<SqlBool> {
  const conditions = [
    sql`b.project_id = ${sql.ref(`${table}.id`)}`,
    ...(key ? [sql`b.key = ${key}`] : []),
    ...(value ? [sql`b.value = ${value}`] : []),
  ];
  // The offset keeps PostgreSQL from joining the bindings of all projects.
  return sql<SqlBool>`exists (select 1 from tag_bindings as b where ${sql.join(conditions, sql` and `)} limit 1 offset 0)`;
}

/** Each project with the key has exactly one such binding. */
function bindingsWithKey(organizationId: string, { key, value }: ProjectTagFilter): RawBuilder<unknown> {
  return sql`from tag_bindings as b where b.organization_id = ${organizationId} and b.project_id is not null
    and b.key = ${key} ${value ? sql`and b.value = ${value}` : sql``}`;
}

/** Up to this number, all matches are collected and sorted. With more, a walk in order soon fills the page. */
const collectedMatchesMax = 200;

function isOnFirstPages(
  tx: Tx,
  organizationId: string,
  filter: ProjectTagFilter,
  search: ProjectSearch,
): RawBuilder<SqlBool> {
  const few = sql`select b.project_id as id ${bindingsWithKey(organizationId, filter)} limit ${sql.lit(collectedMatchesMax + 1)}`;
  const isMany = sql`(select count(*) from (${few}) as few) > ${sql.lit(collectedMatchesMax)}`;
  const rowsMax = search.page.number * search.page.size;
  const sorted = sql.join(
    orderOf(search).map(
      ({ column, descending }) => sql`${sql.ref(`q.${column}`)} ${sql.raw(descending ? "desc" : "asc")}`,
    ),
  );
  return sql<SqlBool>`p.id in (
    select found.id from (${few}) as found where not ${isMany}
    union all
    select walked.id from (
      select q.id as id from projects as q where q.organization_id = ${organizationId} and ${isMany} and ${isTagged("q", filter)}
      order by ${sorted} limit ${rowsMax}) as walked)`;
}
