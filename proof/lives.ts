/** Every kind of thing that the register keeps, as one hand makes it, changes it and takes it away. */
import { onWorkspace, resource } from "../test/support/builders.ts";
import { newSha, providers } from "../test/support/vcs-payloads.ts";
import type { Hand, Life } from "./hand.ts";
import { gone, received, type Spot, wordOf } from "./kept.ts";

/** Most of what is made goes again: a register that only grows would be another test. */
const goes = (): boolean => Math.random() < 0.8;
const identifiers = (type: string, ids: readonly string[]) => ({ data: ids.map((id) => ({ type, id })) });
const toOne = (type: string, id: string) => ({ data: { type, id } });

/** The word of a thing with these values, in the order in which it is shown. */
const word = (...values: readonly unknown[]): string =>
  wordOf(
    values,
    values.map((_, index) => String(index)),
  );

const inWorkspaces = (hand: Hand, names: readonly string[], shows: readonly string[]): Spot => ({
  list: `${hand.organization}/workspaces`,
  by: "attributes.name",
  names,
  shows,
});

/** Made with tags, changed, tagged, locked, unlocked, moved, and deleted one way or the other. */
export const workspaceLife: Life = async (hand) => {
  const name = hand.name("life");
  const spot = inWorkspaces(
    hand,
    [name],
    ["attributes.description", "attributes.tag-names", "attributes.locked", "relationships.project.data.id"],
  );
  const [first, second] = hand.place.projects;
  const tag = (tagName: string) => ({ type: "tags", attributes: { name: tagName } });
  const { id } = await hand.make(
    spot,
    [word("first", ["amber"], false, first)],
    spot.list,
    resource(
      "workspaces",
      { name, description: "first" },
      { project: toOne("projects", first), tags: { data: [tag("amber")] } },
    ),
  );
  const path = `/workspaces/${id}`;
  const described = resource("workspaces", { description: "second" });
  await hand.change(spot, [word("second", ["amber"], false, first)], path, described);
  const relation = { path: `${path}/relationships/tags`, body: { data: [tag("blue"), tag("cyan")] }, done: 204 };
  await hand.write(spot, [word("second", ["amber", "blue", "cyan"], false, first)], {
    ...relation,
    kind: "tag",
    method: "POST",
  });
  await hand.write(spot, [word("second", ["amber"], false, first)], { ...relation, kind: "untag", method: "DELETE" });
  const act = (kind: string, done = 200) => ({ kind, method: "POST", path: `${path}/actions/${kind}`, done });
  await hand.write(spot, [word("second", ["amber"], true, first)], act("lock"));
  await hand.write(spot, [word("second", ["amber"], false, first)], act("unlock"));
  const moved = resource("workspaces", {}, { project: toOne("projects", second) });
  await hand.change(spot, [word("second", ["amber"], false, second)], path, moved);
  if (!goes()) return;
  if (Math.random() < 0.5) await hand.remove(spot, [gone], path);
  else await hand.write(spot, [gone], act("safe-delete", 204));
};

/** Several at once: all of them, or none. */
export const movingLife: Life = async (hand) => {
  const names = ["one", "two", "three"].map((each) => hand.name(each));
  const spot = inWorkspaces(hand, names, ["relationships.project.data.id"]);
  const [first, second] = hand.place.projects;
  const words = names.map(() => gone);
  const ids: string[] = [];
  for (const [index, name] of names.entries()) {
    words[index] = word(first);
    const body = resource("workspaces", { name }, { project: toOne("projects", first) });
    ids.push((await hand.make(spot, words, spot.list, body)).id);
  }
  for (const project of [second, first]) {
    const moved = names.map(() => word(project));
    const path = `/projects/${project}/relationships/workspaces`;
    await hand.make(spot, moved, path, identifiers("workspaces", ids), 204);
  }
  for (const [index, id] of ids.entries()) {
    words[index] = gone;
    await hand.remove(spot, words, `/workspaces/${id}`);
  }
};

/** A team, what it may do to a workspace and to a project, and a token of it. */
export const teamLife: Life = async (hand) => {
  const name = hand.name("team");
  const list = `${hand.organization}/teams`;
  const spot: Spot = { list, by: "attributes.name", names: [name], shows: ["attributes.visibility"] };
  const { id } = await hand.make(spot, [word("secret")], list, resource("teams", { name, visibility: "secret" }));
  await hand.change(spot, [word("organization")], `/teams/${id}`, resource("teams", { visibility: "organization" }));
  await onWorkspaceLife(hand, id);
  const tokens = `/teams/${id}/authentication-tokens`;
  const token: Spot = {
    list: tokens,
    by: "attributes.description",
    names: [name],
    shows: ["attributes.description"],
  };
  const made = await hand.make(token, [word(name)], tokens, resource("authentication-tokens", { description: name }));
  await hand.remove(token, [gone], `/authentication-tokens/${made.id}`);
  if (goes()) await hand.remove(spot, [gone], `/teams/${id}`);
};

async function onWorkspaceLife(hand: Hand, teamId: string): Promise<void> {
  const workspaceId = hand.place.settled;
  const spot: Spot = {
    list: `/team-workspaces?filter[workspace][id]=${workspaceId}`,
    by: "relationships.team.data.id",
    names: [teamId],
    shows: ["attributes.access"],
  };
  const body = resource("team-workspaces", { access: "read" }, onWorkspace(workspaceId, teamId));
  const { id } = await hand.make(spot, [word("read")], "/team-workspaces", body, 200);
  const raised = resource("team-workspaces", { access: "write" });
  await hand.change(spot, [word("write")], `/team-workspaces/${id}`, raised);
  await hand.remove(spot, [gone], `/team-workspaces/${id}`);
}

export const memberLife: Life = async (hand) => {
  const email = `${hand.name("guest")}@example.com`;
  const list = `${hand.organization}/organization-memberships`;
  const spot: Spot = { list, by: "attributes.email", names: [email], shows: ["attributes.status"] };
  const { id } = await hand.make(
    spot,
    [word("invited")],
    list,
    resource("organization-memberships", { email }, { teams: { data: [] } }),
  );
  if (goes()) await hand.remove(spot, [gone], `/organization-memberships/${id}`);
};

export const variableLife: Life = async (hand) => {
  const list = `/workspaces/${hand.place.settled}/vars`;
  const key = hand.name("key").replaceAll("-", "_");
  const spot: Spot = { list, by: "attributes.key", names: [key], shows: ["attributes.value"] };
  const body = resource("vars", { key, value: "first", category: "terraform" });
  const { id } = await hand.make(spot, [word("first")], list, body);
  await hand.change(spot, [word("second")], `${list}/${id}`, resource("vars", { value: "second" }));
  if (goes()) await hand.remove(spot, [gone], `${list}/${id}`);
};

export const varsetLife: Life = async (hand) => {
  const name = hand.name("set");
  const list = `${hand.organization}/varsets`;
  const spot: Spot = {
    list,
    by: "attributes.name",
    names: [name],
    shows: ["attributes.description", "attributes.var-count", "attributes.workspace-count"],
  };
  const body = resource("varsets", { name, description: "first", global: false });
  const { id } = await hand.make(spot, [word("first", 0, 0)], list, body);
  const variable = resource("vars", { key: "region", value: "eu", category: "terraform" });
  await hand.make(spot, [word("first", 1, 0)], `/varsets/${id}/relationships/vars`, variable);
  const applied = identifiers("workspaces", [hand.place.settled]);
  await hand.make(spot, [word("first", 1, 1)], `/varsets/${id}/relationships/workspaces`, applied, 204);
  const described = resource("varsets", { description: "second" });
  await hand.change(spot, [word("second", 1, 1)], `/varsets/${id}`, described);
  if (goes()) await hand.remove(spot, [gone], `/varsets/${id}`);
};

/** A project, and what is bound to it. */
export const projectLife: Life = async (hand) => {
  const name = hand.name("project");
  const list = `${hand.organization}/projects`;
  const spot: Spot = { list, by: "attributes.name", names: [name], shows: ["attributes.description"] };
  const { id } = await hand.make(spot, [word("first")], list, resource("projects", { name, description: "first" }));
  await hand.change(spot, [word("second")], `/projects/${id}`, resource("projects", { description: "second" }));
  if (goes()) return void (await hand.remove(spot, [gone], `/projects/${id}`));
  const bindings = `/projects/${id}/tag-bindings`;
  const names = ["cost", "owner"];
  const bound: Spot = { list: bindings, by: "attributes.key", names, shows: ["attributes.value"] };
  for (const value of ["one", "two"]) {
    const items = names.map((key) => ({ type: "tag-bindings", attributes: { key, value } }));
    await hand.change(
      bound,
      names.map(() => word(value)),
      bindings,
      { data: items },
    );
  }
};

export const notificationLife: Life = async (hand) => {
  const list = `/workspaces/${hand.place.settled}/notification-configurations`;
  const name = hand.name("told");
  const spot: Spot = { list, by: "attributes.name", names: [name], shows: ["attributes.triggers"] };
  const attributes = { name, "destination-type": "generic", enabled: false, url: "https://hooks.invalid/x" };
  const body = resource("notification-configurations", { ...attributes, triggers: ["run:errored"] });
  const { id } = await hand.makeOneOfFew(spot, [word(["run:errored"])], list, body);
  const path = `/notification-configurations/${id}`;
  const changed = resource("notification-configurations", { triggers: ["run:created"] });
  await hand.change(spot, [word(["run:created"])], path, changed);
  if (goes()) await hand.remove(spot, [gone], path);
};

/** What an organization has by name, with an attribute that changes. */
const plain =
  (type: string, by: string, shows: string, [first, second]: readonly [unknown, unknown], more: object = {}): Life =>
  async (hand) => {
    const name = hand.name("plain");
    const list = `${hand.organization}/${type}`;
    const spot: Spot = { list, by: `attributes.${by}`, names: [name], shows: [`attributes.${shows}`] };
    const body = resource(type, { [by]: name, [shows]: first, ...more });
    const { id } = await hand.makeOneOfFew(spot, [word(first)], list, body);
    await hand.change(spot, [word(second)], `/${type}/${id}`, resource(type, { [shows]: second }));
    if (goes()) await hand.remove(spot, [gone], `/${type}/${id}`);
  };

/** A push, signed as the provider signs: what was taken in is there, once. */
export const pushLife: Life = async (hand) => {
  const { id, secret } = hand.place.connection;
  const provider = providers["github"]!;
  const sha = newSha();
  const spot: Spot = {
    list: `${hand.organization}/vcs-events`,
    by: "attributes.commit-sha",
    names: [sha],
    shows: ["attributes.repository"],
  };
  const bytes = JSON.stringify(provider.push({ repository: provider.repository, after: sha }));
  const headers = { "content-type": "application/json", ...provider.headers("push", bytes, secret) };
  await hand.write(spot, [word(provider.repository)], {
    kind: received,
    method: "POST",
    path: `/webhooks/vcs/${id}`,
    raw: { bytes, headers },
    done: 202,
  });
};

/** By what the history calls whoever does it. */
export const lives: Readonly<Record<string, Life>> = {
  workspaces: workspaceLife,
  moves: movingLife,
  teams: teamLife,
  members: memberLife,
  variables: variableLife,
  sets: varsetLife,
  projects: projectLife,
  notifications: notificationLife,
  pushes: pushLife,
  pools: plain("agent-pools", "name", "organization-scoped", [true, false]),
  keys: plain("reserved-tag-keys", "key", "disable-overrides", [true, false]),
  webhooks: plain("audit-webhooks", "name", "events", [["lock.held"], ["access.changed"]], {
    url: "https://siem.invalid/x",
  }),
};
