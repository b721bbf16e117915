/** listAllVars over HTTP: which variables are in force in a workspace, of its own and of the sets that apply to it. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  inProject,
  makeMember,
  makeOrganization,
  makeProject,
  makeTeam,
  makeTeamWorkspace,
  makeVarset,
  makeWorkspace,
  type Org,
} from "../../../support/builders.ts";
import { addVar, linkage } from "./support.ts";

const api = useApi();
let org: Org;
let project: string;
let workspace: string;

beforeEach(async () => {
  org = await makeOrganization(api);
  project = (await makeProject(api, org.name)).id;
  workspace = (await makeWorkspace(api, org.name, {}, inProject(project))).id;
});

const scopes = {
  workspace: () => ({ workspaces: linkage("workspaces", [workspace]) }),
  project: () => ({ projects: linkage("projects", [project]) }),
  global: () => undefined,
};
type Scope = keyof typeof scopes;

/** A set of this scope with the variable `key`, whose value is the set's name. */
async function given(name: string, scope: Scope, attributes: object = {}, variable: object = {}): Promise<string> {
  const set = await makeVarset(api, org.name, { name, global: scope === "global", ...attributes }, scopes[scope]());
  return addVar(org, `/varsets/${set.id}/relationships/vars`, { key: "key", value: name, ...variable });
}

const own = (attributes: object = {}) =>
  addVar(org, `/workspaces/${workspace}/vars`, { key: "key", value: "own", ...attributes });

async function inForce(caller: Caller = org.owner): Promise<string[]> {
  const items = data(await caller.get(`/workspaces/${workspace}/all-vars`));
  return items.map(({ attributes }: Json) => `${attributes.key} of ${attributes.value}`);
}

describe("the variables in force in a workspace", () => {
  it("are its own and those of the sets that apply to it, each with its own id and home, by key", async () => {
    const ids = [
      await given("one", "workspace", {}, { key: "a" }),
      await given("two", "project", {}, { key: "b" }),
      await own({ key: "c" }),
      await given("three", "global", {}, { key: "d" }),
    ];
    await makeVarset(api, org.name);
    const answer = await org.owner.get(`/workspaces/${workspace}/all-vars`);
    expect(data(answer).map(({ id }: Json) => id)).toEqual(ids);
    for (const item of data(answer)) expect(data(await org.owner.get(item.links.self))).toEqual(item);
    expect(data(answer).map(({ relationships }: Json) => Object.keys(relationships))).toEqual([
      ["varset"],
      ["varset"],
      ["configurable"],
      ["varset"],
    ]);
    expect(await org.owner.get(`/workspaces/${workspace}/vars`).then((listed) => data(listed))).toHaveLength(1);
  });

  it("are not those of sets for others", async () => {
    const other = await makeProject(api, org.name);
    const neighbour = await makeWorkspace(api, org.name, {}, inProject(project));
    for (const relationships of [
      { projects: linkage("projects", [other.id]) },
      { workspaces: linkage("workspaces", [neighbour.id]) },
      { parent: { data: { type: "projects", id: project } } },
    ]) {
      const set = await makeVarset(api, org.name, {}, relationships);
      await addVar(org, `/varsets/${set.id}/relationships/vars`, { key: "key" });
    }
    const elsewhere = await makeOrganization(api);
    const global = await makeVarset(api, elsewhere.name, { global: true });
    await addVar(elsewhere, `/varsets/${global.id}/relationships/vars`, { key: "key" });
    expect(await inForce()).toEqual([]);
  });

  it("come in pages, where one is asked for, with the total", async () => {
    for (const key of ["a", "b"]) await own({ key });
    await given("set", "global", {}, { key: "c" });
    await given("hidden", "global", {}, { key: "a" });
    const answer = await org.owner.get(`/workspaces/${workspace}/all-vars?page[size]=2&page[number]=2`);
    expect(data(answer).map(({ attributes }: Json) => attributes.value)).toEqual(["set"]);
    expect(answer.body.meta.pagination).toMatchObject({ "total-count": 3, "total-pages": 2 });
  });

  it("are shown to whoever reads the workspace's variables, whatever they may see of the sets", async () => {
    const parent = { data: { type: "projects", id: project } };
    const set = await makeVarset(api, org.name, {}, { parent, projects: linkage("projects", [project]) });
    await addVar(org, `/varsets/${set.id}/relationships/vars`, { key: "key", value: "owned" });
    const team = await makeTeam(api, org.name);
    const record = await makeTeamWorkspace(api, workspace, team.id, { access: "read" });
    const caller = await makeMember(api, org.name, [team.id]);
    expect(await inForce(caller)).toEqual(["key of owned"]);
    expect(record).toBeDefined();
    expect((await caller.get(`/varsets/${set.id}`)).status).toBe(404);
    const none = await makeTeam(api, org.name);
    await makeTeamWorkspace(api, workspace, none.id, { access: "custom", variables: "none" });
    const blind = await makeMember(api, org.name, [none.id]);
    expect((await blind.get(`/workspaces/${workspace}/all-vars`)).status).toBe(403);
  });
});

describe("of one key and category wins", () => {
  it("the workspace's own, over sets of every scope", async () => {
    for (const scope of Object.keys(scopes) as Scope[]) await given(`a ${scope}`, scope);
    await own();
    expect(await inForce()).toEqual(["key of own"]);
  });

  it("a set for the workspace, over one for its project, over a global one", async () => {
    await given("a global", "global");
    expect(await inForce()).toEqual(["key of a global"]);
    await given("b project", "project");
    expect(await inForce()).toEqual(["key of b project"]);
    await given("c workspace", "workspace");
    expect(await inForce()).toEqual(["key of c workspace"]);
  });

  it.each(Object.keys(scopes) as Scope[])("the first by name of two sets, ignoring case: %s", async (scope) => {
    await given("Beta", scope);
    await given("alpha", scope);
    await given("gamma", scope);
    expect(await inForce()).toEqual(["key of alpha"]);
  });

  it("a set with priority, over the workspace's own, whatever its scope", async () => {
    await own();
    await given("a workspace", "workspace");
    await given("z priority", "workspace", { priority: true });
    expect(await inForce()).toEqual(["key of z priority"]);
    await given("y priority", "project", { priority: true });
    expect(await inForce()).toEqual(["key of y priority"]);
    await given("x priority", "global", { priority: true });
    expect(await inForce()).toEqual(["key of x priority"]);
    await given("w priority", "global", { priority: true });
    expect(await inForce()).toEqual(["key of w priority"]);
  });

  it("each of the ten classes of sets over those after it, with the workspace's own in the middle", async () => {
    const parent = { parent: { data: { type: "projects", id: project } } };
    // From the one that loses to all to the one that wins over all.
    const classes: readonly [name: string, priority: boolean, relationships: object | undefined][] = [
      ["global", false, undefined],
      ["organization's for the project", false, scopes.project()],
      ["organization's for the workspace", false, scopes.workspace()],
      ["project's for the project", false, { ...parent, ...scopes.project() }],
      ["project's for the workspace", false, { ...parent, ...scopes.workspace() }],
      ["own", false, {}],
      ["project's for the workspace, priority", true, { ...parent, ...scopes.workspace() }],
      ["project's for the project, priority", true, { ...parent, ...scopes.project() }],
      ["organization's for the workspace, priority", true, scopes.workspace()],
      ["organization's for the project, priority", true, scopes.project()],
      ["global, priority", true, undefined],
    ];
    for (const [name, priority, relationships] of classes) {
      if (name === "own") await own();
      else {
        const attributes = { name, priority, global: relationships === undefined };
        const set = await makeVarset(api, org.name, attributes, relationships);
        await addVar(org, `/varsets/${set.id}/relationships/vars`, { key: "key", value: name });
      }
      expect(await inForce()).toEqual([`key of ${name}`]);
    }
  });

  it("the narrower scope, of a set that has two", async () => {
    const both = { ...scopes.workspace(), ...scopes.project() };
    const set = await makeVarset(api, org.name, { name: "z both" }, both);
    await addVar(org, `/varsets/${set.id}/relationships/vars`, { key: "key", value: "both" });
    await given("a project", "project");
    expect(await inForce()).toEqual(["key of both"]);
  });

  it("nothing over a key of the other category, or with another case", async () => {
    await own();
    await given("env", "global", {}, { category: "env" });
    await given("case", "global", {}, { key: "KEY" });
    expect((await inForce()).toSorted()).toEqual(["KEY of case", "key of env", "key of own"]);
  });
});
