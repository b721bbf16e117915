/** Backups with and without contents, restores into each database and store, and the adoption of a place. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { contentJobs } from "../../src/jobs/index.ts";
import { registerIdentity } from "../../src/resources/shared/contents/register-identity.ts";
import { type Api, type Caller, startApiOn } from "../support/api.ts";
import { makeOrganization, makeWorkspace } from "../support/builders.ts";
import { newPlace } from "../support/content-places.ts";
import { storeCredentials } from "../support/object-store.ts";
import { fetchState, jobContextOf, managed, post, stateAttributes, stateOf, writeState } from "../support/states.ts";
import { until } from "../support/waiting.ts";
import { cadastre, dropRegistersAfterwards, newRegister, useFolder } from "../cli/support.ts";
import { useStore } from "./support.ts";

dropRegistersAfterwards();
const folder = useFolder();
const stage = useStore({ keepDays: 0 });
const key = "07".repeat(32);
const place = "s3://contents/register";

const settingsOf = (address: string, contents = stage.store.address("register")) => ({
  CADASTRE_DATABASE: address,
  CADASTRE_ENCRYPTION_KEY: key,
  CADASTRE_CONTENTS: contents,
  ...storeCredentials,
});
const source = () => settingsOf(stage.api.address);
const objects = () => stage.store.objects("register");

let owner: Caller;
let organization: string;
const states = new Map<string, string>();

async function makeState(): Promise<string> {
  const state = stateOf({ resources: [managed(`r${states.size}`, 50)] });
  const { id } = await makeWorkspace(stage.api, organization);
  const version = await writeState(owner, id, state);
  states.set(version.id, state);
  return version.id;
}

beforeAll(async () => {
  ({ name: organization, owner } = await makeOrganization(stage.api));
  for (let count = 0; count < 4; count += 1) await makeState();
  // Stores the check value of the key.
  expect((await cadastre(["key", "list"], source())).code).toBe(0);
});
// Other tests rely on the check value of their key.
afterAll(() => stage.api.database.write(({ db }) => db.deleteFrom("meta").execute()));

/** A server on a restored register. */
async function serve(address: string, contents: string | undefined): Promise<Api> {
  const database = openDatabase(address);
  const contentPlace = contents === undefined ? undefined : await newPlace(contents, database, 0);
  return startApiOn({ address, database, drop: () => database.close() }, { options: { contentPlace } });
}

async function verifyStates(api: Api): Promise<void> {
  for (const [id, state] of states)
    expect(await fetchState(api, api.as(owner.token), `/state-versions/${id}/download`)).toMatchObject({
      status: 200,
      text: state,
    });
}

const runJob = (api: Api) => contentJobs(api.contentPlace)[0]?.run(jobContextOf(api));

describe("a backup with contents", () => {
  const file = join(folder, "with.backup");

  test.each(["sqlite", "postgres"] as const)(
    "needs no store, and is restored into %s, a store or none",
    async (engine) => {
      expect(await cadastre(["backup", file], source())).toMatchObject({ code: 0 });
      expect(await cadastre(["backup", "verify", file], settingsOf("sqlite:none", "database"))).toMatchObject({
        code: 0,
      });
      const target = await newRegister(engine);
      const restored = settingsOf(target.CADASTRE_DATABASE, "database");
      expect(await cadastre(["restore", file], restored)).toMatchObject({ code: 0 });
      const plain = await serve(target.CADASTRE_DATABASE, undefined);
      await verifyStates(plain);
      await plain.stop();

      const other = stage.store.address(`other-${engine}`);
      const moved = await cadastre(
        ["contents", "move", "--to", `s3://contents/other-${engine}`],
        settingsOf(target.CADASTRE_DATABASE, other),
      );
      expect(moved).toMatchObject({ code: 0 });
      const api = await serve(target.CADASTRE_DATABASE, other);
      await verifyStates(api);
      await api.stop();
    },
  );

  test("is refused if an object is missing, and leaves no file", async () => {
    const [path = ""] = objects();
    const bytes = await stage.store.read(path);
    await stage.store.remove(path);
    const failed = await cadastre(["backup", join(folder, "lost.backup")], source());
    await stage.store.write(path, bytes);
    expect(failed).toMatchObject({
      code: 1,
      err: expect.stringContaining("is missing or incomplete in the object store"),
    });
    const verified = await cadastre(["backup", "verify", join(folder, "lost.backup")], source());
    expect(verified.err).toContain("can't be read");
  });
});

describe("a backup without contents", () => {
  const file = join(folder, "without.backup");
  const verify = (...words: string[]) => cadastre(["backup", "verify", file, ...words], source());

  test("names the objects that it needs, and is verified against them", async () => {
    const written = await cadastre(["backup", file, "--without-contents"], source());
    expect(written.out).toMatch(
      /It needs \d+ objects \(\d+ bytes\) in s3:\/\/contents\/register, which stay there for 7 days/,
    );
    expect(await verify()).toMatchObject({ code: 0, out: expect.stringContaining("are in the object store.") });
    expect((await verify("--deep")).out).toContain("and every byte was verified.");

    const [path = ""] = objects();
    const bytes = await stage.store.read(path);
    await stage.store.remove(path);
    expect(await verify()).toMatchObject({ code: 1, err: expect.stringMatching(/1 of the \d+ objects .*is missing/) });
    await stage.store.write(path, bytes.subarray(1));
    expect((await verify()).err).toContain(`has ${bytes.length - 1} instead of ${bytes.length} bytes`);
    await stage.store.write(path, Buffer.from(bytes).fill(0, bytes.length - 1));
    expect((await verify()).code).toBe(0);
    expect((await verify("--deep")).err).toContain("is damaged");
    await stage.store.write(path, bytes);
    expect((await verify("--deep")).code).toBe(0);

    const database = await cadastre(["backup", "verify", file], settingsOf("sqlite:none", "database"));
    expect(database).toMatchObject({ code: 1, err: expect.stringContaining(`it needs objects in ${place}`) });
    stage.proxy.fault = 503;
    const away = await cadastre(
      ["backup", "verify", file],
      settingsOf("sqlite:none", stage.store.address("register", stage.proxy.port)),
    );
    expect(away).toMatchObject({ code: 1, err: expect.stringContaining("is not available") });
  });

  test("is restored as a register of its own, which deletes nothing until it adopts the place, and then only its own objects", async () => {
    const engine = inject("engine") === "sqlite" ? "postgres" : "sqlite";
    const target = await newRegister(engine);
    const refused = await cadastre(["restore", file], settingsOf(target.CADASTRE_DATABASE, "database"));
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("Set CADASTRE_CONTENTS") });
    // After the backup: the restored register knows nothing of it.
    const ofBackup = objects();
    const later = await makeState();
    const unknown = objects().filter((path) => !ofBackup.includes(path));
    expect(await cadastre(["restore", file], settingsOf(target.CADASTRE_DATABASE))).toMatchObject({
      code: 0,
      out: expect.stringContaining("cadastre contents adopt"),
    });
    const origin = await registerIdentity(stage.api.database);
    const api = await serve(target.CADASTRE_DATABASE, stage.store.address("register"));
    expect(await registerIdentity(api.database)).toEqual({
      id: expect.not.stringContaining(origin.id),
      origin: origin.id,
    });

    states.delete(later);
    await verifyStates(api);
    await api.database.write(async ({ db }) => {
      const nobody = { stateVersionId: null, configurationVersionId: null, runId: null };
      await db.updateTable("contents").set(nobody).execute();
    });
    await runJob(api);
    await runJob(api);
    expect(objects()).toEqual(expect.arrayContaining([...ofBackup, ...unknown]));

    const adopt = () => cadastre(["contents", "adopt"], settingsOf(target.CADASTRE_DATABASE));
    expect((await adopt()).out).toContain(`${place} now belongs to this register`);
    expect((await adopt()).out).toContain("already belongs to this register");
    expect((await cadastre(["contents", "adopt"], source())).err).toContain("belongs to another register");
    await api.contentPlace?.confirmDeletion();
    await runJob(api);
    await runJob(api);
    expect(objects().filter((path) => ofBackup.includes(path))).toEqual([]);
    expect(objects()).toEqual(expect.arrayContaining(unknown));
    await api.stop();
  });

  test("the origin can't start on an adopted place, stops writing to it within a minute, and deletes nothing in it", async () => {
    await expect(newPlace(stage.store.address("register"), stage.api.database)).rejects.toThrow(
      "belongs to another register",
    );
    const before = objects();
    await until(
      async () => {
        const { id } = await makeWorkspace(stage.api, organization);
        await owner.post(`/workspaces/${id}/actions/lock`);
        const state = stateOf({ resources: [managed("late", 50)] });
        const { status } = await post(owner, id, stateAttributes(state));
        return status === 503;
      },
      "the origin refuses to write",
      60,
    );
    await stage.api.database.write(({ db }) => db.updateTable("contents").set({ stateVersionId: null }).execute());
    await runJob(stage.api)?.catch(() => {});
    expect(objects()).toEqual(expect.arrayContaining(before));
  });
});
