/** The engine after a policy has trapped it: validation refuses such policies, so these are evaluated directly. */
import { expect, it } from "vitest";
import {
  evaluateAction,
  type EnabledRule,
  type RuledAction,
} from "../../../../src/resources/governance/access-rules/engine.ts";

const rule = (id: string, policy: string): EnabledRule => ({
  id,
  version: 1,
  name: id,
  message: null,
  policy,
  enforcement: "forbid",
});

const action: RuledAction = {
  change: { action: "grant", resource: { type: "projects", id: "prj-1" }, permissions: [] },
  principal: { type: "organizations", id: "org-1" },
  isApproved: false,
  isBreakGlass: false,
};

const matching = (rules: readonly EnabledRule[]) =>
  evaluateAction(rules, new Map(), action).map(({ rule: { id } }) => id);

const always = rule("arul-always", "forbid (principal, action, resource);");
const never = rule("arul-never", "forbid (principal, action, resource) when { false };");
const trapping = rule(
  "arul-trapping",
  `forbid (principal, action, resource) when { ${Array.from({ length: 3000 }, () => "1").join(" + ")} == 0 };`,
);

it("after a trap, evaluates every set of rules as before", () => {
  const sound = [always, never];
  expect(matching(sound)).toEqual(["arul-always"]);
  for (const _ of [1, 2, 3]) {
    expect(matching([always, never, trapping])).toEqual(["arul-always", "arul-trapping"]);
    expect(matching([trapping])).toEqual(["arul-trapping"]);
    expect(matching(sound)).toEqual(["arul-always"]);
    expect(matching([never])).toEqual([]);
  }
});

it.each(["__entity", "__extn", "__expr", "__proto__"])("evaluates a resource with the tag %s", (key) => {
  const uid = { type: "Project", id: "prj-1" };
  const tags = Object.fromEntries([[key, "x"]]);
  const facts = new Map([["prj-1", { uid, attrs: { name: "p" }, parents: [], tags }]]);
  const tagged = rule(`arul-tag${key}`, `forbid (principal, action, resource) when { resource.hasTag("${key}") };`);
  expect(evaluateAction([tagged], facts, action)).toHaveLength(1);
});
