/** Whatever is written at once, on two servers: nobody waits in a circle, and what is left behind is consistent. */
import { describe, expect, inject, it } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { addFirstAdmin, startApiOn } from "../support/api.ts";
import { makeOrganization } from "../support/builders.ts";
import { newDatabase } from "../support/database.ts";
import { deep, seed } from "../support/depth.ts";
import { contradictionsIn, deadlocksIn } from "../support/stress/invariants.ts";
import { circles, departures, writtenOrder } from "../support/stress/circles.ts";
import { StressRun } from "../support/stress/stress.ts";
import { Witness } from "../support/stress/witness.ts";
import { World } from "../support/stress/world.ts";
import { scaled } from "../support/waiting.ts";

const callers = 40;
const requests = deep(400, 2_500);
const seeds = Array.from({ length: deep(1, 12) }, (_, index) => seed + index);
const isPostgres = inject("engine") === "postgres";

describe("a storm of writes", () => {
  it.each(seeds)("leaves neither deadlocks nor contradictions: seed %i", { timeout: scaled(600_000) }, async (each) => {
    // Its own, because PostgreSQL counts deadlocks by database.
    const own = await newDatabase();
    await addFirstAdmin(own.database);
    const first = await startApiOn(own);
    const database = openDatabase(own.address);
    const second = await startApiOn({ address: own.address, database, drop: () => database.close() });
    const org = await makeOrganization(first);
    const storm = new StressRun([first, second], new World(org.name, each));
    const witness = isPostgres ? await Witness.on(first.address) : undefined;
    try {
      await storm.prepare();
      await storm.run(callers, requests);
    } finally {
      witness?.end();
    }
    expect(storm.outcome.failures).toEqual([]);
    expect(await contradictionsIn(database)).toEqual({});
    await second.stop();
    await first.server.close();
    await own.database.close();
    const deadlocks = isPostgres ? await deadlocksIn(own.address) : undefined;
    await own.drop();
    if (witness === undefined) return;
    expect(deadlocks).toEqual({ count: 0, told: [] });
    const order = writtenOrder();
    expect(departures(witness.steps, order)).toEqual([]);
    expect(circles(witness.steps, order)).toEqual([]);
  });
});
