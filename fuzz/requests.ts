/** Generates requests from the OpenAPI document: mostly valid ones, many that are slightly invalid, and some that are garbage. */
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { mutated, anyJson, anyScalar } from "../test/support/invalid-input.ts";
import type { Description, Operation, Parameter } from "./document.ts";
import type { Pool } from "./pool.ts";
import { placeholders, Values } from "./values.ts";

/** A generated request, with placeholders for ids. */
export interface Draft {
  readonly operation: Operation;
  readonly choice: number;
  readonly path: Readonly<Record<string, PathWord>>;
  readonly query: readonly (readonly [string, string])[];
  readonly body: Body | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

type PathWord = { readonly choice: number } | { readonly word: string };

interface Body {
  readonly mediaType: string;
  readonly bytes: string | Uint8Array;
}

export interface Request {
  readonly operation: Operation;
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
}

const often = <T>(usual: fc.Arbitrary<T>, weight: number, rare: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: rare });

const words = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom(
    "0",
    "-1",
    "..",
    "%00",
    "%2e%2e%2f",
    "*",
    "null",
    "a".repeat(600),
    "ws-",
    "'",
    "\u{1F344}",
    "\r\nx: y",
  ),
);

const unusualHeaders: fc.Arbitrary<Record<string, string>> = fc.oneof(
  { weight: 20, arbitrary: fc.constant({}) },
  ...(
    [
      { "if-match": "*" },
      { "if-match": '"1"' },
      { "if-match": 'W/"1", "2"' },
      { "content-type": "text/plain" },
      { "content-type": "application/vnd.api+json; charset=latin1" },
      { accept: "text/html" },
      { accept: "application/json;q=0.1, */*;q=0" },
      { accept: "text/csv" },
      { "accept-encoding": "gzip, br" },
      { "x-http-method-override": "DELETE" },
      { range: "bytes=0-1" },
      { origin: "https://elsewhere.example" },
      { expect: "100-continue" },
    ] as readonly Record<string, string>[]
  ).map((headers) => ({ weight: 1, arbitrary: fc.constant(headers) })),
);

export class Drafts {
  readonly all: fc.Arbitrary<Draft>;
  readonly #values: Values;

  constructor(description: Description) {
    this.#values = new Values(description);
    this.all = fc.oneof(...description.operations.map((operation) => this.#of(operation)));
  }

  #of(operation: Operation): fc.Arbitrary<Draft> {
    const inPath = operation.parameters.filter((parameter) => parameter.in === "path");
    const inQuery = operation.parameters.filter((parameter) => parameter.in === "query");
    const path = fc.record(
      Object.fromEntries(
        inPath.map(({ name }) => [
          name,
          often<PathWord>(
            fc.nat(1_000_000).map((choice) => ({ choice })),
            14,
            words.map((word) => ({ word })),
          ),
        ]),
      ),
    );
    return fc.record({
      operation: fc.constant(operation),
      choice: fc.nat(1_000_000),
      path,
      query: this.#query(inQuery),
      body: this.#body(operation),
      headers: unusualHeaders,
    });
  }

  #query(parameters: readonly Parameter[]): fc.Arbitrary<(readonly [string, string])[]> {
    const pair = ({ name, schema, description = "" }: Parameter) => {
      const names = description.match(/[a-z][a-z_.-]+/g) ?? ["none"];
      const usual = name === "include" ? fc.constantFrom(...names) : this.#values.of(schema);
      return often(usual, 5, fc.oneof(words, anyScalar)).map((value) => [name, String(value)] as const);
    };
    const unknown = fc.tuple(fc.oneof(words, fc.constantFrom("page", "page[size][]", "filter[]", "__proto__")), words);
    const asked = parameters.map((parameter) => often(fc.constant(undefined), 3, pair(parameter)));
    return fc
      .tuple(often<readonly [string, string] | undefined>(fc.constant(undefined), 30, unknown), ...asked)
      .map((pairs) => pairs.filter((each) => each !== undefined));
  }

  #body({ bodies }: Operation): fc.Arbitrary<Body | undefined> {
    const kinds = Object.entries(bodies).map(([mediaType, { schema = {}, example }]) => {
      const text = (value: unknown): Body => ({ mediaType, bytes: JSON.stringify(value) ?? "" });
      if (mediaType === "*/*") return contents;
      if (mediaType === "application/x-www-form-urlencoded")
        return often(this.#values.of(schema), 4, anyJson).map((value) => ({ mediaType, bytes: formOf(value) }));
      const right = example === undefined ? this.#values.of(schema) : fc.constant(example);
      return fc.oneof(
        { weight: 6, arbitrary: right.map(text) },
        { weight: 6, arbitrary: this.#values.of(schema).map(text) },
        { weight: 5, arbitrary: (example === undefined ? anyJson : mutated(example)).map(text) },
        { weight: 1, arbitrary: anyJson.map(text) },
        { weight: 1, arbitrary: broken.map((bytes) => ({ mediaType, bytes })) },
      );
    });
    if (kinds.length === 0) return often<Body | undefined>(fc.constant(undefined), 20, contents);
    return often<Body | undefined>(fc.oneof(...kinds), 30, fc.constant(undefined));
  }
}

/** Invalid JSON, or huge JSON. */
const broken: fc.Arbitrary<string | Uint8Array> = fc.oneof(
  fc.constantFrom(
    "",
    "{",
    '{"data":',
    "[".repeat(20_000),
    '{"a":1,"a":2}',
    "\ufeff{}",
    '{"data":{"__proto__":{"x":1}}}',
  ),
  fc.uint8Array({ maxLength: 64 }),
);

const state = fc.record({
  version: often(fc.constant<unknown>(4), 5, anyScalar),
  terraform_version: often(fc.constant<unknown>("1.9.5"), 5, anyScalar),
  serial: often<unknown>(fc.nat(5), 5, anyScalar),
  lineage: often<unknown>(fc.constant("871d1b4a-e579-fb7c-ffdd-f0c858a647a7"), 5, anyScalar),
  outputs: often<unknown>(fc.constant({ a: { value: "x", type: "string" } }), 3, anyJson),
  resources: often<unknown>(fc.constant([]), 3, anyJson),
});

const contents: fc.Arbitrary<Body> = fc
  .oneof(
    fc.uint8Array({ maxLength: 2_000 }),
    state.map((value) => JSON.stringify(value)),
    fc.uint8Array({ maxLength: 1_000 }).map((bytes) => new Uint8Array(gzipSync(bytes))),
    anyJson.map((value) => JSON.stringify(value) ?? ""),
  )
  .map((bytes) => ({ mediaType: "application/octet-stream", bytes }));

function formOf(value: unknown): string {
  const pairs = Object.entries(typeof value === "object" && value !== null ? value : { value });
  return new URLSearchParams(pairs.map(([name, each]) => [name, textOf(each)])).toString();
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value.toWellFormed() : (JSON.stringify(value) ?? "");

/** Ids in examples don't exist; they are replaced by existing ids of the same type. */
const named = /\b([a-z]+)-1234567890abcdef\b/g;

/** Replaces the placeholders of a draft. */
export function requestFrom(draft: Draft, pool: Pool, typeOfPrefix: (prefix: string) => string): Request {
  const { operation, choice } = draft;
  let turn = choice;
  const filled = (text: string) =>
    text
      .replaceAll(placeholders, (_, type: string, which: string) => pool.idOf(type, Number(which)))
      .replaceAll(named, (_, prefix: string) => pool.idOf(typeOfPrefix(prefix), (turn += 7)));
  const bytes = draft.body?.bytes;
  // In JSON text a placeholder is escaped.
  const body = typeof bytes === "string" ? filled(bytes.replaceAll("\\u0001", "\u0001")) : bytes;
  const mediaType = draft.body && { "content-type": draft.body.mediaType };
  const headers = { ...mediaType, ...draft.headers };
  return { operation, method: operation.method, target: targetOf(draft, pool), headers, body };
}

function targetOf({ operation, choice, path, query }: Draft, pool: Pool): string {
  const isSigned = operation.parameters.some(({ name }) => name === "signature");
  const issued = isSigned || operation.path.includes("{log_key}") ? signedAddress(operation, pool, choice) : undefined;
  if (issued !== undefined && choice % 4 > 0) return issued;
  const filled = operation.path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => {
    const word = path[name] ?? { word: "" };
    return "word" in word ? encoded(word.word) : encodeURIComponent(pool.param(name, word.choice));
  });
  const text = query.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join("&");
  return text === "" ? filled : `${filled}?${text}`;
}

function signedAddress(operation: Operation, pool: Pool, choice: number): string | undefined {
  const pattern = new RegExp(`${operation.path.replaceAll(/\{[a-z_]+\}/g, "[^/?]+")}(\\?|$)`);
  const address = pool.signedUrl(pattern, choice);
  return address?.replace(/^http:\/\/[^/]+/, "");
}

/** Lone surrogates can't be sent. */
const encoded = (text: string): string => encodeURIComponent(text.toWellFormed());
