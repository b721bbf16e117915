/** The named access levels and the permissions that each implies, laid out like the specification's tables. */
import { type Mask, maskOf, permissionBit, permissionLadders, type PermissionSet } from "./permission-set.ts";

export const projectLevelNames = ["read", "write", "maintain", "admin", "custom"] as const;
export type ProjectLevel = (typeof projectLevelNames)[number];

// prettier-ignore
const projectLevelTable = {
  //                                    read     write    maintain  admin     custom default
  "project-access.settings":           ["read",  "read",  "read",   "delete", "read"],
  "project-access.teams":              ["none",  "none",  "none",   "manage", "none"],
  "project-access.variable-sets":      ["read",  "write", "write",  "write",  "none"],
  "workspace-access.runs":             ["read",  "apply", "apply",  "apply",  "read"],
  "workspace-access.policy-mocks":     ["none",  "read",  "read",   "read",   "none"],
  "workspace-access.state-versions":   ["read",  "write", "write",  "write",  "none"],
  "workspace-access.variables":        ["read",  "write", "write",  "write",  "none"],
  "workspace-access.create":           [false,   false,   true,     true,     false],
  "workspace-access.locking":          [false,   true,    true,     true,     false],
  "workspace-access.delete":           [false,   false,   true,     true,     false],
  "workspace-access.move":             [false,   false,   false,    true,     false],
  "workspace-access.run-tasks":        [false,   false,   true,     true,     false],
  "workspace-access.policy-overrides": [false,   false,   true,     true,     false],
  // Not an attribute: the "admin workspace role" in the specification's description of the levels. A custom level never has it.
  "workspace-admin":                   [false,   false,   true,     true,     false],
} as const;

export const workspaceLevelNames = ["read", "plan", "write", "admin", "custom"] as const;
export type WorkspaceLevel = (typeof workspaceLevelNames)[number];

// prettier-ignore
const workspaceLevelTable = {
  //                    read     plan    write    admin    custom default
  "runs":              ["read",  "plan", "apply", "apply", "read"],
  "variables":         ["read",  "read", "write", "write", "none"],
  "state-versions":    ["read",  "read", "write", "write", "none"],
  "policy-mocks":      ["none",  "none", "read",  "read",  "none"],
  "workspace-locking": [false,   false,  true,    true,    false],
  "run-tasks":         [false,   false,  false,   true,    false],
  "policy-overrides":  [false,   false,  false,   true,    false],
  // Not an attribute: marks the admin level. A custom level never has it.
  "workspace-admin":   [false,   false,  false,   true,    false],
} as const;

export const permissionOfAttribute = {
  "project-access.settings": "settings",
  "project-access.teams": "teams",
  "project-access.variable-sets": "variableSets",
  "workspace-access.runs": "runs",
  "workspace-access.policy-mocks": "policyMocks",
  "workspace-access.state-versions": "stateVersions",
  "workspace-access.variables": "variables",
  "workspace-access.create": "create",
  "workspace-access.locking": "locking",
  "workspace-access.delete": "delete",
  "workspace-access.move": "move",
  "workspace-access.run-tasks": "runTasks",
  "workspace-access.policy-overrides": "policyOverrides",
  runs: "runs",
  variables: "variables",
  "state-versions": "stateVersions",
  "policy-mocks": "policyMocks",
  "workspace-locking": "locking",
  "run-tasks": "runTasks",
  "policy-overrides": "policyOverrides",
  "workspace-admin": "workspaceAdmin",
} as const satisfies Record<keyof typeof projectLevelTable | keyof typeof workspaceLevelTable, keyof PermissionSet>;

type LevelTable = Readonly<Record<string, readonly unknown[]>>;

function columnOf(table: LevelTable, column: number): Partial<PermissionSet> {
  return Object.fromEntries(
    Object.entries(table).map(([row, values]) => [
      permissionOfAttribute[row as keyof typeof permissionOfAttribute],
      values[column],
    ]),
  );
}

export function projectLevelPermissions(level: ProjectLevel): Partial<PermissionSet> {
  return columnOf(projectLevelTable, projectLevelNames.indexOf(level));
}

export function workspaceLevelPermissions(level: WorkspaceLevel): Partial<PermissionSet> {
  return columnOf(workspaceLevelTable, workspaceLevelNames.indexOf(level));
}

export function projectLevelMask(level: ProjectLevel): Mask {
  return maskOf(projectLevelPermissions(level));
}

export function workspaceLevelMask(level: WorkspaceLevel): Mask {
  return maskOf(workspaceLevelPermissions(level));
}

/** The attributes of a mask's bits as access rules spell them: `runs` and, for each step, `runs:read`. */
export function permissionSteps(of: "projects" | "workspaces", mask: Mask): string[] {
  return Object.keys(of === "projects" ? projectLevelTable : workspaceLevelTable).flatMap((attribute) => {
    const permission = permissionOfAttribute[attribute as keyof typeof permissionOfAttribute];
    const name = attribute.replace(/^.*\./, "");
    const reached = permissionLadders[permission].filter(
      (step) => step !== "none" && (mask & permissionBit(permission, step as never)) !== 0,
    );
    if (reached.length === 0 || permission === "workspaceAdmin") return [];
    return [name, ...reached.flatMap((step) => (step === true ? [] : [`${name}:${step}`]))];
  });
}
