/** The filters and the order of a list of workspaces, as conditions of its statement. */
import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page, Sort } from "../../../jsonapi/query.ts";
import { AppError } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";

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
}

/** A statement's workspaces, called `w`. */
export type Workspaces = SelectQueryBuilder<Schema & { w: Schema["workspaces"] }, "w", object>;

const starsMax = 10;

/** Whether anything but the project narrows the list. */
export function isFiltered(search: WorkspaceSearch): boolean {
  const { part, wildcard, tags, excludedTags, runStatuses, tagged } = search;
  return (
    Boolean(part) || Boolean(wildcard) || tags.length + excludedTags.length + runStatuses.length + tagged.length > 0
  );
}

/** What a workspace, called `w`, must fulfil. Raises `bad-request` for a pattern that is too complicated. */
export function conditionsOf(tx: Tx, organizationId: string, search: WorkspaceSearch): RawBuilder<SqlBool>[] {
  const conditions: RawBuilder<SqlBool>[] = [];
  if (search.projectId !== undefined) conditions.push(sql<SqlBool>`w.project_id = ${search.projectId}`);
  if (search.part) conditions.push(tx.dialect.contains(sql.ref("w.nameKey"), fold(search.part)));
  if (search.wildcard) conditions.push(matches(search.wildcard));
  if (search.tags.length > 0) conditions.push(hasAllTags(tx, organizationId, [...new Set(search.tags)]));
  if (search.excludedTags.length > 0) conditions.push(hasNoTag(tx, organizationId, search.excludedTags));
  if (search.runStatuses.length > 0) {
    conditions.push(tx.dialect.isOneOf(sql.ref("w.currentRunStatus"), search.runStatuses));
  }
  for (const filter of search.tagged) conditions.push(isTagged(organizationId, filter));
  return conditions;
}

/** So many tags are looked for as sets of workspaces; the planners of both engines are quick with a few of these. */
const tagSetsMax = 5;

/**
 * A tag is a flat one, or the key of a binding: the workspace's own, or its project's. (One that overrides the project's has
 * the same key.) Tags beyond the first few are looked for on each workspace that carries those: engines bound how deep a
 * statement may be nested.
 */
function hasAllTags(tx: Tx, organizationId: string, tags: readonly string[]): RawBuilder<SqlBool> {
  const sets = tags.slice(0, tagSetsMax).map((tag) => carriesTag(organizationId, tag));
  const others = tags.slice(tagSetsMax);
  const [flat, own, inherited] = tagsOn(tx, organizationId, others);
  const rest = sql`(
    select count(*) from (
      select t.name as tag ${flat} union select own.key ${own} union select inherited.key ${inherited}) as found
    ) = cast(${others.length} as bigint)`;
  return sql<SqlBool>`(${sql.join(others.length === 0 ? sets : [...sets, rest], sql` and `)})`;
}

function carriesTag(organizationId: string, tag: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`w.id in (
    ${withTag(organizationId, tag)}
    union all
    select own.workspace_id from tag_bindings as own
    where own.organization_id = ${organizationId} and own.key = ${tag} and own.workspace_id is not null
    union all
    select heir.id from tag_bindings as inherited cross join workspaces as heir
    where inherited.organization_id = ${organizationId} and inherited.key = ${tag} and inherited.project_id is not null
      and heir.organization_id = ${organizationId} and heir.project_id = inherited.project_id)`;
}

/** Neither a flat one of these, nor a key. */
function hasNoTag(tx: Tx, organizationId: string, tags: readonly string[]): RawBuilder<SqlBool> {
  const [flat, own, inherited] = tagsOn(tx, organizationId, tags);
  return sql<SqlBool>`(not exists (select 1 ${flat}) and not exists (select 1 ${own})
    and not exists (select 1 ${inherited}))`;
}

/** Where a workspace `w` may have one of these tags. */
function tagsOn(tx: Tx, organizationId: string, tags: readonly string[]) {
  const named = (column: string) => tx.dialect.isOneOf(sql.ref(column), tags);
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
function isTagged(organizationId: string, { key, value }: { key?: string; value?: string }): RawBuilder<SqlBool> {
  const anyValue = value === undefined || value === "";
  const fits = (table: string) => {
    const keyFits = key === undefined || key === "" ? sql`1 = 1` : sql`${sql.ref(`${table}.key`)} = ${key}`;
    return anyValue ? keyFits : sql`${keyFits} and ${sql.ref(`${table}.value`)} = ${value}`;
  };
  const flat = anyValue && key ? sql`or w.id in (${withTag(organizationId, key)})` : sql``;
  return sql<SqlBool>`(
    exists (select 1 from tag_bindings as own where own.workspace_id = w.id and ${fits("own")})
    or exists (
      select 1 from tag_bindings as inherited where inherited.project_id = w.project_id and ${fits("inherited")}
        and not exists (select 1 from tag_bindings as own where own.workspace_id = w.id and own.key = inherited.key))
    ${flat})`;
}
