/** SQL of contents and their chunks. Other modules must use `contents.ts`. */
import type { Capability } from "../../../access/capability.ts";
import { sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { ContentChunkTable, ContentTable } from "../../../database/schema/contents.ts";
import { now } from "../../../kernel/time.ts";

/** The column is null once the owner is deleted or has abandoned the content. */
export interface ContentOwner {
  readonly column: "stateVersionId" | "configurationVersionId" | "runId";
  readonly id: string;
}

/** An owner has at most one complete content of each kind. */
export interface ContentKey {
  readonly organizationId: string;
  readonly owner: ContentOwner;
  readonly kind: string;
}

export interface StoredContent extends ContentKey {
  readonly id: string;
  /** Before compression. */
  readonly size: number;
  readonly md5: string;
  readonly chunkCount: number;
}

export interface PreparedContent extends Omit<StoredContent, "organizationId"> {
  readonly chunks: readonly Uint8Array[];
}

const noOwner = { stateVersionId: null, configurationVersionId: null, runId: null };
const ownerColumns = ({ column, id }: ContentOwner) => ({ ...noOwner, [column]: id, ownerId: id });

export async function beginContent(
  tx: Tx,
  { id, organizationId, owner, kind }: ContentKey & { readonly id: string },
): Promise<void> {
  const unknown = { size: 0, md5: "", chunkCount: 0, complete: 0, touchedAt: now() };
  await tx.db
    .insertInto("contents")
    .values({ id, organizationId, kind, ...ownerColumns(owner), ...unknown })
    .execute();
}

export async function appendChunk(tx: Tx, chunk: ContentChunkTable): Promise<void> {
  await tx.db.insertInto("contentChunks").values(chunk).execute();
  await tx.db.updateTable("contents").set({ touchedAt: now() }).where("id", "=", chunk.contentId).execute();
}

export async function insertContents(
  tx: Tx,
  { organizationId }: { readonly organizationId: string },
  contents: readonly PreparedContent[],
): Promise<void> {
  const rows = contents.map(({ id, owner, kind, size, md5, chunkCount }) => ({
    id,
    organizationId,
    ...ownerColumns(owner),
    kind,
    size,
    md5,
    chunkCount,
    complete: 1,
    touchedAt: now(),
  }));
  const chunks = contents.flatMap((content) =>
    content.chunks.map((bytes, position) => ({ organizationId, contentId: content.id, position, bytes })),
  );
  await tx.db.insertInto("contents").values(rows).execute();
  await tx.db.insertInto("contentChunks").values(chunks).execute();
}

export async function completeContent(tx: Tx, { id, size, md5, chunkCount }: StoredContent): Promise<void> {
  await tx.db
    .updateTable("contents")
    .set({ size, md5, chunkCount, complete: 1, touchedAt: now() })
    .where("id", "=", id)
    .execute();
}

export async function findContent(tx: Tx, owner: ContentOwner, kind: string): Promise<StoredContent | undefined> {
  const row = await tx.db
    .selectFrom("contents")
    .select(["id", "organizationId", "size", "md5", "chunkCount"])
    .where(owner.column, "=", owner.id)
    .where("kind", "=", kind)
    .where("complete", "=", 1)
    .executeTakeFirst();
  return row && { ...row, owner, kind };
}

export async function findContents(
  tx: Tx,
  column: ContentOwner["column"],
  ids: readonly string[],
  kind: string,
): Promise<StoredContent[]> {
  const rows = await tx.db
    .selectFrom("contents")
    .select(["id", "organizationId", "size", "md5", "chunkCount", `${column} as ownedBy`])
    .where(tx.dialect.isOneOf(sql.ref(column), ids))
    .where("kind", "=", kind)
    .where("complete", "=", 1)
    .orderBy(column)
    .execute();
  return rows.map(({ ownedBy, ...row }) => ({ ...row, kind, owner: { column, id: ownedBy ?? "" } }));
}

export async function readAllChunks(tx: Tx, contentIds: readonly string[]): Promise<ContentChunkTable[]> {
  if (contentIds.length === 0) return [];
  return tx.db
    .selectFrom("contentChunks")
    .selectAll()
    .where(tx.dialect.isOneOf(sql.ref("contentId"), contentIds))
    .orderBy("contentId")
    .orderBy("position")
    .execute();
}

export async function readChunks(tx: Tx, contentId: string, from: number, limit: number): Promise<Uint8Array[]> {
  const rows = await tx.db
    .selectFrom("contentChunks")
    .select("bytes")
    .where("contentId", "=", contentId)
    .where("position", ">=", from)
    .orderBy("position")
    .limit(limit)
    .execute();
  return rows.map((row) => row.bytes);
}

type ContentAdminProof = Granted<object, "can-update">;

const hiddenKind = (kind: string) => `hidden:${kind}`;

/** They are not found until they are unhidden. */
export async function hideContents(
  tx: Tx,
  _by: ContentAdminProof,
  owner: ContentOwner,
  kinds: readonly string[],
): Promise<void> {
  await renameKinds(tx, owner, new Map(kinds.map((kind) => [kind, hiddenKind(kind)])));
}

export async function unhideContents(
  tx: Tx,
  _by: ContentAdminProof,
  owner: ContentOwner,
  kinds: readonly string[],
): Promise<void> {
  await renameKinds(tx, owner, new Map(kinds.map((kind) => [hiddenKind(kind), kind])));
}

async function renameKinds(tx: Tx, owner: ContentOwner, names: ReadonlyMap<string, string>): Promise<void> {
  const cases = [...names].map(([from, to]) => sql`when kind = ${from} then cast(${to} as text)`);
  await tx.db
    .updateTable("contents")
    .set({ kind: sql<string>`case ${sql.join(cases, sql` `)} end` })
    .where(owner.column, "=", owner.id)
    .where("kind", "in", [...names.keys()])
    .execute();
}

export const abandonHidden = (
  tx: Tx,
  _by: ContentAdminProof,
  owner: ContentOwner,
  kinds: readonly string[],
): Promise<void> => abandonContents(tx, owner, kinds.map(hiddenKind));

/** A job removes them. `complete`: leaves uploads in progress alone. */
export async function abandonContents(
  tx: Tx,
  owner: ContentOwner,
  kinds?: readonly string[],
  { complete = false }: { readonly complete?: boolean } = {},
): Promise<void> {
  let abandoned = tx.db.updateTable("contents").set(noOwner).where(owner.column, "=", owner.id);
  if (kinds !== undefined) abandoned = abandoned.where("kind", "in", kinds);
  if (complete) abandoned = abandoned.where("complete", "=", 1);
  await abandoned.execute();
}

export async function orphanContent(tx: Tx, id: string): Promise<void> {
  await tx.db.updateTable("contents").set(noOwner).where("id", "=", id).execute();
}

export type AbandonedContent = Pick<ContentTable, "id" | "ownerId">;

export async function findAbandoned(tx: Tx, before: string): Promise<AbandonedContent | undefined> {
  const orphan = await tx.db
    .selectFrom("contents")
    .select(["id", "ownerId"])
    .where("stateVersionId", "is", null)
    .where("configurationVersionId", "is", null)
    .where("runId", "is", null)
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  if (orphan !== undefined) return orphan;
  return tx.db
    .selectFrom("contents")
    .select(["id", "ownerId"])
    .where("complete", "=", 0)
    .where("touchedAt", "<", before)
    .orderBy("touchedAt")
    .limit(1)
    .executeTakeFirst();
}

/** Returns whether the content is gone. */
export async function removeChunks(
  tx: Tx,
  _by: Capability<"job">,
  contentId: string,
  chunks: number,
): Promise<boolean> {
  const positions = tx.db
    .selectFrom("contentChunks")
    .select("position")
    .where("contentId", "=", contentId)
    .orderBy("position")
    .limit(chunks);
  const { numDeletedRows } = await tx.db
    .deleteFrom("contentChunks")
    .where("contentId", "=", contentId)
    .where("position", "in", positions)
    .executeTakeFirst();
  if (Number(numDeletedRows) === chunks) return false;
  await tx.db.deleteFrom("contents").where("id", "=", contentId).execute();
  return true;
}
