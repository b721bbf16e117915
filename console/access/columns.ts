/** The columns of the access matrix: the permissions on a workspace, or on a project and its workspaces. */
import type { AccessTargetKind, PermissionValues } from "./words.ts";

export interface MatrixColumn {
  readonly key: string;
  readonly label: string;
  readonly about: string;
  readonly permission: (values: PermissionValues) => string;
  readonly value: (values: PermissionValues) => string | boolean;
  readonly can?: string;
}

const isOneOf = (values: PermissionValues, name: string, ...enough: readonly string[]) =>
  enough.includes(String(values[name]));
const permissionValue = (values: PermissionValues, name: string) => {
  const value = values[name] ?? "none";
  return value === "none" ? false : value;
};
const always = (name: string) => () => name;

const onWorkspaces: readonly MatrixColumn[] = [
  {
    key: "read",
    label: "read",
    about: "see the workspace and its runs",
    permission: always("runs"),
    value: (values) => isOneOf(values, "runs", "read", "plan", "apply"),
    can: "can-read-run",
  },
  {
    key: "plan",
    label: "plan",
    about: "start plan-only runs",
    permission: always("runs"),
    value: (values) => isOneOf(values, "runs", "plan", "apply"),
    can: "can-queue-run",
  },
  {
    key: "apply",
    label: "apply",
    about: "apply runs",
    permission: always("runs"),
    value: (values) => isOneOf(values, "runs", "apply"),
    can: "can-queue-apply",
  },
  {
    key: "variables",
    label: "vars",
    about: "read or write variables",
    permission: always("variables"),
    value: (values) => permissionValue(values, "variables"),
    can: "can-read-variable",
  },
  {
    key: "state",
    label: "state",
    about: "read outputs, or read or write states",
    permission: always("state-versions"),
    value: (values) =>
      values["state-versions"] === "read-outputs" ? "outputs" : permissionValue(values, "state-versions"),
    can: "can-read-state-outputs",
  },
  {
    key: "lock",
    label: "lock",
    about: "lock and unlock",
    permission: always("locking"),
    value: (values) => values["locking"] === true,
    can: "can-lock",
  },
  {
    key: "settings",
    label: "settings",
    about: "change the workspace's settings, tags and access",
    permission: always("workspace-admin"),
    value: (values) => values["workspace-admin"] === true,
    can: "can-force-unlock",
  },
  {
    key: "delete",
    label: "delete",
    about: "delete the workspace",
    permission: (values) => (values["workspace-admin"] === true ? "workspace-admin" : "delete"),
    value: (values) => values["delete"] === true || values["workspace-admin"] === true,
    can: "can-destroy",
  },
];

const onProjects: readonly MatrixColumn[] = [
  {
    key: "project",
    label: "project",
    about: "see, change or delete the project itself",
    permission: always("settings"),
    value: (values) => permissionValue(values, "settings"),
    can: "can-read",
  },
  {
    key: "teams",
    label: "access",
    about: "see or manage access to the project",
    permission: always("teams"),
    value: (values) => permissionValue(values, "teams"),
  },
];

const projectOnly: readonly MatrixColumn[] = [
  {
    key: "create",
    label: "create",
    about: "create workspaces in the project",
    permission: always("create"),
    value: (values) => values["create"] === true,
    can: "can-create-workspace",
  },
  {
    key: "move",
    label: "move",
    about: "move workspaces into and out of the project",
    permission: always("move"),
    value: (values) => values["move"] === true,
  },
];

export const columnsOn = (kind: AccessTargetKind): readonly MatrixColumn[] =>
  kind === "workspace" ? onWorkspaces : [...onProjects, ...onWorkspaces, ...projectOnly];

export const valueText = (value: string | boolean): string => (value === true ? "yes" : value === false ? "no" : value);

export interface AccessLevelOption {
  readonly value: string;
  readonly about: string;
}

const read = "See runs, variables, states and outputs.";
const write = "Read, plus apply runs, edit variables, write states and lock.";
const admin = "Write, plus change settings, delete, and manage access.";
const custom = "Choose each permission below.";

export const levelsOn: Readonly<Record<AccessTargetKind, readonly AccessLevelOption[]>> = {
  project: [
    { value: "read", about: read },
    { value: "write", about: write },
    { value: "maintain", about: "Write, plus create, change and delete workspaces." },
    { value: "admin", about: "Maintain, plus change the project, move workspaces and manage access." },
    { value: "custom", about: custom },
  ],
  workspace: [
    { value: "read", about: read },
    { value: "plan", about: "Read, plus start plan-only runs." },
    { value: "write", about: write },
    { value: "admin", about: admin },
    { value: "custom", about: custom },
  ],
};

export interface PermissionChoice {
  /** Can be a dotted path such as `workspace-access.runs`. */
  readonly attribute: string;
  readonly label: string;
  readonly options?: readonly string[];
}

const runs = { label: "Runs", options: ["read", "plan", "apply"] };
const variables = { label: "Variables", options: ["none", "read", "write"] };
const states = { label: "States", options: ["none", "read-outputs", "read", "write"] };

export const choicesOn: Readonly<Record<AccessTargetKind, readonly PermissionChoice[]>> = {
  project: [
    { attribute: "project-access.settings", label: "Project", options: ["read", "update", "delete"] },
    { attribute: "project-access.teams", label: "Project access", options: ["none", "read", "manage"] },
    { attribute: "project-access.variable-sets", label: "Variable sets", options: ["none", "read", "write"] },
    { attribute: "workspace-access.runs", ...runs },
    { attribute: "workspace-access.variables", ...variables },
    { attribute: "workspace-access.state-versions", ...states },
    { attribute: "workspace-access.locking", label: "Lock workspaces" },
    { attribute: "workspace-access.create", label: "Create workspaces" },
    { attribute: "workspace-access.move", label: "Move workspaces" },
    { attribute: "workspace-access.delete", label: "Delete workspaces" },
    { attribute: "workspace-access.run-tasks", label: "Manage run tasks" },
  ],
  workspace: [
    { attribute: "runs", ...runs },
    { attribute: "variables", ...variables },
    { attribute: "state-versions", ...states },
    { attribute: "workspace-locking", label: "Lock workspace" },
    { attribute: "run-tasks", label: "Manage run tasks" },
  ],
};

export type CustomPermissions = Readonly<Record<string, string | boolean>>;

export const defaultPermissions = (kind: AccessTargetKind): CustomPermissions =>
  Object.fromEntries(choicesOn[kind].map(({ attribute, options }) => [attribute, options?.[0] ?? false]));

/** `workspace-access.runs: "plan"` → `{ "workspace-access": { runs: "plan" } }`. */
export function attributesOf(chosen: CustomPermissions): Record<string, unknown> {
  const attributes: Record<string, any> = {};
  for (const [attribute, value] of Object.entries(chosen)) {
    const [outer, inner] = attribute.split(".") as [string, string?];
    if (inner === undefined) attributes[outer] = value;
    else attributes[outer] = { ...attributes[outer], [inner]: value };
  }
  return attributes;
}

export function chosenPermissionsOf(
  kind: AccessTargetKind,
  attributes: Readonly<Record<string, any>>,
): CustomPermissions {
  return Object.fromEntries(
    choicesOn[kind].map(({ attribute }) => {
      const [outer, inner] = attribute.split(".") as [string, string?];
      return [attribute, inner === undefined ? attributes[outer] : attributes[outer]?.[inner]];
    }),
  );
}
