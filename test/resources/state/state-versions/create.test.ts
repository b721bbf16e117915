/** Creating state versions, with content in the request or announced: responses and refusals. */
import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, pointers } from "../../../support/builders.ts";
import { deep } from "../../../support/depth.ts";
import { base64, fetchState, stateAttributes, managed, md5, post, stateOf } from "../../../support/states.ts";
import { contentsOf, expectFault, expectRefused, useStage } from "./support.ts";
import { itInGate } from "../../../support/engine-independent.ts";

const api = useApi();
const stage = useStage(api);

const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe("createStateVersion with the content: 201", () => {
  it("answers with the whole document, which is what is shown later", async () => {
    const state = stateOf({
      serial: 7,
      outputs: { name: { value: "x", type: "string" } },
      resources: [managed("a", 2)],
    });
    await stage.lock();
    const answer = await stage.send(state);
    expect(answer.status).toBe(201);
    const { id } = answer.body.data;
    const base = `${api.url}/api/v2/state-versions/${id}`;
    const provider = 'provider["registry.terraform.io/hashicorp/null"]';
    expect(answer.body.data).toEqual({
      id: expect.stringMatching(/^sv-[A-Za-z0-9]{16}$/),
      type: "state-versions",
      attributes: {
        serial: 7,
        "created-at": timestamp,
        status: "finalized",
        intermediate: true,
        size: state.length,
        "hosted-state-download-url": `${base}/download`,
        "hosted-json-state-download-url": null,
        "hosted-state-upload-url": null,
        "hosted-json-state-upload-url": null,
        "sanitized-state-download-url": null,
        "sanitized-state-upload-url": null,
        encrypted: false,
        "resources-processed": true,
        "state-version": 4,
        "engine-version": "1.9.5",
        "terraform-version": "1.9.5",
        "billable-rum-count": 2,
        modules: { root: { "null-resource": 2 } },
        providers: { [provider]: { "null-resource": 2 } },
        resources: [{ name: "a", type: "null_resource", count: 2, module: "root", provider }],
        "vcs-commit-sha": null,
        "vcs-commit-url": null,
        permissions: {
          "can-update": true,
          "can-read-state-versions": true,
          "can-read-state-outputs": true,
          "can-create-state-versions": true,
        },
      },
      relationships: {
        workspace: {
          data: { id: stage.workspace.id, type: "workspaces" },
          links: {
            related: `/api/v2/organizations/${stage.org.name}/workspaces/${stage.workspace.attributes.name}`,
          },
        },
        run: { data: null },
        "created-by": { data: { id: stage.org.owner.id, type: "users" } },
        "previous-state-version": { data: null },
        "next-state-version": { data: null },
        outputs: {
          data: [{ id: expect.stringMatching(/^wsout-/), type: "state-version-outputs" }],
          links: { related: `/api/v2/state-versions/${id}/outputs` },
        },
      },
      links: { self: `/api/v2/state-versions/${id}` },
    });
    expect(await stage.show(id)).toEqual(answer.body.data);
  });

  it("refers to the previous and next version, in shows and lists alike", async () => {
    const versions = [];
    for (const serial of [1, 2, 3]) versions.push(await stage.write(stateOf({ serial })));
    const [first, second, third] = versions.map(({ id }) => ({ id, type: "state-versions" }));
    const chain = ({ relationships }: Json) => [
      relationships["previous-state-version"].data,
      relationships["next-state-version"].data,
    ];
    expect(chain(versions[2])).toEqual([second, null]);
    expect(chain(await stage.show(second?.id))).toEqual([first, third]);
    const listed = data(await stage.owner.get(`/workspaces/${stage.workspace.id}/state-versions`));
    expect(listed.map(chain)).toEqual([
      [second, null],
      [first, third],
      [null, second],
    ]);
  });

  it("keeps the bytes as they were sent", async () => {
    const state = `\n{ "serial": 1, "version" : 4, "lineage":"l", "outputs": {}, "ä": "\\u00e4 \u{1F600}" , "resources": [ ] }\r\n `;
    const version = await stage.write(state);
    expect(await fetchState(api, stage.owner, `/state-versions/${version.id}/download`)).toEqual({
      status: 200,
      text: state,
    });
    expect(version.attributes.size).toBe(Buffer.byteLength(state));
  });

  it("takes the JSON form with it", async () => {
    const json = '{"format_version":"1.0"}';
    const version = await stage.write(stateOf(), {
      "json-state": base64(json),
      "json-state-outputs": base64("{}"),
    });
    expect(version.attributes["hosted-json-state-download-url"]).toMatch(/\/json-download$/);
    expect(await fetchState(api, stage.owner, version.attributes["hosted-json-state-download-url"])).toEqual({
      status: 200,
      text: json,
    });
    expect(await contentsOf(api, version.id)).toHaveLength(2);
  });

  it.each<[string, (state: string) => object]>([
    ["an MD5 in capitals", (state) => ({ md5: md5(state).toUpperCase() })],
    ["base64 in lines", (state) => ({ state: base64(state).replaceAll(/.{40}/g, "$&\n") })],
    ["base64 without padding", (state) => ({ state: base64(state).replace(/=+$/, "") })],
    ["no lineage", () => ({ lineage: undefined })],
    ["a lineage that is null", () => ({ lineage: null })],
    ["a JSON form that is null", () => ({ "json-state": null, "json-state-outputs": null })],
    ["the largest serial", () => ({ serial: Number.MAX_SAFE_INTEGER })],
    ["the serial 0", () => ({ serial: 0 })],
    ["unknown attributes", () => ({ colour: "blue" })],
  ])("%s", async (_, attributes) => {
    const state = stateOf({ outputs: { padding: { value: "a", type: "string" } } });
    await stage.lock();
    const answer = await stage.send(state, attributes(state));
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    expect(answer.body.data.attributes.status).toBe("finalized");
  });

  it("takes a state of an older format without its contents", async () => {
    const state = JSON.stringify({ version: 3, serial: 1, lineage: "l", modules: [{ path: ["root"] }] });
    const { attributes } = await stage.write(state);
    expect(attributes).toMatchObject({ "state-version": 3, "resources-processed": true, resources: [] });
  });

  it("records an event without the state", async () => {
    const version = await stage.write(stateOf({ outputs: { a: { value: "the-value", type: "string" } } }));
    const [event] = await stage.events(version.id);
    expect(event).toMatchObject({ action: "state-versions.create", "actor-id": stage.org.owner.id, before: null });
    expect(event.after).toMatchObject({ serial: 1, status: "finalized", workspace: stage.workspace.id });
    expect(JSON.stringify(event)).not.toContain("the-value");
    expect(event.after).not.toHaveProperty("state");
  });
});

describe("createStateVersion: statements", () => {
  const facts = (serial: number, count: number) => ({
    serial,
    outputs: Object.fromEntries(Array.from({ length: count }, (_, at) => [`o${at}`, { value: at, type: "number" }])),
    resources: [managed("a", count)],
  });

  it("10 with everything in it, 11 with an object store, whatever its size and its predecessor", async () => {
    // The object is announced before, and attached instead of the chunks.
    const statements = api.contentPlace === undefined ? 10 : 11;
    await stage.lock();
    const counts: number[] = [];
    for (const [serial, count] of [1, 2, 400, 400].entries()) {
      const before = api.database.statementCount();
      expect((await stage.send(stateOf(facts(serial, count)))).status).toBe(201);
      counts.push(api.database.statementCount() - before);
    }
    expect(counts).toEqual([statements, statements, statements, statements]);
  });
});

describe("createStateVersion without the content: 201", () => {
  it("is pending, with the URLs to send it to", async () => {
    await stage.lock();
    const version = await stage.announce(stateOf({ serial: 3 }));
    expect(version.attributes).toMatchObject({
      serial: 3,
      status: "pending",
      intermediate: true,
      size: 0,
      "resources-processed": false,
      "hosted-state-download-url": null,
      "state-version": null,
      "billable-rum-count": null,
    });
    for (const [name, path] of [
      ["hosted-state-upload-url", "upload"],
      ["hosted-json-state-upload-url", "json-upload"],
    ] as const) {
      const url = new URL(version.attributes[name]);
      expect(url.origin + url.pathname).toBe(`${api.url}/api/v2/state-versions/${version.id}/${path}`);
      const lifetime = Number(url.searchParams.get("expires")) - Date.parse(version.attributes["created-at"]);
      expect(lifetime).toBe(60 * 60 * 1000);
    }
    expect(await stage.show(version.id)).toEqual(version);
  });
});

describe("createStateVersion: 422", () => {
  it.each<[string, string, object, string | RegExp]>([
    ["no serial", "serial", { serial: undefined }, "Serial can't be blank"],
    ["a serial that is text", "serial", { serial: "1" }, /^Serial must be /],
    ["a negative serial", "serial", { serial: -1 }, /^Serial must be /],
    ["a serial with a fraction", "serial", { serial: 1.5 }, /^Serial must be /],
    ["no MD5", "md5", { md5: undefined }, "Md5 can't be blank"],
    ["an MD5 that is none", "md5", { md5: "abc" }, "Md5 must be the MD5 of the content as 32 hex digits"],
    ["another MD5", "md5", { md5: md5("another") }, "Md5 does not match the sent state; send it again"],
    ["a state that is no base64", "state", { state: "%%%" }, "State must be base64"],
    ["a state that is a number", "state", { state: 5 }, /^State must be /],
    ["a state that is null", "state", { state: null }, /^State must be /],
    ["a JSON form that is no base64", "json-state", { "json-state": "%%%" }, "Json state must be base64"],
    [
      "a JSON form alone",
      "json-state",
      { state: undefined, "json-state": base64("{}") },
      "Json state can't be sent without 'state'",
    ],
    ["a lineage that is too long", "lineage", { lineage: "x".repeat(256) }, /^Lineage is too long/],
    ["a 'force' that is text", "force", { force: "yes" }, /^Force must be /],
  ])("%s", async (_, attribute, attributes, sentence) => {
    await stage.lock();
    expectFault(await stage.send(stateOf(), attributes), attribute, sentence);
  });

  it.each<[string, string, RegExp]>([
    ["no JSON", "no JSON", /^The state is not valid JSON: it has an unexpected character at byte 1\.$/],
    ["nothing", "", /^The state is not valid JSON: it ends unexpectedly after 0 bytes\.$/],
    ["half of it", '{"version":4', /^The state is not valid JSON: it ends unexpectedly/],
    ["no object", "[]", /^The state must be a JSON object with a member "version"/],
    ["an object that is no state", '{"colour":"blue"}', /^The state must be a JSON object with a member "version"/],
    ["a format of text", '{"version":"4"}', /^The state must be a JSON object with a member "version"/],
    ["no UTF-8", Buffer.from([0x22, 0xff, 0x22]).toString("latin1"), /^The state is not valid JSON: it is not UTF-8/],
  ])("a content that is %s", async (_, content, sentence) => {
    await stage.lock();
    const bytes = Buffer.from(content, "latin1");
    const answer = await post(stage.owner, stage.workspace.id, {
      serial: 1,
      md5: md5(bytes),
      state: bytes.toString("base64"),
    });
    expectFault(answer, "state", sentence);
  });

  it("reports all faults in one response", async () => {
    await stage.lock();
    const answer = await post(stage.owner, stage.workspace.id, { serial: -1, md5: "x", force: 1 });
    expect(answer.status).toBe(422);
    expect(pointers(answer).sort()).toEqual(["force", "md5", "serial"].map((name) => `/data/attributes/${name}`));
  });

  it("creates nothing", async () => {
    await stage.lock();
    await stage.send(stateOf(), { md5: md5("another") });
    await stage.send(stateOf(), { md5: md5("no JSON"), state: base64("no JSON") });
    expect((await stage.owner.get(`${stage.path}/state-versions`)).body.data).toEqual([]);
  });
});

describe("createStateVersion: 413", () => {
  const mebibyte = 1024 * 1024;
  const sentence =
    "A state in the request can have at most 16777216 bytes. Create the state version without 'state', then upload the content with PUT to its 'hosted-state-upload-url', which accepts up to 268435456 bytes.";

  itInGate("for content of more than 16 MiB, with a message that names the upload URL", async () => {
    await stage.lock();
    const state = stateOf() + " ".repeat(16 * mebibyte);
    expectRefused(await stage.send(state), 413, sentence);
  });

  itInGate("for a body that is larger than such content needs, with the same message", async () => {
    await stage.lock();
    const path = `${stage.path}/state-versions`;
    const body = `{"data":{"attributes":{"state":"${"A".repeat(46 * mebibyte)}"}}}`;
    expectRefused(await stage.owner.post(path, body), 413, sentence);
  });

  it.runIf(deep(0, 1) === 1)("for a JSON form of more than 16 MiB", async () => {
    await stage.lock();
    const form = base64(`{}${" ".repeat(16 * mebibyte)}`);
    expectRefused(await stage.send(stateOf(), { "json-state": form }), 413, sentence);
  });

  it("not for a body of 2 MiB, which is more than other requests can have", async () => {
    const state = stateOf() + " ".repeat(2 * mebibyte);
    expect((await stage.write(state)).attributes.size).toBe(state.length);
  });

  it.runIf(deep(0, 1) === 1)("not for one of 16 MiB with a JSON form of 16 MiB", async () => {
    await stage.lock();
    const start = stateOf();
    const state = start + " ".repeat(16 * mebibyte - start.length);
    const answer = await stage.send(
      state,
      stateAttributes(start, { md5: md5(state), state: base64(state), "json-state": base64(state) }),
    );
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    expect(answer.body.data.attributes.size).toBe(16 * mebibyte);
  });
});

describe("createStateVersion: 409", () => {
  it("of an unlocked workspace", async () => {
    expectRefused(
      await stage.send(stateOf()),
      409,
      "Unable to write state. The workspace is not locked. Lock it first.",
    );
    expect((await post(stage.owner, stage.workspace.id, { serial: 1, md5: md5("") })).status).toBe(409);
  });
});

describe("createStateVersion: 404", () => {
  it("and 409 without the lock, before a large body is read at all", async () => {
    const garbage = "x".repeat(2 * 1024 * 1024);
    expect((await stage.owner.post("/workspaces/ws-unknown/state-versions", garbage)).status).toBe(404);
    expect((await stage.owner.post(`${stage.path}/state-versions`, garbage)).status).toBe(409);
    await stage.lock();
    expect((await stage.owner.post(`${stage.path}/state-versions`, garbage)).status).toBe(400);
  });
});
