/** Backups under load; `npm run proof:faults -- backup` makes more of them, for longer. */
import { expect, test } from "vitest";
import { proveBackups } from "../../proof/backups.ts";
import type { Engine } from "../support/database.ts";
import { scaled } from "../support/waiting.ts";

test.each<Engine>(["sqlite", "postgres"])(
  "a backup on %s, made while everybody writes, is one moment, whole, and comes back on both databases",
  { timeout: scaled(600_000) },
  async (engine) => {
    const { faults, found } = await proveBackups(engine, { rounds: 1, seconds: 2, slowness: 1, say: () => {} });
    expect(faults).toEqual([]);
    expect(found).toBeGreaterThan(20);
  },
);
