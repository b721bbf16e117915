/** SQL of tags. Counters and the names on workspaces are kept with every change, by sets, never one by one. */
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { TagTable } from "../../../database/schema/workspaces.ts";
import type { Page, Sort } from "../../../jsonapi/query.ts";
import { newId } from "../../../kernel/ids.ts";
import { fold } from "../../../kernel/text.ts";
import { now } from "../../../kernel/time.ts";
import { held } from "../../shared/locks.ts";
import { countOf, fetchPage, type Order } from "../../shared/paging.ts";
import type { TagView } from "./definition.ts";

function tagsOf(db: Kysely<Schema>, organizationId: string) {
  return db
    .selectFrom("tags as t")
    .innerJoin("organizations as o", "o.id", "t.organizationId")
    .selectAll("t")
    .select("o.name as organizationName")
    .where("t.organizationId", "=", organizationId);
}

export interface TagSearch {
  readonly page: Page;
  readonly sort?: Sort<"name" | "created-at"> | undefined;
  readonly part?: string | undefined;
  /** Only the tags of this workspace. */
  readonly workspaceId?: string;
  /** Only tags that these workspaces do not carry. */
  readonly except?: RawBuilder<unknown> | "" | undefined;
}

export async function listTagRows(
  tx: Tx,
  organizationId: string,
  search: TagSearch,
): Promise<{ views: TagView[]; totalCount: number }> {
  let rows = tagsOf(tx.db, organizationId);
  const carriedBy = (workspaces: RawBuilder<unknown>) =>
    sql<boolean>`t.id in (select tag_id from workspace_tags where workspace_id in ${workspaces})`;
  if (search.workspaceId !== undefined) rows = rows.where(carriedBy(sql`(${search.workspaceId})`));
  if (search.except) rows = rows.where(sql<boolean>`not ${carriedBy(search.except)}`);
  if (search.part) rows = rows.where(tx.dialect.contains(sql`lower(t.name)`, fold(search.part)));
  const column = search.sort?.key === "created-at" ? "t.createdAt" : "t.name";
  const order: Order[] = [{ column, descending: search.sort?.descending ?? false }, { column: "t.id" }];
  const found = await fetchPage(tx, {
    rows,
    order,
    page: search.page,
    totals: { totalCount: countOf(rows.clearSelect().select("t.id")) },
  });
  return { views: found.rows, totalCount: found.totals.totalCount };
}

/**
 * Tags by id or by name, in the order of their ids; locked, because who changes a tag's workspaces counts them anew, and
 * would otherwise not see those that somebody else is adding.
 */
export async function lockTags(
  tx: Tx,
  organizationId: string,
  by: { ids?: readonly string[]; names?: readonly string[] },
): Promise<TagTable[]> {
  const { isOneOf, lockRows } = tx.dialect;
  return tx.db
    .selectFrom("tags as t")
    .selectAll("t")
    .where("t.organizationId", "=", organizationId)
    .where((where) => where.or([isOneOf(sql.ref("t.id"), by.ids ?? []), isOneOf(sql.ref("t.name"), by.names ?? [])]))
    .orderBy("t.id")
    .modifyEnd(lockRows("t", "removal"))
    .execute();
}

/**
 * Makes the tags that are not there yet; two callers at once make one between them. In the order of their names, because who
 * makes a tag waits for who is just making the same.
 */
export async function insertTags(tx: Tx, organizationId: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const createdAt = now();
  await tx.db
    .insertInto("tags")
    .values(
      names
        .toSorted()
        .map((name) => ({ id: newId("tags"), organizationId, name, instanceCount: 0, createdAt, version: 1 })),
    )
    .onConflict((conflict) => conflict.columns(["organizationId", "name"]).doNothing())
    .execute();
}

/** Every one of these workspaces carries every one of these tags from now on. */
export async function linkTags(
  tx: Tx,
  organizationId: string,
  workspaceIds: readonly string[],
  tagIds: readonly string[],
): Promise<void> {
  if (workspaceIds.length === 0 || tagIds.length === 0) return;
  const createdAt = now();
  const pairs = workspaceIds.flatMap((workspaceId) =>
    tagIds.map((tagId) => ({ organizationId, workspaceId, tagId, createdAt })),
  );
  await tx.db
    .insertInto("workspaceTags")
    .values(pairs)
    .onConflict((conflict) => conflict.columns(["workspaceId", "tagId"]).doNothing())
    .execute();
}

export async function unlinkTags(tx: Tx, workspaceId: string, tagIds: readonly string[]): Promise<void> {
  await tx.db
    .deleteFrom("workspaceTags")
    .where("workspaceId", "=", workspaceId)
    .where(tx.dialect.isOneOf(sql.ref("tagId"), tagIds))
    .execute();
}

/** Counts anew how many workspaces carry these tags, and lets go those that none carries. */
export async function recountTags(tx: Tx, organizationId: string, tagIds: readonly string[]): Promise<void> {
  const chosen = tx.dialect.isOneOf(sql.ref("id"), tagIds);
  await sql`update tags set version = version + 1, instance_count = (
    select count(*) from workspace_tags where organization_id = ${organizationId} and tag_id = tags.id) where ${chosen}`.execute(
    tx.db,
  );
  await sql`delete from tags where ${chosen} and instance_count = 0`.execute(tx.db);
}

/** Writes the names of their tags onto workspaces, where their documents and searches find them. */
export async function rewriteTagNames(tx: Tx, workspaces: RawBuilder<unknown>): Promise<void> {
  await sql`update workspaces set version = version + 1, tag_names = coalesce((
    select string_agg(t.name, ',' order by t.name) from workspace_tags as wt inner join tags as t on t.id = wt.tag_id
    where wt.workspace_id = workspaces.id), '') where ${workspaces}`.execute(tx.db);
}

/** The workspaces that carry one of these tags, held in the order of their ids: before the tags, like every workspace. */
export async function lockCarriers(tx: Tx, organizationId: string, tagIds: readonly string[]): Promise<string[]> {
  const rows = await tx.db
    .selectFrom("workspaces as w")
    .innerJoin("organizations as o", "o.id", "w.organizationId")
    .select("w.id")
    .where("w.organizationId", "=", organizationId)
    .where("w.id", "in", carriers(tx, organizationId, tagIds))
    .orderBy("w.id")
    .modifyEnd(held(tx.dialect, "w", true))
    .execute();
  return rows.map((row) => row.id);
}

/** Whether only these workspaces carry one of these tags. The tags are locked by now, so that it stays so. */
export async function carryAll(
  tx: Tx,
  organizationId: string,
  tagIds: readonly string[],
  workspaceIds: readonly string[],
): Promise<boolean> {
  const other = await carriers(tx, organizationId, tagIds)
    .where((where) => where.not(tx.dialect.isOneOf(sql.ref("workspaceId"), workspaceIds)))
    .limit(1)
    .executeTakeFirst();
  return other === undefined;
}

function carriers(tx: Tx, organizationId: string, tagIds: readonly string[]) {
  return tx.db
    .selectFrom("workspaceTags")
    .select("workspaceId")
    .where("organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("tagId"), tagIds));
}

export async function deleteTags(tx: Tx, organizationId: string, tagIds: readonly string[]): Promise<void> {
  await tx.db
    .deleteFrom("tags")
    .where("organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("id"), tagIds))
    .execute();
}
