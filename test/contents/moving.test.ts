/** `cadastre contents move`: between the database and an object store, while servers run, also if it is killed. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Api, type Caller, startApi, startApiOn } from "../support/api.ts";
import { data, makeOrganization, makeWorkspace } from "../support/builders.ts";
import {
  fetchState,
  jobContextOf,
  lock,
  managed,
  md5,
  pendingStateAttributes,
  post,
  put,
  slowPut,
  stateOf,
  vault,
  writeState,
} from "../support/states.ts";
import { openPlace, startPlace } from "../../src/contents.ts";
import { parseContents } from "../../src/object-store/address.ts";
import { orphanContent } from "../../src/resources/shared/contents/contents.ts";
import { relocateToPlace } from "../../src/resources/shared/contents/relocation.ts";
import { cadastre, start } from "../cli/support.ts";
import { until } from "../support/waiting.ts";
import { newPlace } from "../support/content-places.ts";
import { logUrlOf, storeRun, testVault } from "../support/phases.ts";
import { appendLog } from "../../src/resources/runs/phases/logs.ts";
import { now } from "../../src/kernel/time.ts";
import { FaultProxy, type ObjectServer, startObjectServer, storeCredentials } from "../support/object-store.ts";

const key = "07".repeat(32);
const place = "s3://contents/moved";

let store: ObjectServer;
let proxy: FaultProxy;
let api: Api;
let owner: Caller;
let organization: string;
let organizationId: string;
const digests = new Map<string, string>();

const settings = (extra: Record<string, string> = {}) => ({
  CADASTRE_DATABASE: api.address,
  CADASTRE_ENCRYPTION_KEY: key,
  CADASTRE_CONTENTS: store.address("moved", proxy.port),
  ...storeCredentials,
  ...extra,
});
const move = (to: string, extra?: Record<string, string>) =>
  cadastre(["contents", "move", "--to", to], settings(extra));
const contents = () => api.database.reader.db.selectFrom("contents");
const places = async () => {
  const rows = await contents().select("place").where("complete", "=", 1).execute();
  return [...new Set(rows.map((row) => row.place))];
};
const count = async () => (await contents().select("id").execute()).length;
const countIn = async (to: string) => {
  const all = contents().select("id");
  const rows = to === "database" ? all.where("place", "is", null) : all.where("place", "=", to);
  return (await rows.execute()).length;
};
const contentsWithChunks = async () =>
  (await api.database.reader.db.selectFrom("contentChunks").select("contentId").distinct().execute()).length;
const unattached = async () => {
  const rows = await api.database.reader.db.selectFrom("unattachedObjects").select(["place", "status"]).execute();
  const groups = Map.groupBy(rows, (row) => `${row.place} ${row.status}`);
  return Object.fromEntries([...groups].map(([group, { length }]) => [group, length]));
};

async function makeState(resources = 3, server: Api = api): Promise<string> {
  const { id } = await makeWorkspace(api, organization);
  const noise = randomBytes(resources * 1000).toString("base64");
  const state = stateOf({ resources: [managed("all", 1, { noise })] });
  const version = await writeState(server.as(owner.token), id, state);
  digests.set(version.id, md5(state));
  return version.id;
}

async function verify(server: Api = api): Promise<void> {
  for (const [id, digest] of digests) {
    const { status, text } = await fetchState(server, server.as(owner.token), `/state-versions/${id}/download`);
    expect({ id, status, digest: md5(text) }).toEqual({ id, status: 200, digest });
  }
}

beforeAll(async () => {
  Object.assign(process.env, storeCredentials);
  store = await startObjectServer();
  proxy = await FaultProxy.start(store.port);
  api = await startApi();
  ({ name: organization, id: organizationId, owner } = await makeOrganization(api));
  for (let size = 1; size <= 12; size += 1) await makeState(size);
  await makeState(900);
});
afterAll(async () => {
  await api.stop();
  await proxy.stop();
  await store.stop();
});

test("moves everything to the store and back, and every byte is the same", async () => {
  const all = await count();
  const there = await move(place);
  expect(there).toMatchObject({ code: 0 });
  expect(there.out).toMatch(new RegExp(`^Moved ${all} contents \\(\\d+ bytes\\) to ${place}\\.$`));
  expect(await places()).toEqual([place]);
  expect(store.objects("moved")).toHaveLength(all);
  // The originals stay for readers that are in the middle of a download, and until it is sure that nobody goes back.
  expect(await contentsWithChunks()).toBeGreaterThanOrEqual(all);
  expect((await move(place)).out).toBe(`Moved 0 contents (0 bytes) to ${place}.`);

  const back = await move("database");
  expect(back).toMatchObject({ code: 0, out: expect.stringContaining(`Moved ${all} contents`) });
  expect(await places()).toEqual([null]);
  await verify();
  expect(store.objects("moved")).toHaveLength(all);
  expect(await unattached()).toEqual({ [`${place} removed`]: all });
});

test("moves while a server reads and writes, with the logs of ended runs", async () => {
  const text = Buffer.from(randomBytes(200_000).toString("base64"));
  const run = await storeRun(api, await makeWorkspace(api, organization), organizationId);
  const phase = () =>
    api.database.reader.db.selectFrom("runPhases").selectAll().where("id", "=", run.plan.id).executeTakeFirstOrThrow();
  for (let offset = 0; offset < text.length; offset += 100_000)
    await api.database.write(async (tx) =>
      appendLog(tx, testVault, await phase(), offset, text.subarray(offset, offset + 100_000)),
    );
  await api.database.write(({ db }) =>
    db.updateTable("runs").set({ endedAt: now() }).where("id", "=", run.id).execute(),
  );

  const { address, database } = api;
  const contentPlace = await newPlace(store.address("moved", proxy.port), database);
  const served = await startApiOn({ address, database, drop: async () => {} }, { options: { contentPlace } });
  for (const to of [place, "database"]) {
    const ended = new AbortController();
    const load = (async () => {
      do {
        await makeState(1, served);
        await verify(served);
      } while (!ended.signal.aborted);
    })();
    const moved = await move(to);
    ended.abort();
    await load;
    expect(moved).toMatchObject({ code: 0 });
    const { logContentId } = await phase();
    const log = await contents().selectAll().where("id", "=", logContentId).executeTakeFirstOrThrow();
    expect(log).toMatchObject({ kind: "plan-log", place: to === "database" ? null : place });
    const pieces: Buffer[] = [];
    for (let offset = 1; offset <= text.length; offset += 50_000) {
      const limit = Math.min(50_000, text.length + 1 - offset);
      const answer = await fetch(`${await logUrlOf(served, run.plan.id)}?offset=${offset}&limit=${limit}`);
      pieces.push(Buffer.from(await answer.arrayBuffer()));
    }
    expect(Buffer.concat(pieces).equals(text)).toBe(true);
  }
  // The server still has the setting, and stores in the database.
  await makeState(1, served);
  expect(await places()).toEqual([null]);
  await verify(served);
  await served.server.close();
  contentPlace.stop();
});

test("moving to the database ends uploads that have begun: they can be sent again, and are then in the database", async () => {
  const { id } = await makeWorkspace(api, organization);
  const { address, database } = api;
  const contentPlace = await newPlace(store.address("moved", proxy.port), database);
  const served = await startApiOn({ address, database, drop: async () => {} }, { options: { contentPlace } });
  expect(await move(place)).toMatchObject({ code: 0 });
  const caller = served.as(owner.token);
  const state = stateOf({ resources: [managed("slow", 1)] });
  await lock(caller, id);
  const version = data(await post(caller, id, pendingStateAttributes(state)));
  const url = version.attributes["hosted-state-upload-url"];
  const sent = slowPut(url);
  await sent.write(state.slice(0, -10));
  await until(async () => (await unattached())[`${place} writing`] === 1, "the upload has begun");
  const moved = move("database");
  await until(async () => (await unattached())[`${place} writing`] === undefined, "the upload is discarded");
  expect((await sent.end(state.slice(-10))).status).toBe(503);
  expect(await moved).toMatchObject({ code: 0 });
  expect(await places()).toEqual([null]);
  expect((await put(url, state)).status).toBe(204);
  digests.set(version.id, md5(state));
  expect(await places()).toEqual([null]);
  await verify(served);
  await served.server.close();
  contentPlace.stop();
});

test("is refused for another place than CADASTRE_CONTENTS names, and changes nothing", async () => {
  const other = await move(`s3://contents/other`);
  expect(other).toMatchObject({ code: 1, err: expect.stringContaining("Set CADASTRE_CONTENTS to the new place") });
  const unset = await move(place, { CADASTRE_CONTENTS: "database" });
  expect(unset).toMatchObject({ code: 1, err: expect.stringContaining("but CADASTRE_CONTENTS names database") });
  expect((await move("database", { CADASTRE_CONTENTS: "database" })).out).toBe(
    "Every content is already in the database.",
  );
  expect((await move("ftp://x")).err).toMatch(/^--to must be database or s3:.* See 'cadastre contents move --help'\.$/);
  expect(await places()).toEqual([null]);
});

test("can be killed in both directions, and continues", async () => {
  for (const to of [place, "database"]) {
    const isThere = async () => (await places()).every((each) => each === (to === "database" ? null : place));
    // As if the copies of the killed command were older, for which the other direction would wait.
    const age = () => api.database.write(({ db }) => db.updateTable("unattachedObjects").set({ since: "" }).execute());
    const killed = start(["contents", "move", "--to", to], settings());
    await until(async () => killed.process.exitCode !== null || (await countIn(to)) > 1, "something moves");
    killed.process.kill("SIGKILL");
    await killed.ended;
    await age();
    expect(await move(to)).toMatchObject({ code: 0 });
    expect(await isThere()).toBe(true);
  }
  await verify();
});

test("refuses a second move at the same time", async () => {
  await api.database.write(async ({ db }) => {
    const row = { name: "contents-move", holder: "another", leaseUntilMs: 1e15, dueMs: 0, startedMs: null };
    const counters = { finishedMs: null, succeededMs: null, lastError: null, runsTotal: 0, failuresTotal: 0 };
    await db
      .insertInto("jobs")
      .values({ ...row, ...counters, handledTotal: 0 })
      .execute();
  });
  const { code, err } = await move(place);
  expect({ code, err }).toMatchObject({
    code: 1,
    err: expect.stringContaining("Another 'cadastre contents move' is running."),
  });
  await api.database.write(({ db }) => db.deleteFrom("jobs").where("name", "=", "contents-move").execute());
  expect(await places()).toEqual([null]);
});

test("stops if the store does not answer, says so, loses nothing, and continues later", async () => {
  proxy.methods = ["PUT"];
  proxy.fault = 503;
  const { code, err } = await move(place);
  proxy.heal();
  expect({ code, err }).toMatchObject({
    code: 1,
    err: expect.stringMatching(/Stopped after 0 contents.*Run the command again/),
  });
  expect(await places()).toEqual([null]);
  await verify();
  proxy.fault = "cut";
  expect(await move(place)).toMatchObject({ code: 1, err: expect.stringContaining("is not available") });
  proxy.heal();
  expect((await move(place)).code).toBe(0);
  expect((await move("database")).code).toBe(0);
  await verify();
});

test("leaves a damaged log where it is, moves everything else, and exits with 1", async () => {
  const run = await storeRun(api, await makeWorkspace(api, organization), organizationId);
  const phases = () => api.database.reader.db.selectFrom("runPhases").selectAll().where("id", "=", run.plan.id);
  await api.database.write(async (tx) => {
    await appendLog(tx, testVault, await phases().executeTakeFirstOrThrow(), 0, Buffer.from("a log"));
    await tx.db
      .updateTable("runLogChunks")
      .set({ bytes: Buffer.alloc(60) })
      .where("phaseId", "=", run.plan.id)
      .execute();
    await tx.db.updateTable("runs").set({ endedAt: now() }).where("id", "=", run.id).execute();
  });
  const { code, err } = await move(place);
  expect({ code, err }).toMatchObject({
    code: 1,
    err: expect.stringContaining(`The log ${run.plan.id} was not moved: `),
  });
  expect(await places()).toEqual([place]);
  await api.database.write(({ db }) => db.deleteFrom("runPhases").where("id", "=", run.plan.id).execute());
  expect(await move("database")).toMatchObject({ code: 0 });
});

test("skips what is deleted meanwhile, and discards its copy", async () => {
  const id = await makeState();
  const held = await contents().selectAll().where("stateVersionId", "=", id).where("kind", "=", "state").execute();
  const content = held[0];
  if (content === undefined) throw new Error("the state has no content");
  const contentPlace = openPlace({ contents: parseContents(store.address("moved")), contentsKeepDays: 7 });
  if (contentPlace === undefined) throw new Error("the address names the database");
  await contentPlace.start(api.database);
  const job = jobContextOf(api);
  const { [`${place} discarded`]: discarded = 0 } = await unattached();
  // Deleted after the copy was made, before the switch.
  const step: typeof job.step = async (work) => {
    if (store.objects("moved").length > before) await api.database.write((tx) => orphanContent(tx, content.id));
    return job.step(work);
  };
  const before = store.objects("moved").length;
  const reader = { database: api.database, vault, options: { contentPlace } };
  const outcome = await relocateToPlace({ reader, contentPlace, signal: job.signal, step }, content);
  contentPlace.stop();
  expect(outcome).toBe("changed");
  const { [`${place} discarded`]: after = 0 } = await unattached();
  expect(after).toBe(discarded + 1);
  digests.delete(id);
});

test("back in the database, contents without an owner keep neither the place nor chunks", async () => {
  const [ofDeleted, deletedThere] = [await makeState(), await makeState()];
  digests.delete(ofDeleted);
  digests.delete(deletedThere);
  const orphan = async (stateVersionId: string) => {
    const rows = await contents().select("id").where("stateVersionId", "=", stateVersionId).execute();
    for (const { id } of rows) await api.database.write((tx) => orphanContent(tx, id));
    return rows.map(({ id }) => id);
  };
  expect(await move(place)).toMatchObject({ code: 0 });
  const ids = [...(await orphan(ofDeleted)), ...(await orphan(deletedThere))];
  const before = (await unattached())[`${place} removed`] ?? 0;
  const back = await move("database");
  expect(back).toMatchObject({ code: 0, out: expect.stringContaining("Objects stay in the store until") });
  expect(await countIn(place)).toBe(0);
  expect(await contents().select("id").where("id", "in", ids).execute()).toEqual([]);
  expect((await unattached())[`${place} removed`]).toBe(before + (await count()) + ids.length);
  await verify();
  // A server without a place starts, and its jobs remove what the database kept for the way back.
  await startPlace({ contents: "database" }, undefined, api.database, () => {});
  expect(await unattached()).toHaveProperty("database removed");
  await cadastre(["job", "run", "abandoned-uploads"], settings({ CADASTRE_CONTENTS: "database" }));
  expect(await unattached()).not.toHaveProperty("database removed");
});

test("leaves a damaged or missing content where it is, moves all others, and exits with 1", async () => {
  expect(await move(place)).toMatchObject({ code: 0 });
  const [first, second] = await api.database.reader.db
    .selectFrom("contents")
    .select(["id", "object"])
    .where("place", "is not", null)
    .orderBy("id")
    .limit(2)
    .execute();
  const fileOf = (object: string | null | undefined) =>
    store.objects("moved").find((name) => name.endsWith(`/${object}`)) ?? "";
  await store.remove(fileOf(first?.object));
  await store.write(fileOf(second?.object), Buffer.alloc(10));
  const { code, err } = await move("database");
  expect(code).toBe(1);
  expect(err).toContain(`${first?.id} was not moved: The stored content ${first?.id} is damaged`);
  expect(err).toContain(`${second?.id} was not moved`);
  expect(await countIn(place)).toBe(2);
  expect(await unattached()).not.toHaveProperty("database writing");
});
