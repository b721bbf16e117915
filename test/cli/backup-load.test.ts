/** Backups under load; `npm run proof:faults -- backup` makes more, for longer. */
import { expect, test } from "vitest";
import { proveBackups } from "../../proof/backups.ts";
import type { Engine } from "../support/database.ts";
import { scaled } from "../support/waiting.ts";

test.each<Engine>(["sqlite", "postgres"])(
  "a backup on %s under concurrent writes is one complete snapshot, and can be restored into both databases",
  { timeout: scaled(600_000) },
  async (engine) => {
    const { faults, found } = await proveBackups(engine, { rounds: 1, seconds: 2, slowness: 1, say: () => {} });
    expect(faults).toEqual([]);
    expect(found).toBeGreaterThan(20);
  },
);
