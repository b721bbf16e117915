/** The columns of the matrix: what can be done to a workspace, or to a project and its workspaces. */
import type { ThingKind, Values } from "./words.ts";

export interface MatrixColumn {
  readonly key: string;
  readonly label: string;
  readonly about: string;
  /** The permission that explanations explain it by. */
  readonly permission: (values: Values) => string;
  /** The value in a word; true and false where there is nothing between. */
  readonly value: (values: Values) => string | boolean;
  /** What the API calls it, where one asks who holds it; some have no name of their own. */
  readonly can?: string;
}

const reaches = (values: Values, name: string, ...enough: readonly string[]) => enough.includes(String(values[name]));
const word = (values: Values, name: string) => {
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
    value: (values) => reaches(values, "runs", "read", "plan", "apply"),
    can: "can-read-run",
  },
  {
    key: "plan",
    label: "plan",
    about: "start plan-only runs",
    permission: always("runs"),
    value: (values) => reaches(values, "runs", "plan", "apply"),
    can: "can-queue-run",
  },
  {
    key: "apply",
    label: "apply",
    about: "apply runs",
    permission: always("runs"),
    value: (values) => reaches(values, "runs", "apply"),
    can: "can-queue-apply",
  },
  {
    key: "variables",
    label: "vars",
    about: "read or write variables",
    permission: always("variables"),
    value: (values) => word(values, "variables"),
    can: "can-read-variable",
  },
  {
    key: "state",
    label: "state",
    about: "read outputs, or read or write states",
    permission: always("state-versions"),
    value: (values) => (values["state-versions"] === "read-outputs" ? "outputs" : word(values, "state-versions")),
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
    value: (values) => word(values, "settings"),
    can: "can-read",
  },
  {
    key: "teams",
    label: "access",
    about: "see or manage access to the project",
    permission: always("teams"),
    value: (values) => word(values, "teams"),
  },
];

const beside: readonly MatrixColumn[] = [
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

export const columnsOn = (kind: ThingKind): readonly MatrixColumn[] =>
  kind === "workspace" ? onWorkspaces : [...onProjects, ...onWorkspaces, ...beside];

export const told = (value: string | boolean): string => (value === true ? "yes" : value === false ? "no" : value);
