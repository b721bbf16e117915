/** The filters and the order of a list of workspaces, as conditions of its statement. */
import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { isIndexed } from "../../../database/name-index.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page, Sort } from "../../../jsonapi/query.ts";
import { AppError } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";
import { now } from "../../../kernel/time.ts";

export interface WorkspaceSearch {
  readonly page: Page;
  readonly sort: Sort<"name" | "current-run.created-at" | "latest-change-at"> | undefined;
  readonly part: string | undefined;
  readonly wildcard: string | undefined;
  readonly tags: readonly string[];
  readonly excludedTags: readonly string[];
  readonly projectId: string | undefined;
  readonly runStatuses: readonly string[];
  readonly tagged: readonly { readonly key?: string; readonly value?: string }[];
  /** Only those that are locked, and since before this moment. */
  readonly lockedBefore?: string | undefined;
}

/** A statement's workspaces, called `w`. */
export type Workspaces = SelectQueryBuilder<Schema & { w: Schema["workspaces"] }, "w", object>;

const starsMax = 10;

/** Whether anything but the project narrows the list. */
export function isFiltered(search: WorkspaceSearch): boolean {
  const { part, wildcard, tags, excludedTags, runStatuses, tagged, lockedBefore } = search;
  return (
    [part, wildcard, lockedBefore].some(Boolean) ||
    tags.length + excludedTags.length + runStatuses.length + tagged.length > 0
  );
}

/** What must be in a name that the search finds, as far as the index of names helps. */
export function indexedParts({ part, wildcard }: WorkspaceSearch): string[] {
  return [part ?? "", ...(wildcard ?? "").split("*")].map(fold).filter(isIndexed);
}

/**
 * How many workspaces of an organization the search finds, where something tells without finding them: the index of names, or
 * the counters of tags and projects. Undefined where more than that narrows the list.
 */
export function knownTotal(tx: Tx, organizationId: string, search: WorkspaceSearch): RawBuilder<number> | undefined {
  if (search.projectId !== undefined) return undefined;
  const part = fold(search.part ?? "");
  if (isIndexed(part) && !isFiltered({ ...search, part: undefined }))
    return tx.dialect.names.counted?.(organizationId, part);
  if (search.runStatuses.length > 0 && !isFiltered({ ...search, runStatuses: [] }))
    return countWithStatus(tx, organizationId, search.runStatuses);
  const [filter, ...moreFilters] = search.tagged;
  if (filter?.key && moreFilters.length === 0 && !isFiltered({ ...search, tagged: [] }))
    return countTagged(organizationId, filter.key, filter.value);
  const [tag = "", ...moreTags] = new Set(search.tags);
  if (tag !== "" && moreTags.length === 0 && !isFiltered({ ...search, tags: [] }))
    return countWithAny(tx, organizationId, [tag]);
  if (search.excludedTags.length === 0 || isFiltered({ ...search, excludedTags: [] })) return undefined;
  return sql<number>`(select coalesce(sum(workspace_count), 0) from projects where organization_id = ${organizationId})
    - ${countWithAny(tx, organizationId, [...new Set(search.excludedTags)])}`;
}

/** Its index holds all that is looked at. */
function countWithStatus(tx: Tx, organizationId: string, statuses: readonly string[]): RawBuilder<number> {
  return sql<number>`(select count(*) from workspaces as w
    where w.organization_id = ${organizationId} and ${isNamed(tx, statuses)("w.currentRunStatus")})`;
}

/** A flat tag counts its workspaces. Where its name is a key, too, or there are several, one that has both must count once. */
function countWithAny(tx: Tx, organizationId: string, tags: readonly string[]): RawBuilder<number> {
  const counted = sql<number>`(
    select count(distinct found.workspace_id) from (${carriers(tx, organizationId, tags)}) as found)`;
  const [tag = "", ...more] = tags;
  if (more.length > 0) return counted;
  return sql<number>`(case
    when exists (select 1 from tag_bindings where organization_id = ${organizationId} and key = ${tag}) then ${counted}
    else coalesce((select instance_count from tags where organization_id = ${organizationId} and name = ${tag}), 0) end)`;
}

/** How conditions are asked: of each workspace, where few are looked at; or by the sets of those that fulfil them. */
export type Asked = "one by one" | "sets";

/** What a workspace, called `w`, must fulfil. Raises `bad-request` for a pattern that is too complicated. */
export function conditionsOf(
  tx: Tx,
  organizationId: string,
  search: WorkspaceSearch,
  by: Asked,
): RawBuilder<SqlBool>[] {
  const conditions: RawBuilder<SqlBool>[] = [];
  if (search.projectId !== undefined) conditions.push(sql<SqlBool>`w.project_id = ${search.projectId}`);
  if (search.part) conditions.push(tx.dialect.contains(sql.ref("w.nameKey"), fold(search.part)));
  if (search.wildcard) conditions.push(matches(search.wildcard));
  if (search.tags.length > 0) conditions.push(hasAllTags(tx, organizationId, [...new Set(search.tags)], by));
  if (search.excludedTags.length > 0) conditions.push(hasNoTag(tx, organizationId, search.excludedTags, by));
  if (search.runStatuses.length > 0) {
    conditions.push(isNamed(tx, search.runStatuses)("w.currentRunStatus"));
  }
  // A lease that is over locks nothing, whether or not somebody has come by since.
  if (search.lockedBefore !== undefined)
    conditions.push(sql<SqlBool>`w.locked_at < ${search.lockedBefore}
      and (w.lock_expires_at is null or w.lock_expires_at > ${now()})`);
  for (const filter of search.tagged) {
    conditions.push(
      by === "sets" && filter.key
        ? isOneTagged(organizationId, filter.key, filter.value)
        : isTagged(organizationId, filter, by),
    );
  }
  return conditions;
}

/**
 * Whether there is such a row. Of one workspace after the other this is asked with an offset, because PostgreSQL would otherwise
 * rather collect all rows that any workspace may ask for.
 */
const existsBy =
  (by: Asked) =>
  (rows: RawBuilder<unknown>): RawBuilder<SqlBool> =>
    by === "sets" ? sql<SqlBool>`exists (select 1 ${rows})` : sql<SqlBool>`exists (select 1 ${rows} limit 1 offset 0)`;

/** So many tags are looked for as sets of workspaces; the planners of both engines are quick with a few of these. */
const tagSetsMax = 5;

/**
 * A tag is a flat one, or the key of a binding: the workspace's own, or its project's. (One that overrides the project's has
 * the same key.) Tags beyond the first few are looked for on each workspace that carries those: engines bound how deep a
 * statement may be nested.
 */
function hasAllTags(tx: Tx, organizationId: string, tags: readonly string[], by: Asked): RawBuilder<SqlBool> {
  const first = tags.slice(0, tagSetsMax).map((tag) => {
    if (by === "sets") return sql`w.id in (${carriers(tx, organizationId, [tag])})`;
    const [flat, own, inherited] = tagsOn(tx, organizationId, [tag]);
    return sql`(${sql.join([flat, own, inherited].map(existsBy(by)), sql` or `)})`;
  });
  const others = tags.slice(tagSetsMax);
  const [flat, own, inherited] = tagsOn(tx, organizationId, others);
  const rest = sql`(
    select count(*) from (
      select t.name as tag ${flat} union select own.key ${own} union select inherited.key ${inherited}) as found
    ) = cast(${others.length} as bigint)`;
  return sql<SqlBool>`(${sql.join(others.length === 0 ? first : [...first, rest], sql` and `)})`;
}

/** Whether a column is one of these; a list of one is asked for as what it is, which is quicker. */
function isNamed(tx: Tx, tags: readonly string[]) {
  const [only, ...more] = tags;
  return (column: string): RawBuilder<SqlBool> =>
    only !== undefined && more.length === 0
      ? sql<SqlBool>`${sql.ref(column)} = ${only}`
      : tx.dialect.isOneOf(sql.ref(column), tags);
}

/** The ids of the workspaces that carry one of these tags, some of them more than once. */
function carriers(tx: Tx, organizationId: string, tags: readonly string[]): RawBuilder<unknown> {
  const named = isNamed(tx, tags);
  return sql`
    select wt.workspace_id from tags as t
    inner join workspace_tags as wt on wt.organization_id = t.organization_id and wt.tag_id = t.id
    where t.organization_id = ${organizationId} and ${named("t.name")}
    union all
    select own.workspace_id from tag_bindings as own
    where own.organization_id = ${organizationId} and ${named("own.key")} and own.workspace_id is not null
    union all
    select heir.id from tag_bindings as inherited cross join workspaces as heir
    where inherited.organization_id = ${organizationId} and ${named("inherited.key")} and inherited.project_id is not null
      and heir.organization_id = ${organizationId} and heir.project_id = inherited.project_id`;
}

/** Neither a flat one of these, nor a key. */
function hasNoTag(tx: Tx, organizationId: string, tags: readonly string[], by: Asked): RawBuilder<SqlBool> {
  const none = tagsOn(tx, organizationId, tags).map((rows) => sql`not ${existsBy(by)(rows)}`);
  return sql<SqlBool>`(${sql.join(none, sql` and `)})`;
}

/** Where a workspace `w` may have one of these tags. */
function tagsOn(tx: Tx, organizationId: string, tags: readonly string[]) {
  const named = isNamed(tx, tags);
  const bound = (to: string, table: string) => sql`
    from tag_bindings as ${sql.table(table)}
    where ${sql.ref(`${table}.${to}`)} = ${sql.ref(`w.${to === "workspaceId" ? "id" : to}`)}
      and ${sql.ref(`${table}.organizationId`)} = ${organizationId} and ${named(`${table}.key`)}`;
  return [
    sql`from workspace_tags as wt inner join tags as t on t.id = wt.tag_id
      where wt.workspace_id = w.id and t.organization_id = ${organizationId} and ${named("t.name")}`,
    bound("workspaceId", "own"),
    bound("projectId", "inherited"),
  ] as const;
}

/** The ids of the workspaces with a flat tag. */
function withTag(organizationId: string, tag: string): RawBuilder<unknown> {
  return sql`
    select wt.workspace_id from tags as t
    inner join workspace_tags as wt on wt.organization_id = t.organization_id and wt.tag_id = t.id
    where t.organization_id = ${organizationId} and t.name = ${tag}`;
}

/** `*` stands for any text; everything else, `%` and `_` too, stands for itself. */
function matches(pattern: string): RawBuilder<SqlBool> {
  const parts = fold(pattern).replace(/\*+/g, "*").split("*");
  if (parts.length > starsMax + 1) {
    const detail = `The query parameter search[wildcard-name] may have at most ${starsMax} stars.`;
    throw new AppError("bad-request", [{ parameter: "search[wildcard-name]", detail }]);
  }
  const [prefix = ""] = parts;
  if (parts.length === 1) return sql<SqlBool>`w.name_key = ${prefix}`;
  const like = parts.map((part) => part.replace(/[\\%_]/g, "\\$&")).join("%");
  const matching = sql<SqlBool>`w.name_key like ${like} escape '\\'`;
  if (prefix === "") return matching;
  // What is fixed at the beginning narrows the walk through the index.
  return sql<SqlBool>`(w.name_key >= ${prefix} and w.name_key < ${`${prefix}\u{10ffff}`} and ${matching})`;
}

/** By a binding of its own, one of its project that it does not override, or a flat tag, which is a key without a value. */
function isTagged(
  organizationId: string,
  { key, value }: { key?: string; value?: string },
  by: Asked,
): RawBuilder<SqlBool> {
  const exists = existsBy(by);
  const fits = (table: string) => {
    const keyFits = key ? sql`${sql.ref(`${table}.key`)} = ${key}` : sql`1 = 1`;
    return value ? sql`${keyFits} and ${sql.ref(`${table}.value`)} = ${value}` : keyFits;
  };
  const overriding = sql`from tag_bindings as own where own.workspace_id = w.id and own.key = inherited.key`;
  const ways = [
    exists(sql`from tag_bindings as own where own.workspace_id = w.id and ${fits("own")}`),
    exists(sql`from tag_bindings as inherited where inherited.project_id = w.project_id and ${fits("inherited")}
      and not ${exists(overriding)}`),
    ...(key && !value
      ? [
          exists(sql`from tags as t
            inner join workspace_tags as wt on wt.tag_id = t.id and wt.workspace_id = w.id
            where t.organization_id = ${organizationId} and t.name = ${key}`),
        ]
      : []),
  ];
  return sql<SqlBool>`(${sql.join(ways, sql` or `)})`;
}

/** The same for a key, from those that have it: they may be few in a large organization. */
function isOneTagged(organizationId: string, key: string, value: string | undefined): RawBuilder<SqlBool> {
  return sql<SqlBool>`w.id in (${sql.join(taggedSets(organizationId, key, value), sql` union all `)})`;
}

/** Nothing is in both of the first two sets. A flat tag's may be in the others, too. */
function countTagged(organizationId: string, key: string, value: string | undefined): RawBuilder<number> {
  const sets = taggedSets(organizationId, key, value);
  const [own, inherited, flat] = sets;
  const apart = sql<number>`((select count(*) from (${own}) as own)
    + ${countHeirs(organizationId, key, value, sql<number>`(select count(*) from (${inherited}) as inherited)`)})`;
  if (flat === undefined) return apart;
  return sql<number>`(case when exists (select 1 from tags where organization_id = ${organizationId} and name = ${key})
    then (select count(distinct workspace_id) from (${sql.join(sets, sql` union all `)}) as found) else ${apart} end)`;
}

/**
 * How many inherit a key and do not override it. Projects count their workspaces; where fewer workspaces have the key themselves than
 * might inherit it, these are looked at and taken off. Otherwise each heir is asked: `oneByOne`.
 */
function countHeirs(
  organizationId: string,
  key: string,
  value: string | undefined,
  oneByOne: RawBuilder<number>,
): RawBuilder<number> {
  const carrying = sql`inherited.organization_id = ${organizationId} and inherited.key = ${key}
    and inherited.project_id is not null ${value ? sql`and inherited.value = ${value}` : sql``}`;
  const own = sql`own.organization_id = ${organizationId} and own.key = ${key} and own.workspace_id is not null`;
  // From those that have it themselves, of which there may be none: PostgreSQL would rather begin with all heirs.
  const overrides = existsBy("one by one")(sql`from workspaces as heir cross join tag_bindings as inherited
    where heir.id = own.workspace_id and inherited.project_id = heir.project_id and ${carrying}`);
  return sql<number>`(
    with heirs as materialized (
      select cast(coalesce(sum(p.workspace_count), 0) as bigint) as number
      from tag_bindings as inherited cross join projects as p where ${carrying} and p.id = inherited.project_id)
    select case
      when (select count(*) from (
        select 1 from tag_bindings as own where ${own} limit (select number from heirs)) as counted) < heirs.number
      then heirs.number - (select count(*) from tag_bindings as own where ${own} and ${overrides})
      else ${oneByOne} end
    from heirs)`;
}

/** The ids of those with a key: on their own, from their project, and as a flat tag where no value is asked for. */
function taggedSets(organizationId: string, key: string, value: string | undefined): RawBuilder<unknown>[] {
  const fits = (table: string) => {
    const bindings = sql`${sql.ref(`${table}.organizationId`)} = ${organizationId} and ${sql.ref(`${table}.key`)} = ${key}`;
    return value ? sql`${bindings} and ${sql.ref(`${table}.value`)} = ${value}` : bindings;
  };
  const own = sql`
    select own.workspace_id from tag_bindings as own where ${fits("own")} and own.workspace_id is not null`;
  const inherited = sql`
    select heir.id from tag_bindings as inherited cross join workspaces as heir
    where ${fits("inherited")} and inherited.project_id is not null
      and heir.organization_id = ${organizationId} and heir.project_id = inherited.project_id
      and not exists (select 1 from tag_bindings as own where own.workspace_id = heir.id and own.key = inherited.key)`;
  return value ? [own, inherited] : [own, inherited, withTag(organizationId, key)];
}
