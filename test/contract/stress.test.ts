/** Concurrent writes on two servers cause no deadlocks and leave consistent data. */
import { describe, expect, inject, it } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { addFirstAdmin, startApiOn } from "../support/api.ts";
import { makeOrganization } from "../support/builders.ts";
import { newDatabase } from "../support/database.ts";
import { deep, seed } from "../support/depth.ts";
import { contradictionsIn, deadlocksIn } from "../support/stress/invariants.ts";
import { cycles, orderViolations, documentedOrder } from "../support/stress/deadlocks.ts";
import { StressRun } from "../support/stress/stress.ts";
import { LockRecorder } from "../support/stress/lock-recorder.ts";
import { World } from "../support/stress/world.ts";
import { scaled } from "../support/waiting.ts";

const callers = 40;
const requests = deep(400, 2_500);
const seeds = Array.from({ length: deep(1, 12) }, (_, index) => seed + index);
const isPostgres = inject("engine") === "postgres";

describe("concurrent random writes", () => {
  it.each(seeds)("cause neither deadlocks nor contradictions: seed %i", { timeout: scaled(600_000) }, async (each) => {
    // A separate database, because PostgreSQL counts deadlocks per database.
    const own = await newDatabase();
    await addFirstAdmin(own.database);
    const first = await startApiOn(own);
    const database = openDatabase(own.address);
    const second = await startApiOn({ address: own.address, database, drop: () => database.close() });
    const org = await makeOrganization(first);
    const stress = new StressRun([first, second], new World(org.name, each));
    const recorder = isPostgres ? await LockRecorder.on(first.address) : undefined;
    try {
      await stress.prepare();
      await stress.run(callers, requests);
    } finally {
      recorder?.end();
    }
    expect(stress.outcome.failures).toEqual([]);
    expect(await contradictionsIn(database)).toEqual({});
    await second.stop();
    await first.server.close();
    await own.database.close();
    const deadlocks = isPostgres ? await deadlocksIn(own.address) : undefined;
    await own.drop();
    if (recorder === undefined) return;
    expect(deadlocks).toEqual({ count: 0, statements: [] });
    const order = documentedOrder();
    expect(orderViolations(recorder.steps, order)).toEqual([]);
    expect(cycles(recorder.steps, order)).toEqual([]);
  });
});
