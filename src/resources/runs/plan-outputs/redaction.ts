/**
 * A JSON plan without its secrets, in the form that engines draw plans from. Every place that is marked sensitive, before or after,
 * loses its value on both sides. What stands there instead has the same JSON type, and is equal or different between the two as the
 * values were; else changes would vanish from what is drawn. Pure.
 */
import { isDeclared, type Shape, shapeAt, shapeOfSchema } from "./shapes.ts";

/** In the language since, but not yet in its types. */
declare global {
  interface JSON {
    rawJSON(text: string): object;
    isRawJSON(value: unknown): boolean;
  }
}

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
type Loose = { readonly [name: string]: unknown };

const isObject = (value: unknown): value is Loose =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
/** Names come from the plan: none may reach what every object has. */
const within = (value: unknown, place: string | number): unknown =>
  (isObject(value) || Array.isArray(value)) && Object.hasOwn(value, place)
    ? (value as Record<string | number, unknown>)[place]
    : undefined;

/** Numbers that would not come out as they went in stay as they are written. Raises SyntaxError. */
export const parsePlan = (text: string): unknown =>
  JSON.parse(text, (_name, value: unknown, { source }: { source?: string } = {}) =>
    typeof value === "number" && source !== undefined && String(value) !== source ? JSON.rawJSON(source) : value,
  );

/** What `json-output-redacted` gives, of what `show -json` and `providers schema -json` gave. */
export function redactPlan(plan: unknown, schemas: unknown): object {
  const of = (name: string) => within(plan, name);
  const changes = ["resource_changes", "resource_drift"].map((name) => listOf(of(name)));
  const deferred = listOf(of("deferred_changes"));
  const named = [...changes.flat(), ...deferred.map((each) => within(each, "resource_change"))];
  const provided = providersOf(named, schemas);
  const redacted = (change: unknown) => redactResource(change, provided);
  const [resourceChanges, resourceDrift] = changes.map((list) => list.map(redacted));
  return {
    plan_format_version: of("format_version") ?? "1.2",
    resource_changes: resourceChanges,
    resource_drift: resourceDrift,
    ...(deferred.length > 0 && {
      deferred_changes: deferred.map((each) => ({
        reason: within(each, "reason"),
        resource_change: redacted(within(each, "resource_change")),
      })),
    }),
    output_changes: Object.fromEntries(
      entriesOf(of("output_changes")).map(([name, change]) => [name, redactChange(change, undefined)]),
    ),
    relevant_attributes: listOf(of("relevant_attributes")),
    provider_format_version: within(schemas, "format_version") ?? "1.0",
    provider_schemas: provided,
  };
}

const entriesOf = (value: unknown): [string, unknown][] => (isObject(value) ? Object.entries(value) : []);

// --- changes

/** What is told of a resource beside its change: all of it is written in the configuration. */
const kept = [
  "address",
  "previous_address",
  "module_address",
  "mode",
  "type",
  "name",
  "index",
  "index_unknown",
  "provider_name",
  "deposed",
  "action_reason",
];

function redactResource(change: unknown, provided: Providers): object {
  const shape = shapeOfSchema(schemaOf(change, provided));
  return {
    ...Object.fromEntries(entriesOf(change).filter(([name]) => kept.includes(name))),
    change: redactChange(within(change, "change"), shape),
  };
}

const keptOfChange = ["actions", "importing", "generated_config", "before_identity", "after_identity"];

function redactChange(change: unknown, shape: Shape): object {
  const marks = united(within(change, "before_sensitive"), within(change, "after_sensitive"));
  const stand = new StandIns();
  const of = (name: string) => within(change, name);
  return {
    ...Object.fromEntries(entriesOf(change).filter(([name]) => keptOfChange.includes(name))),
    before: redact(of("before"), marks, shape, stand),
    after: redact(of("after"), marks, shape, stand),
    after_unknown: redactUnknown(of("after_unknown"), marks, shape, stand),
    before_sensitive: of("before_sensitive") ?? false,
    after_sensitive: of("after_sensitive") ?? false,
    ...(of("replace_paths") !== undefined && {
      replace_paths: listOf(of("replace_paths")).map((path) => reachable(listOf(path), marks)),
    }),
  };
}

/** True where all below is secret; otherwise what is secret by its place. */
type Marks = true | { readonly [place: string]: Marks } | undefined;

/** A place that is secret on one side is so on both: a value that stays must not seem to change. */
function united(one: unknown, other: unknown): Marks {
  if (one === true || other === true) return true;
  const places = new Set(
    [one, other].flatMap((marks) => (typeof marks === "object" && marks ? Object.keys(marks) : [])),
  );
  const found = [...places].flatMap((place): [string, Marks][] => {
    const marks = united(within(one, place), within(other, place));
    return marks === undefined ? [] : [[place, marks]];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

const below = (marks: Marks, place: string | number): Marks =>
  marks === true || marks === undefined ? marks : Object.hasOwn(marks, place) ? marks[place] : undefined;

function redact(value: unknown, marks: Marks, shape: Shape, stand: StandIns): unknown {
  if (marks === undefined || value === undefined) return value ?? null;
  if (Array.isArray(value))
    return value.map((item: unknown, at) => redact(item, below(marks, at), shapeAt(shape, at), stand));
  if (isObject(value)) {
    const members = Object.entries(value).map(([name, member]): [string, unknown] => [
      marks === true && !isDeclared(shape, name) ? stand.forKey(name) : name,
      redact(member, below(marks, name), shapeAt(shape, name), stand),
    ]);
    return Object.fromEntries(members);
  }
  return marks === true ? stand.for(value as Json) : value;
}

/** It says where something is not known yet, and nothing of what is; but its keys are those of the values. */
function redactUnknown(unknown: unknown, marks: Marks, shape: Shape, stand: StandIns): unknown {
  if (Array.isArray(unknown))
    return unknown.map((item: unknown, at) => redactUnknown(item, below(marks, at), shapeAt(shape, at), stand));
  if (!isObject(unknown)) return unknown ?? false;
  return Object.fromEntries(
    Object.entries(unknown).map(([name, member]) => [
      marks === true && !isDeclared(shape, name) ? stand.forKey(name) : name,
      redactUnknown(member, below(marks, name), shapeAt(shape, name), stand),
    ]),
  );
}

/** A path as far as it leads to something that is not secret. */
function reachable(path: readonly unknown[], marks: Marks): unknown[] {
  const steps: unknown[] = [];
  let here = marks;
  for (const step of path) {
    if (here === true) break;
    steps.push(step);
    here = below(here, step as string | number);
  }
  return steps;
}

/** Within one change, equal values have equal stand-ins and different ones different ones. */
class StandIns {
  readonly #seen = new Map<string, Map<unknown, number>>();

  #place(kind: string, value: unknown): number {
    const known = this.#seen.get(kind) ?? new Map<unknown, number>();
    this.#seen.set(kind, known);
    const place = known.get(value) ?? known.size + 1;
    known.set(value, place);
    return place;
  }

  for(value: Json): Json {
    if (value === null) return null;
    if (typeof value === "string") return `(sensitive value ${this.#place("text", value)})`;
    if (typeof value === "boolean") return this.#place("flag", value) === 2;
    return this.#place("number", JSON.stringify(value));
  }

  forKey(name: string): string {
    return `(sensitive key ${this.#place("key", name)})`;
  }
}

// --- schemas

type Providers = { readonly [provider: string]: { readonly [kind: string]: { readonly [type: string]: unknown } } };

const kindOf = (change: unknown): string =>
  within(change, "mode") === "data" ? "data_source_schemas" : "resource_schemas";

const schemaOf = (change: unknown, provided: Providers): unknown =>
  within(
    within(within(provided, String(within(change, "provider_name"))), kindOf(change)),
    String(within(change, "type")),
  );

/**
 * The schemas of what changes, and no others: those of a provider may be tens of megabytes. Engines look one up for each change and
 * stop at once where there is none; so one that is missing is made of the names that are there.
 */
function providersOf(changes: readonly unknown[], schemas: unknown): Providers {
  const provided: Record<string, Record<string, Record<string, unknown>>> = Object.create(null);
  for (const change of changes) {
    const [provider, kind, type] = [
      String(within(change, "provider_name")),
      kindOf(change),
      String(within(change, "type")),
    ];
    const kinds = (provided[provider] ??= Object.create(null) as Record<string, Record<string, unknown>>);
    const types = (kinds[kind] ??= Object.create(null) as Record<string, unknown>);
    const known = within(within(within(within(schemas, "provider_schemas"), provider), kind), type);
    types[type] = known ?? improvised(change, types[type]);
  }
  return provided;
}

function improvised(change: unknown, before: unknown): object {
  const values = ["before", "after", "after_unknown"].map((name) => within(within(change, "change"), name));
  const names = values.flatMap((value) => (isObject(value) ? Object.keys(value) : []));
  const attributes = names.map((name) => [name, { type: "dynamic", optional: true }]);
  const known = entriesOf(within(within(before, "block"), "attributes"));
  return { version: 0, block: { attributes: Object.fromEntries([...known, ...attributes]) } };
}
