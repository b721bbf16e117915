/** Re-encryption of every secret with another key while servers run. */
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { migrations } from "../../src/database/migrate.ts";
import { countByKey, resealAll } from "../../src/database/resealing.ts";
import { sealedTables } from "../../src/database/sealed.ts";
import { checkVault, createVault, retireOlderKeys, type Vault } from "../../src/database/vault.ts";
import { publishedKeys } from "../../src/resources/runs/identity-keys/writes.ts";
import { addFirstAdmin, type Api, startApi, startApiOn } from "../support/api.ts";
import { data, resource, unique } from "../support/builders.ts";
import { newDatabase } from "../support/database.ts";
import { vault as older } from "../support/states.ts";
import { makeTenant, type Tenant } from "../support/tenant.ts";

const [olderKey, newerKey] = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)];
/** Of a server that was restarted with the new key first. */
const newer = createVault(newerKey, olderKey);

let api: Api;
let tenant: Tenant;
beforeAll(async () => {
  api = await startApi();
  tenant = await makeTenant(api);
  await publishedKeys(api.database, older);
  await fillTheRest(api);
});
afterAll(() => api.stop());

/** Tables in which the test's tenant has no rows. */
async function fillTheRest({ database }: Api): Promise<void> {
  await database.write(async ({ db }) => {
    for (const { table, key, owners } of sealedTables)
      for (const [column, owner] of Object.entries(owners)) {
        const columns = sql.join(key.map((name) => sql.ref(name)));
        const { rows } = await sql<Record<string, string>>`
          select ${columns} from ${sql.table(table)} where ${sql.ref(column)} is null limit 1`.execute(db);
        const [row] = rows;
        if (row === undefined) continue;
        const values = Object.values(row);
        const isRow = sql.join(
          key.map((name, position) => sql`${sql.ref(name)} = ${values[position]}`),
          sql` and `,
        );
        await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${older.seal(owner(values), Buffer.from("filled"))}
          where ${isRow}`.execute(db);
      }
  });
}

/** The plaintext of every sealed value, by table, row and column. */
async function opened({ database }: Api, vault: Vault): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const { table, key, owners } of sealedTables)
    for (const [column, owner] of Object.entries(owners)) {
      const columns = sql.join([...key, column].map((name) => sql.ref(name)));
      const { rows } = await sql<Record<string, never>>`select ${columns} from ${sql.table(table)}`.execute(
        database.reader.db,
      );
      for (const row of rows) {
        const values = Object.values(row);
        const sealed = values.pop() as Uint8Array | undefined;
        if (!sealed) continue;
        const bytes = vault.open(owner(values), sealed);
        found.set(`${table} ${values.join()} ${column}`, Buffer.from(bytes).toString("base64"));
      }
    }
  return found;
}

const sum = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((all, count) => all + count, 0);

describe("the list of sealed columns", () => {
  it("has every column of bytes", () => {
    const renamed = new Map([
      ["state_chunks", "content_chunks"],
      ["notices_of_all", "notices"],
    ]);
    const made = migrations.flatMap(({ statements }) =>
      statements.flatMap((statement) => {
        const [, table = ""] = /^\s*(?:CREATE|ALTER) TABLE (\w+)/.exec(statement) ?? [];
        const columns = [...statement.matchAll(/(\w+) BYTES\b/g)].map(([, column]) => column);
        return columns.map((column) => `${renamed.get(table) ?? table}.${column}`);
      }),
    );
    const listed = sealedTables.flatMap(({ table, owners }) =>
      Object.keys(owners).map((column) => `${table}.${column}`),
    );
    expect(listed.toSorted()).toEqual(made.toSorted());
  });
});

describe("re-encryption", () => {
  it("encrypts every value with the new key, and changes none", async () => {
    const before = await opened(api, older);
    const places = new Set([...before.keys()].map((place) => place.replace(/ \S+ /, ".")));
    // This tenant has no sessions by single sign-on, no run logs, and no mailed links.
    const without = ["sso_sessions.sign_out_url", "run_log_chunks.bytes", "notices.secret"];
    const all = sealedTables.flatMap(({ table, owners }) => Object.keys(owners).map((column) => `${table}.${column}`));
    expect(all.filter((place) => !places.has(place) && !without.includes(place))).toEqual([]);
    expect(await countByKey(api.database)).toEqual(new Map([[older.keyId, before.size]]));

    const reported: number[] = [];
    const done = await resealAll(api.database, newer, (count) => reported.push(count));
    expect(done).toBe(before.size);
    expect(reported.at(-1)).toBe(done);
    expect(await countByKey(api.database)).toEqual(new Map([[newer.keyId, before.size]]));
    expect(await opened(api, createVault(newerKey))).toEqual(before);
    // A second run finds nothing.
    expect(await resealAll(api.database, newer, () => {})).toBe(0);
  });

  it("continues where it was stopped", async () => {
    const back = createVault(olderKey, newerKey);
    const total = sum(await countByKey(api.database));
    const stop = new AbortController();
    const first = resealAll(api.database, back, () => stop.abort(), stop.signal);
    await expect(first).rejects.toThrow(/^Stopped after re-encrypting \d+ secrets?\./);
    const done = (await countByKey(api.database)).get(back.keyId) ?? 0;
    expect(done).toBeGreaterThan(0);
    expect(done).toBeLessThan(total);
    expect(await resealAll(api.database, back, () => {})).toBe(total - done);
    expect(await countByKey(api.database)).toEqual(new Map([[back.keyId, total]]));
  });

  it("skips values that change meanwhile, and servers with both keys keep working", async () => {
    const { address, database } = api;
    const server = await startApiOn({ address, database, drop: async () => {} }, { vault: newer });
    const owner = server.as(tenant.owner.token);
    const path = `/workspaces/${tenant.params["workspace_id"]}/vars`;
    const made: { readonly id: string; readonly value: string }[] = [];
    const ending = new AbortController();
    const use = async () => {
      while (!ending.signal.aborted) {
        const attributes = { key: unique("key"), category: "terraform", value: unique("v") };
        const { id } = data(await owner.post(path, resource("vars", attributes)));
        const value = unique("w");
        data(await owner.patch(`${path}/${id}`, resource("vars", { value })));
        made.push({ id, value });
      }
    };
    const using = [use(), use()];
    await resealAll(database, newer, () => {});
    while (made.length < 4) await Promise.race([new Promise(setImmediate), ...using]);
    ending.abort();
    await Promise.all(using);
    const { body } = await owner.get(path);
    const values = new Map<string, string>(body.data.map((each: never) => [each["id"], each["attributes"]["value"]]));
    expect(made.filter(({ id, value }) => values.get(id) !== value)).toEqual([]);
    expect([...(await countByKey(database)).keys()]).toEqual([newer.keyId]);
    await server.stop();
  });
});

describe("a retired key", () => {
  it("can't encrypt any more: a server with it is refused at start and at every write", async () => {
    const register = await newDatabase();
    await addFirstAdmin(register.database);
    const own = await startApiOn(register);
    try {
      await checkVault(own.database, older);
      await own.database.write((tx) => retireOlderKeys(tx, newer));
      const refused = await own.admin.post("/admin/users", resource("users", { username: "a", email: "a@b.example" }));
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(refused.body.errors[0].detail).toContain(`The encryption key ${older.keyId} was retired`);
      expect((await fetch(`${own.url}/readyz`)).status).toBe(503);
      expect((await own.admin.get("/account/details")).status).toBe(200);
      await expect(checkVault(own.database, older)).rejects.toThrow(/was retired.*Put the new key before it/);
      await checkVault(own.database, newer);
      expect((await fetch(`${own.url}/readyz`)).status).toBe(200);
    } finally {
      await own.stop();
    }
  });
});
