/** SQL of contents that change their place: which ones are left, and the transactions that switch a content to its verified copy. */
import { type ExpressionBuilder, sql } from "kysely";
import type { Capability } from "../../../access/capability.ts";
import type { Tx } from "../../../database/database.ts";
import type { ContentChunkTable, ContentTable } from "../../../database/schema/contents.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import { now } from "../../../kernel/time.ts";
import { inDatabase } from "./store.ts";
import { attachObjects, detachObject, type ObjectCutoffs, type ObjectReference } from "./unattached-objects.ts";

/** The name of the database in `unattached_objects`, where the name of the "object" is the content's id. */
const databasePlace = "database";

const chunksOf = (contentId: string): ObjectReference => ({ place: databasePlace, name: contentId });

const relocationColumns = [
  "id",
  "organizationId",
  "size",
  "chunkCount",
  "place",
  "object",
  "objectBytes",
  "keyId",
  "chunkSizes",
] as const;
export type RelocatableContent = Pick<ContentTable, (typeof relocationColumns)[number]>;

/** Contents in the database, in the place, or there under another key than `keyId`. */
export type RelocationSource =
  | { readonly from: "database" }
  | { readonly from: "place"; readonly place: string; readonly exceptKeyId?: string };

type ContentExpressions = ExpressionBuilder<Schema, "contents">;

const isUsed = (is: ContentExpressions) =>
  is.and([
    is("complete", "=", 1),
    is.or([
      is("stateVersionId", "is not", null),
      is("configurationVersionId", "is not", null),
      is("runId", "is not", null),
    ]),
  ]);

function isIn(is: ContentExpressions, source: RelocationSource) {
  if (source.from === "database") return is("place", "is", null);
  const isInPlace = is("place", "=", source.place);
  return source.exceptKeyId === undefined ? isInPlace : is.and([isInPlace, is("keyId", "!=", source.exceptKeyId)]);
}

export async function findRelocatable(
  tx: Tx,
  source: RelocationSource,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<RelocatableContent[]> {
  return tx.db
    .selectFrom("contents")
    .select(relocationColumns)
    .where((is) => is.and([isUsed(is), isIn(is, source), is("id", ">", after)]))
    .orderBy("id")
    .limit(limit)
    .execute();
}

export async function countRelocatable(tx: Tx, source: RelocationSource): Promise<number> {
  const { count } = await tx.db
    .selectFrom("contents")
    .select(sql<number>`count(*)`.as("count"))
    .where((is) => is.and([isUsed(is), isIn(is, source)]))
    .executeTakeFirstOrThrow();
  return Number(count);
}

export interface ContentCount {
  readonly place: string;
  readonly count: number;
}

export async function countByPlace(tx: Tx): Promise<ContentCount[]> {
  const rows = await tx.db
    .selectFrom("contents")
    .select(["place", sql<number>`count(*)`.as("count")])
    .where("place", "is not", null)
    .groupBy("place")
    .orderBy("place")
    .execute();
  return rows.map(({ place, count }) => ({ place: place ?? "", count: Number(count) }));
}

type RelocatedColumns = Pick<ContentTable, "place" | "object" | "objectBytes" | "keyId" | "chunkSizes">;

/** Locks the row. False if the content was deleted, or is no longer where it was found. */
async function relocate(tx: Tx, content: RelocatableContent, location: Partial<RelocatedColumns>): Promise<boolean> {
  const { object } = content;
  const { numUpdatedRows } = await tx.db
    .updateTable("contents")
    // `touchedAt` says nothing about a complete content; without it there might be nothing to set.
    .set({ touchedAt: now(), ...location })
    .where((is) =>
      is.and([
        isUsed(is),
        is("id", "=", content.id),
        object === null ? is("object", "is", null) : is("object", "=", object),
      ]),
    )
    .executeTakeFirst();
  return Number(numUpdatedRows) === 1;
}

const attach = (tx: Tx, { place, name }: ObjectReference): Promise<boolean> => attachObjects(tx, place, [name]);

/** False if the content has changed; the copy must then be discarded. */
export async function switchToObject(tx: Tx, content: RelocatableContent, copy: RelocatableContent): Promise<boolean> {
  const { place, object, objectBytes, keyId, chunkSizes } = copy;
  if (!(await relocate(tx, content, { place, object, objectBytes, keyId, chunkSizes }))) return false;
  if (!(await attach(tx, referenceOf(copy)))) throw new Error(`the clean-up took the copy of ${content.id}`);
  await detachObject(tx, referenceOf(content));
  return true;
}

/** Like `switchToObject`. */
export async function switchToDatabase(tx: Tx, content: RelocatableContent): Promise<boolean> {
  if (!(await relocate(tx, content, inDatabase))) return false;
  if (!(await attach(tx, chunksOf(content.id)))) throw new Error(`the clean-up took the copy of ${content.id}`);
  await detachObject(tx, referenceOf(content));
  return true;
}

export const referenceOf = ({ id, place, object }: RelocatableContent): ObjectReference =>
  place === null || object === null ? chunksOf(id) : { place, name: object };

/** False if the content has changed. */
export async function addChunks(
  tx: Tx,
  content: RelocatableContent,
  chunks: readonly ContentChunkTable[],
): Promise<boolean> {
  if (!(await relocate(tx, content, {}))) return false;
  await tx.db.insertInto("contentChunks").values(chunks).execute();
  return true;
}

/** Begins a copy into the database. Removes a batch of what an earlier move left there; true when nothing is left. */
export async function beginChunks(tx: Tx, contentId: string, limit: number): Promise<boolean> {
  const writing = { status: "writing", since: now() } as const;
  await tx.db
    .insertInto("unattachedObjects")
    .values({ ...chunksOf(contentId), ...writing })
    .onConflict((taken) => taken.columns(["place", "name"]).doUpdateSet(writing))
    .execute();
  return removeBatch(tx, contentId, limit);
}

/** True when nothing is left. */
async function removeBatch(tx: Tx, contentId: string, limit: number): Promise<boolean> {
  const positions = tx.db
    .selectFrom("contentChunks")
    .select("position")
    .where("contentId", "=", contentId)
    .orderBy("position")
    .limit(limit);
  const { numDeletedRows } = await tx.db
    .deleteFrom("contentChunks")
    .where("contentId", "=", contentId)
    .where("position", "in", positions)
    .executeTakeFirst();
  return Number(numDeletedRows) < limit;
}

/** After a failed copy into the database. Leaves the chunks alone if the content uses them: its commit can have succeeded. */
export async function discardChunks(tx: Tx, contentId: string): Promise<void> {
  const { place, name } = chunksOf(contentId);
  await tx.db
    .updateTable("unattachedObjects")
    .set({ status: "discarded", since: now() })
    .where("place", "=", place)
    .where("name", "=", name)
    .execute();
}

const isDeletable =
  ({ writing, removed }: ObjectCutoffs) =>
  (is: ExpressionBuilder<Schema, "unattachedObjects">) =>
    is.or([
      is("status", "in", ["discarded", "deleting"]),
      is.and([is("status", "=", "removed"), is("since", "<=", removed)]),
      is.and([is("status", "=", "writing"), is("since", "<", writing)]),
    ]);

/** Contents whose chunks in the database nothing reads any more. */
export async function findUnattachedChunks(tx: Tx, cutoffs: ObjectCutoffs, limit: number): Promise<string[]> {
  const rows = await tx.db
    .selectFrom("unattachedObjects")
    .select("name")
    .where("place", "=", databasePlace)
    .where(isDeletable(cutoffs))
    .limit(limit)
    .execute();
  return rows.map(({ name }) => name);
}

/** Also the claim: a move that began meanwhile keeps its chunks. True when nothing is left to do. */
export async function removeUnattachedChunks(
  tx: Tx,
  _by: Capability<"job">,
  contentId: string,
  { cutoffs, limit }: { readonly cutoffs: ObjectCutoffs; readonly limit: number },
): Promise<boolean> {
  const { place, name } = chunksOf(contentId);
  const row = tx.db.updateTable("unattachedObjects").set({ status: "deleting" }).where("place", "=", place);
  const { numUpdatedRows } = await row.where("name", "=", name).where(isDeletable(cutoffs)).executeTakeFirst();
  if (Number(numUpdatedRows) === 0) return true;
  if (!(await removeBatch(tx, contentId, limit))) return false;
  await tx.db.deleteFrom("unattachedObjects").where("place", "=", place).where("name", "=", name).execute();
  return true;
}

/** After a restore: the objects were verified in this place, which can be a copy of the one that was backed up. */
export async function renamePlaces(tx: Tx, place: string): Promise<void> {
  await tx.db.updateTable("contents").set({ place }).where("place", "!=", place).execute();
  await tx.db
    .updateTable("unattachedObjects")
    .set({ place })
    .where("place", "not in", [databasePlace, place])
    .execute();
}
