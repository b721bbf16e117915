/** Only statements with the hint use a generic plan on PostgreSQL; others on the same connection don't. */
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { Database, Tx } from "../../src/database/database.ts";
import { openPostgres } from "../../src/database/engines/postgres.ts";
import { newAddress } from "../support/database.ts";

describe.skipIf(inject("engine") !== "postgres")("a statement with a generic plan", () => {
  let database: Database;
  let drop: () => Promise<void>;

  beforeAll(async () => {
    const made = await newAddress("postgres");
    drop = made.drop;
    // The tests' own server uses generic plans for everything.
    const preparing = openPostgres(made.address);
    const name = new URL(made.address).pathname.slice(1);
    await sql.raw(`alter database "${name}" set plan_cache_mode = auto`).execute(preparing.reader.db);
    await preparing.close();
    // Sequential statements all get the same connection.
    database = openPostgres(made.address, { connections: 2 });
  });
  afterAll(async () => {
    await database.close();
    await drop();
  });

  const modeOf = async ({ db, dialect }: Tx, isGeneric: boolean) => {
    const hint = isGeneric ? dialect.genericPlanHint : sql``;
    const { rows } = await sql<{ mode: string }>`${hint} select current_setting('plan_cache_mode') as mode`.execute(db);
    return rows[0]?.mode;
  };

  it("uses a generic plan, and does not affect statements before and after it on the same connection", async () => {
    const modes: unknown[] = [];
    for (const isGeneric of [false, true, true, false, true]) modes.push(await modeOf(database.reader, isGeneric));
    expect(modes).toEqual(["auto", "force_generic_plan", "force_generic_plan", "auto", "force_generic_plan"]);
  });

  it("does not affect transactions, also if they are rolled back", async () => {
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
