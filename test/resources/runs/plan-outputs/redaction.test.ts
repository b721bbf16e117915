/** Redacted plans: no sensitive value survives, types stay, equal values stay equal, and different values stay different. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../support/api.ts";
import { deep, seed } from "../../../support/depth.ts";
import { redactedText, provider, redacted, schemas, resourceChange } from "../../../support/plans.ts";

const changed = (change: object, attributes: object = {}, blocks: object = {}): Json =>
  redacted({ resource_changes: [resourceChange(change)] }, schemas(attributes, blocks)).resource_changes[0].change;

describe("a plan without its secrets", () => {
  it("contains only the members that engines render from", () => {
    const plan = {
      format_version: "1.2",
      terraform_version: "1.5.7",
      variables: { password: { value: "hunter2" } },
      configuration: { root_module: { secret: "hunter2" } },
      prior_state: { values: "hunter2" },
      planned_values: { outputs: { password: { value: "hunter2" } } },
      resource_changes: [resourceChange({ before: null, after: { name: "a" } })],
      resource_drift: [resourceChange({ before: { name: "a" }, after: { name: "b" } })],
      output_changes: { name: { actions: ["create"], before: null, after: "a", after_sensitive: false } },
      relevant_attributes: [{ resource: "thing.one", attribute: ["name"] }],
      checks: [],
    };
    const shown = redacted(plan, schemas({ name: { type: "string" } }));
    expect(Object.keys(shown).toSorted()).toEqual([
      "output_changes",
      "plan_format_version",
      "provider_format_version",
      "provider_schemas",
      "relevant_attributes",
      "resource_changes",
      "resource_drift",
    ]);
    expect(shown.plan_format_version).toBe("1.2");
    expect(shown.provider_format_version).toBe("1.0");
    expect(shown.resource_changes[0]).toMatchObject({ address: "thing.one", change: { after: { name: "a" } } });
    expect(shown.resource_drift[0].change).toMatchObject({ before: { name: "a" }, after: { name: "b" } });
    expect(shown.output_changes.name).toMatchObject({ before: null, after: "a" });
    expect(shown.relevant_attributes).toEqual(plan.relevant_attributes);
    expect(JSON.stringify(shown)).not.toContain("hunter2");
  });

  it("contains only the schemas of changed resources and data sources", () => {
    const plan = { resource_changes: [resourceChange({ after: {} }), resourceChange({ after: {} }, { mode: "data" })] };
    expect(redacted(plan, schemas({})).provider_schemas).toEqual({
      [provider]: {
        resource_schemas: { thing: { version: 1, block: { attributes: {}, block_types: {} } } },
        data_source_schemas: { thing: { version: 7, block: {} } },
      },
    });
  });

  it("synthesizes a missing schema, so that engines find one for every change", () => {
    const builtIn = { provider_name: "terraform.io/builtin/terraform", type: "terraform_data" };
    const change = { before: { id: "1" }, after: { input: "a" }, after_unknown: { output: true } };
    const shown = redacted({ resource_changes: [resourceChange(change, builtIn)] }, {});
    const attribute = { type: "dynamic", optional: true };
    expect(shown.provider_schemas[builtIn.provider_name].resource_schemas.terraform_data.block.attributes).toEqual({
      id: attribute,
      input: attribute,
      output: attribute,
    });
  });

  it("keeps the type of every secret", () => {
    const secrets = { text: "s3cret", number: 4711, flag: true, none: null, list: ["s3cret"], map: { k3y: "s3cret" } };
    const marks = Object.fromEntries(Object.keys(secrets).map((name) => [name, true]));
    const { after } = changed({ before: null, after: secrets, after_sensitive: marks });
    expect(after).toEqual({
      text: "(sensitive value 1)",
      number: 1,
      flag: false,
      none: null,
      list: ["(sensitive value 1)"],
      map: { "(sensitive key 1)": "(sensitive value 1)" },
    });
  });

  it("replaces a boolean by whether it changes, and does not reveal its value", () => {
    const marks = { flag: true };
    for (const flag of [true, false]) {
      const same = changed({ before: { flag }, after: { flag }, before_sensitive: marks });
      expect([same.before.flag, same.after.flag]).toEqual([false, false]);
      const other = changed({ before: { flag }, after: { flag: !flag }, before_sensitive: marks });
      expect([other.before.flag, other.after.flag]).toEqual([false, true]);
    }
  });

  it("redacts both sides if one is marked, so that an unchanged value does not seem to change", () => {
    const { before, after } = changed({ before: { a: "x1y" }, after: { a: "x1y" }, after_sensitive: { a: true } });
    expect(before).toEqual({ a: "(sensitive value 1)" });
    expect(after).toEqual(before);
  });

  it("keeps names that the schema declares, and redacts data keys, also of unknown values", () => {
    const attributes = {
      settings: { type: ["object", { size: "number", labels: ["map", "string"] }] },
      nested: { nested_type: { nesting_mode: "list", attributes: { inner: { type: "string" } } } },
    };
    const blocks = { rule: { nesting_mode: "map", block: { attributes: { port: { type: "number" } } } } };
    const all = { settings: true, nested: true, rule: true };
    const after = {
      settings: { size: 3, labels: { mine: "x" } },
      nested: [{ inner: "y" }],
      rule: { theirs: { port: 8 } },
    };
    const change = changed(
      { after, after_sensitive: all, after_unknown: { settings: { labels: { mine: true } }, id: true } },
      attributes,
      blocks,
    );
    expect(change.after).toEqual({
      settings: { size: 1, labels: { "(sensitive key 1)": "(sensitive value 1)" } },
      nested: [{ inner: "(sensitive value 2)" }],
      rule: { "(sensitive key 2)": { port: 2 } },
    });
    expect(change.after_unknown).toEqual({ settings: { labels: { "(sensitive key 1)": true } }, id: true });
  });

  it("truncates paths that lead into a secret", () => {
    const change = changed({
      after: { map: { k3y: 1 }, name: "a" },
      after_sensitive: { map: true },
      replace_paths: [["map", "k3y"], ["name"]],
    });
    expect(change.replace_paths).toEqual([["map"], ["name"]]);
  });

  it("redacts outputs and deferred changes", () => {
    const shown = redacted({
      output_changes: {
        password: {
          actions: ["update"],
          before: "hunter1",
          after: "hunter2",
          before_sensitive: true,
          after_sensitive: true,
        },
      },
      deferred_changes: [
        {
          reason: "provider_config_unknown",
          resource_change: resourceChange({ after: { a: "hunter2" }, after_sensitive: { a: true } }),
        },
      ],
    });
    expect(shown.output_changes.password).toMatchObject({
      before: "(sensitive value 1)",
      after: "(sensitive value 2)",
    });
    expect(shown.deferred_changes[0].resource_change.change.after).toEqual({ a: "(sensitive value 1)" });
    expect(shown.deferred_changes[0].reason).toBe("provider_config_unknown");
  });

  it("contains action invocations without their secrets, and their schemas", () => {
    const action = { address: "action.notify.ops", type: "notify", name: "ops", provider_name: provider };
    const invocation = {
      ...action,
      config_values: { text: "hi", token: "hunter2", headers: { k3y: "x" } },
      config_sensitive: { token: true, headers: true },
      config_unknown: { headers: { k3y: false }, id: true },
      lifecycle_action_trigger: {
        triggering_resource_address: "thing.one",
        action_trigger_event: "AfterCreate",
        action_trigger_block_index: 0,
        actions_list_index: 1,
        on_failure: "halt",
      },
    };
    const invoked = { ...action, invoke_action_trigger: {} };
    const known = schemas({});
    const notify = { block: { attributes: { text: { type: "string" }, headers: { type: ["map", "string"] } } } };
    Object.assign(known.provider_schemas[provider], { action_schemas: { notify, unused: { block: {} } } });
    const shown = redacted(
      {
        action_invocations: [invocation, invoked],
        deferred_action_invocations: [{ reason: "unknown", action_invocation: invocation }],
      },
      known,
    );
    expect(shown.action_invocations).toEqual([
      {
        ...invocation,
        config_values: {
          text: "hi",
          token: "(sensitive value 1)",
          headers: { "(sensitive key 1)": "(sensitive value 2)" },
        },
        config_unknown: { headers: { "(sensitive key 1)": false }, id: true },
      },
      invoked,
    ]);
    expect(shown.provider_schemas).toEqual({ [provider]: { action_schemas: { notify } } });
    expect(shown).not.toHaveProperty("deferred_action_invocations");
  });

  it("synthesizes the missing schema of an action", () => {
    const invocation = {
      type: "notify",
      provider_name: provider,
      config_values: { a: "x" },
      config_unknown: { b: true },
    };
    const attribute = { type: "dynamic", optional: true };
    expect(redacted({ action_invocations: [invocation] }).provider_schemas[provider].action_schemas).toEqual({
      notify: { version: 0, block: { attributes: { a: attribute, b: attribute } } },
    });
  });

  it("keeps numbers that JavaScript can't represent, and distinguishes them", () => {
    const text = `{"resource_changes":[{"type":"thing","provider_name":"p","change":{
      "before":{"plain":12345678901234567890,"secret":12345678901234567890},
      "after":{"plain":12345678901234567891,"secret":12345678901234567891},"after_sensitive":{"secret":true}}}]}`;
    const written = redactedText(text);
    expect(written).toContain('"before":{"plain":12345678901234567890,"secret":1}');
    expect(written).toContain('"after":{"plain":12345678901234567891,"secret":2}');
  });

  it("treats names of inherited properties as ordinary names", () => {
    const text = `{"resource_changes":[{"type":"constructor","provider_name":"__proto__","change":{
      "before":{"__proto__":"s3cret"},"after":{"__proto__":"s3cret"},"after_sensitive":{"__proto__":true}}}]}`;
    const written = redactedText(text);
    expect(written).not.toContain("s3cret");
    expect(written).toContain('"after":{"__proto__":"(sensitive value 1)"}');
  });

  it("is complete for an input that is not a plan", () => {
    for (const plan of [
      null,
      [],
      "text",
      {},
      { resource_changes: "x", output_changes: [] },
      { resource_changes: [null] },
    ])
      expect(() => redactedText(JSON.stringify(plan), "null")).not.toThrow();
  });
});

// --- properties of all plans

/** Every string is unique, so that one that survives is found. */
const word = fc.integer({ min: 0, max: 5 });
const leaf = fc.oneof(
  word.map((number) => `text-${number}-of-somebody`),
  word.map((number) => 7_000_000 + number),
  fc.boolean(),
  fc.constant(null),
);
const { value } = fc.letrec<{ value: Json; marks: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("name", "k3y-a", "k3y-b"), tie("value"), { maxKeys: 3 }),
  ),
  marks: fc.constant(null),
}));
const { marks } = fc.letrec<{ marks: Json }>((tie) => ({
  marks: fc.oneof(
    { depthSize: "small" },
    fc.boolean(),
    fc.array(tie("marks"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("name", "k3y-a", "k3y-b"), tie("marks"), { maxKeys: 3 }),
  ),
}));

const typeOf = (json: Json): string => (json === null ? "null" : Array.isArray(json) ? "list" : typeof json);
const isMarked = (mark: Json): boolean => mark === true;
const at = (json: Json, key: string | number): Json =>
  typeof json === "object" && json !== null && Object.hasOwn(json, key) ? json[key] : undefined;

interface ValuePair {
  readonly before: Json;
  readonly after: Json;
  readonly secret: boolean;
}

/** Pairs of the values that both sides have at the same path. */
function* valuePairs(before: Json, after: Json, one: Json, other: Json, secret = false): Generator<ValuePair> {
  const hidden = secret || isMarked(one) || isMarked(other);
  yield { before, after, secret: hidden };
  if (typeof before !== "object" || typeof after !== "object" || before === null || after === null) return;
  if (Array.isArray(before) !== Array.isArray(after)) return;
  for (const name of Object.keys(before))
    if (Object.hasOwn(after, name))
      yield* valuePairs(before[name], after[name], at(one, name), at(other, name), hidden);
}

/** Every leaf and key of a side, and whether it is secret. */
function* leavesAndKeys(
  json: Json,
  one: Json,
  other: Json,
  secret = false,
): Generator<{ word: Json; secret: boolean }> {
  const hidden = secret || isMarked(one) || isMarked(other);
  if (typeof json !== "object" || json === null) yield { word: json, secret: hidden };
  else
    for (const [name, member] of Object.entries(json)) {
      if (!Array.isArray(json)) yield { word: name, secret: hidden };
      yield* leavesAndKeys(member, at(one, name), at(other, name), hidden);
    }
}

const same = (one: Json, other: Json): boolean => JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
const sorted = (json: Json): Json =>
  typeof json !== "object" || json === null
    ? json
    : Array.isArray(json)
      ? json.map(sorted)
      : Object.fromEntries(
          Object.keys(json)
            .toSorted()
            .map((name) => [name, sorted(json[name])]),
        );

describe("for any plan", () => {
  const change = fc.record({ before: value, after: value, before_sensitive: marks, after_sensitive: marks });

  it("no marked value survives, and every other value does", () => {
    fc.assert(
      fc.property(change, (given) => {
        const shown = redacted({ output_changes: { it: given } }).output_changes.it;
        for (const side of ["before", "after"] as const) {
          const strings = [...leavesAndKeys(given[side], given.before_sensitive, given.after_sensitive)];
          const open = new Set(strings.flatMap(({ word: each, secret }) => (secret ? [] : [each])));
          const left = new Set([...leavesAndKeys(shown[side], false, false)].map(({ word: each }) => each));
          for (const { word: each, secret } of strings)
            if (secret && (typeof each === "string" || typeof each === "number") && !open.has(each))
              expect(left.has(each), String(each)).toBe(false);
          for (const each of open) expect(left.has(each), String(each)).toBe(true);
        }
      }),
      { numRuns: deep(500, 20_000), seed },
    );
  });

  it("types stay; equal stays equal, and different stays different", () => {
    fc.assert(
      fc.property(change, (given) => {
        const shown = redacted({ output_changes: { it: given } }).output_changes.it;
        const { before_sensitive: one, after_sensitive: other } = given;
        expect(same(shown.before, shown.after)).toBe(same(given.before, given.after));
        const [was, is] = [[...valuePairs(given.before, given.after, one, other)], pairs(given, shown)];
        for (const [index, { before, after }] of was.entries()) {
          const hidden = is[index];
          expect(typeOf(hidden?.before)).toBe(typeOf(before));
          expect(typeOf(hidden?.after)).toBe(typeOf(after));
          expect(same(hidden?.before, hidden?.after)).toBe(same(before, after));
        }
      }),
      { numRuns: deep(500, 20_000), seed },
    );
  });
});

/** The same paths of the redacted side: names may differ, but their order is the same. */
function pairs(given: Json, shown: Json): { before: Json; after: Json }[] {
  const found: { before: Json; after: Json }[] = [];
  const walk = (before: Json, after: Json, hiddenBefore: Json, hiddenAfter: Json): void => {
    found.push({ before: hiddenBefore, after: hiddenAfter });
    if (typeof before !== "object" || typeof after !== "object" || before === null || after === null) return;
    if (Array.isArray(before) !== Array.isArray(after)) return;
    const [own, others] = [Object.keys(before), Object.keys(after)];
    for (const [index, name] of own.entries())
      if (others.includes(name))
        walk(
          before[name],
          after[name],
          Object.values(hiddenBefore)[index],
          Object.values(hiddenAfter)[others.indexOf(name)],
        );
  };
  walk(given.before, given.after, shown.before, shown.after);
  return found;
}
