/** States that OpenTofu encrypted: stored and returned unchanged, without any data read from them. */
import { describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { base64, encryptedStateOf, fetchState, managed, md5, put, stateOf } from "../../../support/states.ts";
import { data } from "../../../support/builders.ts";
import { expectFault, expectRefused, expectSent, uploadUrlOf, useStage } from "./support.ts";
import { itInGate } from "../../../support/engine-independent.ts";

const api = useApi();
const stage = useStage(api);

/** Both ways in which an engine sends a state; the lock is held while it does. */
const ways: [string, (state: string, attributes?: object) => Promise<string>][] = [
  ["in the request", async (state, attributes) => (await stage.write(state, attributes)).id],
  [
    "by the upload URL",
    async (state, attributes) => {
      await stage.lock();
      const version = await stage.announce(state, attributes);
      expectSent(await put(uploadUrlOf(version), state));
      await stage.unlock();
      return version.id;
    },
  ],
];

const safeDelete = () => stage.owner.post(`${stage.path}/actions/safe-delete`);
const unknown =
  "Unable to delete workspace. The engine encrypted its state, so the service can't tell whether it still manages resources. Make sure that they are destroyed, then force-delete the workspace.";

describe.each(ways)("an encrypted state %s", (_, write) => {
  it("is returned byte for byte, and its document says why nothing else is known", async () => {
    const state = `\n ${encryptedStateOf({ serial: 7 })} \r\n`;
    const id = await write(state);
    expect(await fetchState(api, stage.owner, `/state-versions/${id}/download`)).toEqual({ status: 200, text: state });
    const { attributes, relationships } = await stage.show(id);
    expect(attributes).toMatchObject({
      encrypted: true,
      serial: 7,
      status: "finalized",
      size: state.length,
      "resources-processed": true,
      "state-version": null,
      "engine-version": null,
      "billable-rum-count": null,
      modules: {},
      providers: {},
      resources: [],
    });
    expect(relationships.outputs.data).toEqual([]);
    expect(await stage.currentId()).toBe(id);
  });

  it("has no outputs and no resources, and the workspace's count is unknown", async () => {
    await write(stateOf({ outputs: { a: { value: 1, type: "number" } }, resources: [managed("one", 3)] }));
    const id = await write(encryptedStateOf({ serial: 2 }));
    for (const path of [`${stage.path}/current-state-version-outputs`, `/state-versions/${id}/outputs`])
      expect(data(await stage.owner.get(path))).toEqual([]);
    const listed = await stage.owner.get(`${stage.path}/resources`);
    expect(data(listed)).toEqual([]);
    const workspace = data(await stage.shown());
    expect(workspace.attributes["resource-count"]).toBeNull();
    expect(workspace.relationships.outputs.data).toEqual([]);
    await write(stateOf({ serial: 3, resources: [managed("one", 2)] }));
    expect(data(await stage.shown()).attributes["resource-count"]).toBe(2);
  });

  it("follows others by the serial and lineage of the request", async () => {
    const lineage = "5f1d6c1e-0000-0000-0000-000000000000";
    await write(encryptedStateOf({ serial: 5 }), { serial: 8 });
    await stage.lock();
    expectRefused(await stage.send(encryptedStateOf({ serial: 7 })), 409, /serial 7 is older than the latest serial 8/);
    expectRefused(
      await stage.send(encryptedStateOf({ serial: 9, lineage })),
      409,
      /lineage .* does not match the workspace's lineage/,
    );
    await stage.unlock();
    const id = await write(encryptedStateOf({ serial: 1, lineage }), { serial: 9, lineage: undefined, force: true });
    expect(await stage.currentId()).toBe(id);
    expect((await stage.show(id)).attributes.serial).toBe(9);
  });

  itInGate("of any size is processed immediately, because nothing can be read from it", async () => {
    const state = encryptedStateOf({ bytes: 2 * 1024 * 1024 });
    const id = await write(state);
    expect((await stage.show(id)).attributes).toMatchObject({ encrypted: true, "resources-processed": true });
    expect((await fetchState(api, stage.owner, `/state-versions/${id}/download`)).text).toBe(state);
    expect((await stage.owner.get(`${stage.path}/current-state-version-outputs`)).status).toBe(200);
  });

  it("prevents a safe delete; a force delete works", async () => {
    await write(encryptedStateOf());
    expectRefused(await safeDelete(), 409, unknown);
    expect((await stage.owner.delete(stage.path)).status).toBe(204);
  });

  it("only while it is the current state", async () => {
    await write(encryptedStateOf());
    await write(stateOf({ serial: 2 }));
    expect((await safeDelete()).status).toBe(204);
  });
});

describe("an encrypted state", () => {
  it("is not yet the workspace's while the lock is held", async () => {
    await stage.lock();
    await stage.sent(encryptedStateOf());
    expect(data(await stage.shown()).attributes["resource-count"]).toBe(0);
    expect((await stage.unlock()).attributes["resource-count"]).toBeNull();
  });

  it("can come with its JSON form, which is kept unchanged", async () => {
    const version = await stage.write(encryptedStateOf(), { "json-state": base64('{"format_version":"1.0"}') });
    expect(await fetchState(api, stage.owner, version.attributes["hosted-json-state-download-url"])).toEqual({
      status: 200,
      text: '{"format_version":"1.0"}',
    });
  });

  it("records an event that says so", async () => {
    const version = await stage.write(encryptedStateOf());
    expect((await stage.events(version.id))[0]).toMatchObject({ after: { encrypted: true, serial: 1 } });
  });

  it("is distinguished from plain states", async () => {
    expect((await stage.write(stateOf())).attributes.encrypted).toBe(false);
    await stage.lock();
    expect((await stage.announce(stateOf({ serial: 2 }))).attributes.encrypted).toBe(false);
  });
});

describe("what only resembles an encrypted state: 422", () => {
  const { meta, encryption_version } = JSON.parse(encryptedStateOf()) as Record<string, unknown>;
  it.each<[string, object, RegExp]>([
    ["no base64", { meta, encryption_version, encrypted_data: "%" }, /"encrypted_data" is not a base64 string\.$/],
    ["a number", { meta, encryption_version, encrypted_data: 5 }, /"encrypted_data" is not a base64 string\.$/],
    ["no word of how", { encrypted_data: "QUFB" }, /has neither "meta" nor "encryption_version"/],
    ["a key that is none", { meta: "x", encrypted_data: "QUFB" }, /"meta" is not an object\.$/],
    [
      "resources in the open",
      { meta, encrypted_data: "QUFB", resources: [managed("a")] },
      /it has the member "resources" of a plain state\.$/,
    ],
    ["nothing encrypted", { meta, encryption_version }, /^The state must be a JSON object with a member "version"/],
  ])("%s", async (_, content, sentence) => {
    const state = JSON.stringify({ serial: 1, lineage: "l", ...content });
    await stage.lock();
    expectFault(await stage.send(state), "state", sentence);
    const version = await stage.announce(state);
    expectFault(await put(uploadUrlOf(version), state), "state", sentence);
    expect(await stage.status(version.id)).toBe("pending");
  });

  it("is refused by its MD5 like any other", async () => {
    await stage.lock();
    expectFault(await stage.send(encryptedStateOf(), { md5: md5("another") }), "md5", /^Md5 does not match/);
  });
});
