/** The filters of a list of workspaces as SQL conditions. */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { isIndexed, isBigram } from "../../../database/name-index.ts";
import { containsWords } from "../../../database/dialect.ts";
import type { Page, Sort } from "../../../jsonapi/query.ts";
import { AppError } from "../../../kernel/errors.ts";
import { fold, searchWords } from "../../../kernel/text.ts";
import { now } from "../../../kernel/time.ts";
import {
  type ConditionStrategy,
  countWithKey,
  countWithAnyTag,
  type CandidateSet,
  hasAllTags,
  hasNoTag,
  equalsAny,
  isTagged,
  countCapped,
  workspacesWithKey,
  workspacesWithTag,
} from "./tag-conditions.ts";

export interface WorkspaceSearch {
  readonly page: Page;
  readonly sort: Sort<"name" | "current-run.created-at" | "latest-change-at"> | undefined;
  /** Words that the name must contain. */
  readonly nameText: string | undefined;
  readonly wildcard: string | undefined;
  /** Flat tags, or keys of key-value tags with any value. */
  readonly tags: readonly string[];
  readonly excludedTags: readonly string[];
  readonly ids?: readonly string[] | undefined;
  readonly projectId: string | undefined;
  readonly runStatuses: readonly string[];
  /** Key-value tags. */
  readonly tagFilters: readonly { readonly key?: string; readonly value?: string }[];
  readonly lockedBefore?: string | undefined;
}

const starsMax = 10;

export const isNarrowed = (search: WorkspaceSearch): boolean =>
  hasFilterBesidesProject(search) || search.projectId !== undefined;

function hasFilterBesidesProject(search: WorkspaceSearch): boolean {
  const { nameText, wildcard, tags, excludedTags, runStatuses, tagFilters, lockedBefore, ids } = search;
  return (
    [nameText, wildcard, lockedBefore, ids].some(Boolean) ||
    tags.length + excludedTags.length + runStatuses.length + tagFilters.length > 0
  );
}

/** Uses a pair of characters only if there is no longer part and no fixed prefix, because it matches many names. */
export function indexedParts({ nameText, wildcard }: WorkspaceSearch): string[] {
  const fixed = (wildcard ?? "").split("*");
  const indexed = [...searchWords(nameText ?? ""), ...fixed.map(fold)].filter(isIndexed);
  const long = indexed.filter((part) => !isBigram(part));
  return long.length > 0 || fixed[0] ? long : indexed.slice(0, 1);
}

/** Undefined without a counter, for example for combined filters. */
export function storedTotal(tx: Tx, organizationId: string, search: WorkspaceSearch): RawBuilder<number> | undefined {
  if (search.projectId !== undefined) return undefined;
  const [word = "", ...moreWords] = searchWords(search.nameText ?? "");
  if (isIndexed(word) && moreWords.length === 0 && !hasFilterBesidesProject({ ...search, nameText: undefined }))
    return tx.dialect.names.counted(organizationId, word);
  if (search.runStatuses.length > 0 && !hasFilterBesidesProject({ ...search, runStatuses: [] }))
    return tx.dialect.counts.workspacesWithStatus(organizationId, equalsAny(tx, search.runStatuses));
  const [filter, ...moreFilters] = search.tagFilters;
  if (filter?.key && moreFilters.length === 0 && !hasFilterBesidesProject({ ...search, tagFilters: [] }))
    return countWithKey(tx, organizationId, { key: filter.key, value: filter.value });
  const [tag = "", ...moreTags] = new Set(search.tags);
  if (tag !== "" && moreTags.length === 0 && !hasFilterBesidesProject({ ...search, tags: [] }))
    return countWithAnyTag(tx, organizationId, [tag]);
  if (search.excludedTags.length === 0 || hasFilterBesidesProject({ ...search, excludedTags: [] })) return undefined;
  return sql<number>`(select coalesce(sum(workspace_count), 0) from projects where organization_id = ${organizationId})
    - ${countWithAnyTag(tx, organizationId, [...new Set(search.excludedTags)])}`;
}

/** The expression prevents the use of the status index, which would read all workspaces of the organization with that status. */
function hasRunStatus(tx: Tx, statuses: readonly string[], by: ConditionStrategy): RawBuilder<SqlBool> {
  return by === "per-project"
    ? tx.dialect.isOneOf(sql<string | null>`(w.current_run_status || '')`, statuses)
    : equalsAny(tx, statuses)("w.currentRunStatus");
}

/** Throws `bad-request` for a pattern with too many stars. */
export function conditionsOf(
  tx: Tx,
  organizationId: string,
  search: WorkspaceSearch,
  by: ConditionStrategy,
): RawBuilder<SqlBool>[] {
  const conditions: RawBuilder<SqlBool>[] = [];
  if (search.ids !== undefined) conditions.push(tx.dialect.isOneOf(sql.ref("w.id"), search.ids));
  if (search.projectId !== undefined) conditions.push(sql<SqlBool>`w.project_id = ${search.projectId}`);
  if (search.nameText) conditions.push(containsWords(tx.dialect, [sql.ref("w.nameKey")], search.nameText));
  if (search.wildcard) conditions.push(matchesWildcard(search.wildcard));
  if (search.tags.length > 0) conditions.push(hasAllTags(tx, organizationId, [...new Set(search.tags)], by));
  if (search.excludedTags.length > 0) conditions.push(hasNoTag(tx, organizationId, search.excludedTags, by));
  if (search.runStatuses.length > 0) conditions.push(hasRunStatus(tx, search.runStatuses, by));
  // An expired lease no longer locks the workspace.
  if (search.lockedBefore !== undefined)
    conditions.push(sql<SqlBool>`w.locked_at < ${search.lockedBefore}
      and (w.lock_expires_at is null or w.lock_expires_at > ${now()})`);
  for (const filter of search.tagFilters) conditions.push(isTagged(organizationId, filter, by));
  return conditions;
}

/** `*` matches any text; `%` and `_` match only themselves. */
function matchesWildcard(pattern: string): RawBuilder<SqlBool> {
  const parts = fold(pattern).replace(/\*+/g, "*").split("*");
  if (parts.length > starsMax + 1) {
    const detail = `The query parameter search[wildcard-name] can have at most ${starsMax} stars.`;
    throw new AppError("bad-request", [{ parameter: "search[wildcard-name]", detail }]);
  }
  const [prefix = ""] = parts;
  if (parts.length === 1) return sql<SqlBool>`w.name_key = ${prefix}`;
  const like = parts.map((part) => part.replace(/[\\%_]/g, "\\$&")).join("%");
  const matching = sql<SqlBool>`w.name_key like ${like} escape '\\'`;
  if (prefix === "") return matching;
  // A fixed prefix narrows the index range.
  return sql<SqlBool>`(w.name_key >= ${prefix} and w.name_key < ${`${prefix}\u{10ffff}`} and ${matching})`;
}

const candidateSetsMax = 3;

/** Sets that a search can start from instead of all workspaces, each with the remaining filters. */
export function candidateSetsOf(
  tx: Tx,
  organizationId: string,
  search: WorkspaceSearch,
): readonly (CandidateSet & { readonly rest: WorkspaceSearch })[] {
  const tags = [...new Set(search.tags)];
  const byTags = tags.map((tag) => ({
    ...workspacesWithTag(tx, organizationId, tag),
    rest: { ...search, tags: tags.filter((other) => other !== tag) },
  }));
  const byKeys = search.tagFilters.flatMap(({ key, value }, position) =>
    key
      ? [
          {
            ...workspacesWithKey(organizationId, key, value),
            rest: { ...search, tagFilters: search.tagFilters.toSpliced(position, 1) },
          },
        ]
      : [],
  );
  const byStatus = {
    ...workspacesWithStatus(tx, organizationId, search.runStatuses),
    rest: { ...search, runStatuses: [] },
  };
  const byIds = search.ids && {
    ...workspacesWithIds(tx, organizationId, search.ids),
    rest: { ...search, ids: undefined },
  };
  return [
    ...(byIds === undefined ? [] : [byIds]),
    ...byTags,
    ...byKeys,
    ...(search.runStatuses.length > 0 ? [byStatus] : []),
  ].slice(0, candidateSetsMax);
}

function workspacesWithIds(tx: Tx, organizationId: string, requestedIds: readonly string[]): CandidateSet {
  const ids = sql`select s.id as workspace_id from workspaces as s
    where s.organization_id = ${organizationId} and ${tx.dialect.isOneOf(sql.ref("s.id"), requestedIds)}`;
  return { ids, size: countCapped(ids) };
}

function workspacesWithStatus(tx: Tx, organizationId: string, statuses: readonly string[]): CandidateSet {
  const ids = sql`select s.id as workspace_id from workspaces as s
    where s.organization_id = ${organizationId} and ${equalsAny(tx, statuses)("s.currentRunStatus")}`;
  return { ids, size: countCapped(ids) };
}
