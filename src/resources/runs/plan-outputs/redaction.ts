/**
 * A JSON plan without its secrets, in the form that engines draw plans from. Every place that is marked sensitive, before or after,
 * loses its value on both sides; values of sensitive variables are masked wherever else they stand. What stands there instead has the
 * same JSON type, and is equal or different between the two as the values were; else changes would vanish from what is drawn. Pure.
 */
import type { ExactJson } from "./exact-json.ts";
import type { PlanMask } from "./masking.ts";
import { isDeclared, type Shape, shapeAt, shapeOfSchema } from "./shapes.ts";

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
type Loose = { readonly [name: string]: unknown };

const isObject = (value: unknown): value is Loose =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
/** Names come from the plan: none may reach what every object has. */
const within = (value: unknown, place: string | number): unknown =>
  (isObject(value) || Array.isArray(value)) && Object.hasOwn(value, place)
    ? (value as Record<string | number, unknown>)[place]
    : undefined;

/** How a plan is read: its numbers, and what is masked in it. */
export interface PlanReading {
  readonly json: ExactJson;
  readonly mask: PlanMask;
}

/** What `json-output-redacted` gives, of what `show -json` and `providers schema -json` gave. */
export function redactPlan(plan: unknown, schemas: unknown, reading: PlanReading): object {
  const of = (name: string) => within(plan, name);
  const changes = ["resource_changes", "resource_drift"].map((name) => listOf(of(name)));
  const deferred = listOf(of("deferred_changes"));
  const invocations = listOf(of("action_invocations"));
  const provided = providersOf(schemaUsesOf(plan), schemas);
  const shapes = new Map<unknown, Shape>();
  const shapeOf = (use: SchemaUse) => {
    const schema = schemaOf(provided, use);
    const shape = shapes.get(schema) ?? shapeOfSchema(schema);
    shapes.set(schema, shape);
    return shape;
  };
  const redacted = (change: unknown) => redactResource(change, shapeOf(useOfChange(change)), reading);
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
    // Those that are deferred are drawn by no engine.
    ...(invocations.length > 0 && {
      action_invocations: invocations.map((each) => redactInvocation(each, shapeOf(useOfInvocation(each)), reading)),
    }),
    output_changes: Object.fromEntries(
      entriesOf(of("output_changes")).map(([name, change]) => [name, redactChange(change, undefined, reading)]),
    ),
    relevant_attributes: listOf(of("relevant_attributes")),
    provider_format_version: within(schemas, "format_version") ?? "1.0",
    provider_schemas: provided,
  };
}

const entriesOf = (value: unknown): [string, unknown][] => (isObject(value) ? Object.entries(value) : []);
const membersOf = (value: unknown, names: readonly string[]): object =>
  Object.fromEntries(entriesOf(value).filter(([name]) => names.includes(name)));

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

function redactResource(change: unknown, shape: Shape, reading: PlanReading): object {
  return {
    ...membersOf(change, kept),
    change: redactChange(within(change, "change"), shape, reading),
  };
}

/** Beside the two sides: what is imported, what it is known by, and the configuration that was written for it. */
const valuesOfChange = ["importing", "generated_config", "before_identity", "after_identity"];

function redactChange(change: unknown, shape: Shape, reading: PlanReading): object {
  const marks = united(within(change, "before_sensitive"), within(change, "after_sensitive"));
  const side = new ChangeSide(reading);
  const of = (name: string) => within(change, name);
  return {
    ...(of("actions") !== undefined && { actions: of("actions") }),
    ...Object.fromEntries(
      entriesOf(change)
        .filter(([name]) => valuesOfChange.includes(name))
        .map(([name, value]) => [name, reading.mask.values(value)]),
    ),
    before: side.redact(of("before"), marks, shape),
    after: side.redact(of("after"), marks, shape),
    after_unknown: side.withKeys(of("after_unknown"), marks, shape),
    before_sensitive: side.withKeys(of("before_sensitive"), marks, shape),
    after_sensitive: side.withKeys(of("after_sensitive"), marks, shape),
    ...(of("replace_paths") !== undefined && {
      replace_paths: listOf(of("replace_paths")).map((path) => side.reachable(listOf(path), marks, shape)),
    }),
  };
}

/** Shown of an action beside its values, and of what invokes it, as for a resource. */
const keptOfInvocation = ["address", "type", "name", "provider_name"];
const keptOfTriggers = {
  lifecycle_action_trigger: [
    "triggering_resource_address",
    "action_trigger_event",
    "action_trigger_block_index",
    "actions_list_index",
    "on_failure",
  ],
  invoke_action_trigger: ["calling_resource_address"],
};

/** What is missing stays away: engines draw the values of every action that has some, were it null. */
function redactInvocation(invocation: unknown, shape: Shape, reading: PlanReading): object {
  const of = (name: string) => within(invocation, name);
  const marks = united(of("config_sensitive"), undefined);
  const side = new ChangeSide(reading);
  return {
    ...membersOf(invocation, keptOfInvocation),
    ...Object.fromEntries(
      Object.entries(keptOfTriggers).flatMap(([name, names]) =>
        isObject(of(name)) ? [[name, membersOf(of(name), names)]] : [],
      ),
    ),
    ...(of("config_values") !== undefined && { config_values: side.redact(of("config_values"), marks, shape) }),
    ...Object.fromEntries(
      ["config_sensitive", "config_unknown"].flatMap((name) =>
        of(name) === undefined ? [] : [[name, side.withKeys(of(name), marks, shape)]],
      ),
    ),
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

/** One change: equal values have equal stand-ins on both of its sides, and different ones different ones. */
class ChangeSide {
  readonly #json: ExactJson;
  readonly #mask: PlanMask;
  readonly #seen = new Map<string, Map<unknown, number>>();

  constructor({ json, mask }: PlanReading) {
    this.#json = json;
    this.#mask = mask;
  }

  redact(value: unknown, marks: Marks, shape: Shape): unknown {
    if (value === undefined) return null;
    if (marks === undefined && this.#mask.isEmpty) return value;
    if (Array.isArray(value))
      return value.map((item: unknown, at) => this.redact(item, below(marks, at), shapeAt(shape, at)));
    if (isObject(value))
      return Object.fromEntries(
        Object.entries(value).map(([name, member]) => [
          this.#key(name, marks, shape),
          this.redact(member, below(marks, name), shapeAt(shape, name)),
        ]),
      );
    return marks === true ? this.#standIn(value as Json) : this.#mask.leaf(value);
  }

  /** What says of places whether they are known, or secret, and nothing of what is there; but its keys are those of the values. */
  withKeys(flags: unknown, marks: Marks, shape: Shape): unknown {
    if (Array.isArray(flags))
      return flags.map((item: unknown, at) => this.withKeys(item, below(marks, at), shapeAt(shape, at)));
    if (!isObject(flags)) return flags ?? false;
    return Object.fromEntries(
      Object.entries(flags).map(([name, member]) => [
        this.#key(name, marks, shape),
        this.withKeys(member, below(marks, name), shapeAt(shape, name)),
      ]),
    );
  }

  /** A path as far as it leads to something that is not secret. */
  reachable(path: readonly unknown[], marks: Marks, shape: Shape): unknown[] {
    const steps: unknown[] = [];
    let [here, form] = [marks, shape];
    for (const step of path) {
      if (here === true) break;
      steps.push(typeof step === "string" ? this.#key(step, here, form) : step);
      [here, form] = [below(here, step as string | number), shapeAt(form, step as string | number)];
    }
    return steps;
  }

  /** Names of the schema stay: engines look them up. */
  #key(name: string, marks: Marks, shape: Shape): string {
    if (isDeclared(shape, name)) return name;
    return marks === true ? `(sensitive key ${this.#place("key", name)})` : this.#mask.text(name);
  }

  #standIn(value: Json): Json {
    if (value === null) return null;
    if (typeof value === "boolean") return this.#place("flag", value) === 2;
    const number = this.#json.numberIn(value);
    if (number !== undefined) return this.#place("number", number);
    return `(sensitive value ${this.#place("text", value)})`;
  }

  #place(kind: string, value: unknown): number {
    const known = this.#seen.get(kind) ?? new Map<unknown, number>();
    this.#seen.set(kind, known);
    const place = known.get(value) ?? known.size + 1;
    known.set(value, place);
    return place;
  }
}

// --- schemas

type SchemaKind = "resource_schemas" | "data_source_schemas" | "action_schemas";
type Providers = { readonly [provider: string]: { readonly [kind: string]: { readonly [type: string]: unknown } } };

/** A change of a resource, or an action that is invoked, and the kind of the schema that describes it. */
export interface SchemaUse {
  readonly user: unknown;
  readonly provider: string;
  readonly kind: SchemaKind;
  readonly type: string;
}

const useOf = (user: unknown, kind: SchemaKind): SchemaUse => ({
  user,
  kind,
  provider: String(within(user, "provider_name")),
  type: String(within(user, "type")),
});
const useOfChange = (change: unknown): SchemaUse =>
  useOf(change, within(change, "mode") === "data" ? "data_source_schemas" : "resource_schemas");
const useOfInvocation = (invocation: unknown): SchemaUse => useOf(invocation, "action_schemas");

/** Everything in a plan that engines draw by its schema. */
export const schemaUsesOf = (plan: unknown): SchemaUse[] => [
  ...listOf(within(plan, "resource_changes")).map(useOfChange),
  ...listOf(within(plan, "resource_drift")).map(useOfChange),
  ...listOf(within(plan, "deferred_changes")).map((each) => useOfChange(within(each, "resource_change"))),
  ...listOf(within(plan, "action_invocations")).map(useOfInvocation),
];

const schemaOf = (schemas: unknown, { provider, kind, type }: SchemaUse): unknown =>
  within(within(within(schemas, provider), kind), type);

/**
 * The schemas of what is drawn, and no others: those of a provider may be tens of megabytes. Engines look one up for each change and
 * action and stop at once where there is none; so one that is missing is made of the names that are there.
 */
function providersOf(uses: readonly SchemaUse[], schemas: unknown): Providers {
  const provided: Record<string, Record<string, Record<string, unknown>>> = Object.create(null);
  const improvised = new Map<unknown, Record<string, unknown>>();
  for (const use of uses) {
    const kinds = (provided[use.provider] ??= Object.create(null) as Record<string, Record<string, unknown>>);
    const types = (kinds[use.kind] ??= Object.create(null) as Record<string, unknown>);
    types[use.type] ??= schemaOf(within(schemas, "provider_schemas"), use) ?? improvise(improvised);
    addNames(use, improvised.get(types[use.type]));
  }
  return provided;
}

function improvise(improvised: Map<unknown, Record<string, unknown>>): object {
  const attributes: Record<string, unknown> = Object.create(null);
  const schema = { version: 0, block: { attributes } };
  improvised.set(schema, attributes);
  return schema;
}

function addNames({ user, kind }: SchemaUse, attributes: Record<string, unknown> | undefined): void {
  if (attributes === undefined) return;
  const isAction = kind === "action_schemas";
  const sides = isAction ? ["config_values", "config_unknown"] : ["before", "after", "after_unknown"];
  for (const side of sides)
    for (const [name] of entriesOf(within(isAction ? user : within(user, "change"), side)))
      attributes[name] ??= { type: "dynamic", optional: true };
}
