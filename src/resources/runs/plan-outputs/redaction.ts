/** Redacts a JSON plan. Replacements keep the JSON type, and are equal if and only if the values are: changes stay visible. Pure. */
import type { ExactJson } from "./exact-json.ts";
import type { PlanMask } from "./masking.ts";
import { isDeclared, type SchemaShape, shapeAt, shapeOfSchema } from "./shapes.ts";

type PlanJson = string | number | boolean | null | readonly PlanJson[] | { readonly [name: string]: PlanJson };
type PlanObject = { readonly [name: string]: unknown };

const isObject = (value: unknown): value is PlanObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
/** Names come from the plan, so inherited properties must not be reachable. */
const within = (value: unknown, key: string | number): unknown =>
  (isObject(value) || Array.isArray(value)) && Object.hasOwn(value, key)
    ? (value as Record<string | number, unknown>)[key]
    : undefined;

export interface RedactionContext {
  readonly json: ExactJson;
  readonly mask: PlanMask;
}

/** From the output of `show -json` and `providers schema -json`. */
export function redactPlan(plan: unknown, schemas: unknown, context: RedactionContext): object {
  const member = (name: string) => within(plan, name);
  const changes = ["resource_changes", "resource_drift"].map((name) => listOf(member(name)));
  const deferred = listOf(member("deferred_changes"));
  const invocations = listOf(member("action_invocations"));
  const provided = providersOf(schemaUsesOf(plan), schemas);
  const shapes = new Map<unknown, SchemaShape>();
  const shapeOf = (use: SchemaUse) => {
    const schema = schemaOf(provided, use);
    const shape = shapes.get(schema) ?? shapeOfSchema(schema);
    shapes.set(schema, shape);
    return shape;
  };
  const redacted = (change: unknown) => redactResource(change, shapeOf(useOfChange(change)), context);
  const [resourceChanges, resourceDrift] = changes.map((list) => list.map(redacted));
  return {
    plan_format_version: member("format_version") ?? "1.2",
    resource_changes: resourceChanges,
    resource_drift: resourceDrift,
    ...(deferred.length > 0 && {
      deferred_changes: deferred.map((each) => ({
        reason: within(each, "reason"),
        resource_change: redacted(within(each, "resource_change")),
      })),
    }),
    // Engines do not render deferred action invocations.
    ...(invocations.length > 0 && {
      action_invocations: invocations.map((each) => redactInvocation(each, shapeOf(useOfInvocation(each)), context)),
    }),
    output_changes: Object.fromEntries(
      entriesOf(member("output_changes")).map(([name, change]) => [name, redactChange(change, undefined, context)]),
    ),
    relevant_attributes: listOf(member("relevant_attributes")),
    provider_format_version: within(schemas, "format_version") ?? "1.0",
    provider_schemas: provided,
  };
}

const entriesOf = (value: unknown): [string, unknown][] => (isObject(value) ? Object.entries(value) : []);
const membersOf = (value: unknown, names: readonly string[]): object =>
  Object.fromEntries(entriesOf(value).filter(([name]) => names.includes(name)));

/** From the configuration, and not secret. */
const resourceMembers = [
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

function redactResource(change: unknown, shape: SchemaShape, context: RedactionContext): object {
  return {
    ...membersOf(change, resourceMembers),
    change: redactChange(within(change, "change"), shape, context),
  };
}

const changeMembers = ["importing", "generated_config", "before_identity", "after_identity"];

function redactChange(change: unknown, shape: SchemaShape, context: RedactionContext): object {
  const marks = mergeMarks(within(change, "before_sensitive"), within(change, "after_sensitive"));
  const redactor = new ChangeRedactor(context);
  const member = (name: string) => within(change, name);
  return {
    ...(member("actions") !== undefined && { actions: member("actions") }),
    ...Object.fromEntries(
      entriesOf(change)
        .filter(([name]) => changeMembers.includes(name))
        .map(([name, value]) => [name, context.mask.values(value)]),
    ),
    before: redactor.redact(member("before"), marks, shape),
    after: redactor.redact(member("after"), marks, shape),
    after_unknown: redactor.withKeys(member("after_unknown"), marks, shape),
    before_sensitive: redactor.withKeys(member("before_sensitive"), marks, shape),
    after_sensitive: redactor.withKeys(member("after_sensitive"), marks, shape),
    ...(member("replace_paths") !== undefined && {
      replace_paths: listOf(member("replace_paths")).map((path) => redactor.redactPath(listOf(path), marks, shape)),
    }),
  };
}

const invocationMembers = ["address", "type", "name", "provider_name"];
const triggerMembers = {
  lifecycle_action_trigger: [
    "triggering_resource_address",
    "action_trigger_event",
    "action_trigger_block_index",
    "actions_list_index",
    "on_failure",
  ],
  invoke_action_trigger: ["calling_resource_address"],
};

/** Adds no missing members: engines render `config_values` even if it is null. */
function redactInvocation(invocation: unknown, shape: SchemaShape, context: RedactionContext): object {
  const member = (name: string) => within(invocation, name);
  const marks = mergeMarks(member("config_sensitive"), undefined);
  const redactor = new ChangeRedactor(context);
  return {
    ...membersOf(invocation, invocationMembers),
    ...Object.fromEntries(
      Object.entries(triggerMembers).flatMap(([name, names]) =>
        isObject(member(name)) ? [[name, membersOf(member(name), names)]] : [],
      ),
    ),
    ...(member("config_values") !== undefined && {
      config_values: redactor.redact(member("config_values"), marks, shape),
    }),
    ...Object.fromEntries(
      ["config_sensitive", "config_unknown"].flatMap((name) =>
        member(name) === undefined ? [] : [[name, redactor.withKeys(member(name), marks, shape)]],
      ),
    ),
  };
}

/** True if everything below is secret; otherwise marks by key or index. */
type PlanSensitivity = true | { readonly [key: string]: PlanSensitivity } | undefined;

/** A value that is secret on one side is secret on both: an unchanged value must not seem to change. */
function mergeMarks(one: unknown, other: unknown): PlanSensitivity {
  if (one === true || other === true) return true;
  const keys = new Set([one, other].flatMap((marks) => (typeof marks === "object" && marks ? Object.keys(marks) : [])));
  const found = [...keys].flatMap((key): [string, PlanSensitivity][] => {
    const marks = mergeMarks(within(one, key), within(other, key));
    return marks === undefined ? [] : [[key, marks]];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

const below = (marks: PlanSensitivity, key: string | number): PlanSensitivity =>
  marks === true || marks === undefined ? marks : Object.hasOwn(marks, key) ? marks[key] : undefined;

class ChangeRedactor {
  readonly #json: ExactJson;
  readonly #mask: PlanMask;
  readonly #numbers = new Map<string, Map<unknown, number>>();

  constructor({ json, mask }: RedactionContext) {
    this.#json = json;
    this.#mask = mask;
  }

  redact(value: unknown, marks: PlanSensitivity, shape: SchemaShape): unknown {
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
    return marks === true ? this.#replacement(value as PlanJson) : this.#mask.leaf(value);
  }

  /** The values of `after_unknown` and `…_sensitive` are only flags, but their keys are data. */
  withKeys(flags: unknown, marks: PlanSensitivity, shape: SchemaShape): unknown {
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

  /** Ends where everything below is secret. */
  redactPath(path: readonly unknown[], marks: PlanSensitivity, shape: SchemaShape): unknown[] {
    const redacted: unknown[] = [];
    let [marksHere, shapeHere] = [marks, shape];
    for (const step of path) {
      if (marksHere === true) break;
      redacted.push(typeof step === "string" ? this.#key(step, marksHere, shapeHere) : step);
      marksHere = below(marksHere, step as string | number);
      shapeHere = shapeAt(shapeHere, step as string | number);
    }
    return redacted;
  }

  /** Names from the schema stay, because engines look them up. */
  #key(name: string, marks: PlanSensitivity, shape: SchemaShape): string {
    if (isDeclared(shape, name)) return name;
    return marks === true ? `(sensitive key ${this.#numberOf("key", name)})` : this.#mask.text(name);
  }

  #replacement(value: PlanJson): PlanJson {
    if (value === null) return null;
    if (typeof value === "boolean") return this.#numberOf("flag", value) === 2;
    const number = this.#json.numberIn(value);
    if (number !== undefined) return this.#numberOf("number", number);
    return `(sensitive value ${this.#numberOf("text", value)})`;
  }

  #numberOf(kind: string, value: unknown): number {
    const numbers = this.#numbers.get(kind) ?? new Map<unknown, number>();
    this.#numbers.set(kind, numbers);
    const number = numbers.get(value) ?? numbers.size + 1;
    numbers.set(value, number);
    return number;
  }
}

type SchemaKind = "resource_schemas" | "data_source_schemas" | "action_schemas";
type Providers = { readonly [provider: string]: { readonly [kind: string]: { readonly [type: string]: unknown } } };

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

export const schemaUsesOf = (plan: unknown): SchemaUse[] => [
  ...listOf(within(plan, "resource_changes")).map(useOfChange),
  ...listOf(within(plan, "resource_drift")).map(useOfChange),
  ...listOf(within(plan, "deferred_changes")).map((each) => useOfChange(within(each, "resource_change"))),
  ...listOf(within(plan, "action_invocations")).map(useOfInvocation),
];

const schemaOf = (schemas: unknown, { provider, kind, type }: SchemaUse): unknown =>
  within(within(within(schemas, provider), kind), type);

/** Only the schemas in use: all may be tens of megabytes. Engines fail without a schema, so a missing one is synthesized. */
function providersOf(uses: readonly SchemaUse[], schemas: unknown): Providers {
  const provided: Record<string, Record<string, Record<string, unknown>>> = Object.create(null);
  const synthesized = new Map<unknown, Record<string, unknown>>();
  for (const use of uses) {
    const kinds = (provided[use.provider] ??= Object.create(null) as Record<string, Record<string, unknown>>);
    const types = (kinds[use.kind] ??= Object.create(null) as Record<string, unknown>);
    types[use.type] ??= schemaOf(within(schemas, "provider_schemas"), use) ?? synthesizeSchema(synthesized);
    addNames(use, synthesized.get(types[use.type]));
  }
  return provided;
}

function synthesizeSchema(synthesized: Map<unknown, Record<string, unknown>>): object {
  const attributes: Record<string, unknown> = Object.create(null);
  const schema = { version: 0, block: { attributes } };
  synthesized.set(schema, attributes);
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
