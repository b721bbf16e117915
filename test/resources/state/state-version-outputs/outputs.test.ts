/** Outputs of every type with full precision, from three endpoints and as includes of workspaces. */
import { describe, expect, it } from "vitest";
import { parseLargeStates } from "../../../../src/resources/state/state-versions/maintenance/maintenance.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { data, makeWorkspace } from "../../../support/builders.ts";
import { fetchState, lineage, stateOf, jobContextOf, writeState } from "../../../support/states.ts";
import { useStage } from "../state-versions/support.ts";

const api = useApi();
const stage = useStage(api);

const listed = async (id: string, query = ""): Promise<Json[]> =>
  data(await stage.owner.get(`/state-versions/${id}/outputs${query}`));
const current = async (): Promise<Json[]> => data(await stage.owner.get(`${stage.path}/current-state-version-outputs`));

describe("an output", () => {
  it("is the same document everywhere", async () => {
    const version = await stage.write(stateOf({ outputs: { name: { value: ["x"], type: ["list", "string"] } } }));
    const [output] = await listed(version.id);
    expect(output).toEqual({
      id: expect.stringMatching(/^wsout-[A-Za-z0-9]{16}$/),
      type: "state-version-outputs",
      attributes: {
        name: "name",
        sensitive: false,
        type: "array",
        value: ["x"],
        "detailed-type": ["list", "string"],
      },
      links: { self: `/api/v2/state-version-outputs/${output.id}` },
    });
    expect(data(await stage.owner.get(`/state-version-outputs/${output.id}`))).toEqual(output);
    expect(await current()).toEqual([output]);
    expect(version.relationships.outputs.data).toEqual([{ id: output.id, type: "state-version-outputs" }]);
  });

  const every: [name: string, value: unknown, detailed: unknown, type: string][] = [
    ["a string", "text", "string", "string"],
    ["an empty string", "", "string", "string"],
    ["text with everything", 'quote " back \\ \n \u0001 ä \u{1F600} </script>', "string", "string"],
    ["a number", 42, "number", "number"],
    ["a fraction", -0.5, "number", "number"],
    ["a flag", false, "bool", "boolean"],
    ["a list", ["a", "b"], ["list", "string"], "array"],
    ["a set", [1, 2], ["set", "number"], "array"],
    ["a tuple", ["a", 1, null], ["tuple", ["string", "number", "dynamic"]], "array"],
    ["a map", { b: "1", a: "2" }, ["map", "string"], "object"],
    ["an object", { a: { b: [true] } }, ["object", { a: ["object", { b: ["list", "bool"] }] }], "object"],
    ["null", null, "string", "string"],
    ["a value of no known type", "x", "dynamic", "dynamic"],
    ["a member named __proto__", JSON.parse('{"__proto__":{"a":1}}'), ["map", ["map", "number"]], "object"],
  ];

  it("of every type", async () => {
    const outputs = Object.fromEntries(every.map(([name, value, type]) => [name, { value, type }]));
    const version = await stage.write(stateOf({ outputs }));
    const found = new Map(
      (await listed(version.id, "?page[size]=100")).map((output) => [output.attributes.name, output]),
    );
    for (const [name, value, detailed, type] of every) {
      const { attributes } = found.get(name);
      expect(attributes).toEqual({ name, sensitive: false, type, value, "detailed-type": detailed });
      expect(Object.keys(attributes.value ?? {})).toEqual(Object.keys(value ?? {}));
    }
  });

  it("keeps every digit, wherever it is shown", async () => {
    const texts = [
      "12345678901234567890",
      "-9007199254740993",
      "0.1234567890123456789012345",
      "1e400",
      "1.0",
      "1E2",
      "-0",
      '[9007199254740993,{"a":123456789012345678901234567890}]',
    ];
    const outputs = texts.map((text, index) => `"o${index}":{"value":${text},"type":"number"}`).join(",");
    const state = `{"version":4,"serial":1,"lineage":"${lineage}","outputs":{${outputs}},"resources":[]}`;
    const version = await stage.write(state);
    const ids = (await listed(version.id)).map(({ id }) => id);
    const lists = [
      `/state-versions/${version.id}/outputs`,
      `${stage.path}/current-state-version-outputs`,
      `${stage.path}?include=outputs`,
    ];
    for (const [index, text] of texts.entries()) {
      for (const path of [...lists, `/state-version-outputs/${ids[index]}`])
        expect((await fetchState(api, stage.owner, path)).text, path).toContain(`"value":${text}`);
    }
  });

  it("of more than 1 MiB is shown without its value", async () => {
    const outputs = {
      large: { value: "x".repeat(1024 * 1024), type: "string" },
      small: { value: "y", type: "string" },
    };
    const state = stateOf({ outputs });
    const version = await stage.write(state);
    await parseLargeStates(jobContextOf(api));
    expect((await listed(version.id)).map(({ attributes }) => [attributes.name, attributes.value])).toEqual([
      ["large", null],
      ["small", "y"],
    ]);
  });

  it("of a duplicate name is the last one; without a value it is omitted", async () => {
    const state = `{"version":4,"serial":1,"outputs":{"a":{"value":1,"type":"number"},"a":{"value":2,"type":"number"},"b":{"type":"string"},"c":5},"resources":[]}`;
    const version = await stage.write(state);
    expect((await listed(version.id)).map(({ attributes }) => [attributes.name, attributes.value])).toEqual([["a", 2]]);
  });
});

describe("sensitive values", () => {
  const outputs = {
    hidden: { value: { password: "p" }, type: ["map", "string"], sensitive: true },
    open: { value: "x", type: "string", sensitive: false },
  };

  it("are null in lists of the current state and in includes; shown by id, and in the version's own list", async () => {
    const version = await stage.write(stateOf({ outputs }));
    const values = (found: Json[]) =>
      found.map(({ attributes }) => [attributes.name, attributes.sensitive, attributes.value]);
    const masked = [
      ["hidden", true, null],
      ["open", false, "x"],
    ];
    expect(values(await current())).toEqual(masked);
    const beside = await stage.shown("?include=outputs");
    expect(values(beside.body.included)).toEqual(masked);
    const whole = await listed(version.id);
    expect(values(whole)).toEqual([["hidden", true, { password: "p" }], masked[1]]);
    const shown = data(await stage.owner.get(`/state-version-outputs/${whole[0].id}`));
    expect(shown.attributes).toMatchObject({
      value: { password: "p" },
      type: "object",
      "detailed-type": ["map", "string"],
    });
  });
});

describe("lists", () => {
  const many = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `o${String(index).padStart(3, "0")}`,
        { value: index, type: "number" },
      ]),
    );
  const names = (found: Json[]) => found.map(({ attributes }) => attributes.name);

  it("of the current state: all in one response, by name", async () => {
    await stage.write(stateOf({ outputs: many(45) }));
    const answer = await stage.owner.get(`${stage.path}/current-state-version-outputs`);
    expect(names(data(answer))).toEqual(Object.keys(many(45)));
    expect(answer.body).not.toHaveProperty("meta");
  });

  it("of the current state: empty without one, and while there is only an intermediate one", async () => {
    expect(await current()).toEqual([]);
    await stage.lock();
    await stage.sent(stateOf({ outputs: many(1) }));
    expect(await current()).toEqual([]);
    await stage.unlock();
    expect(await current()).toHaveLength(1);
  });

  it("of a version: in pages, by name", async () => {
    const version = await stage.write(stateOf({ outputs: many(45) }));
    const first = await stage.owner.get(`/state-versions/${version.id}/outputs`);
    expect(names(data(first))).toEqual(Object.keys(many(20)));
    expect(first.body.meta.pagination).toMatchObject({ "total-count": 45, "total-pages": 3, "next-page": 2 });
    expect(names(await listed(version.id, "?page[number]=3"))).toEqual(Object.keys(many(45)).slice(40));
    expect(await listed(version.id, "?page[size]=100")).toHaveLength(45);
  });

  it("of a pending or discarded version: empty", async () => {
    await stage.lock();
    const version = await stage.announce(stateOf({ outputs: many(2) }));
    expect(await listed(version.id)).toEqual([]);
    await stage.forceUnlock();
    expect(await listed(version.id)).toEqual([]);
  });

  it("each version has its own, with ids of their own", async () => {
    const first = await stage.write(stateOf({ outputs: many(2) }));
    const second = await stage.write(stateOf({ serial: 2, outputs: many(3) }));
    const [old, young] = [await listed(first.id), await listed(second.id)];
    expect([old.length, young.length]).toEqual([2, 3]);
    expect(new Set([...old, ...young].map(({ id }) => id)).size).toBe(5);
    expect(await current()).toEqual(young);
  });
});

describe("workspace-outputs", () => {
  it("are included with a workspace, which refers to them", async () => {
    await stage.write(stateOf({ outputs: { name: { value: true, type: "bool" } } }));
    const { body } = await stage.shown("?include=outputs");
    const [{ id }] = body.data.relationships.outputs.data;
    expect(body.data.relationships.outputs.data).toEqual([{ id, type: "workspace-outputs" }]);
    expect(body.included).toEqual([
      {
        id,
        type: "workspace-outputs",
        attributes: {
          name: "name",
          sensitive: false,
          "output-type": "boolean",
          value: true,
          "detailed-type": "bool",
        },
        links: { self: `/api/v2/state-version-outputs/${id}` },
      },
    ]);
    const byName = `/organizations/${stage.org.name}/workspaces/${stage.workspace.attributes.name}?include=outputs`;
    expect((await stage.owner.get(byName)).body).toEqual(body);
  });

  it("are included with a list of workspaces, for each of them", async () => {
    const other = await makeWorkspace(api, stage.org.name);
    await makeWorkspace(api, stage.org.name);
    await stage.write(stateOf({ outputs: { one: { value: 1, type: "number" } } }));
    await writeState(stage.owner, other.id, stateOf({ outputs: { two: { value: 2, type: "number" } } }));
    const { body } = await stage.owner.get(
      `/organizations/${stage.org.name}/workspaces?include=outputs&page[size]=100`,
    );
    const included = new Map(body.included.map((item: Json) => [item.id, item.attributes.name]));
    const namesOf = (id: string) =>
      body.data
        .find((item: Json) => item.id === id)
        .relationships.outputs.data.map((output: Json) => included.get(output.id));
    expect(namesOf(stage.workspace.id)).toEqual(["one"]);
    expect(namesOf(other.id)).toEqual(["two"]);
  });

  it("are empty without a state, and otherwise only those of the current state", async () => {
    expect((await stage.shown("?include=outputs")).body.included).toEqual([]);
    await stage.write(stateOf({ outputs: { gone: { value: 1, type: "number" } } }));
    await stage.write(stateOf({ serial: 2 }));
    const { body } = await stage.shown("?include=outputs");
    expect([body.included, body.data.relationships.outputs.data]).toEqual([[], []]);
  });
});
