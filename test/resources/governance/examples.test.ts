/** The example rules of docs/governance.md are valid, and match what their titles say. */
import { readFileSync } from "node:fs";
import type { EntityJson } from "@cedar-policy/cedar-wasm/nodejs";
import { describe, expect, it } from "vitest";
import { evaluateActions, type RuledAction } from "../../../src/resources/governance/access-rules/engine.ts";
import { parsePolicy } from "../../../src/resources/governance/access-rules/policy.ts";
import type { RuleFacts } from "../../../src/resources/governance/access-rules/facts.ts";
import { accessRules } from "../../../src/resources/governance/access-rules/definition.ts";
import { inMs } from "../../support/clock.ts";

const hourMs = 3_600_000;
const pattern = /^### (\d+)\. (.+)\n\n`(\w+)`\n\n```cedar\n([\s\S]+?)```/gm;
const examples = [...readFileSync("docs/governance.md", "utf8").matchAll(pattern)].map(
  ([, number, title = "", enforcement = "", policy = ""]) => ({ number: Number(number), title, enforcement, policy }),
);

const ann = "user-aaaaaaaaaaaaaaaa";
const bob = "user-bbbbbbbbbbbbbbbb";
const team = "team-1234567890abcdef";
const owners = "team-oooooooooooooooo";
const prod = "ws-pppppppppppppppp";
const shared = "prj-1234567890abcdef";

const organization = { type: "Organization", id: "acme" };
const user = (id: string, email: string) => ({
  uid: { type: "User", id },
  attrs: { username: id, email, isSiteAdmin: false },
  parents: [],
});
const project = (id: string) => ({
  uid: { type: "Project", id },
  attrs: { name: id },
  parents: [organization],
  tags: {},
});
const facts: RuleFacts = new Map(
  [
    user(ann, "ann@example.com"),
    user(bob, "bob@elsewhere.test"),
    { uid: { type: "Team", id: team }, attrs: { name: "contractors" }, parents: [] },
    { uid: { type: "Team", id: owners }, attrs: { name: "owners" }, parents: [] },
    project(shared),
    project("prj-other"),
    {
      uid: { type: "Workspace", id: prod },
      attrs: { name: "network", project: { __entity: { type: "Project", id: shared } } },
      parents: [{ type: "Project", id: shared }],
      tags: { env: "prod" },
    },
  ].map((entity): [string, EntityJson] => [entity.uid.id, entity as unknown as EntityJson]),
);

const by = (
  principalId: string,
  change: Partial<RuledAction["change"]>,
  how: Partial<RuledAction> = {},
): RuledAction => ({
  principal: { type: principalId.startsWith("team") ? "teams" : "users", id: principalId },
  isApproved: false,
  isBreakGlass: false,
  ...how,
  change: { action: "grant", resource: { type: "workspaces", id: prod }, permissions: [], ...change },
});
const inProject = { type: "projects", id: shared } as const;
const inTeam = (id: string) => ({ action: "addMember", resource: { type: "teams", id } }) as const;
const toProject = (id: string) => ({ action: "moveWorkspace", resource: { type: "projects", id } }) as const;

/** By number: what the rule refuses, and what it accepts. */
const cases: Readonly<Record<number, { readonly refused: RuledAction[]; readonly accepted: RuledAction[] }>> = {
  1: { refused: [by(ann, { access: "admin" })], accepted: [by(ann, { access: "write" })] },
  2: {
    refused: [by(ann, {}), by(ann, { expiresAt: inMs(9 * hourMs) })],
    accepted: [by(ann, { expiresAt: inMs(8 * hourMs) }), by(ann, { resource: inProject })],
  },
  3: { refused: [by(ann, {})], accepted: [by(ann, {}, { isBreakGlass: true }), by(ann, { resource: inProject })] },
  4: { refused: [by(ann, {}), by(ann, { reason: "please" })], accepted: [by(ann, { reason: "for INC-4711" })] },
  5: {
    refused: [by(ann, { ...inTeam(team), userId: ann })],
    accepted: [by(ann, { ...inTeam(team), userId: bob }), by(team, { ...inTeam(team), userId: bob })],
  },
  6: {
    refused: [by(ann, { ...inTeam(team), userId: bob })],
    accepted: [by(bob, { ...inTeam(team), userId: ann }), by(ann, inTeam(team))],
  },
  7: {
    refused: [by(ann, { teamId: team, permissions: ["runs", "runs:plan", "runs:apply"] })],
    accepted: [
      by(ann, { teamId: team, permissions: ["runs", "runs:plan"] }),
      by(ann, { teamId: owners, permissions: ["runs:apply"] }),
    ],
  },
  8: {
    refused: [by(ann, toProject(shared))],
    accepted: [by(team, toProject(shared)), by(ann, toProject("prj-other"))],
  },
  9: {
    refused: [
      by(ann, { action: "createToken", resource: { type: "teams", id: team } }),
      by(ann, { action: "createToken", resource: { type: "teams", id: team }, expiresAt: inMs(91 * 24 * hourMs) }),
    ],
    accepted: [
      by(ann, { action: "createToken", resource: { type: "teams", id: team }, expiresAt: inMs(90 * 24 * hourMs) }),
    ],
  },
  10: { refused: [by(ann, inTeam(owners))], accepted: [by(ann, inTeam(team))] },
};

it("docs/governance.md has ten example rules, each with cases", () => {
  expect(examples.map(({ number }) => number)).toEqual(Object.keys(cases).map(Number));
  expect(examples).toHaveLength(10);
});

describe.each(examples)("the example rule $number, $title", ({ number, title, enforcement, policy }) => {
  const rule = { id: `arul-${number}`, version: 1, name: title, message: null, policy, enforcement } as never;
  const matches = async (actions: readonly RuledAction[] = []) =>
    (await evaluateActions([rule], facts, actions)).map(({ length }) => length);

  it("is valid and has a message", () => {
    expect(accessRules.attributes.enforcement.schema.safeParse(enforcement).success).toBe(true);
    expect(parsePolicy(policy)).toEqual({ faults: [], message: expect.any(String) });
  });

  it("refuses and accepts what it says", async () => {
    expect(await matches(cases[number]?.refused)).toEqual(cases[number]?.refused.map(() => 1));
    expect(await matches(cases[number]?.accepted)).toEqual(cases[number]?.accepted.map(() => 0));
  });
});
