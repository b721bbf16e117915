/** What a start refuses, and what it only warns about. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openPlace, startPlace } from "../../src/contents.ts";
import type { Database } from "../../src/database/database.ts";
import { setFact } from "../../src/database/meta.ts";
import { parseContents } from "../../src/object-store/address.ts";
import { detachObject } from "../../src/resources/shared/contents/unattached-objects.ts";
import { deleteUnattachedObjects } from "../../src/resources/shared/contents/object-cleanup.ts";
import { registerIdFact, registerOriginFact } from "../../src/resources/shared/contents/register-identity.ts";
import type { ContentPlace } from "../../src/resources/shared/contents/content-place.ts";
import { newDatabase, type TestDatabase } from "../support/database.ts";
import { type ObjectServer, startObjectServer, storeCredentials } from "../support/object-store.ts";
import { jobContextOf } from "../support/states.ts";

let store: ObjectServer;
const databases: TestDatabase[] = [];
const places: ContentPlace[] = [];

beforeAll(async () => {
  store = await startObjectServer();
});
afterEach(() => {
  for (const place of places.splice(0)) place.stop();
});
afterAll(async () => {
  for (const { drop } of databases) await drop();
  await store.stop();
});

async function register(): Promise<Database> {
  const made = await newDatabase();
  databases.push(made);
  return made.database;
}

/** Returns the warnings. */
async function start(database: Database, address: string, credentials: object = storeCredentials): Promise<string[]> {
  for (const name of Object.keys(storeCredentials)) delete process.env[name];
  Object.assign(process.env, { AWS_EC2_METADATA_DISABLED: "true" }, credentials);
  const warnings: string[] = [];
  const settings = { contents: parseContents(address), contentsKeepDays: 0 };
  const place = openPlace(settings);
  if (place !== undefined) places.push(place);
  await startPlace(settings, place, database, (sentence) => warnings.push(sentence));
  return warnings;
}

describe("a start is refused", () => {
  const cases: readonly (readonly [string, (address: string) => string, object, RegExp])[] = [
    [
      "a missing bucket",
      (a) => a.replace("s3://contents", "s3://missing"),
      storeCredentials,
      /names the bucket 'missing', which does not exist/,
    ],
    ["a wrong region", (a) => a.replace("us-east-1", "eu-west-1"), storeCredentials, /has the wrong region, eu-west-1/],
    ["a wrong secret", (a) => a, { ...storeCredentials, AWS_SECRET_ACCESS_KEY: "x" }, /refuses the credentials/],
    ["an unknown key", (a) => a, { ...storeCredentials, AWS_ACCESS_KEY_ID: "x" }, /refuses the credentials/],
    ["no credentials", (a) => a, {}, /needs credentials for the bucket 'contents', and there are none/],
  ];
  it.each(cases)("%s", async (_, change, credentials, sentence) => {
    await expect(start(await register(), change(store.address("refused")), credentials)).rejects.toThrow(sentence);
    await expect(start(await register(), change(store.address("refused")), credentials)).rejects.toThrow(
      /^CADASTRE_CONTENTS /,
    );
  });

  it("in a place of another register, which has a prefix of its own", async () => {
    await start(await register(), store.address("place"));
    await expect(start(await register(), store.address("place"))).rejects.toThrow(
      /The place s3:\/\/contents\/place belongs to another register\. Name another bucket or prefix/,
    );
    expect(await start(await register(), store.address("place2"))).toEqual([]);
    expect(await start(await register(), store.address(""))).toEqual([]);
  });

  it("with the database or another place, while contents are in a place", async () => {
    const database = await register();
    await database.write(async ({ db }) => {
      const kind = { kind: "plan", size: 1, md5: "", chunkCount: 1, complete: 1, touchedAt: "", ownerId: null };
      const at = { place: "s3://contents/used", object: "a", objectBytes: 1, keyId: "", chunkSizes: null };
      const owners = { stateVersionId: null, configurationVersionId: null, runId: null };
      await db
        .insertInto("contents")
        .values({ id: "sc-1", organizationId: "org-1", ...owners, ...kind, ...at })
        .execute();
    });
    const sentence =
      /1 content of this register is in s3:\/\/contents\/used\. .*'cadastre contents move --to database'/;
    await expect(start(database, "database")).rejects.toThrow(sentence);
    await expect(start(database, store.address("other"))).rejects.toThrow(sentence);
    expect(await start(database, store.address("used"))).toEqual([]);
  });
});

it("an unreachable endpoint is only warned about", async () => {
  const [warning, ...others] = await start(await register(), store.address("later", 1));
  expect(others).toEqual([]);
  expect(warning).toMatch(/The object store of CADASTRE_CONTENTS can't be reached \(ECONNREFUSED/);
});

it("deletes nothing in a place that is marked with its origin, and deletes in its own", async () => {
  const origin = await register();
  await start(origin, store.address("shared"));
  const { value } = await origin.reader.db
    .selectFrom("meta")
    .select("value")
    .where("name", "=", registerIdFact)
    .executeTakeFirstOrThrow();
  const restored = await register();
  await restored.write((tx) => setFact(tx, registerOriginFact, value));

  const clean = async (database: Database) => {
    expect(await start(database, store.address("shared"))).toEqual([]);
    const place = places.at(-1)!;
    const name = "00112233445566778899aabbccddeeff";
    await place.store.replace(place.keyOf(name), Buffer.from("bytes"));
    await database.write((tx) => detachObject(tx, { place: place.name, name }));
    await deleteUnattachedObjects(jobContextOf({ audited: database, contentPlace: place } as never));
    return place.store.size(place.keyOf(name));
  };
  expect(await clean(restored)).toBe(5);
  expect(await clean(origin)).toBeUndefined();
});
