/** `cadastre key rotate` with contents in an object store. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createVault } from "../../src/database/vault.ts";
import { makeOrganization, makeWorkspace } from "../support/builders.ts";
import { storeCredentials } from "../support/object-store.ts";
import { fetchState, stateOf, writeState } from "../support/states.ts";
import { until } from "../support/waiting.ts";
import { cadastre, start } from "../cli/support.ts";
import { useStore } from "./support.ts";
import { startApiOn } from "../support/api.ts";
import { newPlace } from "../support/content-places.ts";

const stage = useStore({ keepDays: 7 });
const [older, newer, newest, last] = [7, 8, 9, 10].map((byte) => Buffer.alloc(32, byte)) as [
  Buffer,
  Buffer,
  Buffer,
  Buffer,
];
const settings = (...keys: Buffer[]) => ({
  CADASTRE_DATABASE: stage.api.address,
  CADASTRE_ENCRYPTION_KEY: keys.map((key) => key.toString("hex")).join(),
  CADASTRE_CONTENTS: stage.store.address("register"),
  ...storeCredentials,
});
const keyIds = async () => {
  const rows = await stage.api.database.reader.db.selectFrom("contents").select(["keyId", "object"]).execute();
  return [...new Set(rows.map((row) => row.keyId))];
};
const states = new Map<string, string>();
let owner: Awaited<ReturnType<typeof makeOrganization>>["owner"];
beforeAll(async () => {
  const organization = await makeOrganization(stage.api);
  ({ owner } = organization);
  for (let serial = 1; serial <= 5; serial += 1) {
    const state = stateOf({ serial });
    const { id } = await makeWorkspace(stage.api, organization.name);
    states.set((await writeState(owner, id, state)).id, state);
  }
  // Stores the check value of the key.
  expect((await cadastre(["key", "list"], settings(older))).code).toBe(0);
});
// Other tests rely on the check value of their key.
afterAll(() => stage.api.database.write(({ db }) => db.deleteFrom("meta").execute()));

test("counts objects by key, and refuses to leave them behind", async () => {
  const { out } = await cadastre(["key", "list", "--json"], settings(older));
  const [{ id, secrets }] = JSON.parse(out) as [{ id: string; secrets: number }];
  expect(id).toBe(createVault(older).keyId);
  expect(secrets).toBeGreaterThanOrEqual(states.size);
  const without = await cadastre(["key", "rotate"], { ...settings(newer, older), CADASTRE_CONTENTS: "database" });
  expect(without).toMatchObject({ code: 1, err: expect.stringContaining("Set CADASTRE_CONTENTS to that place") });
  expect(await keyIds()).toEqual([createVault(older).keyId]);
});

test("names a damaged object, re-encrypts all others, and succeeds when it is restored", async () => {
  const [path = ""] = stage.store.objects("register");
  const bytes = await stage.store.read(path);
  await stage.store.write(path, Buffer.alloc(bytes.length));
  const { code, err } = await cadastre(["key", "rotate"], settings(newer, older));
  await stage.store.write(path, bytes);
  expect({ code, err }).toMatchObject({
    code: 1,
    err: expect.stringMatching(/1 content can't be read, such as sc-\w+: The stored content sc-\w+ is damaged/),
  });
  const left = stage.api.database.reader.db.selectFrom("contents").select("object");
  const [only, ...others] = await left.where("keyId", "=", createVault(older).keyId).execute();
  expect(others).toEqual([]);
  expect(path.endsWith(`/${only?.object}`)).toBe(true);
  expect((await cadastre(["key", "rotate"], settings(newer, older))).code).toBe(0);
  expect(await keyIds()).toEqual([createVault(newer).keyId]);
});

test("continues after it was killed", async () => {
  stage.proxy.methods = ["PUT"];
  stage.proxy.passing = 2;
  stage.proxy.fault = "silence";
  const killed = start(["key", "rotate"], {
    ...settings(newest, newer, older),
    CADASTRE_CONTENTS: stage.store.address("register", stage.proxy.port),
  });
  await until(async () => (await keyIds()).length === 2, "an object is re-encrypted, and others are being written");
  killed.process.kill("SIGKILL");
  await killed.ended;
  stage.proxy.heal();
  expect(await keyIds()).toHaveLength(2);
  expect((await cadastre(["key", "rotate"], settings(newest, newer, older))).code).toBe(0);
  expect(await keyIds()).toEqual([createVault(newest).keyId]);
});

test("continues after the store was unavailable; then the new key is enough, and a copy from before is refused", async () => {
  const before = stage.store.objects("register");
  const copies = new Map(await Promise.all(before.map(async (path) => [path, await stage.store.read(path)] as const)));
  stage.proxy.methods = ["PUT"];
  stage.proxy.fault = 503;
  const failed = await cadastre(["key", "rotate"], {
    ...settings(last, newest),
    CADASTRE_CONTENTS: stage.store.address("register", stage.proxy.port),
  });
  stage.proxy.heal();
  expect(failed).toMatchObject({ code: 1, err: expect.stringContaining("Run the command again") });

  const rotated = await cadastre(["key", "rotate"], settings(last, newest));
  expect(rotated).toMatchObject({
    code: 0,
    out: expect.stringContaining("every secret is now encrypted with the key"),
  });
  expect(await keyIds()).toEqual([createVault(last).keyId]);
  // The old objects stay for a while, for backups without contents.
  expect(stage.store.objects("register")).toEqual(expect.arrayContaining(before));

  const contentPlace = await newPlace(stage.store.address("register"), stage.api.database);
  const { address, database } = stage.api;
  const api = await startApiOn(
    { address, database, drop: async () => {} },
    { vault: createVault(last), options: { contentPlace } },
  );
  const as = api.as(owner.token);
  for (const [id, state] of states)
    expect(await fetchState(api, as, `/state-versions/${id}/download`)).toMatchObject({ status: 200, text: state });

  const rows = await database.reader.db.selectFrom("contents").select(["object", "stateVersionId"]).execute();
  for (const [path, bytes] of copies)
    for (const { object } of rows) {
      const current = stage.store.objects("register").find((each) => each.endsWith(`/${object}`)) ?? "";
      if ((await stage.store.read(current)).length === bytes.length && path !== current)
        await stage.store.write(current, bytes);
    }
  const statuses = [];
  for (const id of states.keys()) statuses.push((await fetchState(api, as, `/state-versions/${id}/download`)).status);
  expect(new Set(statuses)).toEqual(new Set([500]));
  await api.server.close();
  contentPlace.stop();
});
