/** The named access levels and what each of them implies, laid out like the tables of the specification. */
import { type Mask, maskOf, type PermissionSet } from "./permission-set.ts";

export const projectLevelNames = ["read", "write", "maintain", "admin", "custom"] as const;
export type ProjectLevel = (typeof projectLevelNames)[number];

// prettier-ignore
const projectLevelTable = {
  //                                  read     write    maintain  admin     custom default
  "project-access.settings":         ["read",  "read",  "read",   "delete", "read"],
  "project-access.teams":            ["none",  "none",  "none",   "manage", "none"],
  "workspace-access.runs":           ["read",  "apply", "apply",  "apply",  "read"],
  "workspace-access.policy-mocks":   ["none",  "read",  "read",   "read",   "none"],
  "workspace-access.state-versions": ["read",  "write", "write",  "write",  "none"],
  "workspace-access.variables":      ["read",  "write", "write",  "write",  "none"],
  "workspace-access.create":         [false,   false,   true,     true,     false],
  "workspace-access.locking":        [false,   true,    true,     true,     false],
  "workspace-access.delete":         [false,   false,   true,     true,     false],
  "workspace-access.move":           [false,   false,   false,    true,     false],
  "workspace-access.run-tasks":      [false,   false,   true,     true,     false],
  // Not an attribute: "admin workspace role" in the meaning of the levels. A custom set never has it.
  "workspace-admin":                 [false,   false,   true,     true,     false],
} as const;

/** Which permission of the model a row of a table is about. */
const permissionOfRow = {
  "project-access.settings": "settings",
  "project-access.teams": "teams",
  "workspace-access.runs": "runs",
  "workspace-access.policy-mocks": "policyMocks",
  "workspace-access.state-versions": "stateVersions",
  "workspace-access.variables": "variables",
  "workspace-access.create": "create",
  "workspace-access.locking": "locking",
  "workspace-access.delete": "delete",
  "workspace-access.move": "move",
  "workspace-access.run-tasks": "runTasks",
  "workspace-admin": "workspaceAdmin",
} as const satisfies Record<keyof typeof projectLevelTable, keyof PermissionSet>;

type Row = keyof typeof projectLevelTable;

/** What a level on a project gives; for `custom`, what it gives where nothing else is chosen. */
export function projectLevel(level: ProjectLevel): Partial<PermissionSet> {
  const column = projectLevelNames.indexOf(level);
  return Object.fromEntries(
    (Object.keys(projectLevelTable) as Row[]).map((row) => [permissionOfRow[row], projectLevelTable[row][column]]),
  );
}

export function projectLevelMask(level: ProjectLevel): Mask {
  return maskOf(projectLevel(level));
}
