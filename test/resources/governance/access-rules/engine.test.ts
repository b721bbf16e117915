/** The engine after a policy has trapped it: validation refuses such policies, so these are evaluated directly. */
import { expect, it } from "vitest";
import {
  evaluateActions,
  type EnabledRule,
  type RuledAction,
} from "../../../../src/resources/governance/access-rules/engine.ts";
import { engineGeneration } from "../../../../src/resources/governance/access-rules/cedar.ts";
import { failedRules } from "../../../../src/resources/shared/process-events.ts";
import { limitFault } from "../../../../src/resources/governance/access-rules/limits.ts";

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

async function matching(rules: readonly EnabledRule[]) {
  const [matches = []] = await evaluateActions(rules, new Map(), [action]);
  return matches.map(({ rule: { id } }) => id);
}

const always = rule("arul-always", "forbid (principal, action, resource);");
const never = rule("arul-never", "forbid (principal, action, resource) when { false };");
const trapping = rule(
  "arul-trapping",
  `forbid (principal, action, resource) when { ${Array.from({ length: 3000 }, () => "1").join(" + ")} == 0 };`,
);

it("after a trap, evaluates every set of rules as before", async () => {
  const sound = [always, never];
  expect(await matching(sound)).toEqual(["arul-always"]);
  for (const _ of [1, 2, 3]) {
    expect(await matching([always, never, trapping])).toEqual(["arul-always", "arul-trapping"]);
    expect(await matching([trapping])).toEqual(["arul-trapping"]);
    expect(await matching(sound)).toEqual(["arul-always"]);
    expect(await matching([never])).toEqual([]);
  }
});

it("a rule that has trapped matches without another trap", async () => {
  const again = rule("arul-again", trapping.policy);
  const before = engineGeneration();
  for (const _ of [1, 2, 3]) expect(await matching([always, again, never])).toEqual(["arul-always", "arul-again"]);
  // One for all rules together, and one for this rule alone.
  expect(engineGeneration()).toBe(before + 2);
});

/** Shapes of any size. */
const shapes: readonly (readonly [string, (size: number) => string])[] = [
  ["a sum", (size) => `1${"+1".repeat(size)} == 2`],
  ["brackets", (size) => `${"(".repeat(size)}true${")".repeat(size)}`],
  ["sums in brackets", (size) => `${"(".repeat(4)}1${`${"+1".repeat(size)})`.repeat(4)} == 2`],
  ["sums before brackets", (size) => `${`${"1+".repeat(size)}(`.repeat(8)}1${")".repeat(8)} == 2`],
  [
    "conditionals before brackets",
    (size) => `${`${"if true then true else ".repeat(size)}(`.repeat(8)}true${")".repeat(8)}`,
  ],
  ["sets", (size) => `${"[".repeat(size)}1${"]".repeat(size)} == [1]`],
  ["records", (size) => `${"{a:".repeat(size)}1${"}".repeat(size)} == {a: 1}`],
  ["negations", (size) => `${"!(".repeat(size)}true${")".repeat(size)}`],
  ["conditions in brackets", (size) => `(context.approved == true) && `.repeat(size) + "true"],
  ["method calls", (size) => `[true]${".contains([true]".repeat(size)}${")".repeat(size)}`],
  ["clauses", (size) => `true }${" when { true }".repeat(size)} unless { false`],
];

it.each(shapes)("the largest accepted policy does not trap: %s", async (name, shape) => {
  const policyOf = (size: number) => `forbid (principal, action, resource) when { ${shape(size)} };`;
  let size = 1;
  while (limitFault(policyOf(size + 1)) === undefined) size += 1;
  const before = engineGeneration();
  await matching([rule(`arul-${name}`, policyOf(size))]);
  expect([size, engineGeneration()]).toEqual([expect.any(Number), before]);
  expect(size).toBeGreaterThan(5);
});

it.each(["__entity", "__extn", "__expr", "__proto__"])("evaluates a resource with the tag %s", async (key) => {
  const uid = { type: "Project", id: "prj-1" };
  const tags = Object.fromEntries([[key, "x"]]);
  const facts = new Map([["prj-1", { uid, attrs: { name: "p" }, parents: [], tags }]]);
  const tagged = rule(`arul-tag${key}`, `forbid (principal, action, resource) when { resource.hasTag("${key}") };`);
  expect((await evaluateActions([tagged], facts, [action]))[0]).toHaveLength(1);
});

const expectFailures = async (text: string, count: number, work: () => Promise<unknown>) => {
  const seen: object[] = [];
  const stop = failedRules.subscribe((failure) => JSON.stringify(failure).includes(text) && seen.push(failure));
  await work();
  stop();
  expect(seen).toHaveLength(count);
};

it("a policy that the engine can't read matches every change, and is logged once", async () => {
  const unreadable = rule("arul-unreadable", "not a policy");
  await expectFailures("arul-unreadable", 1, async () => {
    for (const _ of [1, 2]) {
      expect(await matching([always, unreadable, never])).toEqual(["arul-always", "arul-unreadable"]);
      expect(await matching([never])).toEqual([]);
    }
  });
});

it("a change that the engine refuses matches every rule", async () => {
  const uid = { type: "Project", id: "prj-1" };
  const parents = [{ type: "not a type", id: "x" }];
  const facts = new Map([["prj-1", { uid, attrs: { name: "p" }, parents, tags: {} }]]);
  await expectFailures("Cedar refuses the request", 2, async () => {
    const [matches = []] = await evaluateActions([always, never], facts, [action]);
    expect(matches.map(({ rule: { id } }) => id)).toEqual(["arul-always", "arul-never"]);
  });
});

it("serves other requests while it evaluates large policies", async () => {
  const set = Array.from({ length: 1200 }, (_, index) => `"${index}"`).join(",");
  const large = Array.from({ length: 50 }, (_, index) =>
    rule(`arul-${index}`, `forbid (principal, action, resource) when { context.permissions.containsAny([${set}]) };`),
  );
  let turns = 0;
  const counting = setInterval(() => (turns += 1));
  await evaluateActions(
    large,
    new Map(),
    Array.from({ length: 20 }, () => action),
  );
  clearInterval(counting);
  expect(turns).toBeGreaterThan(5);
});
