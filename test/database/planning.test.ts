/** PostgreSQL plans the statements that ask for it once, and leaves all others to itself, whoever has the connection next. */
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { Database, Tx } from "../../src/database/database.ts";
import { openPostgres } from "../../src/database/engines/postgres.ts";
import { newAddress } from "../support/database.ts";

describe.skipIf(inject("engine") !== "postgres")("a statement that is planned once", () => {
  let database: Database;
  let drop: () => Promise<void>;

  beforeAll(async () => {
    const made = await newAddress("postgres");
    drop = made.drop;
    // The tests' own server plans everything once.
    const preparing = openPostgres(made.address);
    const name = new URL(made.address).pathname.slice(1);
    await sql.raw(`alter database "${name}" set plan_cache_mode = auto`).execute(preparing.reader.db);
    await preparing.close();
    // Asked one after the other, they all get the same one.
    database = openPostgres(made.address, { connections: 2 });
  });
  afterAll(async () => {
    await database.close();
    await drop();
  });

  const modeOf = async ({ db, dialect }: Tx, isOnce: boolean) => {
    const once = isOnce ? dialect.genericPlanHint : sql``;
    const { rows } = await sql<{ mode: string }>`${once} select current_setting('plan_cache_mode') as mode`.execute(db);
    return rows[0]?.mode;
  };

  it("is, and those before and after it on the same connection are not", async () => {
    const modes: unknown[] = [];
    for (const isOnce of [false, true, true, false, true]) modes.push(await modeOf(database.reader, isOnce));
    expect(modes).toEqual(["auto", "force_generic_plan", "force_generic_plan", "auto", "force_generic_plan"]);
  });

  it("leaves transactions alone, also those that are taken back", async () => {
    await modeOf(database.reader, true);
    expect(await database.write((tx) => modeOf(tx, false))).toBe("auto");
    await modeOf(database.reader, true);
    const failing = database.write(async (tx) => {
      expect(await modeOf(tx, true)).toBe("auto");
      throw new Error("taken back");
    });
    await expect(failing).rejects.toThrow("taken back");
    expect(await modeOf(database.reader, false)).toBe("auto");
    expect(await modeOf(database.reader, true)).toBe("force_generic_plan");
  });
});
