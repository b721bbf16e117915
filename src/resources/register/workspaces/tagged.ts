/**
 * Tags and keys in the statements of the list: who has them, asked of one workspace after another or as sets of those that have, and
 * how many have. A tag is a flat one, or the key of a binding: the workspace's own, or its project's.
 */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { fewMax } from "../../../database/name-index.ts";
import { callersProjects } from "./readable.ts";

/**
 * How conditions are asked: of each workspace, where few are looked at; the same, but for what the caller's projects pass on to many of
 * them, which is found once; or by the sets of those that fulfil them.
 */
export type Asked = "one by one" | "by project" | "sets";

/** A set in which all that is found must be: ids, some of them more than once, and at least how many these are, as far as they are few. */
export interface Driver {
  readonly ids: RawBuilder<unknown>;
  readonly size: RawBuilder<number>;
}

type Key = { readonly key: string; readonly value?: string | undefined };

/** The number of rows, as far as they are few. */
export const upToFew = (rows: RawBuilder<unknown>): RawBuilder<number> =>
  sql<number>`(select count(*) from (select 1 from (${rows}) as every limit ${sql.lit(fewMax + 1)}) as counted)`;

/** Whether a column is one of these; a list of one is asked for as what it is, which is quicker. */
export function isNamed(tx: Tx, names: readonly string[]) {
  const [only, ...more] = names;
  return (column: string): RawBuilder<SqlBool> =>
    only !== undefined && more.length === 0
      ? sql<SqlBool>`${sql.ref(column)} = ${only}`
      : tx.dialect.isOneOf(sql.ref(column), names);
}

/**
 * Whether there is such a row. Of one workspace after the other this is asked with an offset, because PostgreSQL would otherwise
 * rather collect all rows that any workspace may ask for.
 */
const existsBy =
  (by: Asked) =>
  (rows: RawBuilder<unknown>): RawBuilder<SqlBool> =>
    by === "sets" ? sql<SqlBool>`exists (select 1 ${rows})` : sql<SqlBool>`exists (select 1 ${rows} limit 1 offset 0)`;

const existsHere = existsBy("one by one");

// --- flat tags, and the keys of bindings alike

/** So many tags are looked for as sets of workspaces; the planners of both engines are quick with a few of these. */
const tagSetsMax = 5;

/**
 * One that overrides the project's binding has the same key. Tags beyond the first few are looked for on each workspace that carries
 * those: engines bound how deep a statement may be nested.
 */
export function hasAllTags(tx: Tx, organizationId: string, tags: readonly string[], by: Asked): RawBuilder<SqlBool> {
  const first = tags
    .slice(0, tagSetsMax)
    .map((tag) =>
      by === "sets"
        ? sql`w.id in (${carriers(tx, organizationId, [tag])})`
        : sql`(${sql.join(waysToCarry(tx, organizationId, [tag], by), sql` or `)})`,
    );
  const others = tags.slice(tagSetsMax);
  const [flat, own, inherited] = tagsOn(tx, organizationId, others);
  const rest = sql`(
    select count(*) from (
      select t.name as tag ${flat} union select own.key ${own} union select inherited.key ${inherited}) as found
    ) = cast(${others.length} as bigint)`;
  return sql<SqlBool>`(${sql.join(others.length === 0 ? first : [...first, rest], sql` and `)})`;
}

/** Neither a flat one of these, nor a key. */
export function hasNoTag(tx: Tx, organizationId: string, tags: readonly string[], by: Asked): RawBuilder<SqlBool> {
  const ways =
    by === "sets" ? tagsOn(tx, organizationId, tags).map(existsBy(by)) : waysToCarry(tx, organizationId, tags, by);
  return sql<SqlBool>`(${sql.join(
    ways.map((way) => sql`not ${way}`),
    sql` and `,
  )})`;
}

/**
 * Whether a workspace `w` has one of these tags, by each of the three ways: a look into one index each. Whether anything in the
 * organization has such a key is asked once, so that most often there is but one look.
 */
function waysToCarry(tx: Tx, organizationId: string, tags: readonly string[], by: Asked): RawBuilder<SqlBool>[] {
  const named = isNamed(tx, tags);
  const ids = sql`(select t.id from tags as t where t.organization_id = ${organizationId} and ${named("t.name")})`;
  const isTag = tags.length === 1 ? sql`wt.tag_id = ${ids}` : sql`wt.tag_id in ${ids}`;
  const isKey = (table: string) => named(`${table}.key`);
  return [
    existsHere(sql`from workspace_tags as wt where wt.workspace_id = w.id and ${isTag}`),
    sql<SqlBool>`(${someHave(organizationId, "workspace", isKey)} and ${existsHere(sql`
      from tag_bindings as own where own.workspace_id = w.id and ${isKey("own")}`)})`,
    inherits(organizationId, isKey, by),
  ];
}

type Fits = (table: string) => RawBuilder<SqlBool>;

/** Whether the project of a workspace `w` has such a binding, where any project has. */
function inherits(organizationId: string, fits: Fits, by: Asked): RawBuilder<SqlBool> {
  const fromProject = sql`tag_bindings as inherited where ${fits("inherited")} and inherited.project_id`;
  if (by !== "by project")
    return sql<SqlBool>`(${someHave(organizationId, "project", fits)} and ${existsHere(sql`from ${fromProject} = w.project_id`)})`;
  return sql<SqlBool>`w.project_id in (
    select reached.project_id from (${callersProjects}) as reached cross join ${fromProject} = reached.project_id)`;
}

/** Whether any workspace, or any project, of the organization has such a binding: the same for all rows, and so asked once. */
function someHave(organizationId: string, of: "workspace" | "project", fits: Fits): RawBuilder<SqlBool> {
  return sql<SqlBool>`exists (select 1 from tag_bindings as bound
    where bound.organization_id = ${organizationId} and ${fits("bound")} and bound.${sql.raw(of)}_id is not null)`;
}

/** The ids of the workspaces that carry one of these tags, some of them more than once. */
function carriers(tx: Tx, organizationId: string, tags: readonly string[]): RawBuilder<unknown> {
  const named = isNamed(tx, tags);
  return sql`${flatCarriers(organizationId, named("t.name"))} union all ${keyCarriers(organizationId, (table) => named(`${table}.key`))}`;
}

/** The ids of the workspaces with a flat tag. */
function flatCarriers(organizationId: string, isTag: RawBuilder<SqlBool>): RawBuilder<unknown> {
  return sql`
    select wt.workspace_id from tags as t
    inner join workspace_tags as wt on wt.organization_id = t.organization_id and wt.tag_id = t.id
    where t.organization_id = ${organizationId} and ${isTag}`;
}

/** The ids of those with a binding of their own or of their project, whether or not they override it. */
function keyCarriers(organizationId: string, fits: Fits): RawBuilder<unknown> {
  return sql`
    select own.workspace_id from tag_bindings as own
    where own.organization_id = ${organizationId} and ${fits("own")} and own.workspace_id is not null
    union all
    select heir.id from tag_bindings as inherited cross join workspaces as heir
    where inherited.organization_id = ${organizationId} and ${fits("inherited")} and inherited.project_id is not null
      and heir.organization_id = ${organizationId} and heir.project_id = inherited.project_id`;
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

/** What a flat tag counts. */
const instances = (organizationId: string, tag: string) => sql<number>`
  coalesce((select instance_count from tags where organization_id = ${organizationId} and name = ${tag}), 0)`;

/** Where the tag's name is a key, too, or there are several, one that has both must count once. */
export function countWithAny(tx: Tx, organizationId: string, tags: readonly string[]): RawBuilder<number> {
  const counted = sql<number>`(
    select count(distinct found.workspace_id) from (${carriers(tx, organizationId, tags)}) as found)`;
  const [tag = "", ...more] = tags;
  if (more.length > 0) return counted;
  return sql<number>`(case
    when exists (select 1 from tag_bindings where organization_id = ${organizationId} and key = ${tag}) then ${counted}
    else ${instances(organizationId, tag)} end)`;
}

export function withTag(tx: Tx, organizationId: string, tag: string): Driver {
  const isKey = (table: string) => isNamed(tx, [tag])(`${table}.key`);
  return {
    ids: carriers(tx, organizationId, [tag]),
    size: sql<number>`(${instances(organizationId, tag)} + ${upToFew(keyCarriers(organizationId, isKey))})`,
  };
}

// --- keys and values: a flat tag is a key without a value, and who overrides a project's binding has the other value

/** Whether a binding has a key, and a value if one is asked for. */
const fitting =
  ({ key, value }: Partial<Key>) =>
  (table: string): RawBuilder<SqlBool> => {
    const keyFits = key ? sql<SqlBool>`${sql.ref(`${table}.key`)} = ${key}` : sql<SqlBool>`1 = 1`;
    return value ? sql<SqlBool>`${keyFits} and ${sql.ref(`${table}.value`)} = ${value}` : keyFits;
  };

/** Without a key it is asked of each workspace, whatever is wanted; with one, from those that have it, which may be few. */
export function isTagged(
  organizationId: string,
  { key, value }: { readonly key?: string; readonly value?: string },
  by: Asked,
): RawBuilder<SqlBool> {
  if (!key) return isTaggedByAny(value, by);
  if (by === "sets")
    return sql<SqlBool>`w.id in (${sql.join(taggedSets(organizationId, { key, value }), sql` union all `)})`;
  const [fits, hasKey] = [fitting({ key, value }), fitting({ key })];
  const own = (asked: Fits) => sql<SqlBool>`(${someHave(organizationId, "workspace", asked)}
    and ${existsHere(sql`from tag_bindings as own where own.workspace_id = w.id and ${asked("own")}`)})`;
  const ways = [own(fits), sql<SqlBool>`(${inherits(organizationId, fits, by)} and not ${own(hasKey)})`];
  if (!value)
    ways.push(
      existsHere(sql`from workspace_tags as wt where wt.workspace_id = w.id and wt.tag_id = (
        select t.id from tags as t where t.organization_id = ${organizationId} and t.name = ${key})`),
    );
  return sql<SqlBool>`(${sql.join(ways, sql` or `)})`;
}

function isTaggedByAny(value: string | undefined, by: Asked): RawBuilder<SqlBool> {
  const [exists, fits] = [existsBy(by), fitting({ value })];
  const overriding = sql`from tag_bindings as own where own.workspace_id = w.id and own.key = inherited.key`;
  return sql<SqlBool>`(${exists(sql`from tag_bindings as own where own.workspace_id = w.id and ${fits("own")}`)}
    or ${exists(sql`from tag_bindings as inherited where inherited.project_id = w.project_id and ${fits("inherited")}
      and not ${exists(overriding)}`)})`;
}

/** The ids of those with a key: on their own, from their project, and as a flat tag where no value is asked for. */
function taggedSets(organizationId: string, asked: Key): RawBuilder<unknown>[] {
  const fits = (table: string) =>
    sql`${sql.ref(`${table}.organizationId`)} = ${organizationId} and ${fitting(asked)(table)}`;
  const own = sql`
    select own.workspace_id from tag_bindings as own where ${fits("own")} and own.workspace_id is not null`;
  const inherited = sql`
    select heir.id from tag_bindings as inherited cross join workspaces as heir
    where ${fits("inherited")} and inherited.project_id is not null
      and heir.organization_id = ${organizationId} and heir.project_id = inherited.project_id
      and not exists (select 1 from tag_bindings as own where own.workspace_id = heir.id and own.key = inherited.key)`;
  return asked.value
    ? [own, inherited]
    : [own, inherited, flatCarriers(organizationId, sql<SqlBool>`t.name = ${asked.key}`)];
}

export function withKey(organizationId: string, key: string, value: string | undefined): Driver {
  const bound = upToFew(keyCarriers(organizationId, fitting({ key, value })));
  return {
    ids: sql.join(taggedSets(organizationId, { key, value }), sql` union all `),
    size: value ? bound : sql<number>`(${instances(organizationId, key)} + ${bound})`,
  };
}

/** Nothing is in both of the first two sets. A flat tag's may be in the others, too. */
export function countTagged(tx: Tx, organizationId: string, asked: Key): RawBuilder<number> {
  const sets = taggedSets(organizationId, asked);
  const [, inherited, flat] = sets;
  const apart = sql<number>`(${tx.dialect.counts.bound(organizationId, asked)}
    + ${countHeirs(organizationId, asked, sql<number>`(select count(*) from (${inherited}) as inherited)`)})`;
  if (flat === undefined) return apart;
  return sql<number>`(case when exists (select 1 from tags where organization_id = ${organizationId} and name = ${asked.key})
    then (select count(distinct workspace_id) from (${sql.join(sets, sql` union all `)}) as found) else ${apart} end)`;
}

/**
 * How many inherit a key and do not override it. Projects count their workspaces; where fewer workspaces have the key themselves than
 * might inherit it, these are looked at and taken off. Otherwise each heir is asked: `oneByOne`.
 */
function countHeirs(organizationId: string, asked: Key, oneByOne: RawBuilder<number>): RawBuilder<number> {
  const carrying = sql`inherited.organization_id = ${organizationId} and inherited.project_id is not null
    and ${fitting(asked)("inherited")}`;
  const own = sql`own.organization_id = ${organizationId} and own.key = ${asked.key} and own.workspace_id is not null`;
  // From those that have it themselves, of which there may be none: PostgreSQL would rather begin with all heirs.
  const overrides = existsHere(sql`from workspaces as heir cross join tag_bindings as inherited
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
