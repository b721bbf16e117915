/** Request bodies of a stress test: examples with existing names and new values, and richer bodies for some operations. */
import type { Json } from "../api.ts";
import { password } from "../invitations.ts";
import { resource, unique } from "../builders.ts";
import { base64, md5, stateOf } from "../states.ts";
import type { World } from "./world.ts";

/** Few, so that callers compete for them. */
const tagNames = ["amber", "blue", "cyan", "dun", "ecru"];
const keys = ["cost", "env", "owner"];
const durations = ["14d", "30d", "60h", null];
const addresses = ["ada", "bob", "cy", "dee", "eve"].map((name) => `${name}@storm.example`);

const toOne = (identifier: Json) => ({ data: identifier });
const toMany = (items: readonly Json[]) => ({ data: items });

const tags = (world: World): Json[] =>
  world.some(tagNames, 1, 3).map((name) => ({ type: "tags", attributes: { name } }));
const bindings = (world: World): Json[] =>
  world.some(keys, 0, 3).map((key) => ({
    type: "tag-bindings",
    attributes: { key, value: String(Math.floor(world.chance() * 9)) },
  }));
const name = (world: World, prefix: string) => `${prefix}-${Math.floor(world.chance() * 12)}`;

/** Agent mode needs a pool. */
function execution(world: World, mode: string): object {
  if (!world.happens(0.3)) return {};
  return world.happens(0.5)
    ? { [mode]: "agent", [mode.replace("execution-mode", "agent-pool-id")]: world.pick("agent-pools").id }
    : { [mode]: "remote" };
}

const repository = (world: World) =>
  world.happens(0.3)
    ? { "vcs-repo": { identifier: "acme/network", "oauth-token-id": world.pick("oauth-tokens").id } }
    : {};

function workspaceCreation(world: World): Json {
  const attributes = { name: name(world, "ws"), ...execution(world, "execution-mode"), ...repository(world) };
  const relationships = {
    project: toOne(world.identifier("projects")),
    ...(world.happens(0.6) && { tags: toMany(tags(world)) }),
    ...(world.happens(0.5) && { "tag-bindings": toMany(bindings(world)) }),
  };
  return resource("workspaces", attributes, relationships);
}

function workspaceUpdate(world: World): Json {
  const attributes = {
    ...(world.happens(0.3) && { name: name(world, "ws") }),
    ...(world.happens(0.3) && { "auto-destroy-activity-duration": world.one(durations) }),
    ...(world.happens(0.3) && { description: name(world, "text") }),
    ...execution(world, "execution-mode"),
    ...repository(world),
  };
  const inherits = "auto-destroy-activity-duration" in attributes ? {} : { "inherits-project-auto-destroy": true };
  const relationships = {
    ...(world.happens(0.6) && { project: toOne(world.identifier("projects")) }),
    ...(world.happens(0.3) && { "tag-bindings": toMany(bindings(world)) }),
  };
  return resource("workspaces", { ...attributes, ...inherits }, relationships);
}

function project(world: World): Json {
  const attributes = {
    name: name(world, "project"),
    ...(world.happens(0.7) && { "auto-destroy-activity-duration": world.one(durations) }),
    ...execution(world, "default-execution-mode"),
  };
  return resource("projects", attributes, world.happens(0.5) ? { "tag-bindings": toMany(bindings(world)) } : {});
}

function varset(world: World): Json {
  const parent = world.happens(0.5) ? { parent: toOne(world.identifier("projects")) } : {};
  return resource("varsets", { name: name(world, "set"), global: false }, { ...parent, ...links(world) });
}

const links = (world: World) => ({
  workspaces: toMany(world.identifiers("workspaces")),
  projects: toMany(world.identifiers("projects")),
});

const scopes = (world: World) => ({
  "allowed-workspaces": toMany(world.identifiers("workspaces")),
  "allowed-projects": toMany(world.identifiers("projects")),
  "excluded-workspaces": toMany(world.identifiers("workspaces")),
});

const pool = (world: World): Json =>
  resource("agent-pools", { name: name(world, "pool"), "organization-scoped": world.happens(0.5) }, scopes(world));

const tagBindings = (world: World) => toMany(bindings(world));

const organization = (world: World): Json => {
  const usesAgents = world.happens(0.5);
  return resource(
    "organizations",
    { "default-execution-mode": usesAgents ? "agent" : "remote" },
    usesAgents ? { "default-agent-pool": toOne(world.identifier("agent-pools")) } : {},
  );
};

const github = {
  "service-provider": "github",
  "api-url": "https://api.github.com",
  "http-url": "https://github.com",
  "oauth-token-string": "a token of the provider",
};
const inProjects = (world: World) => ({ projects: toMany(world.identifiers("projects")) });

const user = (world: World): Json =>
  resource("users", {
    username: name(world, "user"),
    email: world.one(addresses),
    ...(world.happens(0.3) && { "is-site-admin": world.happens(0.5) }),
  });

const membership = (world: World): Json =>
  resource("organization-memberships", { email: world.one(addresses) }, { teams: toMany(world.identifiers("teams")) });

function state(world: World): Json {
  const serial = 1 + Math.floor(world.chance() * 1e6);
  const text = stateOf({ serial, outputs: { out: { value: String(serial), type: "string" } } });
  return resource("state-versions", { serial, md5: md5(text), state: base64(text), force: true });
}

const run = (world: World): Json =>
  resource(
    "runs",
    { "auto-apply": world.happens(0.4), "plan-only": world.happens(0.2), "is-destroy": world.happens(0.2) },
    { workspace: toOne(world.identifier("workspaces")) },
  );

/** Each change takes other locks, in any order. */
function accessPreview(world: World): Json {
  const [team, project, workspace] = [
    world.pick("teams").id,
    world.pick("projects").id,
    world.identifier("workspaces"),
  ];
  const toProject = { project: toOne({ type: "projects", id: project }) };
  const changes = [
    { method: "POST", path: `/projects/${project}/relationships/workspaces`, body: toMany([workspace]) },
    {
      method: "POST",
      path: "/team-workspaces",
      body: resource(
        "team-workspaces",
        { access: "read" },
        { workspace: toOne(workspace), team: toOne({ type: "teams", id: team }) },
      ),
    },
    {
      method: "PATCH",
      path: `/teams/${team}`,
      body: resource("teams", { "organization-access": { "read-projects": true } }),
    },
    { method: "PATCH", path: `/workspaces/${workspace.id}`, body: resource("workspaces", {}, toProject) },
    {
      method: "POST",
      path: `/teams/${team}/relationships/organization-memberships`,
      body: toMany(world.identifiers("organization-memberships")),
    },
    { method: "DELETE", path: `/teams/${team}` },
  ];
  return resource("access-previews", { changes: world.some(changes, 1, 3) });
}

export const bodies: Readonly<Record<string, (world: World) => Json>> = {
  createWorkspace: workspaceCreation,
  updateWorkspace: workspaceUpdate,
  updateWorkspaceByName: workspaceUpdate,
  assignSshKey: (world) => resource("workspaces", { id: world.happens(0.3) ? null : world.pick("ssh-keys").id }),
  createProject: project,
  updateProject: project,
  createVarset: varset,
  updateVarset: (world) => resource("varsets", { name: name(world, "set") }, links(world)),
  createAgentPool: pool,
  updateAgentPool: pool,
  addWorkspaceTags: (world) => toMany(tags(world)),
  removeWorkspaceTags: (world) => toMany(tags(world)),
  changeWorkspaceTagBindings: tagBindings,
  changeProjectTagBindings: tagBindings,
  updateOrganization: organization,
  createUser: user,
  updateUser: user,
  updateAccount: () => resource("users", {}),
  createOrganizationMembership: membership,
  registerByInvitation: () => resource("invitations", { username: unique("grace"), password }),
  createStateVersion: state,
  previewAccess: accessPreview,
  createRun: run,
  createOauthClient: (world) => resource("oauth-clients", github, world.happens(0.5) ? inProjects(world) : {}),
  updateOauthClient: (world) =>
    resource(
      "oauth-clients",
      {
        ...(world.happens(0.7) && { name: name(world, "client") }),
        ...(world.happens(0.3) && { "oauth-token-string": "another token" }),
      },
      world.happens(0.5) ? inProjects(world) : {},
    ),
  updateAdminOrganization: (world) =>
    resource("organizations", {
      "workspace-limit": world.happens(0.5) ? null : 20,
      "access-beta-tools": world.happens(0.5),
    }),
  replaceModuleConsumers: (world) => toMany(world.identifiers("organizations")),
  createOrganization: (world) =>
    resource("organizations", { name: name(world, "passing"), email: "passing@storm.example" }),
};

const named = new Set(["name", "key", "username"]);

/** Uses ids of existing resources, and names that can be taken. */
export function varied(world: World, example: Json): Json {
  if (Array.isArray(example)) {
    const [first] = example;
    return isIdentifier(first) ? world.identifiers(first.type) : example.map((item) => varied(world, item));
  }
  if (isIdentifier(example)) return world.identifier(example.type);
  if (typeof example !== "object" || example === null) return example;
  return Object.fromEntries(
    Object.entries(example).map(([key, value]) => [
      key,
      named.has(key) && typeof value === "string" ? name(world, key) : varied(world, value),
    ]),
  );
}

function isIdentifier(value: Json): boolean {
  return typeof value?.type === "string" && typeof value.id === "string";
}
