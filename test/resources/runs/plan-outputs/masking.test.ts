/** Masking of sensitive variables in redacted plans, and malicious plans. */
import { describe, expect, it } from "vitest";
import { PlanFault } from "../../../../src/resources/runs/plan-outputs/plan-bytes.ts";
import type { SecretVariable } from "../../../../src/resources/runs/plan-outputs/masking.ts";
import type { Json } from "../../../support/api.ts";
import { redactedText, provider, redacted, schemas, resourceChange } from "../../../support/plans.ts";

describe("a plan with values of sensitive variables", () => {
  const secret = (value: string, hcl = false): SecretVariable => ({ value, hcl });
  const masked = (change: object, secrets: SecretVariable[], attributes: object = {}, more: object = {}): Json =>
    redacted({ resource_changes: [resourceChange(change, more)] }, schemas(attributes), secrets).resource_changes[0];

  it("masks them in values: alone, in a longer string, in JSON, base64 and HCL", () => {
    const after = {
      alone: "hunter2",
      within: "postgres://bo:hunter2@db/x",
      json: JSON.stringify({ password: 'quo"ted' }),
      base64: Buffer.from("user:hunter2").toString("base64"),
      list: [{ deep: "hunter2" }],
      hcl: "from-a-map",
    };
    const secrets = [secret("hunter2"), secret('quo"ted'), secret('{ a = "from-a-map" }', true)];
    const { change } = masked({ before: null, after }, secrets);
    expect(change.after).toMatchObject({
      alone: "(sensitive variable 1)",
      within: "postgres://bo:(sensitive variable 1)@db/x",
      list: [{ deep: "(sensitive variable 1)" }],
    });
    expect(JSON.stringify(change)).not.toMatch(/hunter2|quo|from-a-map|aHVudGVyMg|odW50ZXIy/);
  });

  it("keeps types, and keeps equal values equal and different values different", () => {
    const { change } = masked(
      { before: { a: "1234567", n: 1234567, t: "x-one1-y" }, after: { a: "1234567", n: 7654321, t: "x-two2-y" } },
      ["1234567", "7654321", "one1", "two2"].map((value) => secret(value)),
    );
    expect(change.before.a).toBe(change.after.a);
    expect([typeof change.before.n, typeof change.after.n]).toEqual(["number", "number"]);
    expect(change.before.n).not.toBe(change.after.n);
    expect(change.before.t).not.toBe(change.after.t);
    expect(JSON.stringify(change)).not.toMatch(/1234567|7654321|one1|two2/);
  });

  it("keeps what engines look up: addresses, types, providers, and names of the schema", () => {
    const more = { address: "thing.prod", name: "prod", index: "prod", type: "thing" };
    const { change, ...resource } = masked(
      { before: null, after: { prod: "in prod", tags: { prod: "x" } }, replace_paths: [["tags", "prod"]] },
      [secret("prod"), secret("thing"), secret("acme")],
      { prod: { type: "string" }, tags: { type: ["map", "string"] } },
      more,
    );
    expect(resource).toMatchObject({ ...more, provider_name: provider });
    expect(change.after).toEqual({ prod: "in (sensitive variable 1)", tags: { "(sensitive variable 1)": "x" } });
    expect(change.replace_paths).toEqual([["tags", "(sensitive variable 1)"]]);
  });

  it("has the same keys in the unknown and sensitive flags", () => {
    const { change } = masked(
      {
        before: null,
        after: { tags: { hunter2: "x" } },
        after_unknown: { tags: { hunter2: false } },
        after_sensitive: { tags: { hunter2: false } },
      },
      [secret("hunter2")],
    );
    for (const part of ["after", "after_unknown", "after_sensitive"])
      expect(Object.keys(change[part].tags)).toEqual(["(sensitive variable 1)"]);
  });

  it("masks the values of actions, but not their addresses", () => {
    const invocation = {
      address: "action.prod1.prod1",
      type: "prod1",
      name: "prod1",
      provider_name: provider,
      config_values: { url: "https://prod1/", tags: { prod1: 1 } },
      config_unknown: { tags: { prod1: false } },
      config_sensitive: {},
      invoke_action_trigger: { calling_resource_address: "thing.prod1" },
    };
    const shown = redacted({ action_invocations: [invocation] }, schemas({}), [secret("prod1")]);
    expect(shown.action_invocations[0]).toEqual({
      ...invocation,
      config_values: { url: "https://(sensitive variable 1)/", tags: { "(sensitive variable 1)": 1 } },
      config_unknown: { tags: { "(sensitive variable 1)": false } },
    });
  });

  it("masks outputs, imports and generated configuration, and nothing shorter than four characters", () => {
    const shown = redacted(
      {
        resource_changes: [
          resourceChange({
            before: null,
            after: { a: "abc" },
            importing: { id: "hunter2" },
            generated_config: 'a = "hunter2"',
          }),
        ],
        output_changes: { hunter2: { actions: ["create"], before: null, after: "hunter2 abc true" } },
      },
      schemas({}),
      ["hunter2", "abc", "true"].map((value) => secret(value)),
    );
    expect(shown.resource_changes[0].change).toMatchObject({
      after: { a: "abc" },
      importing: { id: "(sensitive variable 1)" },
      generated_config: 'a = "(sensitive variable 1)"',
    });
    expect(shown.output_changes.hunter2.after).toBe("(sensitive variable 1) abc true");
  });
});

describe("a malicious plan", () => {
  it.each([
    ["not JSON", "{", "the engine's output is not valid JSON"],
    ["too deep", `{"resource_changes":${"[".repeat(600)}${"]".repeat(600)}}`, "the engine's output is not valid JSON"],
    ["too many values", `{"resource_changes":[${"[],".repeat(2_000_001)}[]]}`, "it has more than 2000000 values"],
    ["too large a result", `{"resource_changes":[${"{},".repeat(999_999)}{}]}`, "the result would be too large"],
  ])("is refused: %s", (_what, plan, fault) => {
    expect(() => redactedText(plan)).toThrow(new PlanFault(fault));
  });

  it("is not slowed down by members that are not rendered", () => {
    expect(JSON.parse(redactedText(`{"prior_state":[${"[],".repeat(2_000_001)}[]]}`)).resource_changes).toEqual([]);
  });
});
