/** The object store fails: contents are refused with 503 in time, everything else works, and nothing half-written becomes visible. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, it } from "vitest";
import { openPlace, startPlace } from "../../src/contents.ts";
import { parseContents } from "../../src/object-store/address.ts";
import type { Answer } from "../support/api.ts";
import { data, details, resource, unique } from "../support/builders.ts";
import { storeCredentials, type StoreFault } from "../support/object-store.ts";
import { fetchState, managed, put, stateOf } from "../support/states.ts";
import { uploadUrlOf, useStage } from "../resources/state/state-versions/support.ts";
import { scaled, until } from "../support/waiting.ts";
import { useStore } from "./support.ts";

const stage = useStore();
const { api } = stage;
const states = useStage(api);

const download = (id: string) => fetchState(api, states.owner, `/state-versions/${id}/download`);
const contentsStatus = async (): Promise<string> =>
  ((await (await fetch(`${api.url}/readyz`)).json()) as { contents: string }).contents;
const backAgain = () => until(async () => (await contentsStatus()) === "available", "the store is available again");

function expectUnavailable({ status, headers, body }: Answer): void {
  expect([status, details({ body } as never)]).toEqual([
    503,
    ["The object store with the contents is not available. Try again shortly."],
  ]);
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
}

const fullUri = "AWS_CONTAINER_CREDENTIALS_FULL_URI";

/** Ten seconds of silence, and what a loaded machine needs besides. */
const patienceMs = 10_000 + scaled(5_000);

describe.each<StoreFault>(["cut", "silence", 403, 500, 503, 507])("%s", (fault) => {
  it("refuses contents in time, keeps everything else working, and leaves nothing half-written", async () => {
    const text = stateOf();
    const version = await states.write(text);
    await states.lock();
    const next = stateOf({ serial: 2 });
    const announced = await states.announce(next);
    const objects = stage.store.objects();
    stage.proxy.fault = fault;

    const startedAt = performance.now();
    const [read, sent, uploaded] = await Promise.all([
      states.owner.get(`/state-versions/${version.id}/download`),
      states.send(stateOf({ serial: 3 }), { force: true }),
      put(uploadUrlOf(announced), next),
    ]);
    expect(performance.now() - startedAt).toBeLessThan(patienceMs);
    for (const answer of [read, sent, uploaded]) expectUnavailable(answer);

    expect(await contentsStatus()).toBe("unavailable");
    expect((await fetch(`${api.url}/readyz`)).status).toBe(200);
    const made = resource("workspaces", { name: unique("ws") });
    data(await states.owner.post(`/organizations/${states.org.name}/workspaces`, made));
    expect(await states.status(announced.id)).toBe("pending");
    const versions = data(
      await states.owner.get(
        `/state-versions?filter[organization][name]=${states.org.name}&filter[workspace][name]=${states.workspace.attributes.name}`,
      ),
    );
    expect(versions).toHaveLength(2);

    stage.proxy.heal();
    await backAgain();
    expect((await put(uploadUrlOf(announced), next)).status).toBe(204);
    expect(await download(version.id)).toEqual({ status: 200, text });
    expect(await download(announced.id)).toEqual({ status: 200, text: next });
    await until(async () => {
      await stage.runJob();
      return (await stage.unattached()).length === 0;
    }, "leftovers are deleted");
    expect(stage.store.objects().length).toBe(objects.length + 1);
  });
});

it("a full store stays unavailable until a write has succeeded, although it answers reads", async () => {
  const version = await states.write(stateOf());
  await states.lock();
  const objects = stage.store.objects();
  stage.proxy.methods = ["PUT"];
  stage.proxy.fault = 507;
  expectUnavailable(await states.send(stateOf({ serial: 2 })));
  const seen = new Set<string>();
  const isChecked = () => stage.proxy.requests.filter((each) => /^PUT .*cadastre-check/.test(each)).length >= 2;
  stage.proxy.requests = [];
  await until(async () => {
    seen.add(await contentsStatus());
    return isChecked();
  }, "the store is checked");
  expect([...seen]).toEqual(["unavailable"]);
  expect((await download(version.id)).status).toBe(200);
  stage.proxy.heal();
  await backAgain();
  expect((await states.send(stateOf({ serial: 2 }))).status).toBe(201);
  expect(stage.store.objects()).toHaveLength(objects.length + 1);
});

describe("a large content", () => {
  const large = () => stateOf({ resources: [managed("a", 1, { bulk: randomBytes(3_000_000).toString("hex") })] });

  it.each<StoreFault>(["short", "slow"])("%s: the connection is closed after verified bytes", async (fault) => {
    const version = await states.upload(large());
    stage.proxy.fault = fault;
    const url = `${api.url}/api/v2/state-versions/${version.id}/download`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${states.owner.token}` } });
    expect(answer.status).toBe(200);
    await expect(answer.arrayBuffer()).rejects.toThrow();
    await until(() => stage.proxy.openRequests === 0, "the request to the store has ended");
  });

  it("a reader that disconnects leaves no request to the store open", async () => {
    const version = await states.upload(large());
    stage.proxy.fault = "slow";
    const stop = new AbortController();
    const url = `${api.url}/api/v2/state-versions/${version.id}/download`;
    const headers = { authorization: `Bearer ${states.owner.token}` };
    await fetch(url, { headers, signal: stop.signal });
    expect(stage.proxy.openRequests).toBeGreaterThan(0);
    stop.abort();
    await until(() => stage.proxy.openRequests === 0, "the request to the store has ended");
    stage.proxy.heal();
    await backAgain();
  });
});

describe.each(["silent", "closed"] as const)("the source of credentials is %s", (kind) => {
  const source = createServer(() => undefined);
  const before = { ...process.env };
  afterAll(() => {
    for (const name of Object.keys(storeCredentials)) process.env[name] = before[name];
    delete process.env[fullUri];
    source.closeAllConnections();
    source.close();
  });

  it("contents are refused in time, at the start and later, and the start only warns", async () => {
    source.listen(0, "127.0.0.1");
    await once(source, "listening");
    const { port } = source.address() as AddressInfo;
    if (kind === "closed") source.close();
    for (const name of Object.keys(storeCredentials)) delete process.env[name];
    process.env[fullUri] = `http://127.0.0.1:${port}/credentials`;
    const settings = { contents: parseContents(stage.store.address("register")), contentsKeepDays: 7 };
    const place = openPlace(settings);
    const warnings: string[] = [];
    const startedAt = performance.now();
    await startPlace(settings, place, api.database, (sentence) => warnings.push(sentence));
    expect(warnings).toEqual([expect.stringContaining("can't be reached")]);
    await expect(place?.store.get("one")).rejects.toMatchObject({ result: "unavailable" });
    await expect(place?.store.replace("one", Buffer.from("two"))).rejects.toMatchObject({ result: "unavailable" });
    expect(performance.now() - startedAt).toBeLessThan(3 * patienceMs);
    place?.stop();
  });
});

it("shows requests in the metrics, by operation and result", async () => {
  const text = await (
    await fetch(`${api.url}/metrics`, { headers: { authorization: `Bearer ${api.admin.token}` } })
  ).text();
  for (const [operation, result] of [
    ["put", "ok"],
    ["get", "ok"],
    ["put", "unavailable"],
    ["get", "refused"],
  ])
    expect(text).toContain(`cadastre_contents_requests_total{operation="${operation}",result="${result}"}`);
  expect(text).toMatch(/cadastre_contents_seconds_bucket\{.*operation="get"/);
});
