/** Input that is expensive to process: texts, values for a schema, states, plans and archives of a given size. */
import { gzipSync } from "node:zlib";
import type { Description, Schema } from "../../fuzz/document.ts";
import { type Entry, part, pax, tar } from "./archives.ts";

type InputOfSize<T> = (size: number) => T;

const times =
  (unit: string, before = "", after = ""): InputOfSize<string> =>
  (size) =>
    before + unit.repeat(Math.max(1, Math.floor((size - before.length - after.length) / unit.length))) + after;

const numbered = (size: number, each: (index: number) => string): string[] => {
  const found: string[] = [];
  for (let length = 0; length < size; length += (found.at(-1)?.length ?? 0) + 1) found.push(each(found.length));
  return found;
};

/** Backtracking, nesting and repetition. The first letters often match a pattern's start. */
export const hostileTexts: Readonly<Record<string, InputOfSize<string>>> = {
  letters: times("a"),
  "letters, then one that does not match": times("a", "", "\n!"),
  spaces: times(" ", "", "x"),
  "spaces between": times(" a"),
  slashes: times("/", "https://a", "x\n"),
  dots: times(".", "a", "!"),
  "version with many zeros": times(".0", "1", "x"),
  dashes: times("-", "a", "!"),
  digits: times("1", "", "x"),
  "at signs": times("@", "a", "\n"),
  quotes: times('\\"', '"'),
  backslashes: times("\\", '"'),
  brackets: times("["),
  braces: times("{"),
  parentheses: times("(a*)*", "", "b"),
  stars: times("*a", "", "b"),
  questions: times("?", "", "!"),
  commas: times("a,"),
  different: (size) => numbered(size, String).join(","),
  semicolons: times("; q=0.1,"),
  equals: times("=", "a", "!"),
  percents: times("%25"),
  templates: times("${"),
  comments: times("/*"),
  keys: times("-----BEGIN A PRIVATE KEY-----\n-----END "),
  modules: times('module.a["b"].', "", 'provider["c"].d['),
  providers: times('.provider["c"].d[', "a"),
};

const textFamilies = Object.keys(hostileTexts);

/** A different selection at each call. */
export function someTexts(round: number, isAll: boolean): readonly string[] {
  return isAll ? textFamilies : [0, 9, 18].map((offset) => textFamilies[(round + offset) % textFamilies.length] ?? "");
}

// --- values for a schema

export type ValuePath = readonly (string | number)[];

export interface HostileField {
  readonly place: ValuePath;
  readonly make: (family: string, size: number) => unknown;
  readonly sizesMax: readonly number[];
}

export function hostileFields(description: Description, schema: Schema, bytesMax: number): HostileField[] {
  return fieldsOf(description, schema, [], bytesMax, 0);
}

function fieldsOf(
  description: Description,
  given: Schema,
  place: ValuePath,
  bytesMax: number,
  depth: number,
): HostileField[] {
  const schema = description.resolved(given);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined)
    return choices.flatMap((choice) => fieldsOf(description, choice, place, bytesMax, depth + 1));
  if (depth > 8 || "const" in schema) return [];
  const types = [schema.type ?? "any"].flat();
  const found: HostileField[] = [];
  const text = (family: string, size: number) => (hostileTexts[family] ?? times("a"))(size);
  if (types.includes("string") || types.includes("any")) {
    const limit = schema.maxLength ?? bytesMax;
    found.push({ place, make: text, sizesMax: limit > 2_000 && limit < bytesMax ? [limit, bytesMax] : [bytesMax] });
  }
  if (types.includes("array")) found.push(listAt(description, schema, place, bytesMax));
  if (types.includes("object") || types.includes("any")) {
    const members = Object.entries(schema.properties ?? {});
    for (const [name, member] of members)
      found.push(...fieldsOf(description, member, [...place, name], bytesMax, depth + 1));
    if (members.length === 0) found.push(recordAt(place, bytesMax));
  }
  return found;
}

function listAt(description: Description, schema: Schema, place: ValuePath, bytesMax: number): HostileField {
  const make = (_family: string, size: number) =>
    numbered(size, (index) => JSON.stringify(sampleOf(description, schema.items ?? {}, index))).map(
      (item) => JSON.parse(item) as unknown,
    );
  return { place, make, sizesMax: [bytesMax] };
}

const recordAt = (place: ValuePath, bytesMax: number): HostileField => ({
  place,
  make: (_family, size) => Object.fromEntries(numbered(size, (index) => `member-${index}`).map((name) => [name, name])),
  sizesMax: [bytesMax],
});

/** Different for every index. */
function sampleOf(description: Description, given: Schema, index: number, depth = 0): unknown {
  const schema = description.resolved(given);
  if ("const" in schema) return schema.const;
  if (schema.enum !== undefined) return schema.enum[index % schema.enum.length];
  const choice = (schema.anyOf ?? schema.oneOf)?.[0];
  if (choice !== undefined) return sampleOf(description, choice, index, depth + 1);
  const [type = "string"] = [schema.type ?? "string"].flat();
  if (type === "integer" || type === "number") return index;
  if (type === "boolean") return index % 2 === 0;
  if (type === "array" || depth > 6) return [];
  if (type !== "object") return `item-${index}`;
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, member]) => [
      name,
      sampleOf(description, member, index, depth + 1),
    ]),
  );
}

export function withAt(value: unknown, [first, ...rest]: ValuePath, replacement: unknown): unknown {
  if (first === undefined) return replacement;
  const known = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  return { ...known, [first]: withAt(known[first], rest, replacement) };
}

// --- contents

const state = (members: object): string =>
  JSON.stringify({
    version: 4,
    terraform_version: "1.9.5",
    serial: 1,
    lineage: "a",
    outputs: {},
    resources: [],
    ...members,
  });
const listOf = (size: number, each: (index: number) => object): object[] =>
  numbered(size, (index) => JSON.stringify(each(index))).map((text) => JSON.parse(text) as object);
const resource = (index: number, more: object = {}): object => ({
  mode: "managed",
  type: "t",
  name: `r${index}`,
  provider: 'provider["registry.terraform.io/a/b"]',
  instances: [{ attributes: {} }],
  ...more,
});

export const hostileStates: Readonly<Record<string, InputOfSize<string>>> = {
  "many resources": (size) => state({ resources: listOf(size, resource) }),
  "many instances": (size) =>
    state({ resources: [resource(0, { instances: listOf(size, (index_key) => ({ index_key, attributes: {} })) })] }),
  "the same resource": (size) => state({ resources: listOf(size, () => resource(0)) }),
  "long providers": (size) =>
    state({
      resources: [
        resource(0, { provider: hostileTexts["providers"]?.(size), module: hostileTexts["modules"]?.(size) }),
      ],
    }),
  "many outputs": (size) =>
    state({
      outputs: Object.fromEntries(
        listOf(size, () => ({ value: "a", type: "string" })).map((each, at) => [`o${at}`, each]),
      ),
    }),
  "an output of a deep type": (size) => {
    const depth = Math.min(200, size >> 4);
    return state({
      outputs: {
        a: { value: [], type: JSON.parse(`${'["list",'.repeat(depth)}"string"${"]".repeat(depth)}`) as unknown },
      },
    });
  },
  "a long text": (size) => state({ outputs: { a: { value: "a".repeat(size), type: "string" } } }),
  nested: times("[", '{"version":4,"a":'),
  lists: times("[],", '{"version":4,"serial":1,"lineage":"a","resources":[', "1]}"),
  members: (size) => `{${numbered(size, (index) => `"k${index}":1`).join(",")}}`,
  escapes: times("\\u0041", '{"version":4,"a":"', '"}'),
  "a long number": times("1", '{"version":4,"serial":', "}"),
};

const change = (index: number, more: object = {}): object => ({
  address: `t.r${index}`,
  mode: "managed",
  type: `t${index % 7}`,
  name: `r${index}`,
  provider_name: "registry.terraform.io/a/b",
  change: { actions: ["update"], before: { a: index }, after: { a: "hunter2" }, after_sensitive: { a: true } },
  ...more,
});

export const hostilePlans: Readonly<Record<string, InputOfSize<string>>> = {
  changes: (size) => JSON.stringify({ resource_changes: listOf(size, change) }),
  "changes of many types": (size) =>
    JSON.stringify({ resource_changes: listOf(size, (index) => change(index, { type: `t${index}` })) }),
  "different attribute names in each": (size) =>
    JSON.stringify({
      resource_changes: listOf(size, (index) => change(index, { type: "t", change: { after: { [`n${index}`]: 1 } } })),
    }),
  "one wide change": (size) =>
    JSON.stringify({
      resource_changes: [
        change(0, {
          change: {
            before: Object.fromEntries(numbered(size, (index) => `n${index}`).map((name) => [name, name])),
            before_sensitive: Object.fromEntries(numbered(size, (index) => `n${index}`).map((name) => [name, true])),
          },
        }),
      ],
    }),
  "actions of many types": (size) =>
    JSON.stringify({
      action_invocations: listOf(size, (index) => ({ type: `t${index}`, config_values: { [`n${index}`]: "aaaa" } })),
    }),
  numbers: times("1.0,", '{"resource_changes":[', "1]}"),
  objects: times("{},", '{"resource_changes":[', "1]}"),
  outputs: (size) =>
    `{"output_changes":{${numbered(size, (index) => `"o${index}":{"before":1.50,"after":2,"after_sensitive":true}`).join(",")}}}`,
  "a text of secret values": (size) =>
    JSON.stringify({ output_changes: { a: { before: null, after: "aaaa".repeat(size >> 2) } } }),
  ...hostileStates,
};

const entries = (size: number, each: (index: number) => Entry): Entry[] =>
  Array.from({ length: Math.max(1, size >> 9) }, (_, index) => each(index));
const zipped = (parts: readonly (Entry | Buffer)[]): Buffer => gzipSync(tar(parts), { level: 1 });
const empty = (name: string): Entry => ({ name, content: "" });

export const hostileArchives: Readonly<Record<string, InputOfSize<Buffer>>> = {
  "many files": (size) => zipped(entries(size, (index) => empty(`f${index}.tf`))),
  "many files in many folders": (size) => zipped(entries(size, (index) => empty(`d${index}/e/f.tf`))),
  "one file again and again": (size) => zipped(entries(size, () => empty("main.tf"))),
  "files that differ in case": (size) => zipped(entries(size, (index) => empty(index % 2 === 0 ? "A.tf" : "a.tf"))),
  "long names": (size) => {
    const name = "a/".repeat(100);
    return zipped(
      Array.from({ length: Math.max(1, size >> 11) }, (_, index) =>
        Buffer.concat([pax({ path: `${name}${index}` }), part(empty("x"))]),
      ),
    );
  },
  "a long header": (size) =>
    zipped([Buffer.concat([pax({ comment: "a".repeat(Math.min(size, 900_000)) }), part(empty("x"))])]),
  "one large file": (size) => zipped([{ name: "a.tf", content: "a".repeat(size) }]),
  "not an archive": (size) => gzipSync(Buffer.alloc(size, 0x61)),
};
