/** Only the owner can read the embedded database's files, with any umask and after an older version. */
import { chmodSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { openSqlite } from "../../src/database/engines/sqlite.ts";
import { migrate } from "../../src/database/migrate.ts";
import { newFolder } from "../support/folder.ts";

describe.skipIf(inject("engine") !== "sqlite")("the database file, its log and its shared memory", () => {
  const path = join(newFolder("cadastre-modes-"), "cadastre.db");
  const files = ["", "-wal", "-shm"].map((end) => path + end);
  const modes = () => files.map((file) => (statSync(file).mode & 0o777).toString(8));

  it("have mode 0600 when they are created and while they are used", async () => {
    const database = openSqlite(path);
    await migrate(database);
    expect(modes()).toEqual(["600", "600", "600"]);
    await database.close();
  });

  it("get mode 0600 where an older version left them readable for others", async () => {
    const first = openSqlite(path);
    await first.write((tx) => tx.db.deleteFrom("tokens").execute());
    for (const file of files) chmodSync(file, 0o644);
    const second = openSqlite(path);
    expect(modes()).toEqual(["600", "600", "600"]);
    await Promise.all([first.close(), second.close()]);
  });
});
