/** SQL of contents and their chunks. Other modules must use `contents.ts`. */
import type { Capability } from "../../../access/capability.ts";
import { sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { ContentChunkTable, ContentTable } from "../../../database/schema/contents.ts";
import { AppError } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import { attachObjects, detachObject } from "./unattached-objects.ts";

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
  readonly place: string | null;
  readonly object: string | null;
  readonly objectBytes: number | null;
  readonly keyId: string | null;
  readonly chunkSizes: string | null;
}

export const inDatabase = { place: null, object: null, objectBytes: null, keyId: null, chunkSizes: null } as const;

export interface PreparedContent extends Omit<StoredContent, "organizationId"> {
  /** None if they are in an object. */
  readonly chunks: readonly Uint8Array[];
}

const noOwner = { stateVersionId: null, configurationVersionId: null, runId: null };
const ownerColumns = ({ column, id }: ContentOwner) => ({ ...noOwner, [column]: id, ownerId: id });

export async function beginContent(
  tx: Tx,
  { id, organizationId, owner, kind }: ContentKey & { readonly id: string },
): Promise<void> {
  const unknown = { size: 0, md5: "", chunkCount: 0, complete: 0, touchedAt: now(), ...inDatabase };
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
  const rows = contents.map(({ owner, chunks: _chunks, ...columns }) => ({
    ...columns,
    organizationId,
    ...ownerColumns(owner),
    complete: 1,
    touchedAt: now(),
  }));
  const chunks = contents.flatMap((content) =>
    content.chunks.map((bytes, position) => ({ organizationId, contentId: content.id, position, bytes })),
  );
  await tx.db.insertInto("contents").values(rows).execute();
  if (chunks.length > 0) await tx.db.insertInto("contentChunks").values(chunks).execute();
  await attach(tx, contents);
}

/** Throws `unavailable` if the clean-up has removed the content meanwhile. */
export async function completeContent(tx: Tx, content: StoredContent): Promise<void> {
  const { id, owner, size, md5, chunkCount, place, object, objectBytes, keyId, chunkSizes } = content;
  const { numUpdatedRows } = await tx.db
    .updateTable("contents")
    .set({ size, md5, chunkCount, place, object, objectBytes, keyId, chunkSizes, complete: 1, touchedAt: now() })
    .where("id", "=", id)
    .where(owner.column, "=", owner.id)
    .executeTakeFirst();
  if (Number(numUpdatedRows) === 0) throw removedMeanwhile();
  await attach(tx, [content]);
}

/** The content is no longer an unattached object's. Decided in the transaction that makes it visible. */
async function attach(tx: Tx, contents: readonly Pick<StoredContent, "place" | "object">[]): Promise<void> {
  const objects = contents.flatMap(({ object }) => object ?? []);
  const place = contents.find((content) => content.object !== null)?.place ?? undefined;
  // All contents of one change are in the same place.
  if (place !== undefined && !(await attachObjects(tx, place, objects))) throw removedMeanwhile();
}

export const removedMeanwhile = (): AppError =>
  new AppError("unavailable", "The upload took so long that its content was removed. Send it again.", {
    retryAfterSeconds: 1,
  });

export async function touchContent(tx: Tx, id: string): Promise<void> {
  await tx.db.updateTable("contents").set({ touchedAt: now() }).where("id", "=", id).execute();
}

const storedColumns = [
  "id",
  "organizationId",
  "size",
  "md5",
  "chunkCount",
  "place",
  "object",
  "objectBytes",
  "keyId",
  "chunkSizes",
] as const;

export async function findContent(tx: Tx, owner: ContentOwner, kind: string): Promise<StoredContent | undefined> {
  const row = await tx.db
    .selectFrom("contents")
    .select(storedColumns)
    .where(owner.column, "=", owner.id)
    .where("kind", "=", kind)
    .where("complete", "=", 1)
    .executeTakeFirst();
  return row && { ...row, owner, kind };
}

export async function findContentById(tx: Tx, id: string): Promise<Omit<StoredContent, "owner"> | undefined> {
  return tx.db
    .selectFrom("contents")
    .select(storedColumns)
    .select("kind")
    .where("id", "=", id)
    .where("complete", "=", 1)
    .executeTakeFirst();
}

/** How many contents are in another place than `here`, which is undefined for the database; undefined if none. */
export async function countOutside(
  tx: Tx,
  here: string | undefined,
): Promise<{ readonly place: string; readonly count: number } | undefined> {
  const edges = await tx.db
    .selectFrom("contents")
    .select((select) => [select.fn.min("place").as("first"), select.fn.max("place").as("last")])
    .where("place", "is not", null)
    .executeTakeFirst();
  const place = [edges?.first, edges?.last].find((edge) => edge !== null && edge !== undefined && edge !== here);
  if (place === undefined || place === null) return undefined;
  const { count } = await tx.db
    .selectFrom("contents")
    .select((select) => select.fn.countAll<number>().as("count"))
    .where("place", "=", place)
    .executeTakeFirstOrThrow();
  return { place, count: Number(count) };
}

export async function findContents(
  tx: Tx,
  column: ContentOwner["column"],
  ids: readonly string[],
  kind: string,
): Promise<StoredContent[]> {
  const rows = await tx.db
    .selectFrom("contents")
    .select(storedColumns)
    .select(`${column} as ownedBy`)
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

/** Leaves a complete content alone: its commit can have succeeded although the connection broke. */
export async function orphanUpload(tx: Tx, id: string): Promise<void> {
  await tx.db.updateTable("contents").set(noOwner).where("id", "=", id).where("complete", "=", 0).execute();
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
  const removed = await tx.db
    .deleteFrom("contents")
    .where("id", "=", contentId)
    .returning(["place", "object"])
    .executeTakeFirst();
  if (removed?.place && removed.object) await detachObject(tx, { place: removed.place, name: removed.object });
  return true;
}
