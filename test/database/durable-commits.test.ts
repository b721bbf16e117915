/** What the embedded database does while the disk is waited for: whoever reads goes on, and nobody is told before it is there. */
import { setImmediate as turn } from "node:timers/promises";
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { openSqlite } from "../../src/database/engines/sqlite.ts";
import { newAddress } from "../support/database.ts";

/** A disk that keeps what it is given when it is told to, or fails to. */
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

  async isAsked(): Promise<void> {
    while (this.#waiting.length === 0) await turn();
  }

  keep(): void {
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
    disk.keep();
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
    const told = other.prepare("PRAGMA wal_checkpoint(NOOP)").get() as { log: number; checkpointed: number };
    other.close();
    return told.log - told.checkpointed;
  };

  it("is told when the disk has it, and until then whoever reads goes on with what was there before", async () => {
    await note("note 1");
    disk.isSlow = true;
    const before = database.snapshotId();
    const written = note("note 2");
    await disk.isAsked();
    expect(await settled(written)).toBe(false);
    expect(await notes()).toEqual(["note 1"]);
    expect(database.snapshotId()).toBe(before);
    disk.keep();
    await written;
    expect(await notes()).toEqual(["note 1", "note 2"]);
    expect(database.snapshotId()).not.toBe(before);
  });

  it("is not another moment where nobody sees what was written, although the disk was waited for", async () => {
    disk.isSlow = true;
    const before = database.snapshotId();
    const written = note("note 1", "", true);
    await disk.isAsked();
    expect(database.snapshotId()).toBe(before);
    disk.keep();
    await written;
    expect(database.snapshotId()).toBe(before);
    expect(await notes()).toEqual(["note 1"]);
  });

  it("keeps those who come meanwhile waiting, and they share the next one", async () => {
    // Those who share may not take long about it, whatever else the machine does.
    const clock = vi.spyOn(performance, "now").mockReturnValue(0);
    onTestFinished(() => clock.mockRestore());
    disk.isSlow = true;
    const first = note("note 1");
    await disk.isAsked();
    const later = [note("note 2"), note("note 3"), note("note 1")];
    const refused = expect(later[2]).rejects.toMatchObject({ code: "invalid" });
    disk.keep();
    await first;
    await disk.isAsked();
    disk.keep();
    await Promise.all([later[0], later[1], refused]);
    expect(disk.syncs).toBe(2);
    expect(await notes()).toEqual(["note 1", "note 2", "note 3"]);
  });

  it("503: a disk that fails leaves it unknown what was kept, and from then on nothing is written", async () => {
    await note("note 1");
    disk.isSlow = true;
    const lost = expect(note("note 2")).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("the outcome is unknown"),
    });
    await disk.isAsked();
    disk.fail();
    await lost;
    disk.isSlow = false;
    await expect(note("note 3")).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("restart the service"),
    });
    expect(await notes()).toEqual(["note 1"]);
  });

  it("moves what the log has gathered into the file, so that it does not grow", async () => {
    const pages = 1_100;
    for (const name of ["note 1", "note 2", "note 3"]) {
      await note(name, "x".repeat(pages * 4096));
      // Whoever writes next waits until that is done.
      await note(`${name}, and on`);
      expect(pagesInLog()).toBeLessThan(100);
    }
    expect(statSync(`${path}-wal`).size).toBeLessThan(2 * pages * 4096);
    expect(await notes()).toHaveLength(6);
  });
});
