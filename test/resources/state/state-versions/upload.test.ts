/** Uploads to the upload URL: complete, interrupted, slow, repeated and refused. */
import { describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, makeWorkspace, resource, unique } from "../../../support/builders.ts";
import { deep } from "../../../support/depth.ts";
import { fetchState, managed, md5, put, slowPut, stateOf, stateOfSize, writeState } from "../../../support/states.ts";
import {
  chunksOf,
  contentsOf,
  expectFault,
  expectRefused,
  expectSent,
  jsonUploadUrlOf,
  uploadUrlOf,
  useStage,
} from "./support.ts";
import { itInGate } from "../../../support/engine-independent.ts";

const api = useApi();
const stage = useStage(api);

const download = (id: string, form = "download") => fetchState(api, stage.owner, `/state-versions/${id}/${form}`);
const complete = async (id: string) => (await contentsOf(api, id)).filter((content) => content.complete === 1);

describe("uploadState: 204", () => {
  it("needs no token, and finalizes the version", async () => {
    const state = stateOf({ outputs: { a: { value: 1, type: "number" } }, resources: [managed("one", 2)] });
    await stage.lock();
    const version = await stage.announce(state);
    const answer = await put(uploadUrlOf(version), state);
    expect([answer.status, answer.body]).toEqual([204, undefined]);
    const shown = await stage.show(version.id);
    expect(shown.attributes).toMatchObject({
      status: "finalized",
      size: state.length,
      intermediate: true,
      "resources-processed": true,
      "engine-version": "1.9.5",
      "billable-rum-count": 2,
      "hosted-state-upload-url": null,
    });
    expect(shown.relationships.outputs.data).toHaveLength(1);
    expect(await download(version.id)).toEqual({ status: 200, text: state });
    await stage.unlock();
    expect(await stage.currentId()).toBe(version.id);
  });

  it("of the JSON form, before or after the state, also after the unlock", async () => {
    for (const [serial, order] of [
      [1, "before"],
      [2, "after"],
      [3, "later"],
    ] as const) {
      await stage.lock();
      const state = stateOf({ serial });
      const version = await stage.announce(state);
      const json = `{"order":"${order}"}`;
      if (order === "before") expectSent(await put(jsonUploadUrlOf(version), json));
      expect((await download(version.id, "json-download")).status).toBe(404);
      expectSent(await put(uploadUrlOf(version), state));
      if (order === "after") expectSent(await put(jsonUploadUrlOf(version), json));
      await stage.unlock();
      if (order === "later") expectSent(await put(jsonUploadUrlOf(version), json));
      const { attributes } = await stage.show(version.id);
      expect(attributes["hosted-json-state-upload-url"]).toBeNull();
      expect(await fetchState(api, stage.owner, attributes["hosted-json-state-download-url"])).toEqual({
        status: 200,
        text: json,
      });
    }
  });

  itInGate("of many chunks, which are returned unchanged", async () => {
    const state = stateOfSize(3 * 1024 * 1024);
    const version = await stage.upload(state);
    const [content] = await complete(version.id);
    expect(content?.chunkCount).toBeGreaterThan(4);
    expect(await chunksOf(api, content?.id ?? "")).toHaveLength(content?.chunkCount ?? 0);
    const back = await download(version.id);
    expect(md5(back.text)).toBe(md5(state));
  });

  it("in pieces cut anywhere", async () => {
    const state = stateOf({ outputs: { "ä\u{1F600}": { value: "\u{1F600}", type: "string" } } });
    await stage.lock();
    const version = await stage.announce(state);
    const sending = slowPut(uploadUrlOf(version));
    for (const byte of Buffer.from(state)) await sending.write(Buffer.of(byte));
    expectSent(await sending.end());
    expect(await download(version.id)).toEqual({ status: 200, text: state });
  });

  it("once more with the same bytes, when the first response was lost", async () => {
    await stage.lock();
    const version = await stage.announce(stateOf());
    for (let time = 0; time < 3; time += 1) expectSent(await put(uploadUrlOf(version), stateOf()));
    for (let time = 0; time < 3; time += 1) expectSent(await put(jsonUploadUrlOf(version), "{}"));
    await stage.unlock();
    expectSent(await put(uploadUrlOf(version), stateOf()));
    expect(await complete(version.id)).toHaveLength(2);
  });

  it("records an event in the name of the version's creator", async () => {
    const version = await stage.upload(stateOf());
    expectSent(await put(jsonUploadUrlOf(version), "{}"));
    const events = await stage.events(version.id);
    expect(events.map(({ action }) => action)).toEqual([
      "state-versions.create",
      "state-versions.upload",
      "state-versions.upload-json",
    ]);
    for (const event of events) expect(event["actor-id"]).toBe(stage.org.owner.id);
    expect(events[1].after).toEqual({ status: "finalized", size: stateOf().length });
  });
});

describe("uploadState: refused, and the version stays pending", () => {
  it.each<[string, string, string, RegExp]>([
    ["another MD5", stateOf({ serial: 99 }), "md5", /^Md5 does not match the uploaded content; upload it again$/],
    ["no JSON", "no JSON", "state", /^The state is not valid JSON: it has an unexpected character at byte 1\.$/],
    ["half of it", '{"version":4', "state", /^The state is not valid JSON: it ends unexpectedly after 12 bytes\.$/],
    ["nothing", "", "state", /^The state is not valid JSON: it ends unexpectedly/],
    ["no state", '{"colour":"blue"}', "state", /^The state must be a JSON object with a member "version"/],
    ["much that is no state", "x".repeat(3_000_000), "state", /^The state is not valid JSON/],
  ])("422: %s", async (_, content, attribute, sentence) => {
    await stage.lock();
    const version = await stage.announce(stateOf(), content.startsWith("{") ? {} : { md5: md5(stateOf()) });
    expectFault(await put(uploadUrlOf(version), content), attribute, sentence);
    expect(await stage.status(version.id)).toBe("pending");
    expect(await complete(version.id)).toEqual([]);
    expect((await download(version.id)).status).toBe(404);
    // Also on the connections that were refused before: the rest of their bodies does not block them.
    for (let time = 0; time < 3; time += 1) expectSent(await put(uploadUrlOf(version), stateOf()));
    expect(await download(version.id)).toEqual({ status: 200, text: stateOf() });
  });

  it("400: an interrupted upload leaves nothing partial", async () => {
    await stage.lock();
    const state = stateOfSize(1024 * 1024);
    const version = await stage.announce(state);
    const sending = slowPut(uploadUrlOf(version));
    await sending.write(state.slice(0, state.length / 2));
    await expect.poll(() => contentsOf(api, version.id)).toHaveLength(1);
    sending.breakOff();
    expect(await stage.status(version.id)).toBe("pending");
    expect((await stage.tryUnlock()).status).toBe(503);
    expectSent(await put(uploadUrlOf(version), state));
    expect(await complete(version.id)).toHaveLength(1);
    expect((await download(version.id)).text).toBe(state);
    await stage.unlock();
  });

  it("409: bytes other than the stored ones", async () => {
    await stage.lock();
    const version = await stage.announce(stateOf());
    expectSent(await put(uploadUrlOf(version), stateOf()));
    expectSent(await put(jsonUploadUrlOf(version), "{}"));
    const sentence = "This state version already has different content. Create a new state version.";
    expectRefused(await put(uploadUrlOf(version), stateOf({ serial: 2 })), 409, sentence);
    expectRefused(await put(jsonUploadUrlOf(version), "[]"), 409, sentence);
    expect(await download(version.id)).toEqual({ status: 200, text: stateOf() });
    expect(await download(version.id, "json-download")).toEqual({ status: 200, text: "{}" });
  });

  // Takes seconds; contents.test.ts checks the limits in the gate.
  it.runIf(deep(0, 1) === 1).each(["upload", "json-upload"])(
    "413: more than 256 MiB to %s",
    async (form) => {
      await stage.lock();
      const version = await stage.announce(stateOf());
      const piece = "x".repeat(4 * 1024 * 1024);
      const sending = slowPut(form === "upload" ? uploadUrlOf(version) : jsonUploadUrlOf(version));
      await sending.write('{"version":4,"filler":"');
      for (let mebibytes = 0; mebibytes < 256; mebibytes += 4) await sending.write(piece);
      const answer = await sending.end('"}');
      expect(answer.status).toBe(413);
      expect(answer.body.errors[0].detail).toBe("A state can have at most 268435456 bytes; this one has more.");
      expect(await stage.status(version.id)).toBe("pending");
    },
    300_000,
  );
});

describe("an upload without a body", () => {
  it("422: it is not a state, and the version stays pending", async () => {
    await stage.lock();
    const version = await stage.announce(stateOf());
    for (const url of [uploadUrlOf(version)]) {
      const answer = await fetch(url, { method: "PUT" });
      expect(answer.status).toBe(422);
    }
    expectSent(await put(uploadUrlOf(version), stateOf()));
  });
});

describe("too many concurrent uploads", () => {
  it("429 for the next one, until one of them has ended", async () => {
    await stage.lock();
    const version = await stage.announce(stateOf());
    const sending = Array.from({ length: 4 }, () => slowPut(uploadUrlOf(version)));
    await Promise.all(sending.map((each) => each.write("{")));
    await expect.poll(async () => (await contentsOf(api, version.id)).length).toBe(4);
    const refused = await put(uploadUrlOf(version), stateOf());
    expectRefused(refused, 429, "Too many states are being uploaded at the same time. Try again shortly.");
    expect(refused.headers.get("retry-after")).toBe("2");
    expect((await sending.pop()?.end("}"))?.status).toBe(422);
    expectSent(await put(uploadUrlOf(version), stateOf()));
    for (const { status } of await Promise.all(sending.map((each) => each.end("}")))) expect(status).toBe(422);
  });
});

describe("a slow upload", () => {
  it("blocks no other request, and arrives complete", async () => {
    const state = stateOfSize(700_000);
    await stage.lock();
    const version = await stage.announce(state);
    const sending = slowPut(uploadUrlOf(version));
    await sending.write(state.slice(0, 350_000));
    await expect.poll(() => contentsOf(api, version.id)).toHaveLength(1);

    const variable = resource("vars", { key: unique("key"), category: "terraform", value: "v" });
    data(await stage.owner.post(`${stage.path}/vars`, variable));
    data(await stage.owner.patch(stage.path, resource("workspaces", { description: "changed meanwhile" })));
    const elsewhere = await makeWorkspace(api, stage.org.name);
    await writeState(stage.owner, elsewhere.id, stateOf());
    const next = stateOf({ serial: 2 });
    const other = await makeWorkspace(api, stage.org.name);
    data(await stage.owner.post(`/workspaces/${other.id}/actions/lock`));
    expect((await stage.tryUnlock()).status).toBe(503);

    expectSent(await sending.end(state.slice(350_000)));
    expect((await download(version.id)).text).toBe(state);
    await stage.sent(next);
    expect(data(await stage.shown()).attributes.description).toBe("changed meanwhile");
  });

  it("of a version that a newer one has replaced is refused", async () => {
    await stage.lock();
    const state = stateOfSize(400_000);
    const version = await stage.announce(state);
    const sending = slowPut(uploadUrlOf(version));
    await sending.write(state.slice(0, 300_000));
    await expect.poll(() => contentsOf(api, version.id)).toHaveLength(1);
    const newer = await stage.sent(stateOf({ serial: 2 }));
    const answer = await sending.end(state.slice(300_000));
    expect(answer.status).toBe(409);
    expect(answer.body.errors[0].detail).toBe(
      "This state version can't be uploaded to: its status is discarded. Lock the workspace and create a new state version.",
    );
    await stage.unlock();
    expect(await stage.currentId()).toBe(newer.id);
    expect(await complete(version.id)).toEqual([]);
  });
});
