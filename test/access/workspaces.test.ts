import { describe, expect, it } from "vitest";
import { workspaceLevelPermissions, workspaceLevelMask, workspaceLevelNames } from "../../src/access/levels.ts";
import { workspacePermissionNames, workspacePermissions } from "../../src/access/permissions/workspace.ts";
import { allPermissions, maskOf, type PermissionSet, permissionSetOf } from "../../src/access/permission-set.ts";

/** The table of what the levels of team access to a workspace imply, column by column. */
const implied = {
  read: {
    runs: "read",
    variables: "read",
    stateVersions: "read",
    policyMocks: "none",
    locking: false,
    runTasks: false,
    policyOverrides: false,
    workspaceAdmin: false,
  },
  plan: {
    runs: "plan",
    variables: "read",
    stateVersions: "read",
    policyMocks: "none",
    locking: false,
    runTasks: false,
    policyOverrides: false,
    workspaceAdmin: false,
  },
  write: {
    runs: "apply",
    variables: "write",
    stateVersions: "write",
    policyMocks: "read",
    locking: true,
    runTasks: false,
    policyOverrides: false,
    workspaceAdmin: false,
  },
  admin: {
    runs: "apply",
    variables: "write",
    stateVersions: "write",
    policyMocks: "read",
    locking: true,
    runTasks: true,
    policyOverrides: true,
    workspaceAdmin: true,
  },
  custom: {
    runs: "read",
    variables: "none",
    stateVersions: "none",
    policyMocks: "none",
    locking: false,
    runTasks: false,
    policyOverrides: false,
    workspaceAdmin: false,
  },
} as const;

describe("the levels of a workspace", () => {
  it("are five, without 'maintain'", () => {
    expect([...workspaceLevelNames]).toEqual(["read", "plan", "write", "admin", "custom"]);
  });

  it.each(workspaceLevelNames)("%s implies what the specification says, and nothing on the project", (level) => {
    expect(workspaceLevelPermissions(level)).toEqual(implied[level]);
    expect(permissionSetOf(workspaceLevelMask(level))).toEqual({ ...permissionSetOf(0), ...implied[level] });
  });

  it("each include the lower ones", () => {
    const masks = (["custom", "read", "plan", "write", "admin"] as const).map(workspaceLevelMask);
    masks.slice(1).forEach((mask, position) => expect((masks[position] ?? 0) & ~mask).toBe(0));
  });
});

describe("permissions on a workspace", () => {
  const granted = (
    set: Partial<PermissionSet>,
    facts: { owner?: boolean; allowForceDeleteWorkspaces?: number } = {},
  ) => {
    const flags = workspacePermissions({
      access: { mask: maskOf(set) },
      owner: false,
      allowForceDeleteWorkspaces: 0,
      ...facts,
    });
    return workspacePermissionNames.filter((name) => flags[name]).toSorted();
  };
  const seeing = ["can-read-assessment-results", "can-read-run", "can-read-settings"];

  it.each<[Partial<PermissionSet>, string[]]>([
    [{}, []],
    [{ settings: "delete", teams: "manage", create: true, move: true, policyMocks: "read" }, []],
    [{ runs: "read" }, seeing],
    [{ runs: "plan" }, [...seeing, "can-queue-run"]],
    [{ runs: "apply" }, [...seeing, "can-queue-run", "can-queue-apply", "can-queue-destroy"]],
    [{ variables: "read" }, ["can-read-variable"]],
    [{ variables: "write" }, ["can-read-variable", "can-update-variable"]],
    [{ stateVersions: "read-outputs" }, ["can-read-state-outputs"]],
    [{ stateVersions: "read" }, ["can-read-state-outputs", "can-read-state-versions"]],
    [{ stateVersions: "write" }, ["can-read-state-outputs", "can-read-state-versions", "can-create-state-versions"]],
    [{ locking: true }, ["can-lock", "can-unlock"]],
    [{ runTasks: true }, ["can-manage-run-tasks"]],
    [{ delete: true }, ["can-destroy"]],
    [
      { workspaceAdmin: true },
      [
        "can-update",
        "can-force-unlock",
        "can-manage-tags",
        "can-manage-assessments",
        "can-manage-ephemeral-workspaces",
        "can-destroy",
      ],
    ],
  ])("%j gives %j", (set, expected) => {
    expect(granted(set)).toEqual(expected.toSorted());
  });

  it("let owners force-delete, and workspace admins if the organization allows it", () => {
    const allows = { allowForceDeleteWorkspaces: 1 };
    expect(granted({}, { owner: true })).toEqual(["can-force-delete"]);
    expect(granted({ workspaceAdmin: true }, allows)).toContain("can-force-delete");
    expect(granted({ workspaceAdmin: true })).not.toContain("can-force-delete");
    expect(granted({ delete: true, runs: "apply" }, allows)).not.toContain("can-force-delete");
  });

  it("are all granted to an owner with every permission", () => {
    expect(granted(permissionSetOf(allPermissions), { owner: true })).toEqual([...workspacePermissionNames].toSorted());
  });
});
