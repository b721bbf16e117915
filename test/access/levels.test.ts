import { describe, expect, it } from "vitest";
import { projectLevel, projectLevelMask, projectLevelNames } from "../../src/access/levels.ts";
import { everything, holds, setOf } from "../../src/access/permission-set.ts";

/** The specification's table of implied values, column by column, with those that were added since. */
const implied = {
  read: {
    settings: "read",
    teams: "none",
    variableSets: "read",
    runs: "read",
    policyMocks: "none",
    stateVersions: "read",
    variables: "read",
    create: false,
    locking: false,
    delete: false,
    move: false,
    policyOverrides: false,
    runTasks: false,
  },
  write: {
    settings: "read",
    teams: "none",
    variableSets: "write",
    runs: "apply",
    policyMocks: "read",
    stateVersions: "write",
    variables: "write",
    create: false,
    locking: true,
    delete: false,
    move: false,
    policyOverrides: false,
    runTasks: false,
  },
  maintain: {
    settings: "read",
    teams: "none",
    variableSets: "write",
    runs: "apply",
    policyMocks: "read",
    stateVersions: "write",
    variables: "write",
    create: true,
    locking: true,
    delete: true,
    move: false,
    policyOverrides: true,
    runTasks: true,
  },
  admin: {
    settings: "delete",
    teams: "manage",
    variableSets: "write",
    runs: "apply",
    policyMocks: "read",
    stateVersions: "write",
    variables: "write",
    create: true,
    locking: true,
    delete: true,
    move: true,
    policyOverrides: true,
    runTasks: true,
  },
  custom: {
    settings: "read",
    teams: "none",
    variableSets: "none",
    runs: "read",
    policyMocks: "none",
    stateVersions: "none",
    variables: "none",
    create: false,
    locking: false,
    delete: false,
    move: false,
    policyOverrides: false,
    runTasks: false,
  },
} as const;

/** "Admin workspace role": maintain and admin give it, a custom set never does. */
const workspaceAdmin = { read: false, write: false, maintain: true, admin: true, custom: false } as const;

describe("the levels of a project", () => {
  it("are five, and 'plan' is none of them", () => {
    expect([...projectLevelNames]).toEqual(["read", "write", "maintain", "admin", "custom"]);
  });

  it.each(projectLevelNames)("%s implies what the specification says", (level) => {
    const expected = { ...implied[level], workspaceAdmin: workspaceAdmin[level] };
    expect(projectLevel(level)).toEqual(expected);
    expect(setOf(projectLevelMask(level))).toEqual(expected);
  });

  it("each hold what the ones before hold", () => {
    const masks = (["custom", "read", "write", "maintain", "admin"] as const).map(projectLevelMask);
    masks.slice(1).forEach((mask, position) => expect((masks[position] ?? 0) & ~mask).toBe(0));
  });

  it("end with admin, which is everything", () => {
    expect(projectLevelMask("admin")).toBe(everything);
  });

  it("give a custom set the reading of the project and its runs, and nothing more", () => {
    const mask = projectLevelMask("custom");
    expect(holds(mask, "runs", "read")).toBe(true);
    expect(holds(mask, "variables", "read")).toBe(false);
    expect(holds(mask, "workspaceAdmin", true)).toBe(false);
  });
});
