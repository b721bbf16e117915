/**
 * The permissions of each level, grant and kind of token, and their effect on each endpoint, written by hand from
 * docs/decisions/0002-access-is-the-sum-of-grants.md and docs/api.md#team-access. It must not use the code under test.
 */

export type Ability =
  | "member"
  | "read project"
  | "update project"
  | "delete project"
  | "read teams"
  | "manage teams"
  | "create"
  | "move"
  /** Runs ≥ read. */
  | "see"
  | "plan"
  | "apply"
  | "read variables"
  | "write variables"
  | "read outputs"
  | "read state"
  | "write state"
  | "lock"
  | "run tasks"
  | "delete"
  | "admin"
  /** Has, or can grant, every permission on the project. */
  | "grant all"
  | "owner";

export type Abilities = ReadonlySet<Ability>;
const set = (...lists: (readonly Ability[])[]): Abilities => new Set(lists.flat());

const member: Ability[] = ["member"];
const seeing: Ability[] = ["member", "see"];
const reading: Ability[] = [...seeing, "read variables", "read outputs", "read state"];
const planning: Ability[] = [...reading, "plan"];
const writing: Ability[] = [...planning, "apply", "write variables", "write state", "lock"];
const workspaceAdmin: Ability[] = [...writing, "run tasks", "admin"];
const inProject: Ability[] = ["read project"];
const maintaining: Ability[] = [...workspaceAdmin, ...inProject, "create", "delete"];
const projectAdmin: Ability[] = [
  ...maintaining,
  "update project",
  "delete project",
  "read teams",
  "manage teams",
  "move",
  "grant all",
];
const owner: Ability[] = [...projectAdmin, "owner"];
const customOnProject: Ability[] = [...seeing, ...inProject];

export const outsider: Abilities = set([]);
export const plainMember: Abilities = set(member);
export const ownerAbilities: Abilities = set(owner);
const notForOrganizationTokens: readonly Ability[] = ["plan", "apply", "write state", "lock"];
export const organizationTokenAbilities: Abilities = set(
  owner.filter((ability) => !notForOrganizationTokens.includes(ability)),
);

export const byProjectGrant: readonly (readonly [string, object, Abilities])[] = [
  ["read", { access: "read" }, set(reading, inProject)],
  ["write", { access: "write" }, set(writing, inProject)],
  ["maintain", { access: "maintain" }, set(maintaining)],
  ["admin", { access: "admin" }, set(projectAdmin)],
  ["custom", { access: "custom" }, set(customOnProject)],
  ...customOf("project-access", "settings", {
    update: ["update project"],
    delete: ["update project", "delete project"],
  }),
  ...customOf("project-access", "teams", { read: ["read teams"], manage: ["read teams", "manage teams"] }),
  ...customOf("workspace-access", "runs", { plan: ["plan"], apply: ["plan", "apply"] }),
  ...customOf("workspace-access", "policy-mocks", { read: [] }),
  ...customOf("workspace-access", "state-versions", {
    "read-outputs": ["read outputs"],
    read: ["read outputs", "read state"],
    write: ["read outputs", "read state", "write state"],
  }),
  ...customOf("workspace-access", "variables", {
    read: ["read variables"],
    write: ["read variables", "write variables"],
  }),
  ...(["create", "move", "delete"] as const).map((name) => customFlag("workspace-access", name, name)),
  customFlag("workspace-access", "locking", "lock"),
  customFlag("workspace-access", "run-tasks", "run tasks"),
  ...customOf("project-access", "variable-sets", { read: [], write: [] }),
  customFlag("workspace-access", "policy-overrides"),
];

type Row = readonly [string, object, Abilities];

function customOf(group: string, name: string, values: Record<string, readonly Ability[]>): Row[] {
  return Object.entries(values).map(([value, abilities]) => [
    `custom: ${name} ${value}`,
    { access: "custom", [group]: { [name]: value } },
    set(customOnProject, abilities),
  ]);
}

function customFlag(group: string, name: string, ...abilities: Ability[]): Row {
  return [`custom: ${name}`, { access: "custom", [group]: { [name]: true } }, set(customOnProject, abilities)];
}

const customOnWorkspace = (attributes: object, abilities: readonly Ability[]): Row => [
  `custom: ${Object.entries(attributes).flat().join(" ")}`,
  { access: "custom", ...attributes },
  set(seeing, abilities),
];

export const byWorkspaceGrant: readonly Row[] = [
  ["read", { access: "read" }, set(reading)],
  ["plan", { access: "plan" }, set(planning)],
  ["write", { access: "write" }, set(writing)],
  ["admin", { access: "admin" }, set(workspaceAdmin)],
  ["custom", { access: "custom" }, set(seeing)],
  customOnWorkspace({ runs: "plan" }, ["plan"]),
  customOnWorkspace({ runs: "apply" }, ["plan", "apply"]),
  customOnWorkspace({ variables: "read" }, ["read variables"]),
  customOnWorkspace({ variables: "write" }, ["read variables", "write variables"]),
  customOnWorkspace({ "state-versions": "read-outputs" }, ["read outputs"]),
  customOnWorkspace({ "state-versions": "read" }, ["read outputs", "read state"]),
  customOnWorkspace({ "state-versions": "write" }, ["read outputs", "read state", "write state"]),
  customOnWorkspace({ "policy-mocks": "read" }, []),
  customOnWorkspace({ "workspace-locking": true }, ["lock"]),
  customOnWorkspace({ "run-tasks": true }, ["run tasks"]),
  customOnWorkspace({ "policy-overrides": true }, []),
];

export const byOrganizationPermission: readonly (readonly [string, Abilities])[] = [
  ["manage-workspaces", set(maintaining)],
  ["read-workspaces", set(reading)],
  ["manage-projects", set(projectAdmin)],
  ["read-projects", set(reading, inProject)],
  ...[
    "manage-teams",
    "manage-membership",
    "manage-organization-access",
    "access-secret-teams",
    "manage-vcs-settings",
    "manage-agent-pools",
    "manage-policies",
    "manage-policy-overrides",
    "manage-run-tasks",
    "manage-modules",
    "manage-providers",
    "delegate-policy-overrides",
  ].map((name) => [name, plainMember] as const),
];

export interface MatrixFixtures {
  readonly organizationName: string;
  readonly projectId: string;
  readonly workspaceId: string;
  /** Of a visible team that the caller is not in. */
  readonly teamProjectId: string;
  readonly teamWorkspaceId: string;
  readonly bystanderId: string;
  readonly newTeamIds: readonly [string, string];
}

export interface Endpoint {
  readonly name: string;
  readonly method: string;
  readonly path: (stage: MatrixFixtures) => string;
  readonly body?: (stage: MatrixFixtures) => unknown;
  readonly expected: (may: (ability: Ability) => boolean) => number;
}

type May = (ability: Ability) => boolean;
const orNotFound = (status: number, sees: boolean) => (sees ? status : 404);
const unique = () => `made-${Math.random().toString(36).slice(2)}`;
const to = (type: string, id: string) => ({ data: { type, id } });
const grantOn = (kind: "project" | "workspace", access: string, team: 0 | 1) => (stage: MatrixFixtures) => ({
  data: {
    type: `team-${kind}s`,
    attributes: { access },
    relationships: {
      team: to("teams", stage.newTeamIds[team]),
      [kind]: to(`${kind}s`, kind === "project" ? stage.projectId : stage.workspaceId),
    },
  },
});
const updateOf = (type: string, attributes: object) => () => ({ data: { type, attributes } });

const get = (name: string, path: Endpoint["path"], expected: Endpoint["expected"]): Endpoint => ({
  name,
  method: "GET",
  path,
  expected,
});
const readsProject = (may: May) => orNotFound(200, may("read project"));
const readsWorkspace = (may: May) => orNotFound(200, may("see"));
const project = (suffix = "") => ({ path: ({ projectId }: MatrixFixtures) => `/projects/${projectId}${suffix}` });
const workspace = (suffix = "") => ({
  path: ({ workspaceId }: MatrixFixtures) => `/workspaces/${workspaceId}${suffix}`,
});
const action = (name: string, verb: string, expected: Endpoint["expected"]): Endpoint => ({
  name,
  method: "POST",
  ...workspace(`/actions/${verb}`),
  expected,
});

/** In order of execution: deletions come last. */
export const endpoints: readonly Endpoint[] = [
  get("show the project", project().path, readsProject),
  get(
    "list the project's team access",
    ({ projectId }) => `/team-projects?filter[project][id]=${projectId}`,
    readsProject,
  ),
  get("show the project's team access", ({ teamProjectId }) => `/team-projects/${teamProjectId}`, readsProject),
  get("explain the caller's access to the project", project("/access").path, readsProject),
  get(
    "explain a team's access to the project",
    ({ projectId, bystanderId }) => `/projects/${projectId}/access?filter[team][id]=${bystanderId}`,
    (may) => orNotFound(may("manage teams") ? 200 : 403, may("read project")),
  ),
  get("list the teams with access to the project", project("/team-access").path, readsProject),
  {
    name: "update the project",
    method: "PATCH",
    ...project(),
    body: updateOf("projects", { description: "changed" }),
    expected: (may) => orNotFound(may("update project") ? 200 : 403, may("read project")),
  },
  {
    name: "delete the project, which has a workspace",
    method: "DELETE",
    ...project(),
    expected: (may) => orNotFound(may("delete project") ? 409 : 403, may("read project")),
  },
  {
    name: "create a workspace in the project",
    method: "POST",
    path: ({ organizationName }) => `/organizations/${organizationName}/workspaces`,
    body: ({ projectId }) => ({
      data: {
        type: "workspaces",
        attributes: { name: unique() },
        relationships: { project: to("projects", projectId) },
      },
    }),
    expected: (may) => (may("create") ? 201 : may("read project") ? 403 : may("member") ? 422 : 404),
  },
  {
    name: "move a workspace into the project that is already there",
    method: "POST",
    ...project("/relationships/workspaces"),
    body: ({ workspaceId }) => ({ data: [{ type: "workspaces", id: workspaceId }] }),
    expected: (may) => (may("move") ? 204 : 404),
  },
  {
    name: "move a workspace into the project that does not exist",
    method: "POST",
    ...project("/relationships/workspaces"),
    body: () => ({ data: [{ type: "workspaces", id: "ws-doesnotexist12345" }] }),
    expected: (may) => (may("move") ? 403 : 404),
  },
  {
    name: "grant a team custom access to the project",
    method: "POST",
    path: () => "/team-projects",
    body: grantOn("project", "custom", 0),
    expected: (may) => (may("manage teams") ? 200 : 404),
  },
  {
    name: "grant a team admin access to the project",
    method: "POST",
    path: () => "/team-projects",
    body: grantOn("project", "admin", 1),
    expected: (may) => (may("grant all") ? 200 : may("manage teams") ? 403 : 404),
  },
  {
    name: "change a team's access to the project",
    method: "PATCH",
    path: ({ teamProjectId }) => `/team-projects/${teamProjectId}`,
    body: updateOf("team-projects", { access: "custom" }),
    expected: (may) => (may("manage teams") ? 200 : 404),
  },
  {
    name: "remove a team's access to the project",
    method: "DELETE",
    path: ({ teamProjectId }) => `/team-projects/${teamProjectId}`,
    expected: (may) => (may("manage teams") ? 204 : 404),
  },
  get("show the workspace", workspace().path, readsWorkspace),
  get(
    "list the workspace's team access",
    ({ workspaceId }) => `/team-workspaces?filter[workspace][id]=${workspaceId}`,
    readsWorkspace,
  ),
  get(
    "show the workspace's team access",
    ({ teamWorkspaceId }) => `/team-workspaces/${teamWorkspaceId}`,
    readsWorkspace,
  ),
  get("explain the caller's access to the workspace", workspace("/access").path, readsWorkspace),
  get(
    "explain a team's access to the workspace",
    ({ workspaceId, bystanderId }) => `/workspaces/${workspaceId}/access?filter[team][id]=${bystanderId}`,
    (may) => orNotFound(may("admin") ? 200 : 403, may("see")),
  ),
  get("list the teams with access to the workspace", workspace("/team-access").path, readsWorkspace),
  {
    name: "update the workspace",
    method: "PATCH",
    ...workspace(),
    body: updateOf("workspaces", { description: "changed" }),
    expected: (may) => orNotFound(may("admin") ? 200 : 403, may("see")),
  },
  action("unlock the workspace, which is not locked", "unlock", (may) => (may("lock") ? 409 : 404)),
  action("force-unlock the workspace, which is not locked", "force-unlock", (may) => (may("admin") ? 409 : 404)),
  {
    name: "add a tag to the workspace",
    method: "POST",
    ...workspace("/relationships/tags"),
    body: () => ({ data: [{ type: "tags", attributes: { name: "matrix" } }] }),
    expected: (may) => (may("admin") ? 204 : 404),
  },
  {
    name: "grant a team custom access to the workspace",
    method: "POST",
    path: () => "/team-workspaces",
    body: grantOn("workspace", "custom", 0),
    expected: (may) => (may("admin") ? 200 : 404),
  },
  {
    name: "grant a team admin access to the workspace",
    method: "POST",
    path: () => "/team-workspaces",
    body: grantOn("workspace", "admin", 1),
    expected: (may) => (may("admin") ? 200 : 404),
  },
  {
    name: "change a team's access to the workspace",
    method: "PATCH",
    path: ({ teamWorkspaceId }) => `/team-workspaces/${teamWorkspaceId}`,
    body: updateOf("team-workspaces", { access: "custom" }),
    expected: (may) => (may("admin") ? 200 : 404),
  },
  {
    name: "remove a team's access to the workspace",
    method: "DELETE",
    path: ({ teamWorkspaceId }) => `/team-workspaces/${teamWorkspaceId}`,
    expected: (may) => (may("admin") ? 204 : 404),
  },
  action("safe-delete the workspace, which manages resources", "safe-delete", (may) =>
    may("admin") || may("delete") ? 409 : 404,
  ),
  action("lock the workspace", "lock", (may) => (may("lock") ? 200 : 404)),
  {
    name: "force-delete the workspace",
    method: "DELETE",
    ...workspace(),
    expected: (may) => orNotFound(may("owner") ? 204 : 403, may("see")),
  },
];

export function workspaceFlags(may: May): Record<string, boolean> {
  return {
    "can-update": may("admin"),
    "can-destroy": may("admin") || may("delete"),
    "can-queue-run": may("plan"),
    "can-read-run": may("see"),
    "can-read-variable": may("read variables"),
    "can-update-variable": may("write variables"),
    "can-read-state-versions": may("read state"),
    "can-read-state-outputs": may("read outputs"),
    "can-create-state-versions": may("write state"),
    "can-queue-apply": may("apply"),
    "can-lock": may("lock"),
    "can-unlock": may("lock"),
    "can-force-unlock": may("admin"),
    "can-read-settings": may("see"),
    "can-manage-tags": may("admin"),
    "can-manage-run-tasks": may("run tasks"),
    "can-force-delete": may("owner"),
    "can-manage-assessments": may("admin"),
    "can-manage-ephemeral-workspaces": may("admin"),
    "can-read-assessment-results": may("see"),
    "can-queue-destroy": may("apply"),
  };
}

export function projectFlags(may: May): Record<string, boolean> {
  return {
    "can-update": may("update project"),
    "can-destroy": may("delete project"),
    "can-create-workspace": may("create"),
  };
}
