/** The workloads: for every kind of resource, a client that creates it, changes it and deletes it again. */
import { onWorkspace, resource } from "../test/support/builders.ts";
import { newSha, providers } from "../test/support/vcs-payloads.ts";
import type { WorkloadClient, Workload } from "./workload-client.ts";
import { absent, received, type ResourceView, textOf } from "./final-state.ts";

/** Most resources are deleted again, so that the database doesn't only grow. */
const isDeleted = (): boolean => Math.random() < 0.8;
const identifiers = (type: string, ids: readonly string[]) => ({ data: ids.map((id) => ({ type, id })) });
const toOne = (type: string, id: string) => ({ data: { type, id } });

const word = (...values: readonly unknown[]): string =>
  textOf(
    values,
    values.map((_, index) => String(index)),
  );

const inWorkspaces = (client: WorkloadClient, names: readonly string[], shows: readonly string[]): ResourceView => ({
  list: `${client.organization}/workspaces`,
  by: "attributes.name",
  names,
  shows,
});

export const workspaceWorkload: Workload = async (client) => {
  const name = client.name("life");
  const view = inWorkspaces(
    client,
    [name],
    ["attributes.description", "attributes.tag-names", "attributes.locked", "relationships.project.data.id"],
  );
  const [first, second] = client.fixtures.projects;
  const tag = (tagName: string) => ({ type: "tags", attributes: { name: tagName } });
  const { id } = await client.make(
    view,
    [word("first", ["amber"], false, first)],
    view.list,
    resource(
      "workspaces",
      { name, description: "first" },
      { project: toOne("projects", first), tags: { data: [tag("amber")] } },
    ),
  );
  const path = `/workspaces/${id}`;
  const described = resource("workspaces", { description: "second" });
  await client.change(view, [word("second", ["amber"], false, first)], path, described);
  const relation = { path: `${path}/relationships/tags`, body: { data: [tag("blue"), tag("cyan")] }, done: 204 };
  await client.write(view, [word("second", ["amber", "blue", "cyan"], false, first)], {
    ...relation,
    kind: "tag",
    method: "POST",
  });
  await client.write(view, [word("second", ["amber"], false, first)], { ...relation, kind: "untag", method: "DELETE" });
  const act = (kind: string, done = 200) => ({ kind, method: "POST", path: `${path}/actions/${kind}`, done });
  await client.write(view, [word("second", ["amber"], true, first)], act("lock"));
  await client.write(view, [word("second", ["amber"], false, first)], act("unlock"));
  const moved = resource("workspaces", {}, { project: toOne("projects", second) });
  await client.change(view, [word("second", ["amber"], false, second)], path, moved);
  if (!isDeleted()) return;
  if (Math.random() < 0.5) await client.remove(view, [absent], path);
  else await client.write(view, [absent], act("safe-delete", 204));
};

/** Moves several workspaces in one request: all of them, or none. */
export const movingWorkload: Workload = async (client) => {
  const names = ["one", "two", "three"].map((each) => client.name(each));
  const view = inWorkspaces(client, names, ["relationships.project.data.id"]);
  const [first, second] = client.fixtures.projects;
  const words = names.map(() => absent);
  const ids: string[] = [];
  for (const [index, name] of names.entries()) {
    words[index] = word(first);
    const body = resource("workspaces", { name }, { project: toOne("projects", first) });
    ids.push((await client.make(view, words, view.list, body)).id);
  }
  for (const project of [second, first]) {
    const moved = names.map(() => word(project));
    const path = `/projects/${project}/relationships/workspaces`;
    await client.make(view, moved, path, identifiers("workspaces", ids), 204);
  }
  for (const [index, id] of ids.entries()) {
    words[index] = absent;
    await client.remove(view, words, `/workspaces/${id}`);
  }
};

/** A team with its workspace access and a token. */
export const teamWorkload: Workload = async (client) => {
  const name = client.name("team");
  const list = `${client.organization}/teams`;
  const view: ResourceView = { list, by: "attributes.name", names: [name], shows: ["attributes.visibility"] };
  const { id } = await client.make(view, [word("secret")], list, resource("teams", { name, visibility: "secret" }));
  await client.change(view, [word("organization")], `/teams/${id}`, resource("teams", { visibility: "organization" }));
  await onWorkspaceWorkload(client, id);
  const tokens = `/teams/${id}/authentication-tokens`;
  const token: ResourceView = {
    list: tokens,
    by: "attributes.description",
    names: [name],
    shows: ["attributes.description"],
  };
  const made = await client.make(token, [word(name)], tokens, resource("authentication-tokens", { description: name }));
  await client.remove(token, [absent], `/authentication-tokens/${made.id}`);
  if (isDeleted()) await client.remove(view, [absent], `/teams/${id}`);
};

async function onWorkspaceWorkload(client: WorkloadClient, teamId: string): Promise<void> {
  const workspaceId = client.fixtures.settled;
  const view: ResourceView = {
    list: `/team-workspaces?filter[workspace][id]=${workspaceId}`,
    by: "relationships.team.data.id",
    names: [teamId],
    shows: ["attributes.access"],
  };
  const body = resource("team-workspaces", { access: "read" }, onWorkspace(workspaceId, teamId));
  const { id } = await client.make(view, [word("read")], "/team-workspaces", body, 200);
  const raised = resource("team-workspaces", { access: "write" });
  await client.change(view, [word("write")], `/team-workspaces/${id}`, raised);
  await client.remove(view, [absent], `/team-workspaces/${id}`);
}

export const memberWorkload: Workload = async (client) => {
  const email = `${client.name("guest")}@example.com`;
  const list = `${client.organization}/organization-memberships`;
  const view: ResourceView = { list, by: "attributes.email", names: [email], shows: ["attributes.status"] };
  const { id } = await client.make(
    view,
    [word("invited")],
    list,
    resource("organization-memberships", { email }, { teams: { data: [] } }),
  );
  if (isDeleted()) await client.remove(view, [absent], `/organization-memberships/${id}`);
};

export const variableWorkload: Workload = async (client) => {
  const list = `/workspaces/${client.fixtures.settled}/vars`;
  const key = client.name("key").replaceAll("-", "_");
  const view: ResourceView = { list, by: "attributes.key", names: [key], shows: ["attributes.value"] };
  const body = resource("vars", { key, value: "first", category: "terraform" });
  const { id } = await client.make(view, [word("first")], list, body);
  await client.change(view, [word("second")], `${list}/${id}`, resource("vars", { value: "second" }));
  if (isDeleted()) await client.remove(view, [absent], `${list}/${id}`);
};

export const varsetWorkload: Workload = async (client) => {
  const name = client.name("set");
  const list = `${client.organization}/varsets`;
  const view: ResourceView = {
    list,
    by: "attributes.name",
    names: [name],
    shows: ["attributes.description", "attributes.var-count", "attributes.workspace-count"],
  };
  const body = resource("varsets", { name, description: "first", global: false });
  const { id } = await client.make(view, [word("first", 0, 0)], list, body);
  const variable = resource("vars", { key: "region", value: "eu", category: "terraform" });
  await client.make(view, [word("first", 1, 0)], `/varsets/${id}/relationships/vars`, variable);
  const applied = identifiers("workspaces", [client.fixtures.settled]);
  await client.make(view, [word("first", 1, 1)], `/varsets/${id}/relationships/workspaces`, applied, 204);
  const described = resource("varsets", { description: "second" });
  await client.change(view, [word("second", 1, 1)], `/varsets/${id}`, described);
  if (isDeleted()) await client.remove(view, [absent], `/varsets/${id}`);
};

/** A project with its tag bindings. */
export const projectWorkload: Workload = async (client) => {
  const name = client.name("project");
  const list = `${client.organization}/projects`;
  const view: ResourceView = { list, by: "attributes.name", names: [name], shows: ["attributes.description"] };
  const { id } = await client.make(view, [word("first")], list, resource("projects", { name, description: "first" }));
  await client.change(view, [word("second")], `/projects/${id}`, resource("projects", { description: "second" }));
  if (isDeleted()) return void (await client.remove(view, [absent], `/projects/${id}`));
  const bindings = `/projects/${id}/tag-bindings`;
  const names = ["cost", "owner"];
  const bound: ResourceView = { list: bindings, by: "attributes.key", names, shows: ["attributes.value"] };
  for (const value of ["one", "two"]) {
    const items = names.map((key) => ({ type: "tag-bindings", attributes: { key, value } }));
    await client.change(
      bound,
      names.map(() => word(value)),
      bindings,
      { data: items },
    );
  }
};

export const notificationWorkload: Workload = async (client) => {
  const list = `/workspaces/${client.fixtures.settled}/notification-configurations`;
  const name = client.name("told");
  const view: ResourceView = { list, by: "attributes.name", names: [name], shows: ["attributes.triggers"] };
  const attributes = { name, "destination-type": "generic", enabled: false, url: "https://hooks.invalid/x" };
  const body = resource("notification-configurations", { ...attributes, triggers: ["run:errored"] });
  const { id } = await client.makeOneOfFew(view, [word(["run:errored"])], list, body);
  const path = `/notification-configurations/${id}`;
  const changed = resource("notification-configurations", { triggers: ["run:created"] });
  await client.change(view, [word(["run:created"])], path, changed);
  if (isDeleted()) await client.remove(view, [absent], path);
};

/** A resource of an organization with a name and one attribute that changes. */
const plain =
  (
    type: string,
    by: string,
    shows: string,
    [first, second]: readonly [unknown, unknown],
    more: object = {},
  ): Workload =>
  async (client) => {
    const name = client.name("plain");
    const list = `${client.organization}/${type}`;
    const view: ResourceView = { list, by: `attributes.${by}`, names: [name], shows: [`attributes.${shows}`] };
    const body = resource(type, { [by]: name, [shows]: first, ...more });
    const { id } = await client.makeOneOfFew(view, [word(first)], list, body);
    await client.change(view, [word(second)], `/${type}/${id}`, resource(type, { [shows]: second }));
    if (isDeleted()) await client.remove(view, [absent], `/${type}/${id}`);
  };

/** A signed push webhook: once acknowledged, it must be stored exactly once. */
export const pushWorkload: Workload = async (client) => {
  const { id, secret } = client.fixtures.connection;
  const provider = providers["github"]!;
  const sha = newSha();
  const view: ResourceView = {
    list: `${client.organization}/vcs-events`,
    by: "attributes.commit-sha",
    names: [sha],
    shows: ["attributes.repository"],
  };
  const bytes = JSON.stringify(provider.push({ repository: provider.repository, after: sha }));
  const headers = { "content-type": "application/json", ...provider.headers("push", bytes, secret) };
  await client.write(view, [word(provider.repository)], {
    kind: received,
    method: "POST",
    path: `/webhooks/vcs/${id}`,
    raw: { bytes, headers },
    done: 202,
  });
};

/** By the client's name in the history. */
export const workloads: Readonly<Record<string, Workload>> = {
  workspaces: workspaceWorkload,
  moves: movingWorkload,
  teams: teamWorkload,
  members: memberWorkload,
  variables: variableWorkload,
  sets: varsetWorkload,
  projects: projectWorkload,
  notifications: notificationWorkload,
  pushes: pushWorkload,
  pools: plain("agent-pools", "name", "organization-scoped", [true, false]),
  keys: plain("reserved-tag-keys", "key", "disable-overrides", [true, false]),
  webhooks: plain("audit-webhooks", "name", "events", [["lock.held"], ["access.changed"]], {
    url: "https://siem.invalid/x",
  }),
};
