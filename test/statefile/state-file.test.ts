/** The state file parser; it needs no database. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AppError } from "../../src/kernel/errors.ts";
import { type StateFile, StateFileReader } from "../../src/statefile/state-file.ts";
import type { StateInstance } from "../../src/statefile/state-resources.ts";
import { deep, seed } from "../support/depth.ts";
import { itInGate } from "../support/engine-independent.ts";

const aws = 'provider["registry.terraform.io/hashicorp/aws"]';

type Read = StateFile & { instances: StateInstance[] };

function read(content: unknown, size = 100_000): Read {
  const bytes = Buffer.from(typeof content === "string" ? content : JSON.stringify(content));
  const reader = new StateFileReader();
  const instances: StateInstance[] = [];
  for (let start = 0; start < bytes.length; start += size) {
    reader.write(bytes.subarray(start, start + size));
    instances.push(...reader.takeInstances());
  }
  const file = reader.end();
  instances.push(...reader.takeInstances());
  expect(file.instanceCount).toBe(instances.length);
  return { ...file, instances };
}

const resource = (more: object = {}): object => ({
  mode: "managed",
  type: "aws_x",
  name: "this",
  provider: aws,
  instances: [{ schema_version: 0, attributes: { id: "a" } }],
  ...more,
});
const withResources = (...resources: unknown[]): object => ({ version: 4, resources });
const withOutputs = (outputs: object | string): string =>
  `{"version":4,"outputs":${typeof outputs === "string" ? outputs : JSON.stringify(outputs)}}`;
const addressOf = (more: object) => read(withResources(resource(more))).instances.map(({ address }) => address);

function refusal(content: unknown): string {
  try {
    read(content);
  } catch (error) {
    expect(error).toBeInstanceOf(AppError);
    const { code, faults } = error as AppError;
    expect(code).toBe("invalid");
    expect(faults.map(({ pointer }) => pointer)).toEqual(["/data/attributes/state"]);
    return faults[0]!.detail;
  }
  throw new Error("It was accepted.");
}

describe("the head", () => {
  it("reads version, engine, serial and lineage", () => {
    expect(read({ version: 4, terraform_version: "1.9.5", serial: 12, lineage: "5a" })).toMatchObject({
      format: 4,
      engineVersion: "1.9.5",
      serial: 12,
      lineage: "5a",
      outputs: [],
      resources: [],
      instanceCount: 0,
    });
  });

  it("has null for values that are absent or of the wrong type", () => {
    const nothing = { format: 4, engineVersion: null, serial: null, lineage: null };
    expect(read({ version: 4 })).toMatchObject(nothing);
    expect(read({ version: 4, terraform_version: 1, serial: "1", lineage: ["a"] })).toMatchObject(nothing);
    expect(read({ version: 4, terraform_version: "a\0", serial: 1.5, lineage: "x".repeat(2000) })).toMatchObject(
      nothing,
    );
    expect(read('{"version":4,"serial":18446744073709551615}').serial).toBeNull();
  });

  it.each([1, 2, 3, 5])("is all that is read of format %i", (format) => {
    const outputs = { a: { value: 1 } };
    const expected = { format, serial: 7, outputs: [], resources: [], instanceCount: 0 };
    const reordered = { outputs, resources: [resource({ mode: "data" })], serial: 7, version: format };
    const full = { version: format, serial: 7, outputs, resources: [resource()], modules: [{}] };
    for (const state of [full, reordered]) expect(read(state)).toMatchObject(expected);
  });
});

describe("what is not a state", () => {
  it.each([
    ["", "The state is not valid JSON: it ends unexpectedly after 0 bytes."],
    ["{", "The state is not valid JSON: it ends unexpectedly after 1 bytes."],
    ["version: 4", "The state is not valid JSON: it has an unexpected character at byte 0."],
    ['{"version":4} x', "The state is not valid JSON: it has an unexpected character at byte 14."],
    [`${"[".repeat(600)}`, "The state is not valid JSON: it is nested more than 512 levels deep."],
  ])("%j is refused", (content, sentence) => {
    expect(refusal(content)).toBe(sentence);
  });

  it.each(["[]", "4", "null", "{}", '"version"', '[{"version":4}]', '{"a":{"version":4}}'])(
    "%s has no version",
    (content) => {
      expect(refusal(content)).toMatch(/^The state must be a JSON object with a member "version"/);
    },
  );

  it.each(["0", "-1", "4.5", "4.0", '"4"', "null", "[4]", "1e400", "99999999999999999999"])(
    "%s is no version",
    (version) => {
      expect(refusal(`{"version":${version}}`)).toMatch(/that is a positive whole number\.$/);
    },
  );

  it("refuses duplicate resources, and resources before another format", () => {
    expect(refusal('{"version":4,"resources":[],"resources":[]}')).toBe(
      'The state has the member "resources" more than once.',
    );
    expect(refusal({ resources: [resource()], version: 3 })).toBe("The state has format 3, but resources in format 4.");
  });
});

describe("instances", () => {
  it.each([
    [{}, ["aws_x.this"]],
    [{ module: "" }, ["aws_x.this"]],
    [{ module: null }, ["aws_x.this"]],
    [{ module: "module.media_bucket", instances: [{ index_key: 0 }] }, ["media_bucket.aws_x.this[0]"]],
    [{ instances: [{ index_key: "0" }, { index_key: 10 }] }, ['aws_x.this["0"]', "aws_x.this[10]"]],
    [{ type: "__proto__", name: "__proto__" }, ["__proto__.__proto__"]],
  ])("of %j have the addresses %j", (more, addresses) => {
    expect(addressOf(more)).toEqual(addresses);
  });

  it("have everything that the list shows", () => {
    const instance = { index_key: "k", attributes: { id: "é" } };
    const [actual] = read(withResources(resource({ module: "module.m", instances: [instance] })), 7).instances;
    expect(actual).toEqual({
      address: 'm.aws_x.this["k"]',
      name: "this",
      nameIndex: "k",
      type: "aws_x",
      module: "m",
      provider: "hashicorp/aws",
      fingerprint: createHash("sha256").update(JSON.stringify(instance)).digest("base64url").slice(0, 22),
    });
  });

  it("have null or text as their index, and the module root", () => {
    const instances = [{}, { index_key: null }, { index_key: 3 }, { index_key: "" }];
    const actual = read(withResources(resource({ instances }))).instances;
    expect(actual.map(({ nameIndex }) => nameIndex)).toEqual([null, null, "3", ""]);
    expect(actual.map(({ module }) => module)).toEqual(["root", "root", "root", "root"]);
  });

  it("can name the provider themselves", () => {
    const instances = [{ index_key: 0, provider: `${aws}.all["a"]` }];
    expect(read(withResources(resource({ provider: undefined, instances }))).instances[0]!.provider).toBe(
      "hashicorp/aws",
    );
  });

  it("are not listed for data sources, or if they are deposed", () => {
    const instances = [{ deposed: "00ff" }, { index_key: 1 }, { index_key: 2, deposed: "" }];
    expect(addressOf({ instances })).toEqual(["aws_x.this[1]", "aws_x.this[2]"]);
    expect(addressOf({ mode: "data" })).toEqual([]);
    expect(addressOf({ mode: "ephemeral" })).toEqual([]);
  });

  it.each([
    { type: "x".repeat(1100) },
    { name: "a\0" },
    { name: "\ud800" },
    { name: "" },
    { name: 5 },
    { type: null },
    { mode: undefined },
    { module: 1 },
    { provider: {} },
    { instances: { a: {} } },
    { instances: [1, "a", null, []] },
    { instances: [{ index_key: "x".repeat(1100) }, { index_key: true }, { index_key: 1.5 }, { index_key: "\0" }] },
  ])("are left out where the state is invalid (case %#)", (more) => {
    expect(addressOf(more)).toEqual([]);
  });

  it("are omitted for an invalid resource; those around it are listed", () => {
    const odd = [1, null, "a", [], {}, [resource()]];
    expect(read(withResources(resource(), ...odd, resource({ name: "b" }))).instances).toHaveLength(2);
    expect(read({ version: 4, resources: { a: resource() } }).instances).toHaveLength(0);
  });

  it("keep nothing of the previous resource", () => {
    const state = withResources(
      resource({ module: "module.m" }),
      { mode: "managed", type: "t", name: "n" },
      resource(),
    );
    expect(read(state).instances.map(({ address }) => address)).toEqual(["m.aws_x.this", "aws_x.this"]);
  });

  it("of a duplicate member are those of the last one", () => {
    const state = `{"version":4,"resources":[{"mode":"data","mode":"managed","type":"t","name":"n","provider":"provider.p",
      "instances":[{"index_key":1}],"instances":[{"index_key":2}]}]}`;
    expect(read(state).instances.map(({ address }) => address)).toEqual(["t.n[2]"]);
  });

  it("have a fingerprint that any byte of theirs changes, and nothing around them", () => {
    const fingerprint = (more: object, size?: number) =>
      read(withResources(resource(more)), size).instances[0]!.fingerprint;
    const first = fingerprint({});
    expect(first).toMatch(/^[\w-]{22}$/);
    for (const size of [1, 13, 1000]) expect(fingerprint({ name: "other" }, size)).toBe(first);
    expect(fingerprint({ instances: [{ schema_version: 0, attributes: { id: "b" } }] })).not.toBe(first);
  });

  it("of one resource are listed up to a limit, and counted beyond it", () => {
    const file = read(
      `{"version":4,"resources":[{"instances":[{}${",{}".repeat(99_999)}],"mode":"managed","type":"t","name":"n"}]}`,
    );
    expect(file.instanceCount).toBe(83_886);
    expect(file.modules).toEqual({ root: { t: 100_000 } });
  });
});

describe("outputs", () => {
  it("have their name, type, sensitivity and value", () => {
    const outputs = {
      a: { value: "x", type: "string" },
      b: { value: [1, null], type: ["list", "number"], sensitive: true },
      c: { sensitive: "true", value: null },
      __proto__x: { value: 1 },
    };
    expect(read(withOutputs(outputs)).outputs).toEqual([
      { name: "a", sensitive: false, type: '"string"', value: '"x"' },
      { name: "b", sensitive: true, type: '["list","number"]', value: "[1,null]" },
      { name: "c", sensitive: false, type: "null", value: "null" },
      { name: "__proto__x", sensitive: false, type: "null", value: "1" },
    ]);
  });

  it("keep the text of their value", () => {
    const values = ["123456789012345678901234567890.10", '"\\u00e9\\u0000"', '{ "a" : [ 1E400 ] }'];
    for (const value of values)
      for (const size of [1, 5, 1000])
        expect(read(withOutputs(`{"a":{"value": ${value} }}`), size).outputs[0]!.value).toBe(value);
  });

  it("can have any name", () => {
    const [output] = read(
      withOutputs('{"__proto__":{"value":{"__proto__":1},"type":["object",{"__proto__":"number"}]}}'),
    ).outputs;
    expect(output).toMatchObject({ name: "__proto__", value: '{"__proto__":1}' });
    expect(output!.type).toBe('["object",{"__proto__":"number"}]');
    expect(read(withOutputs({ "": { value: 1 }, "\0": { value: 1 }, "\ud800": { value: 1 } })).outputs).toHaveLength(1);
  });

  it("of the same name: the last one counts", () => {
    const outputs = '{"a":{"value":1,"sensitive":true},"b":{"value":2},"\\u0061":{"value":3,"value":4},"b":5}';
    expect(read(withOutputs(outputs)).outputs).toEqual([{ name: "a", sensitive: false, type: "null", value: "4" }]);
    const twice = '{"version":4,"outputs":{"a":{"value":1}},"outputs":{"b":{"value":1}}}';
    expect(read(twice).outputs.map(({ name }) => name)).toEqual(["b"]);
  });

  it("are omitted without a value, or if they are not objects", () => {
    expect(read(withOutputs({ a: { type: "string" }, b: 1, c: [{ value: 1 }], d: null })).outputs).toEqual([]);
    expect(read(withOutputs("[]")).outputs).toEqual([]);
    expect(read(withOutputs("null")).outputs).toEqual([]);
  });

  it("have no value beyond a size limit, for each and for all together", () => {
    const mebibyte = "x".repeat(1024 * 1024 - 2);
    const [kept, large] = read(
      withOutputs({ a: { value: mebibyte }, b: { value: `${mebibyte}x`, type: "string" } }),
    ).outputs;
    expect(kept!.value).toHaveLength(1024 * 1024);
    expect(large).toEqual({ name: "b", sensitive: false, type: '"string"', value: undefined });

    const entries = Array.from({ length: 18 }, (_, place) => [`o${place}`, { value: mebibyte }]);
    const { outputs } = read(withOutputs(Object.fromEntries(entries)));
    expect(outputs.map(({ value }) => value !== undefined)).toEqual(entries.map((_, place) => place < 16));
    // A replaced one makes room for another.
    const same = `{${Array.from({ length: 18 }, () => `"a":{"value":"${mebibyte}"}`).join(",")}}`;
    expect(read(withOutputs(same)).outputs[0]!.value).toHaveLength(1024 * 1024);
  });

  it("are at most 10,000", () => {
    const entries = Array.from({ length: 10_001 }, (_, place) => [`o${place}`, { value: place }]);
    expect(read(withOutputs(Object.fromEntries(entries))).outputs).toHaveLength(10_000);
  });
});

describe("the summary", () => {
  it("counts instances by module, provider and resource", () => {
    const builtin = 'provider["terraform.io/builtin/terraform"]';
    const file = read(
      withResources(
        resource({
          type: "null_resource",
          name: "a",
          instances: [{ index_key: 0 }, { index_key: 1 }, { deposed: "x" }],
        }),
        resource({ type: "null_resource", name: "b" }),
        resource({ mode: "data", type: "terraform_remote_state", name: "x", provider: builtin }),
        resource({ module: "module.m", type: "aws_x", name: "c", provider: `${aws}.west` }),
        resource({ name: "none", instances: [] }),
      ),
    );
    expect(JSON.parse(JSON.stringify(file))).toMatchObject({
      modules: { root: { "null-resource": 3, "data.terraform-remote-state": 1 }, m: { "aws-x": 1 } },
      providers: {
        [aws]: { "null-resource": 3 },
        [builtin]: { "data.terraform-remote-state": 1 },
        [`${aws}.west`]: { "aws-x": 1 },
      },
    });
    expect(file.resources).toEqual([
      { name: "a", type: "null_resource", count: 2, module: "root", provider: aws },
      { name: "b", type: "null_resource", count: 1, module: "root", provider: aws },
      { name: "x", type: "data.terraform_remote_state", count: 1, module: "root", provider: builtin },
      { name: "c", type: "aws_x", count: 1, module: "m", provider: `${aws}.west` },
    ]);
  });

  it("treats __proto__ like any other name", () => {
    const odd = { module: "module.__proto__", type: "__proto__", provider: "__proto__" };
    const file = read(withResources(resource(odd)));
    expect(JSON.stringify(file.modules)).toBe('{"__proto__":{"--proto--":1}}');
    expect(JSON.stringify(file.providers)).toBe('{"__proto__":{"--proto--":1}}');
    expect(({} as Record<string, unknown>)["--proto--"]).toBeUndefined();
  });

  itInGate("is bounded in everything", () => {
    const many = Array.from({ length: 600 }, (_, place) =>
      resource({ module: `module.m${place}`, provider: `provider.p${place}`, type: `t${place}` }),
    );
    const wide = read(withResources(...many));
    expect(wide.instances).toHaveLength(600);
    expect(wide.resources).toHaveLength(500);
    expect(Object.keys(wide.modules)).toHaveLength(200);
    expect(Object.keys(wide.providers)).toHaveLength(200);

    const types = Array.from({ length: 300 }, (_, place) => resource({ type: `t${place}` }));
    const { modules } = read(withResources(...types, resource({ type: "t0" }))) as { modules: { root: object } };
    expect(Object.keys(modules.root)).toHaveLength(200);
    expect(modules.root).toMatchObject({ t0: 2 });

    const long = Array.from({ length: 4000 }, (_, place) =>
      resource({ module: `module.m${place % 40}`, type: `t${place}${"x".repeat(900)}` }),
    );
    const summary = read(withResources(...long));
    for (const part of [summary.modules, summary.providers, summary.resources])
      expect(JSON.stringify(part).length).toBeLessThan(100 * 1024);
  });
});

describe("any order of members, cut anywhere", () => {
  const shuffled = <T extends object>(object: T) =>
    fc.shuffledSubarray(Object.entries(object), { minLength: Object.keys(object).length }).map(Object.fromEntries);
  // The library's "binary" first builds a table of all characters.
  const character = fc.integer({ min: 1, max: 0x10_ff_ff }).map((code) => String.fromCodePoint(code));
  const text = fc.string({ unit: character, minLength: 1, maxLength: 5 }).filter((text) => text.isWellFormed());
  const index = fc.oneof(text, fc.nat({ max: 99 }), fc.constant(undefined));
  const instance = index.chain((index_key) =>
    shuffled({ index_key, attributes: { index_key: "not this" }, schema_version: 0 }),
  );
  const anyResource = fc
    .record({
      mode: fc.constantFrom("managed", "data"),
      type: text,
      name: text,
      instances: fc.array(instance, { maxLength: 3 }),
    })
    .chain((facts) => shuffled({ ...facts, provider: aws, module: "module.m", each: "list" }));
  const state = fc
    .record({
      resources: fc.array(anyResource, { maxLength: 4 }),
      outputs: fc.dictionary(text, fc.record({ value: fc.jsonValue() })),
    })
    .chain((facts) => shuffled({ ...facts, version: 4, serial: 1, check_results: null }));

  itInGate("has the same result", () => {
    fc.assert(
      fc.property(state, fc.integer({ min: 1, max: 40 }), fc.constantFrom(0, 2), (state, size, indent) => {
        const json = JSON.stringify(state, null, indent);
        const file = read(json, size);
        const parsed = JSON.parse(json) as any;
        const managed = parsed.resources.filter((resource: any) => resource.mode === "managed");
        const expected = managed.flatMap(({ type, name, instances }: any) =>
          instances.map(
            ({ index_key: key }: any) => `m.${type}.${name}${key === undefined ? "" : `[${JSON.stringify(key)}]`}`,
          ),
        );
        expect(file.instances.map(({ address }) => address)).toEqual(expected);
        expect(Object.fromEntries(file.outputs.map(({ name, value }) => [name, JSON.parse(value!)]))).toEqual(
          Object.fromEntries(Object.entries(parsed.outputs).map(([name, output]: any) => [name, output.value])),
        );
        expect(read(json)).toEqual(file);
      }),
      { seed, numRuns: deep(200, 3000) },
    );
  });
});
