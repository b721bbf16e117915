/** Parses query strings: pages, sorting, filters, includes. Reports every invalid parameter by name. */
import { AppError, type Fault } from "../kernel/errors.ts";
import { camel, type Camel } from "../kernel/names.ts";
import { quoted } from "../kernel/text.ts";

export const pageSizeDefault = 20;
export const pageSizeMax = 100;
/** Far below an overflow of OFFSET. */
const pageNumberMax = 1_000_000_000;
const parameterLengthMax = 4096;

export interface Page {
  readonly number: number;
  readonly size: number;
}

/** `parse` returns a sentence if the text is invalid. */
export interface Parameter<Value = unknown> {
  readonly doc: string;
  readonly parse: (text: string) => Value | InvalidParameter;
  readonly required?: boolean;
}
export class InvalidParameter {
  readonly sentence: string;
  constructor(sentence: string) {
    this.sentence = sentence;
  }
}

export const textParameter = (doc: string): Parameter<string> => ({ doc, parse: (text) => text });
export const searchParameter = (where: string, more = ""): Parameter<string> =>
  textParameter(`Words that are all in ${where}, in any order, ignoring case.${more}`);
export const flagParameter = (doc: string): Parameter<true> => ({ doc, parse: () => true });
export const listParameter = (doc: string): Parameter<string[]> => ({
  doc,
  parse: (text) =>
    text
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== ""),
});
export function choiceParameter<const Values extends readonly string[]>(
  values: Values,
  doc: string,
): Parameter<Values[number]> {
  return {
    doc,
    parse: (text) =>
      values.includes(text) ? text : new InvalidParameter(`must be one of ${values.join(", ")}, not ${quoted(text)}`),
  };
}

/** `filter[tagged][0][key]`, `filter[tagged][0][value]`, `filter[tagged][1][key]` … */
export interface IndexedParameter<Member extends string = string> {
  readonly doc: string;
  readonly members: readonly Member[];
  readonly max: number;
}

export interface QueryDefinition {
  readonly paged?: true | "cursor" | "if-requested";
  readonly sort?: readonly string[];
  readonly include?: readonly string[];
  readonly parameters?: Readonly<Record<string, Parameter>>;
  readonly indexed?: Readonly<Record<string, IndexedParameter>>;
}

export interface Sort<Key extends string = string> {
  readonly key: Key;
  readonly descending: boolean;
}

type ParameterKey<Name extends string> = Camel<Flat<Name>>;
/** `filter[project][id]` → `filter-project-id` */
type Flat<Name extends string> = Name extends `${infer Head}][${infer Tail}`
  ? Flat<`${Head}-${Tail}`>
  : Name extends `${infer Head}[${infer Tail}`
    ? Flat<`${Head}-${Tail}`>
    : Name extends `${infer Head}]`
      ? Head
      : Name;

export type ParsedQuery<Q extends QueryDefinition | undefined> = Q extends QueryDefinition
  ? {
      readonly page: Page;
      readonly isPageRequested: boolean;
      readonly cursor: string | undefined;
      readonly sort: Q["sort"] extends readonly (infer Key extends string)[] ? Sort<Key> | undefined : undefined;
      readonly include: Q["include"] extends readonly (infer Name)[] ? ReadonlySet<Name> : ReadonlySet<never>;
    } & {
      readonly [Name in keyof Q["parameters"] as ParameterKey<Name & string>]: Q["parameters"][Name] extends Parameter<
        infer Value
      >
        ? Value | undefined
        : never;
    } & {
      readonly [Name in keyof Q["indexed"] as ParameterKey<Name & string>]: Q["indexed"][Name] extends IndexedParameter<
        infer Member
      >
        ? readonly Partial<Record<Member, string>>[]
        : never;
    }
  : undefined;

function parameterKey(name: string): string {
  return camel(name.replaceAll(/\]?\[/g, "-").replaceAll("]", ""));
}

export type RawQuery = ReadonlyMap<string, readonly string[]>;

const firstPage: Page = { number: 1, size: pageSizeDefault };

/** Throws `bad-request` with every invalid parameter. Unknown parameters are ignored. */
export function parseQuery(definition: QueryDefinition | undefined, raw: RawQuery): Record<string, unknown> {
  const faults: Fault[] = [];
  const read = reader(raw, faults);
  const page = definition?.paged === undefined ? firstPage : readPage(read, faults);
  const query: Record<string, unknown> = {
    page,
    isPageRequested: raw.has("page[number]") || raw.has("page[size]"),
    cursor: definition?.paged === "cursor" ? read("page[cursor]") : undefined,
    sort: definition?.sort && readSort(definition.sort, read("sort"), faults),
    include: readInclude(definition?.include ?? [], read("include"), faults),
  };
  for (const [name, parameter] of Object.entries(definition?.parameters ?? {})) {
    query[parameterKey(name)] = readParameter(name, parameter, read(name), faults);
  }
  for (const [name, parameter] of Object.entries(definition?.indexed ?? {})) {
    query[parameterKey(name)] = readIndexed(name, parameter, raw, read, faults);
  }
  if (faults.length > 0) throw new AppError("bad-request", faults);
  return query;
}

type ReadParameter = (name: string) => string | undefined;

function reader(raw: RawQuery, faults: Fault[]): ReadParameter {
  return (name) => {
    const values = raw.get(name);
    if (values === undefined) return undefined;
    if (values.length > 1)
      faults.push({
        parameter: name,
        detail: `The query parameter ${name} is given ${values.length} times. Send it once.`,
      });
    const value = values[0] ?? "";
    if (value.length > parameterLengthMax) {
      faults.push({
        parameter: name,
        detail: `The query parameter ${name} is too long (maximum is ${parameterLengthMax} characters).`,
      });
      return undefined;
    }
    if (value.includes("\0") || !value.isWellFormed()) {
      faults.push({ parameter: name, detail: `The query parameter ${name} contains characters that can't be stored.` });
      return undefined;
    }
    return value;
  };
}

function readPage(read: ReadParameter, faults: Fault[]): Page {
  const positive = (name: string, initially: number, max: number): number => {
    const value = read(name);
    if (value === undefined) return initially;
    if (!/^0*[1-9][0-9]*$/.test(value)) {
      faults.push({ parameter: name, detail: `The query parameter ${name} must be a positive whole number.` });
      return initially;
    }
    return Math.min(Number(value), max);
  };
  return {
    number: positive("page[number]", 1, pageNumberMax),
    size: positive("page[size]", pageSizeDefault, pageSizeMax),
  };
}

function readSort(keys: readonly string[], value: string | undefined, faults: Fault[]): Sort | undefined {
  if (value === undefined || value === "") return undefined;
  const descending = value.startsWith("-");
  const key = descending ? value.slice(1) : value;
  if (keys.includes(key)) return { key, descending };
  const allowed = keys.flatMap((name) => [name, `-${name}`]).join(", ");
  faults.push({ parameter: "sort", detail: `The sort parameter must be one of ${allowed}, not ${quoted(value)}.` });
  return undefined;
}

function readInclude(allowed: readonly string[], value: string | undefined, faults: Fault[]): ReadonlySet<string> {
  // Some clients spell names with hyphens, as documents do.
  const spelled = (name: string) => (allowed.includes(name) ? name : name.replaceAll("-", "_"));
  const wanted = new Set(
    (value ?? "")
      .split(",")
      .map((part) => part.trim())
      .map((name) => (allowed.includes(spelled(name)) ? spelled(name) : name))
      .filter((part) => part !== ""),
  );
  for (const name of wanted) {
    if (allowed.includes(name)) continue;
    const known = allowed.length === 0 ? "this operation includes nothing" : `known names are ${allowed.join(", ")}`;
    faults.push({
      parameter: "include",
      detail: `The include parameter names ${quoted(name)}, which is unknown; ${known}.`,
    });
  }
  return wanted;
}

function readParameter(name: string, parameter: Parameter, value: string | undefined, faults: Fault[]): unknown {
  if (value === undefined) {
    if (parameter.required) faults.push({ parameter: name, detail: `The query parameter ${name} is required.` });
    return undefined;
  }
  const parsed = parameter.parse(value);
  if (parsed instanceof InvalidParameter) {
    faults.push({ parameter: name, detail: `The query parameter ${name} ${parsed.sentence}.` });
    return undefined;
  }
  return parsed;
}

function readIndexed(
  name: string,
  { members, max }: IndexedParameter,
  raw: RawQuery,
  read: ReadParameter,
  faults: Fault[],
): Record<string, string>[] {
  const groups = new Map<number, Record<string, string>>();
  for (const parameter of raw.keys()) {
    if (!parameter.startsWith(`${name}[`)) continue;
    const [, index, member] = /^\[(\d{1,4})\]\[([a-z-]+)\]$/.exec(parameter.slice(name.length)) ?? [];
    if (index === undefined || member === undefined || !members.includes(member)) {
      const shapes = members.map((known) => `${name}[0][${known}]`).join(" or ");
      faults.push({ parameter, detail: `The query parameter ${quoted(parameter)} must be of the form ${shapes}.` });
      continue;
    }
    const group = groups.get(Number(index)) ?? {};
    group[member] = read(parameter) ?? "";
    groups.set(Number(index), group);
  }
  if (groups.size > max)
    faults.push({ parameter: name, detail: `At most ${max} ${name} filters can be sent in one request.` });
  return [...groups].toSorted(([left], [right]) => left - right).map(([, group]) => group);
}

const queryBytesMax = 8 * 1024;

/** Brackets may be percent-encoded. Throws `bad-request`. */
export function parseQueryString(text: string): RawQuery {
  if (text.length > queryBytesMax)
    throw new AppError(
      "bad-request",
      `The query is longer than ${queryBytesMax} bytes. Send fewer or shorter parameters.`,
    );
  const values = new Map<string, string[]>();
  if (text === "") return values;
  for (const part of text.split("&")) {
    if (part === "") continue;
    const [name = "", ...rest] = part.split("=");
    const key = decode(name);
    const value = decode(rest.join("="));
    const known = values.get(key);
    if (known === undefined) values.set(key, [value]);
    else known.push(value);
  }
  return values;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new AppError("bad-request", "The query is not valid percent-encoded UTF-8.");
  }
}
