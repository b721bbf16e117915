import { describe, expect, it } from "vitest";
import { projectLevelPermissions, projectLevelMask, projectLevelNames } from "../../src/access/levels.ts";
import { allPermissions, hasPermission, permissionSetOf } from "../../src/access/permission-set.ts";

/** The specification's table of implied values, column by column, with those that were added since. */
const implied = {
  settings: ["read", "read", "read", "delete", "read"],
  teams: ["none", "none", "none", "manage", "none"],
  variableSets: ["read", "write", "write", "write", "none"],
  runs: ["read", "apply", "apply", "apply", "read"],
  policyMocks: ["none", "read", "read", "read", "none"],
  stateVersions: ["read", "write", "write", "write", "none"],
  variables: ["read", "write", "write", "write", "none"],
  create: [false, false, true, true, false],
  locking: [false, true, true, true, false],
  delete: [false, false, true, true, false],
  move: [false, false, false, true, false],
  policyOverrides: [false, false, true, true, false],
  runTasks: [false, false, true, true, false],
};

const ofLevel = (level: (typeof projectLevelNames)[number]) => {
  const column = projectLevelNames.indexOf(level);
  return Object.fromEntries(Object.entries(implied).map(([name, values]) => [name, values[column]]));
};

/** "Admin workspace role": maintain and admin give it, a custom level never does. */
const workspaceAdmin = { read: false, write: false, maintain: true, admin: true, custom: false } as const;

describe("the levels of a project", () => {
  it("are five, without 'plan'", () => {
    expect([...projectLevelNames]).toEqual(["read", "write", "maintain", "admin", "custom"]);
  });

  it.each(projectLevelNames)("%s implies what the specification says", (level) => {
    const expected = { ...ofLevel(level), workspaceAdmin: workspaceAdmin[level] };
    expect(projectLevelPermissions(level)).toEqual(expected);
    expect(permissionSetOf(projectLevelMask(level))).toEqual(expected);
  });

  it("each include the lower ones", () => {
    const masks = (["custom", "read", "write", "maintain", "admin"] as const).map(projectLevelMask);
    masks.slice(1).forEach((mask, position) => expect((masks[position] ?? 0) & ~mask).toBe(0));
  });

  it("end with admin, which is everything", () => {
    expect(projectLevelMask("admin")).toBe(allPermissions);
  });

  it("let a custom level read the project and its runs, and nothing more by default", () => {
    const mask = projectLevelMask("custom");
    expect(hasPermission(mask, "runs", "read")).toBe(true);
    expect(hasPermission(mask, "variables", "read")).toBe(false);
    expect(hasPermission(mask, "workspaceAdmin", true)).toBe(false);
  });
});
