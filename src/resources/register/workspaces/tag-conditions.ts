/** Tag filters as SQL. A tag is a flat tag or the key of a binding, on the workspace or inherited from its project. */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { indexLookupMax } from "../../../database/name-index.ts";
import { callersProjects } from "./readable.ts";

/** How a filter is checked, whatever the page's strategy. */
export type ConditionStrategy =
  /** Looks up the tags of each candidate; suits few candidates. */
  | "per-row"
  /** The same, but looks up the bindings of the caller's projects only once. */
  | "per-project"
  /** Compares each candidate's id with the ids of all matching workspaces. */
  | "id-sets";

/** Includes every match and can repeat ids; `size` is exact only up to `indexLookupMax`. */
export interface CandidateSet {
  readonly ids: RawBuilder<unknown>;
  readonly size: RawBuilder<number>;
}

type TagKeyFilter = { readonly key: string; readonly value?: string | undefined };

export const countCapped = (rows: RawBuilder<unknown>): RawBuilder<number> =>
  sql<number>`(select count(*) from (select 1 from (${rows}) as every limit ${sql.lit(indexLookupMax + 1)}) as counted)`;

/** Returns a condition on a column. A list of one compares with `=`, which is faster. */
export function equalsAny(tx: Tx, names: readonly string[]) {
  const [only, ...more] = names;
  return (column: string): RawBuilder<SqlBool> =>
    only !== undefined && more.length === 0
      ? sql<SqlBool>`${sql.ref(column)} = ${only}`
      : tx.dialect.isOneOf(sql.ref(column), names);
}

/** The offset keeps PostgreSQL from turning a subquery that is evaluated per workspace into a join over all rows. */
const existsWith =
  (by: ConditionStrategy) =>
  (rows: RawBuilder<unknown>): RawBuilder<SqlBool> =>
    by === "id-sets"
      ? sql<SqlBool>`exists (select 1 ${rows})`
      : sql<SqlBool>`exists (select 1 ${rows} limit 1 offset 0)`;

const existsPerRow = existsWith("per-row");

/** Database planners handle only a few sets quickly. */
const tagSetsMax = 5;

/** An overridden binding counts too. Further tags are counted per workspace, because databases limit how deeply statements nest. */
export function hasAllTags(
  tx: Tx,
  organizationId: string,
  tags: readonly string[],
  by: ConditionStrategy,
): RawBuilder<SqlBool> {
  const first = tags
    .slice(0, tagSetsMax)
    .map((tag) =>
      by === "id-sets"
        ? sql`w.id in (${idsWithAnyTag(tx, organizationId, [tag])})`
        : sql`(${sql.join(tagConditions(tx, organizationId, [tag], by), sql` or `)})`,
    );
  const others = tags.slice(tagSetsMax);
  const [flat, own, inherited] = tagsOn(tx, organizationId, others);
  const rest = sql`(
    select count(*) from (
      select t.name as tag ${flat} union select own.key ${own} union select inherited.key ${inherited}) as found
    ) = cast(${others.length} as bigint)`;
  return sql<SqlBool>`(${sql.join(others.length === 0 ? first : [...first, rest], sql` and `)})`;
}

export function hasNoTag(
  tx: Tx,
  organizationId: string,
  tags: readonly string[],
  by: ConditionStrategy,
): RawBuilder<SqlBool> {
  const conditions =
    by === "id-sets"
      ? tagsOn(tx, organizationId, tags).map(existsWith(by))
      : tagConditions(tx, organizationId, tags, by);
  return sql<SqlBool>`(${sql.join(
    conditions.map((condition) => sql`not ${condition}`),
    sql` and `,
  )})`;
}

/** Checks once whether the organization has such a key, so that usually only the flat tag needs an index lookup. */
function tagConditions(
  tx: Tx,
  organizationId: string,
  tags: readonly string[],
  by: ConditionStrategy,
): RawBuilder<SqlBool>[] {
  const isAnyTag = equalsAny(tx, tags);
  const ids = sql`(select t.id from tags as t where t.organization_id = ${organizationId} and ${isAnyTag("t.name")})`;
  const isTag = tags.length === 1 ? sql`wt.tag_id = ${ids}` : sql`wt.tag_id in ${ids}`;
  const isKey = (table: string) => isAnyTag(`${table}.key`);
  return [
    existsPerRow(sql`from workspace_tags as wt where wt.workspace_id = w.id and ${isTag}`),
    sql<SqlBool>`(${organizationHasBinding(organizationId, "workspace", isKey)} and ${existsPerRow(sql`
      from tag_bindings as own where own.workspace_id = w.id and ${isKey("own")}`)})`,
    inherits(organizationId, isKey, by),
  ];
}

type BindingCondition = (table: string) => RawBuilder<SqlBool>;

function inherits(organizationId: string, fits: BindingCondition, by: ConditionStrategy): RawBuilder<SqlBool> {
  const fromProject = sql`tag_bindings as inherited where ${fits("inherited")} and inherited.project_id`;
  if (by !== "per-project")
    return sql<SqlBool>`(${organizationHasBinding(organizationId, "project", fits)} and ${existsPerRow(sql`from ${fromProject} = w.project_id`)})`;
  return sql<SqlBool>`w.project_id in (
    select caller_project.project_id from (${callersProjects}) as caller_project cross join ${fromProject} = caller_project.project_id)`;
}

/** Does not depend on the row, so databases evaluate it once. */
function organizationHasBinding(
  organizationId: string,
  of: "workspace" | "project",
  fits: BindingCondition,
): RawBuilder<SqlBool> {
  return sql<SqlBool>`exists (select 1 from tag_bindings as bound
    where bound.organization_id = ${organizationId} and ${fits("bound")} and bound.${sql.raw(of)}_id is not null)`;
}

/** Ids can repeat. */
function idsWithAnyTag(tx: Tx, organizationId: string, tags: readonly string[]): RawBuilder<unknown> {
  const isAnyTag = equalsAny(tx, tags);
  return sql`${idsWithFlatTag(organizationId, isAnyTag("t.name"))} union all ${idsWithBinding(organizationId, (table) => isAnyTag(`${table}.key`))}`;
}

function idsWithFlatTag(organizationId: string, isTag: RawBuilder<SqlBool>): RawBuilder<unknown> {
  return sql`
    select wt.workspace_id from tags as t
    inner join workspace_tags as wt on wt.organization_id = t.organization_id and wt.tag_id = t.id
    where t.organization_id = ${organizationId} and ${isTag}`;
}

/** Includes workspaces that override the binding. */
function idsWithBinding(organizationId: string, fits: BindingCondition): RawBuilder<unknown> {
  return sql`
    select own.workspace_id from tag_bindings as own
    where own.organization_id = ${organizationId} and ${fits("own")} and own.workspace_id is not null
    union all
    select project_workspace.id from tag_bindings as inherited cross join workspaces as project_workspace
    where inherited.organization_id = ${organizationId} and ${fits("inherited")} and inherited.project_id is not null
      and project_workspace.organization_id = ${organizationId} and project_workspace.project_id = inherited.project_id`;
}

function tagsOn(tx: Tx, organizationId: string, tags: readonly string[]) {
  const isAnyTag = equalsAny(tx, tags);
  const bound = (to: string, table: string) => sql`
    from tag_bindings as ${sql.table(table)}
    where ${sql.ref(`${table}.${to}`)} = ${sql.ref(`w.${to === "workspaceId" ? "id" : to}`)}
      and ${sql.ref(`${table}.organizationId`)} = ${organizationId} and ${isAnyTag(`${table}.key`)}`;
  return [
    sql`from workspace_tags as wt inner join tags as t on t.id = wt.tag_id
      where wt.workspace_id = w.id and t.organization_id = ${organizationId} and ${isAnyTag("t.name")}`,
    bound("workspaceId", "own"),
    bound("projectId", "inherited"),
  ] as const;
}

const flatTagCount = (organizationId: string, tag: string) => sql<number>`
  coalesce((select instance_count from tags where organization_id = ${organizationId} and name = ${tag}), 0)`;

/** A workspace that matches twice must count once. */
export function countWithAnyTag(tx: Tx, organizationId: string, tags: readonly string[]): RawBuilder<number> {
  const counted = sql<number>`(
    select count(distinct found.workspace_id) from (${idsWithAnyTag(tx, organizationId, tags)}) as found)`;
  const [tag = "", ...more] = tags;
  if (more.length > 0) return counted;
  return sql<number>`(case
    when exists (select 1 from tag_bindings where organization_id = ${organizationId} and key = ${tag}) then ${counted}
    else ${flatTagCount(organizationId, tag)} end)`;
}

export function workspacesWithTag(tx: Tx, organizationId: string, tag: string): CandidateSet {
  const isKey = (table: string) => equalsAny(tx, [tag])(`${table}.key`);
  return {
    ids: idsWithAnyTag(tx, organizationId, [tag]),
    size: sql<number>`(${flatTagCount(organizationId, tag)} + ${countCapped(idsWithBinding(organizationId, isKey))})`,
  };
}

// Keys and values: a flat tag is a key without a value, and a workspace's own binding overrides its project's.

const bindingMatches =
  ({ key, value }: Partial<TagKeyFilter>) =>
  (table: string): RawBuilder<SqlBool> => {
    const keyFits = key ? sql<SqlBool>`${sql.ref(`${table}.key`)} = ${key}` : sql<SqlBool>`1 = 1`;
    return value ? sql<SqlBool>`${keyFits} and ${sql.ref(`${table}.value`)} = ${value}` : keyFits;
  };

/** Without a key, the condition is evaluated per workspace with any strategy. */
export function isTagged(
  organizationId: string,
  { key, value }: { readonly key?: string; readonly value?: string },
  by: ConditionStrategy,
): RawBuilder<SqlBool> {
  if (!key) return isTaggedByAny(value, by);
  if (by === "id-sets")
    return sql<SqlBool>`w.id in (${sql.join(keyedWorkspaces(organizationId, { key, value }), sql` union all `)})`;
  const [fits, hasKey] = [bindingMatches({ key, value }), bindingMatches({ key })];
  const own = (
    matches: BindingCondition,
  ) => sql<SqlBool>`(${organizationHasBinding(organizationId, "workspace", matches)}
    and ${existsPerRow(sql`from tag_bindings as own where own.workspace_id = w.id and ${matches("own")}`)})`;
  const conditions = [own(fits), sql<SqlBool>`(${inherits(organizationId, fits, by)} and not ${own(hasKey)})`];
  if (!value)
    conditions.push(
      existsPerRow(sql`from workspace_tags as wt where wt.workspace_id = w.id and wt.tag_id = (
        select t.id from tags as t where t.organization_id = ${organizationId} and t.name = ${key})`),
    );
  return sql<SqlBool>`(${sql.join(conditions, sql` or `)})`;
}

function isTaggedByAny(value: string | undefined, by: ConditionStrategy): RawBuilder<SqlBool> {
  const [exists, fits] = [existsWith(by), bindingMatches({ value })];
  const overriding = sql`from tag_bindings as own where own.workspace_id = w.id and own.key = inherited.key`;
  return sql<SqlBool>`(${exists(sql`from tag_bindings as own where own.workspace_id = w.id and ${fits("own")}`)}
    or ${exists(sql`from tag_bindings as inherited where inherited.project_id = w.project_id and ${fits("inherited")}
      and not ${exists(overriding)}`)})`;
}

/** A flat tag matches only a filter without a value. */
function keyedWorkspaces(organizationId: string, filter: TagKeyFilter): RawBuilder<unknown>[] {
  const fits = (table: string) =>
    sql`${sql.ref(`${table}.organizationId`)} = ${organizationId} and ${bindingMatches(filter)(table)}`;
  const own = sql`
    select own.workspace_id from tag_bindings as own where ${fits("own")} and own.workspace_id is not null`;
  const inherited = sql`
    select project_workspace.id from tag_bindings as inherited cross join workspaces as project_workspace
    where ${fits("inherited")} and inherited.project_id is not null
      and project_workspace.organization_id = ${organizationId} and project_workspace.project_id = inherited.project_id
      and not exists (select 1 from tag_bindings as own where own.workspace_id = project_workspace.id and own.key = inherited.key)`;
  return filter.value
    ? [own, inherited]
    : [own, inherited, idsWithFlatTag(organizationId, sql<SqlBool>`t.name = ${filter.key}`)];
}

export function workspacesWithKey(organizationId: string, key: string, value: string | undefined): CandidateSet {
  const bound = countCapped(idsWithBinding(organizationId, bindingMatches({ key, value })));
  return {
    ids: sql.join(keyedWorkspaces(organizationId, { key, value }), sql` union all `),
    size: value ? bound : sql<number>`(${flatTagCount(organizationId, key)} + ${bound})`,
  };
}

/** The first two sets are disjoint; a flat tag can overlap with both. */
export function countWithKey(tx: Tx, organizationId: string, filter: TagKeyFilter): RawBuilder<number> {
  const sets = keyedWorkspaces(organizationId, filter);
  const [, inherited, flat] = sets;
  const withoutFlatTags = sql<number>`(${tx.dialect.counts.workspacesWithTag(organizationId, filter)}
    + ${countInheriting(organizationId, filter, sql<number>`(select count(*) from (${inherited}) as inherited)`)})`;
  if (flat === undefined) return withoutFlatTags;
  return sql<number>`(case when exists (select 1 from tags where organization_id = ${organizationId} and name = ${filter.key})
    then (select count(distinct workspace_id) from (${sql.join(sets, sql` union all `)}) as found) else ${withoutFlatTags} end)`;
}

/** The projects' workspace counters minus the overrides; `countOneByOne` if there are more overrides than workspaces. */
function countInheriting(
  organizationId: string,
  filter: TagKeyFilter,
  countOneByOne: RawBuilder<number>,
): RawBuilder<number> {
  const isInherited = sql`inherited.organization_id = ${organizationId} and inherited.project_id is not null
    and ${bindingMatches(filter)("inherited")}`;
  const own = sql`own.organization_id = ${organizationId} and own.key = ${filter.key} and own.workspace_id is not null`;
  // Starts from the overrides, of which there may be none: PostgreSQL would rather start from all workspaces of the projects.
  const overrides = existsPerRow(sql`from workspaces as project_workspace cross join tag_bindings as inherited
    where project_workspace.id = own.workspace_id and inherited.project_id = project_workspace.project_id and ${isInherited}`);
  return sql<number>`(
    with in_projects as materialized (
      select cast(coalesce(sum(p.workspace_count), 0) as bigint) as number
      from tag_bindings as inherited cross join projects as p where ${isInherited} and p.id = inherited.project_id)
    select case
      when (select count(*) from (
        select 1 from tag_bindings as own where ${own} limit (select number from in_projects)) as counted) < in_projects.number
      then in_projects.number - (select count(*) from tag_bindings as own where ${own} and ${overrides})
      else ${countOneByOne} end
    from in_projects)`;
}
