/** `cadastre key …`: rotating the encryption key, also if the command is killed. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { countByKey } from "../../src/database/resealing.ts";
import { createVault } from "../../src/database/vault.ts";
import { type Api, startApi } from "../support/api.ts";
import { data, makeOrganization, makeWorkspace, resource } from "../support/builders.ts";
import { cadastre, start, useFolder } from "./support.ts";

const folder = useFolder();
const [older, newer, stranger] = [7, 8, 9].map((byte) => Buffer.alloc(32, byte).toString("hex")) as [
  string,
  string,
  string,
];
const idOf = (key: string) => createVault(Buffer.from(key, "hex")).keyId;

describe.each(["sqlite", "postgres"] as const)("on %s", (engine) => {
  let api: Api;
  let secrets: number;
  const given = (...keys: string[]) => ({ CADASTRE_DATABASE: api.address, CADASTRE_ENCRYPTION_KEY: keys.join() });
  const counts = async () => {
    const database = openDatabase(api.address);
    const found = await countByKey(database);
    await database.close();
    return Object.fromEntries(found);
  };

  beforeAll(async () => {
    api = await startApi({ engine });
    const { name, owner } = await makeOrganization(api);
    const { id } = await makeWorkspace(api, name);
    for (let count = 0; count < 150; count += 1)
      data(await owner.post(`/workspaces/${id}/vars`, resource("vars", { key: `k${count}`, category: "env" })));
    secrets = 150;
    expect((await cadastre(["key", "list"], given(older))).code).toBe(0);
  });
  afterAll(async () => {
    // Other tests rely on the check value of their key.
    await api.database.write(({ db }) => db.deleteFrom("meta").execute());
    await api.stop();
  });

  test("lists the keys with their ids and uses", async () => {
    expect(await cadastre(["key", "list", "--json"], given(older, newer))).toMatchObject({ code: 0, err: "" });
    const { out } = await cadastre(["key", "list", "--json"], given(older, newer));
    expect(JSON.parse(out)).toEqual([
      { id: idOf(older), use: "encrypts", secrets },
      { id: idOf(newer), use: "reads", secrets: 0 },
    ]);
    expect(out).not.toContain(older);
  });

  test("does nothing if every secret is encrypted with the only key", async () => {
    const { code, out } = await cadastre(["key", "rotate"], given(older));
    expect({ code, out }).toEqual({ code: 0, out: `Every secret is already encrypted with the key ${idOf(older)}.` });
  });

  test("refuses to rotate without a key that is still in use, and changes nothing", async () => {
    for (const keys of [[newer], [newer, stranger]]) {
      const { code, err } = await cadastre(["key", "rotate"], given(...keys));
      expect(code).toBe(1);
      expect(err).toContain(idOf(older));
    }
    expect(await counts()).toEqual({ [idOf(older)]: secrets });
  });

  test("can be killed and run again; afterwards the new key is enough and the old one is refused", async () => {
    const killed = start(["key", "rotate"], given(newer, older));
    while (killed.process.exitCode === null && (await counts())[idOf(newer)] === undefined);
    killed.process.kill("SIGKILL");
    await killed.ended;
    const again = await cadastre(["key", "rotate"], given(newer, older));
    expect(again.code).toBe(0);
    expect(again.out).toMatch(
      new RegExp(
        `^Re-encrypted \\d+ secrets; every secret is now encrypted with the key ${idOf(newer)}\\.\nRemove ${idOf(older)} from CADASTRE_ENCRYPTION_KEY`,
      ),
    );
    expect(await counts()).toEqual({ [idOf(newer)]: secrets });
    expect((await cadastre(["user", "list"], given(newer))).code).toBe(0);
    const alone = await cadastre(["user", "list"], given(older));
    expect(alone).toMatchObject({ code: 1, err: expect.stringContaining(idOf(newer)) });
    const first = await cadastre(["user", "list"], given(older, newer));
    expect(first.err).toMatch(/was retired .* Put the new key before it in CADASTRE_ENCRYPTION_KEY\.$/);
    const events = await api.database.reader.db
      .selectFrom("auditEvents")
      .select(["action", "actorKind", "subjectId", "after"])
      .where("subjectType", "=", "encryption-keys")
      .execute();
    const after = JSON.stringify({ retired: [idOf(older)] });
    expect(events).toEqual([
      { action: "encryption-keys.rotate", actorKind: "operator", subjectId: idOf(newer), after },
    ]);
  });
});

test("the lines of the embedded database's key file are its keys, the first of which encrypts", async () => {
  const settings = { CADASTRE_DATABASE: `sqlite:${join(folder, "own.db")}` };
  const file = join(folder, "own.db.key");
  expect((await cadastre(["migrate"], settings)).code).toBe(0);
  writeFileSync(file, `${newer}\n${readFileSync(file, "utf8")}`);
  const { code, out } = await cadastre(["key", "rotate"], settings);
  expect(code).toBe(0);
  expect(out).toContain(`from the file ${file}`);
  writeFileSync(file, `${newer}\n`);
  expect((await cadastre(["user", "list"], settings)).code).toBe(0);
  writeFileSync(file, `${newer}\nnonsense\n`);
  expect((await cadastre(["user", "list"], settings)).err).toMatch(/must have 64 hex digits in each line/);
});
