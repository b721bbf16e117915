/** SQL of the objects that no content uses: those being written, and those to be deleted. */
import { sql } from "kysely";
import type { Capability } from "../../../access/capability.ts";
import type { Tx } from "../../../database/database.ts";
import { now, nowMs } from "../../../kernel/time.ts";
import { leftPlaceFact } from "./left-place.ts";

export interface ObjectReference {
  readonly place: string;
  readonly name: string;
}

/**
 * Before the upload, in a transaction of its own, so that a crash leaves no object without a row. False, and no row, if the register leaves
 * the place: new contents then go to the database.
 */
export async function announceObjects(
  tx: Tx,
  place: string,
  names: readonly string[],
  { isNew }: { readonly isNew: boolean },
): Promise<boolean> {
  const left = tx.db.selectFrom("meta").select("name").where("name", "=", leftPlaceFact).where("value", "=", place);
  const text = (value: string) => sql<string>`cast(${value} as text)`;
  const status = sql<"writing">`cast('writing' as text)`.as("status");
  const rows = names.map((name) => {
    const row = tx.db.selectNoFrom([text(place).as("place"), text(name).as("name"), status, text(now()).as("since")]);
    return isNew ? row.where(({ not, exists }) => not(exists(left))) : row;
  });
  const [first, ...others] = rows;
  if (first === undefined) return true;
  const announced = await tx.db
    .insertInto("unattachedObjects")
    .columns(["place", "name", "status", "since"])
    .expression(others.reduce((all, row) => all.unionAll(row), first))
    .returning("name")
    .execute();
  return announced.length === names.length;
}

const uploadSilenceMs = 2 * 60_000;

/** Uploads that were touched lately; those of a killed server end after a day. */
export async function countUploads(tx: Tx, place: string): Promise<number> {
  const { count } = await tx.db
    .selectFrom("unattachedObjects")
    .select((select) => select.fn.countAll<number>().as("count"))
    .where("place", "=", place)
    .where("status", "=", "writing")
    .where("since", ">", new Date(nowMs() - uploadSilenceMs).toISOString())
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** None can become a content's any more; the callers get 503 and can send them again. */
export async function discardUploads(tx: Tx, _by: Capability<"job">, place: string): Promise<void> {
  await tx.db
    .updateTable("unattachedObjects")
    .set({ status: "discarded", since: now() })
    .where("place", "=", place)
    .where("status", "=", "writing")
    .execute();
}

/** During a long upload, and at its end. False if the clean-up has taken the object, which it then may not have found. */
export async function touchObject(tx: Tx, { place, name }: ObjectReference): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable("unattachedObjects")
    .set({ since: now() })
    .where("place", "=", place)
    .where("name", "=", name)
    .where("status", "=", "writing")
    .executeTakeFirst();
  return Number(numUpdatedRows) === 1;
}

/** In the transaction that makes contents use them. False if the clean-up has taken one: the upload must then be refused. */
export async function attachObjects(tx: Tx, place: string, names: readonly string[]): Promise<boolean> {
  const { numDeletedRows } = await tx.db
    .deleteFrom("unattachedObjects")
    .where("place", "=", place)
    .where("name", "in", names)
    .where("status", "=", "writing")
    .executeTakeFirst();
  return Number(numDeletedRows) === names.length;
}

/** In the transaction after which no content uses it. It stays for some days. */
export async function detachObject(tx: Tx, { place, name }: ObjectReference): Promise<void> {
  await tx.db.insertInto("unattachedObjects").values({ place, name, status: "removed", since: now() }).execute();
}

/** After a failed upload. Leaves an object alone that a content uses: its commit can succeed although the connection broke. */
export async function discardObject(tx: Tx, { place, name }: ObjectReference): Promise<void> {
  const since = now();
  const changes = { status: "discarded", since } as const;
  // Waits for a commit that is still under way, so that the next statement sees the content that it makes visible.
  await tx.db
    .updateTable("unattachedObjects")
    .set(changes)
    .where("place", "=", place)
    .where("name", "=", name)
    .execute();
  const used = tx.db.selectFrom("contents").select("id").where("place", "=", place).where("object", "=", name);
  if ((await used.executeTakeFirst()) !== undefined) return;
  await tx.db
    .insertInto("unattachedObjects")
    .values({ place, name, ...changes })
    .onConflict((taken) => taken.columns(["place", "name"]).doNothing())
    .execute();
}

export interface ObjectCutoffs {
  readonly writing: string;
  readonly removed: string;
}

export async function findDeletable(
  tx: Tx,
  place: string,
  { writing, removed }: ObjectCutoffs,
  { except, limit }: { readonly except: readonly string[]; readonly limit: number },
): Promise<string[]> {
  const rows = await tx.db
    .selectFrom("unattachedObjects")
    .select("name")
    .where("place", "=", place)
    .where(({ not }) => not(tx.dialect.isOneOf(sql.ref("name"), except)))
    .where((where) =>
      where.or([
        where("status", "in", ["discarded", "deleting"]),
        where.and([where("status", "=", "writing"), where("since", "<", writing)]),
        where.and([where("status", "=", "removed"), where("since", "<=", removed)]),
      ]),
    )
    .orderBy("status")
    .limit(limit)
    .execute();
  return rows.map(({ name }) => name);
}

/** From here on no upload can be completed with them. Returns those that were still as they were found. */
export async function claimObjects(
  tx: Tx,
  _by: Capability<"job">,
  place: string,
  names: readonly string[],
  { writing }: Pick<ObjectCutoffs, "writing">,
): Promise<string[]> {
  const claimed = await tx.db
    .updateTable("unattachedObjects")
    .set({ status: "deleting" })
    .where("place", "=", place)
    .where(tx.dialect.isOneOf(sql.ref("name"), names))
    .where((where) => where.or([where("status", "<>", "writing"), where("since", "<", writing)]))
    .returning("name")
    .execute();
  return claimed.map(({ name }) => name);
}

export async function forgetObjects(
  tx: Tx,
  _by: Capability<"job">,
  place: string,
  names: readonly string[],
): Promise<void> {
  await tx.db
    .deleteFrom("unattachedObjects")
    .where("place", "=", place)
    .where("status", "=", "deleting")
    .where(tx.dialect.isOneOf(sql.ref("name"), names))
    .execute();
}
