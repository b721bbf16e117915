/** Named facts about the database as a whole. */
import type { Tx } from "./database.ts";

export async function readFact(tx: Tx, name: string): Promise<string | undefined> {
  const row = await tx.db.selectFrom("meta").select("value").where("name", "=", name).executeTakeFirst();
  return row?.value;
}

export async function setFactIfAbsent(tx: Tx, name: string, value: string): Promise<void> {
  await tx.db
    .insertInto("meta")
    .values({ name, value })
    .onConflict((taken) => taken.column("name").doNothing())
    .execute();
}

export async function setFact(tx: Tx, name: string, value: string): Promise<void> {
  await tx.db
    .insertInto("meta")
    .values({ name, value })
    .onConflict((taken) => taken.column("name").doUpdateSet({ value }))
    .execute();
}

export async function deleteFact(tx: Tx, name: string): Promise<void> {
  await tx.db.deleteFrom("meta").where("name", "=", name).execute();
}
