/** SQL of tags. Every change must update their counters, with one statement for all tags. */
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Actor } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { TagTable, WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { containsWords } from "../../../database/dialect.ts";
import type { Page, Sort } from "../../../jsonapi/query.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { factsColumns, type OrganizationView } from "../../identity/organizations/definition.ts";
import { lockClause } from "../../shared/locks.ts";
import { countOf, fetchPage, type SortColumn } from "../../shared/paging.ts";
import { incrementedVersion } from "../../shared/versions.ts";
import { readableCondition } from "../workspaces/reads.ts";
import type { TagView } from "./definition.ts";
import { openWithId } from "../../shared/open-organizations.ts";

function tagsOf(db: Kysely<Schema>, organizationId: string) {
  return db
    .selectFrom("tags as t")
    .innerJoin("organizations as o", openWithId("t.organizationId"))
    .selectAll("t")
    .select(factsColumns)
    .where("t.organizationId", "=", organizationId);
}

export interface TagSearch {
  readonly page: Page;
  readonly sort?: Sort<"name" | "created-at"> | undefined;
  /** Words that the name must contain. */
  readonly nameText?: string | undefined;
  readonly workspaceId?: string;
  /** Excludes the tags of a workspace, but only if the caller can read it: otherwise the result would reveal its tags. */
  readonly exclude?: { readonly workspaceId: string; readonly actor: Actor; readonly organization: OrganizationView };
}

export async function listTagRows(
  tx: Tx,
  organizationId: string,
  search: TagSearch,
): Promise<{ views: TagView[]; totalCount: number }> {
  let rows = tagsOf(tx.db, organizationId);
  const isOnAny = (workspaces: RawBuilder<unknown>) =>
    sql<boolean>`t.id in (select tag_id from workspace_tags where workspace_id in ${workspaces})`;
  if (search.workspaceId !== undefined) rows = rows.where(isOnAny(sql`(${search.workspaceId})`));
  if (search.exclude !== undefined) {
    const { workspaceId, actor, organization } = search.exclude;
    const isReadable = readableCondition(actor, organization) ?? sql`1 = 1`;
    const workspace = sql`(select w.id from workspaces as w where w.id = ${workspaceId} and ${isReadable})`;
    rows = rows.where(sql<boolean>`not ${isOnAny(workspace)}`);
  }
  if (search.nameText) rows = rows.where(containsWords(tx.dialect, [sql`lower(t.name)`], search.nameText));
  const column = search.sort?.key === "created-at" ? "t.createdAt" : "t.name";
  const order: SortColumn[] = [{ column, descending: search.sort?.descending ?? false }, { column: "t.id" }];
  const result = await fetchPage(tx, {
    rows,
    order,
    page: search.page,
    totals: { totalCount: countOf(rows.clearSelect().select("t.id")) },
  });
  return { views: result.rows, totalCount: result.totals.totalCount };
}

/** Locks in the order of ids. Counting a tag's workspaces needs the lock: otherwise it misses those that another transaction adds. */
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

export type NewTaggableWorkspace = Granted<Pick<WorkspaceTable, "id" | "organizationId">, "can-create-workspace">;

export type TaggableWorkspace =
  | Granted<Pick<WorkspaceTable, "id" | "organizationId">, "can-manage-tags">
  | NewTaggableWorkspace;

/** Inserts in the order of names, because an insert waits for another transaction that inserts the same name. */
export async function insertTags(
  tx: Tx,
  { organizationId }: TaggableWorkspace,
  names: readonly string[],
): Promise<void> {
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

export async function linkTags(
  tx: Tx,
  workspaces: readonly TaggableWorkspace[],
  tagIds: readonly string[],
): Promise<void> {
  if (workspaces.length === 0 || tagIds.length === 0) return;
  const createdAt = now();
  const pairs = workspaces.flatMap(({ organizationId, id: workspaceId }) =>
    tagIds.map((tagId) => ({ organizationId, workspaceId, tagId, createdAt })),
  );
  await tx.db
    .insertInto("workspaceTags")
    .values(pairs)
    .onConflict((conflict) => conflict.columns(["workspaceId", "tagId"]).doNothing())
    .execute();
}

export async function unlinkTags(
  tx: Tx,
  workspace: Granted<Pick<WorkspaceTable, "id">, "can-manage-tags">,
  tagIds: readonly string[],
): Promise<void> {
  await tx.db
    .deleteFrom("workspaceTags")
    .where("workspaceId", "=", workspace.id)
    .where(tx.dialect.isOneOf(sql.ref("tagId"), tagIds))
    .execute();
}

export async function incrementTagCounts(tx: Tx, tagIds: readonly string[]): Promise<void> {
  await tx.db
    .updateTable("tags")
    .set({ instanceCount: sql`instance_count + 1`, ...incrementedVersion })
    .where(tx.dialect.isOneOf(sql.ref("id"), tagIds))
    .execute();
}

/** Deletes tags without workspaces. */
export async function recountTags(tx: Tx, organizationId: string, tagIds: readonly string[]): Promise<void> {
  const chosen = tx.dialect.isOneOf(sql.ref("id"), tagIds);
  await tx.db
    .updateTable("tags")
    .set({
      instanceCount: sql`(
        select count(*) from workspace_tags where organization_id = ${organizationId} and tag_id = tags.id)`,
      ...incrementedVersion,
    })
    .where(chosen)
    .execute();
  await tx.db.deleteFrom("tags").where(chosen).where("instanceCount", "=", 0).execute();
}

/** Lock order: workspaces by id, then tags. */
export async function lockTaggedWorkspaces(
  tx: Tx,
  organizationId: string,
  tagIds: readonly string[],
): Promise<string[]> {
  const rows = await tx.db
    .selectFrom("workspaces as w")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .select("w.id")
    .where("w.organizationId", "=", organizationId)
    .where("w.id", "in", workspacesWithAnyTag(tx, organizationId, tagIds))
    .orderBy("w.id")
    .modifyEnd(lockClause(tx.dialect, "w", "change"))
    .execute();
  return rows.map((row) => row.id);
}

/** Whether no other workspace has one of the tags. The caller has locked the tags, so the answer stays true. */
export async function areAllTaggedWorkspaces(
  tx: Tx,
  organizationId: string,
  tagIds: readonly string[],
  workspaceIds: readonly string[],
): Promise<boolean> {
  const other = await workspacesWithAnyTag(tx, organizationId, tagIds)
    .where((where) => where.not(tx.dialect.isOneOf(sql.ref("workspaceId"), workspaceIds)))
    .limit(1)
    .executeTakeFirst();
  return other === undefined;
}

function workspacesWithAnyTag(tx: Tx, organizationId: string, tagIds: readonly string[]) {
  return tx.db
    .selectFrom("workspaceTags")
    .select("workspaceId")
    .where("organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("tagId"), tagIds));
}

export async function deleteTags(
  tx: Tx,
  organization: Granted<OrganizationView, "can-delete-tags">,
  tagIds: readonly string[],
): Promise<void> {
  await tx.db
    .deleteFrom("tags")
    .where("organizationId", "=", organization.id)
    .where(tx.dialect.isOneOf(sql.ref("id"), tagIds))
    .execute();
}
