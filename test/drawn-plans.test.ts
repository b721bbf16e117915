/** How the console renders a plan from its redacted JSON. */
import { describe, expect, test } from "vitest";
import {
  byModule,
  configurationOf,
  planActionOf,
  differencesOf,
  displayedChangesOf,
  triggerOf,
} from "../console/pages/runs/plan-view.ts";

const resource = (address: string, actions: string[], more: object = {}, change: object = {}) => ({
  address,
  change: { actions, ...change },
  ...more,
});

describe("the action on a resource", () => {
  test.each([
    [["create"], "create"],
    [["update"], "update"],
    [["delete"], "delete"],
    [["delete", "create"], "replace"],
    [["create", "delete"], "replace"],
    [["read"], "read"],
    [["forget"], "forget"],
    [["no-op"], undefined],
  ])("%j is %s", (actions, action) => {
    expect(planActionOf(resource("a.b", actions))).toBe(action);
  });

  test("a resource that is only imported or moved is shown, an unchanged one is not", () => {
    const drawn = displayedChangesOf([
      resource("a.one", ["no-op"], {}, { importing: { id: "i-1" } }),
      resource("a.two", ["no-op"], { previous_address: "a.old" }),
      resource("a.three", ["no-op"]),
    ]);
    expect(drawn.map(({ address, planAction }) => [address, planAction])).toEqual([
      ["a.one", "import"],
      ["a.two", "move"],
    ]);
  });

  test("modules are sorted, the root first, and count their changes", () => {
    const modules = byModule(
      displayedChangesOf([
        resource("module.b.a.one", ["create"], { module_address: "module.b" }),
        resource("a.two", ["delete"]),
        resource("module.b.a.three", ["create"], { module_address: "module.b" }),
      ]),
    );
    expect(
      modules.map(({ address, resources, counts }) => [address, resources.map(({ label }) => label), counts]),
    ).toEqual([
      ["", ["a.two"], { delete: 1 }],
      ["module.b", ["a.one", "a.three"], { create: 2 }],
    ]);
  });
});

describe("differencesOf", () => {
  const rowsOf = (change: object) =>
    differencesOf(change).map(({ path, kind, before, after }) => [path, kind, before, after] as const);

  test("nested values are compared; a missing value equals null", () => {
    expect(
      rowsOf({
        before: { name: "a", size: 1, tags: { env: "dev", gone: "x" }, list: ["a"], none: null },
        after: { name: "a", size: 2, tags: { env: "prod" }, list: ["a", "b"] },
      }),
    ).toEqual([
      ["list[0]", "same", { value: "a" }, { value: "a" }],
      ["list[1]", "added", undefined, { value: "b" }],
      ["name", "same", { value: "a" }, { value: "a" }],
      ["size", "changed", { value: 1 }, { value: 2 }],
      ["tags.env", "changed", { value: "dev" }, { value: "prod" }],
      ["tags.gone", "removed", { value: "x" }, undefined],
    ]);
  });

  test("values known only after apply are marked, also in a new resource", () => {
    expect(
      rowsOf({ before: null, after: { name: "a" }, after_unknown: { id: true, network: [{ ip: true }] } }),
    ).toEqual([
      ["id", "added", undefined, { word: "unknown" }],
      ["name", "added", undefined, { value: "a" }],
      ["network[0].ip", "added", undefined, { word: "unknown" }],
    ]);
  });

  test("a sensitive value is never shown, only whether it changes", () => {
    const secret = { before_sensitive: { password: true, key: true }, after_sensitive: { key: true } };
    const sides = rowsOf({ before: { password: "one", key: "k" }, after: { password: "two", key: "k" }, ...secret });
    expect(sides).toEqual([
      ["key", "same", { word: "sensitive" }, { word: "sensitive" }],
      ["password", "changed", { word: "sensitive" }, { word: "sensitive" }],
    ]);
    expect(JSON.stringify(sides)).not.toMatch(/one|two/);
  });

  test("JSON in a string is compared by its values", () => {
    const policy = (action: string) => JSON.stringify({ Statement: [{ Effect: "Allow", Action: action }] });
    expect(rowsOf({ before: { policy: policy("get") }, after: { policy: policy("put") } })).toEqual([
      ["policy.Statement[0].Action", "changed", { value: "get" }, { value: "put" }],
      ["policy.Statement[0].Effect", "same", { value: "Allow" }, { value: "Allow" }],
    ]);
  });

  test("a value whose type changes, or that becomes empty, is shown completely", () => {
    expect(rowsOf({ before: { a: "x", b: { c: 1 } }, after: { a: [1], b: {} } })).toEqual([
      ["a", "changed", { value: "x" }, { value: [1] }],
      ["b.c", "removed", { value: 1 }, undefined],
    ]);
  });

  test("attributes that force a replacement are marked, with their nested values", () => {
    const found = differencesOf({
      before: { disk: [{ size: 1 }], name: "a" },
      after: { disk: [{ size: 2 }], name: "b" },
      replace_paths: [["disk", 0]],
    });
    expect(found.map(({ path, forcesReplacement }) => [path, forcesReplacement])).toEqual([
      ["disk[0].size", true],
      ["name", false],
    ]);
  });

  test("names of built-in object members are treated like other names", () => {
    expect(rowsOf({ before: {}, after: JSON.parse('{"__proto__": "x", "constructor": "y"}') })).toEqual([
      ["__proto__", "added", undefined, { value: "x" }],
      ["constructor", "added", undefined, { value: "y" }],
    ]);
  });
});

describe("an action invocation", () => {
  const action = {
    address: "action.aws_lambda_invoke.warm",
    config_values: { name: "warm", token: "(sensitive value 1)" },
    config_sensitive: { token: true },
    config_unknown: { id: true },
    lifecycle_action_trigger: { triggering_resource_address: "aws_lambda.web", action_trigger_event: "AfterCreate" },
  };

  test("names its trigger", () => {
    expect(triggerOf(action)).toBe("after create of aws_lambda.web");
    expect(triggerOf({ address: "action.a.b" })).toBe("");
  });

  test("shows its configuration without sensitive values", () => {
    const drawn = differencesOf(configurationOf(action));
    expect(drawn.map(({ path, after }) => [path, after])).toEqual([
      ["id", { word: "unknown" }],
      ["name", { value: "warm" }],
      ["token", { word: "sensitive" }],
    ]);
  });
});
