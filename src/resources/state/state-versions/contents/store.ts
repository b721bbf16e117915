/** SQL of contents and their chunks; others ask `contents.ts`. */
import type { Tx } from "../../../../database/database.ts";
import type { StateChunkTable, StateContentTable } from "../../../../database/schema/state.ts";
import { now } from "../../../../kernel/time.ts";

/** The state as the engine keeps it, and the form that it gives others. */
export type ContentKind = "state" | "json";

export interface StoredContent {
  readonly id: string;
  readonly organizationId: string;
  readonly stateVersionId: string;
  readonly kind: ContentKind;
  /** Of the content itself, before it was compressed. */
  readonly size: number;
  readonly md5: string;
  readonly chunkCount: number;
}

/** Compressed and sealed in memory, ready to be stored. */
export interface PreparedContent extends Omit<StoredContent, "organizationId"> {
  readonly chunks: readonly Uint8Array[];
}

/** A content of which nothing is there yet. */
export async function beginContent(
  tx: Tx,
  content: Pick<StoredContent, "id" | "organizationId" | "stateVersionId" | "kind">,
): Promise<void> {
  const unknown = { size: 0, md5: "", chunkCount: 0, complete: 0, touchedAt: now() };
  await tx.db
    .insertInto("stateContents")
    .values({ ...content, ...unknown, ownerId: content.stateVersionId })
    .execute();
}

export async function appendChunk(tx: Tx, chunk: StateChunkTable): Promise<void> {
  await tx.db.insertInto("stateChunks").values(chunk).execute();
  await tx.db.updateTable("stateContents").set({ touchedAt: now() }).where("id", "=", chunk.contentId).execute();
}

/** Whole contents at once, each with its chunks: two statements. */
export async function insertContents(
  tx: Tx,
  { organizationId }: { readonly organizationId: string },
  contents: readonly PreparedContent[],
): Promise<void> {
  const rows = contents.map(({ id, stateVersionId, kind, size, md5, chunkCount }) => ({
    id,
    organizationId,
    stateVersionId,
    ownerId: stateVersionId,
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
  await tx.db.insertInto("stateContents").values(rows).execute();
  await tx.db.insertInto("stateChunks").values(chunks).execute();
}

/** All of it has arrived and was checked. */
export async function completeContent(tx: Tx, { id, size, md5, chunkCount }: StoredContent): Promise<void> {
  await tx.db
    .updateTable("stateContents")
    .set({ size, md5, chunkCount, complete: 1, touchedAt: now() })
    .where("id", "=", id)
    .execute();
}

export async function findContent(
  tx: Tx,
  stateVersionId: string,
  kind: ContentKind,
): Promise<StoredContent | undefined> {
  const row = await tx.db
    .selectFrom("stateContents")
    .select(["id", "organizationId", "size", "md5", "chunkCount"])
    .where("stateVersionId", "=", stateVersionId)
    .where("kind", "=", kind)
    .where("complete", "=", 1)
    .executeTakeFirst();
  return row && { ...row, stateVersionId, kind };
}

export async function readChunks(tx: Tx, contentId: string, from: number, limit: number): Promise<Uint8Array[]> {
  const rows = await tx.db
    .selectFrom("stateChunks")
    .select("bytes")
    .where("contentId", "=", contentId)
    .where("position", ">=", from)
    .orderBy("position")
    .limit(limit)
    .execute();
  return rows.map((row) => row.bytes);
}

/** Its versions' data is given up: from now on a job may remove it, and nothing leads to it. */
export async function abandonContents(tx: Tx, stateVersionId: string): Promise<void> {
  await tx.db
    .updateTable("stateContents")
    .set({ stateVersionId: null })
    .where("stateVersionId", "=", stateVersionId)
    .execute();
}

/** Nothing leads to this content: it was not what it should have been. */
export async function orphanContent(tx: Tx, id: string): Promise<void> {
  await tx.db.updateTable("stateContents").set({ stateVersionId: null }).where("id", "=", id).execute();
}

export type AbandonedContent = Pick<StateContentTable, "id" | "ownerId">;

/** A content that nothing leads to any more, or whose upload has brought nothing since `before`. */
export async function findAbandoned(tx: Tx, before: string): Promise<AbandonedContent | undefined> {
  const orphan = await tx.db
    .selectFrom("stateContents")
    .select(["id", "ownerId"])
    .where("stateVersionId", "is", null)
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  if (orphan !== undefined) return orphan;
  return tx.db
    .selectFrom("stateContents")
    .select(["id", "ownerId"])
    .where("complete", "=", 0)
    .where("touchedAt", "<", before)
    .orderBy("touchedAt")
    .limit(1)
    .executeTakeFirst();
}

/** A few chunks of a content, and the content itself with its last ones. Tells whether it is gone. */
export async function removeSome(tx: Tx, contentId: string, chunks: number): Promise<boolean> {
  const positions = tx.db
    .selectFrom("stateChunks")
    .select("position")
    .where("contentId", "=", contentId)
    .orderBy("position")
    .limit(chunks);
  const { numDeletedRows } = await tx.db
    .deleteFrom("stateChunks")
    .where("contentId", "=", contentId)
    .where("position", "in", positions)
    .executeTakeFirst();
  if (Number(numDeletedRows) === chunks) return false;
  await tx.db.deleteFrom("stateContents").where("id", "=", contentId).execute();
  return true;
}
