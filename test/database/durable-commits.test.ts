/** Commits of the embedded database: reads continue during a sync, and a write resolves only after it. */
import { setImmediate as turn } from "node:timers/promises";
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { openSqlite } from "../../src/database/engines/sqlite.ts";
import { newAddress } from "../support/database.ts";

/** A disk whose syncs the test completes or fails. */
class Disk {
  #waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];
  isSlow = false;
  syncs = 0;

  readonly sync = (): Promise<void> => {
    this.syncs += 1;
    return this.isSlow
      ? new Promise((resolve, reject) => void this.#waiting.push({ resolve, reject }))
      : Promise.resolve();
  };

  async waitForSync(): Promise<void> {
    while (this.#waiting.length === 0) await turn();
  }

  complete(): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }

  fail(): void {
    for (const { reject } of this.#waiting.splice(0)) reject(new Error("input/output error"));
  }
}

describe("a commit on the embedded database", () => {
  let disk: Disk;
  let path: string;
  let database: Database;
  let drop: () => Promise<void>;

  beforeEach(async () => {
    const made = await newAddress("sqlite", true);
    drop = made.drop;
    path = made.address.slice("sqlite:".length);
    disk = new Disk();
    database = openSqlite(path, disk.sync);
  });
  afterEach(async () => {
    disk.complete();
    await database.close();
    await drop();
  });

  const note = (name: string, value = "", isUnseen = false) =>
    database.write(
      async ({ db }) => {
        await db.insertInto("meta").values({ name, value }).execute();
      },
      { keepsCache: isUnseen },
    );
  const notes = async (): Promise<string[]> => {
    const rows = await database.reader.db
      .selectFrom("meta")
      .select("name")
      .where("name", "like", "note%")
      .orderBy("name")
      .execute();
    return rows.map(({ name }) => name);
  };
  const settled = async (outcome: Promise<unknown>): Promise<boolean> => {
    await turn();
    const pending = Symbol("pending");
    return (await Promise.race([outcome.then(String, String), turn(pending)])) !== pending;
  };
  const pagesInLog = (): number => {
    const other = new DatabaseSync(path);
    const status = other.prepare("PRAGMA wal_checkpoint(NOOP)").get() as { log: number; checkpointed: number };
    other.close();
    return status.log - status.checkpointed;
  };

  it("resolves after the sync; until then readers see the previous snapshot", async () => {
    await note("note 1");
    disk.isSlow = true;
    const before = database.snapshotId();
    const written = note("note 2");
    await disk.waitForSync();
    expect(await settled(written)).toBe(false);
    expect(await notes()).toEqual(["note 1"]);
    expect(database.snapshotId()).toBe(before);
    disk.complete();
    await written;
    expect(await notes()).toEqual(["note 1", "note 2"]);
    expect(database.snapshotId()).not.toBe(before);
  });

  it("keeps the snapshot id with keepsCache", async () => {
    disk.isSlow = true;
    const before = database.snapshotId();
    const written = note("note 1", "", true);
    await disk.waitForSync();
    expect(database.snapshotId()).toBe(before);
    disk.complete();
    await written;
    expect(database.snapshotId()).toBe(before);
    expect(await notes()).toEqual(["note 1"]);
  });

  it("makes later writes wait, which then share one commit", async () => {
    // A slow machine must not end the window of the group early.
    const clock = vi.spyOn(performance, "now").mockReturnValue(0);
    onTestFinished(() => clock.mockRestore());
    disk.isSlow = true;
    const first = note("note 1");
    await disk.waitForSync();
    const later = [note("note 2"), note("note 3"), note("note 1")];
    const refused = expect(later[2]).rejects.toMatchObject({ code: "invalid" });
    disk.complete();
    await first;
    await disk.waitForSync();
    disk.complete();
    await Promise.all([later[0], later[1], refused]);
    expect(disk.syncs).toBe(2);
    expect(await notes()).toEqual(["note 1", "note 2", "note 3"]);
  });

  it("503 with an unknown outcome if the sync fails, and refuses all later writes", async () => {
    await note("note 1");
    disk.isSlow = true;
    const lost = expect(note("note 2")).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("the outcome is unknown"),
    });
    await disk.waitForSync();
    disk.fail();
    await lost;
    disk.isSlow = false;
    await expect(note("note 3")).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("restart the service"),
    });
    expect(await notes()).toEqual(["note 1"]);
  });

  it("checkpoints the log, so that it does not grow", async () => {
    const pages = 1_100;
    for (const name of ["note 1", "note 2", "note 3"]) {
      await note(name, "x".repeat(pages * 4096));
      // The next write waits until that is done.
      await note(`${name}, and on`);
      expect(pagesInLog()).toBeLessThan(100);
    }
    expect(statSync(`${path}-wal`).size).toBeLessThan(2 * pages * 4096);
    expect(await notes()).toHaveLength(6);
  });
});
