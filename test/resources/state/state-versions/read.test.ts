/** Lists, documents and downloads of state versions. */
import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data } from "../../../support/builders.ts";
import { pendingStateAttributes, base64, fetchState, managed, post, put, stateOf } from "../../../support/states.ts";
import { expectRefused, expectSent, setVersion, uploadUrlOf, useStage } from "./support.ts";

const api = useApi();
const stage = useStage(api);

const ids = (versions: Json[]) => versions.map(({ id }) => id);

describe("the lists, by the workspace's id and by names alike", () => {
  const byId = () => `${stage.path}/state-versions?`;
  const byNames = () =>
    `/state-versions?filter[organization][name]=${stage.org.name}&filter[workspace][name]=${stage.workspace.attributes.name}&`;
  const both = [
    ["by id", byId],
    ["by names", byNames],
  ] as const;

  it.each(both)("the newest first, in pages: %s", async (_, path) => {
    const made: Json[] = [];
    for (let serial = 1; serial <= 5; serial += 1) made.unshift(await stage.write(stateOf({ serial })));
    const all = await stage.owner.get(path());
    expect(ids(data(all))).toEqual(ids(made));
    for (const version of data(all)) expect(version).toEqual(await stage.show(version.id));
    expect(all.body.meta.pagination).toMatchObject({ "current-page": 1, "page-size": 20, "total-count": 5 });
    const second = await stage.owner.get(`${path()}page[size]=2&page[number]=2`);
    expect(ids(data(second))).toEqual(ids(made.slice(2, 4)));
    expect(second.body.meta.pagination).toEqual({
      "current-page": 2,
      "page-size": 2,
      "prev-page": 1,
      "next-page": 3,
      "total-pages": 3,
      "total-count": 5,
    });
    expect(data(await stage.owner.get(`${path()}page[size]=2&page[number]=4`))).toEqual([]);
  });

  it.each(both)("of one status: %s", async (_, path) => {
    const old = await stage.write(stateOf({ serial: 1 }));
    await stage.write(stateOf({ serial: 2 }));
    data(await stage.owner.post(`/state-versions/${old.id}/actions/soft_delete_backing_data`));
    await stage.lock();
    const given = await stage.announce(stateOf({ serial: 3 }));
    await stage.forceUnlock();
    await stage.lock();
    const awaited = await stage.announce(stateOf({ serial: 4 }));
    const found = async (status: string) => {
      const answer = await stage.owner.get(`${path()}filter[status]=${status}`);
      expect(answer.body.meta.pagination["total-count"]).toBe(data(answer).length);
      return ids(data(answer));
    };
    expect(await found("finalized")).toHaveLength(1);
    expect(await found("pending")).toEqual([awaited.id]);
    expect(await found("discarded")).toEqual([given.id]);
    expect(await found("backing_data_soft_deleted")).toEqual([old.id]);
    expect(await found("backing_data_permanently_deleted")).toEqual([]);
  });

  it.each(both)("an unknown status: 400: %s", async (_, path) => {
    const answer = await stage.owner.get(`${path()}filter[status]=lost`);
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].source).toEqual({ parameter: "filter[status]" });
  });

  it.each(["filter[organization][name]", "filter[workspace][name]"])("without %s: 400", async (missing) => {
    const query = new URLSearchParams(byNames().split("?")[1]);
    query.delete(missing);
    const answer = await stage.owner.get(`/state-versions?${query.toString()}`);
    expect(answer.status).toBe(400);
    expect(answer.body.errors).toHaveLength(1);
    expect(answer.body.errors[0].source).toEqual({ parameter: missing });
  });

  it("names ignore case; unknown ones are 404", async () => {
    await stage.write(stateOf());
    expect(data(await stage.owner.get(byNames().replace(stage.org.name, stage.org.name.toUpperCase())))).toHaveLength(
      1,
    );
    expect((await stage.owner.get(byNames().replace(stage.org.name, "nobody"))).status).toBe(404);
    expect((await stage.owner.get(byNames().replace(stage.workspace.attributes.name, "nothing"))).status).toBe(404);
    expect((await stage.owner.get("/workspaces/ws-unknown/state-versions")).status).toBe(404);
  });

  it("lists only the workspace's own versions", async () => {
    await stage.write(stateOf());
    const elsewhere = data(
      await stage.owner.post(`/organizations/${stage.org.name}/workspaces`, {
        data: { type: "workspaces", attributes: { name: `${stage.workspace.attributes.name}-2` } },
      }),
    );
    expect(data(await stage.owner.get(`/workspaces/${elsewhere.id}/state-versions`))).toEqual([]);
  });
});

describe("showStateVersion", () => {
  it("has the version's ETag, which changes with the document", async () => {
    await stage.lock();
    const version = await stage.announce(stateOf());
    const etag = async () => (await stage.owner.get(`/state-versions/${version.id}`)).headers.get("etag");
    const first = await etag();
    expectSent(await put(uploadUrlOf(version), stateOf()));
    const second = await etag();
    await stage.unlock();
    expect(new Set([first, second, await etag()]).size).toBe(3);
  });

  it("includes its outputs and its creator", async () => {
    const outputs = {
      open: { value: [1], type: ["tuple", ["number"]] },
      hidden: { value: "s", type: "string", sensitive: true },
    };
    const version = await stage.write(stateOf({ outputs }));
    for (const path of [`/state-versions/${version.id}`, `${stage.path}/current-state-version`]) {
      const answer = await stage.owner.get(`${path}?include=outputs,created_by`);
      const included = (type: string) => answer.body.included.filter((item: Json) => item.type === type);
      expect(included("users").map(({ id }: Json) => id)).toEqual([stage.org.owner.id]);
      expect(
        included("state-version-outputs").map(({ attributes }: Json) => [attributes.name, attributes.value]),
      ).toEqual([
        ["hidden", null],
        ["open", [1]],
      ]);
    }
  });

  it("includes the team that created it", async () => {
    const team = await api.makeTeam(stage.org.name);
    await api.grantWorkspace(stage.workspace.id, team.id, "write");
    const token = await api.makeTeamToken(team.id);
    await stage.lock(token);
    const version = await stage.sent(stateOf(), {}, token);
    const { body } = await stage.owner.get(`/state-versions/${version.id}?include=created_by`);
    expect(body.included.map(({ type, id }: Json) => [type, id])).toEqual([["teams", team.id]]);
  });

  it("includes nothing for a run, if there is none", async () => {
    const version = await stage.write(stateOf());
    const path = `/state-versions/${version.id}?include=run,run.created_by,run.configuration_version`;
    expect((await stage.owner.get(path)).body.included).toEqual([]);
    expect((await stage.owner.get(`/state-versions/${version.id}?include=colour`)).status).toBe(400);
  });

  it("does not include the outputs of deleted content", async () => {
    const version = await stage.write(stateOf({ outputs: { a: { value: "x", type: "string" } } }));
    await stage.write(stateOf({ serial: 2 }));
    data(await stage.owner.post(`/state-versions/${version.id}/actions/soft_delete_backing_data`));
    expect((await stage.owner.get(`/state-versions/${version.id}?include=outputs`)).body.included).toEqual([]);
  });
});

describe("showCurrentStateVersion", () => {
  it("404 before the first state", async () => {
    expect((await stage.current()).status).toBe(404);
    await stage.lock();
    await stage.sent(stateOf());
    expect((await stage.current()).status).toBe(404);
    await stage.unlock();
    expect((await stage.current()).status).toBe(200);
  });

  it("is the last one that was written, and the workspace refers to it", async () => {
    await stage.write(stateOf({ serial: 1 }));
    const last = await stage.write(stateOf({ serial: 2 }));
    expect(data(await stage.current())).toEqual(await stage.show(last.id));
    const { relationships } = data(await stage.shown());
    expect(relationships["current-state-version"]).toMatchObject({ data: { id: last.id, type: "state-versions" } });
  });
});

describe("downloads", () => {
  const get = (path: string) =>
    fetch(`${api.url}/api/v2${path}`, { headers: { authorization: `Bearer ${stage.owner.token}` } });

  it("the exact bytes, with their type and length", async () => {
    const state = stateOf({ resources: [managed("ä\u{1F600}")] });
    const version = await stage.write(state, { "json-state": base64('{"a": 1}\n') });
    for (const [path, text] of [
      [`/state-versions/${version.id}/download`, state],
      [`/state-versions/${version.id}/json-download`, '{"a": 1}\n'],
    ] as const) {
      const response = await get(path);
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(response.headers.get("content-length")).toBe(String(Buffer.byteLength(text)));
      expect(response.headers.get("cache-control")).toBe("private, no-store");
      expect(await response.text()).toBe(text);
    }
  });

  it("missing content: 404", async () => {
    const version = await stage.write(stateOf());
    expectRefused(
      await stage.owner.get(`/state-versions/${version.id}/json-download`),
      404,
      /^There is no such content/,
    );
    expect((await stage.owner.get("/state-versions/sv-unknown/download")).status).toBe(404);
    await stage.lock();
    const awaited = data(await post(stage.owner, stage.workspace.id, pendingStateAttributes(stateOf({ serial: 2 }))));
    expectRefused(await stage.owner.get(`/state-versions/${awaited.id}/download`), 404, /^There is no such content/);
    await stage.forceUnlock();
    expect((await stage.owner.get(`/state-versions/${awaited.id}/download`)).status).toBe(404);
  });

  it("of an intermediate version: possible before the unlock", async () => {
    await stage.lock();
    const version = await stage.sent(stateOf());
    expect(await fetchState(api, stage.owner, version.attributes["hosted-state-download-url"])).toEqual({
      status: 200,
      text: stateOf(),
    });
  });

  it.each(["discarded", "backing_data_soft_deleted", "backing_data_permanently_deleted"])(
    "a version that is %s names no URL",
    async (status) => {
      const version = await stage.write(stateOf(), { "json-state": base64("{}") });
      await setVersion(api, version.id, { status });
      const { attributes } = await stage.show(version.id);
      expect(Object.keys(attributes).filter((name) => name.startsWith("hosted-"))).toHaveLength(4);
      for (const name of Object.keys(attributes).filter((each) => each.startsWith("hosted-")))
        expect(attributes[name], name).toBeNull();
      expect((await stage.owner.get(`/state-versions/${version.id}/download`)).status).toBe(404);
    },
  );
});
