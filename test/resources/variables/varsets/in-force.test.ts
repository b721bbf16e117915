/**
 * listAllVars over HTTP: the effective variables of a workspace, its own and those of the sets that apply to it.
 * listWorkspaceVarsetVars and showWorkspaceVarsetVar: a set's variables with their precedence in a workspace.
 * Adding and removing the workspaces and projects of a set.
 */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Org, pointers, resource } from "../../../support/builders.ts";
import { addVar, expectRefused, globalSentence, kinds, linkage, useStage } from "./support.ts";

const api = useApi();

describe("precedence", () => {
  let org: Org;
  let project: string;
  let workspace: string;

  beforeEach(async () => {
    org = await api.makeOrganization();
    project = (await api.makeProject(org.name)).id;
    workspace = (await api.makeWorkspace(org.name, {}, inProject(project))).id;
  });

  const scopes = {
    workspace: () => ({ workspaces: linkage("workspaces", [workspace]) }),
    project: () => ({ projects: linkage("projects", [project]) }),
    global: () => undefined,
  };
  type Scope = keyof typeof scopes;

  /** A set of this scope with the variable `key`, whose value is the set's name. */
  async function given(name: string, scope: Scope, attributes: object = {}, variable: object = {}): Promise<string> {
    const set = await api.makeVarset(org.name, { name, global: scope === "global", ...attributes }, scopes[scope]());
    return addVar(org, `/varsets/${set.id}/relationships/vars`, { key: "key", value: name, ...variable });
  }

  const own = (attributes: object = {}) =>
    addVar(org, `/workspaces/${workspace}/vars`, { key: "key", value: "own", ...attributes });

  async function inForce(caller: Caller = org.owner): Promise<string[]> {
    const items = data(await caller.get(`/workspaces/${workspace}/all-vars`));
    return items.map(({ attributes }: Json) => `${attributes.key} of ${attributes.value}`);
  }

  describe("the effective variables of a workspace", () => {
    it("are its own and those of the sets that apply to it, each with its own id and owner, by key", async () => {
      const ids = [
        await given("one", "workspace", {}, { key: "a" }),
        await given("two", "project", {}, { key: "b" }),
        await own({ key: "c" }),
        await given("three", "global", {}, { key: "d" }),
      ];
      await api.makeVarset(org.name);
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

    it("don't include those of other sets", async () => {
      const other = await api.makeProject(org.name);
      const neighbour = await api.makeWorkspace(org.name, {}, inProject(project));
      for (const relationships of [
        { projects: linkage("projects", [other.id]) },
        { workspaces: linkage("workspaces", [neighbour.id]) },
        { parent: { data: { type: "projects", id: project } } },
      ]) {
        const set = await api.makeVarset(org.name, {}, relationships);
        await addVar(org, `/varsets/${set.id}/relationships/vars`, { key: "key" });
      }
      const elsewhere = await api.makeOrganization();
      const global = await api.makeVarset(elsewhere.name, { global: true });
      await addVar(elsewhere, `/varsets/${global.id}/relationships/vars`, { key: "key" });
      expect(await inForce()).toEqual([]);
    });

    it("are paginated on request, with the total", async () => {
      for (const key of ["a", "b"]) await own({ key });
      await given("set", "global", {}, { key: "c" });
      await given("hidden", "global", {}, { key: "a" });
      const answer = await org.owner.get(`/workspaces/${workspace}/all-vars?page[size]=2&page[number]=2`);
      expect(data(answer).map(({ attributes }: Json) => attributes.value)).toEqual(["set"]);
      expect(answer.body.meta.pagination).toMatchObject({ "total-count": 3, "total-pages": 2 });
    });

    it("are shown to callers who can read the workspace's variables, even if they can't see the sets", async () => {
      const parent = { data: { type: "projects", id: project } };
      const set = await api.makeVarset(org.name, {}, { parent, projects: linkage("projects", [project]) });
      await addVar(org, `/varsets/${set.id}/relationships/vars`, { key: "key", value: "owned" });
      const team = await api.makeTeam(org.name);
      const record = await api.makeTeamWorkspace(workspace, team.id, { access: "read" });
      const caller = await api.makeMember(org.name, [team.id]);
      expect(await inForce(caller)).toEqual(["key of owned"]);
      expect(record).toBeDefined();
      expect((await caller.get(`/varsets/${set.id}`)).status).toBe(404);
      const none = await api.makeTeam(org.name);
      await api.makeTeamWorkspace(workspace, none.id, { access: "custom", variables: "none" });
      const blind = await api.makeMember(org.name, [none.id]);
      expect((await blind.get(`/workspaces/${workspace}/all-vars`)).status).toBe(403);
    });
  });

  describe("takes precedence for one key and category:", () => {
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
      // From the lowest to the highest precedence.
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
          const set = await api.makeVarset(org.name, attributes, relationships);
          await addVar(org, `/varsets/${set.id}/relationships/vars`, { key: "key", value: name });
        }
        expect(await inForce()).toEqual([`key of ${name}`]);
      }
    });

    it("the narrower scope, of a set that has two", async () => {
      const both = { ...scopes.workspace(), ...scopes.project() };
      const set = await api.makeVarset(org.name, { name: "z both" }, both);
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
});

describe("listWorkspaceVarsetVars, showWorkspaceVarsetVar", () => {
  let org: Org;
  let workspace: Json;
  beforeAll(async () => {
    org = await api.makeOrganization();
    workspace = await api.makeWorkspace(org.name);
  });

  const linked = () => ({ workspaces: { data: [{ type: "workspaces", id: workspace.id }] } });
  const addTo = async (path: string, key: string, category = "terraform"): Promise<Json> =>
    data(await org.owner.post(path, resource("vars", { key, value: path, category })));
  const varsOf = (set: Json) => `/varsets/${set.id}/relationships/vars`;
  const seen = (set: Json) => `/workspaces/${workspace.id}${varsOf(set)}`;
  const identifier = ({ id }: Json) => ({ id, type: "vars" });

  it("200: by key, each with the variables that override it and that it overrides", async () => {
    const set = await api.makeVarset(org.name, {}, linked());
    const [priority, global] = [
      await api.makeVarset(org.name, { priority: true }, linked()),
      await api.makeVarset(org.name, { global: true }),
    ];
    const ours = await addTo(varsOf(set), "region");
    const alone = await addTo(varsOf(set), "alone");
    const own = await addTo(`/workspaces/${workspace.id}/vars`, "region");
    const first = await addTo(varsOf(priority), "region");
    const last = await addTo(varsOf(global), "region");
    await addTo(varsOf(priority), "region", "env");

    const listed = data(await org.owner.get(seen(set)));
    expect(listed.map(({ id }: Json) => id)).toEqual([alone.id, ours.id]);
    expect(listed[0].relationships).toMatchObject({ overwriter: { data: null }, overwritten: { data: [] } });
    expect(listed[1].relationships).toMatchObject({
      overwriter: { data: identifier(first) },
      overwritten: { data: [identifier(last)] },
    });
    expect(data(await org.owner.get(`${seen(set)}/${ours.id}`))).toEqual(listed[1]);
    expect(data(await org.owner.get(`${seen(priority)}/${first.id}`)).relationships).toMatchObject({
      overwriter: { data: null },
      overwritten: { data: [own, ours, last].map(identifier) },
    });
    expect(data(await org.owner.get(`${varsOf(set)}/${ours.id}`)).relationships.overwriter).toBeUndefined();
  });

  it("200: an empty set; a sensitive value stays hidden", async () => {
    const set = await api.makeVarset(org.name, {}, linked());
    expect(data(await org.owner.get(seen(set)))).toEqual([]);
    const secret = resource("vars", { key: "secret", value: "s3cret", category: "env", sensitive: true });
    const { id } = data(await org.owner.post(varsOf(set), secret));
    expect(data(await org.owner.get(seen(set)))[0].attributes.value).toBeNull();
    expect(data(await org.owner.get(`${seen(set)}/${id}`)).attributes.value).toBeNull();
  });

  it("404: a set that does not apply to the workspace, and a variable of another set", async () => {
    const elsewhere = await api.makeVarset(org.name);
    const variable = await addTo(varsOf(elsewhere), "region");
    const applied = await api.makeVarset(org.name, {}, linked());
    for (const path of [seen(elsewhere), `${seen(elsewhere)}/${variable.id}`, `${seen(applied)}/${variable.id}`])
      expect((await org.owner.get(path)).status, path).toBe(404);
  });

  it.each([
    ["read", 200],
    ["none", 403],
  ] as const)("with '%s' on the workspace's variables: %i", async (variables, status) => {
    const set = await api.makeVarset(org.name, {}, linked());
    const variable = await addTo(varsOf(set), "zone");
    const team = await api.makeTeam(org.name);
    await api.makeTeamWorkspace(workspace.id, team.id, { access: "custom", runs: "read", variables });
    const member = await api.makeMember(org.name, [team.id]);
    expect((await member.get(seen(set))).status).toBe(status);
    expect((await member.get(`${seen(set)}/${variable.id}`)).status).toBe(status);
  });
});

describe("links", () => {
  const stage = useStage(api);

  describe.each(kinds)("%s", (kind) => {
    const make = async (name: string): Promise<string> =>
      (await (kind === "workspaces" ? api.makeWorkspace : api.makeProject)(name)).id;

    it("are added and removed: 204, shown and counted, with a new version and an event", async () => {
      const [one, two] = stage.two(kind);
      const seen = [await stage.etag()];
      const step = async (change: typeof stage.add, ids: string[], expected: string[]) => {
        expect((await change(kind, ids)).status).toBe(204);
        expect(await stage.linked(kind)).toEqual(expected);
        expect(data(await stage.show()).attributes[`${kind.slice(0, -1)}-count`]).toBe(expected.length);
        seen.push(await stage.etag());
      };
      await step(stage.add, [one], [one]);
      await step(stage.add, [two, one, two], [one, two]);
      await step(stage.remove, [one], [two]);
      await step(stage.remove, [two, one], []);
      expect(new Set(seen).size).toBe(5);
      expect(await stage.events()).toHaveLength(5);
    });

    it("that already exist, or don't exist, change nothing", async () => {
      const [one, two] = stage.two(kind);
      await stage.add(kind, [one]);
      const etag = await stage.etag();
      for (const answer of [await stage.add(kind, [one]), await stage.add(kind, []), await stage.remove(kind, [two])])
        expect(answer.status).toBe(204);
      expect(await stage.etag()).toBe(etag);
      expect(await stage.events()).toHaveLength(2);
    });

    it("are all added by concurrent requests", async () => {
      const ids = await Promise.all(Array.from({ length: 6 }, () => make(stage.org.name)));
      const answers = await Promise.all(ids.map((id) => stage.add(kind, [id])));
      expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(204));
      expect(await stage.linked(kind)).toEqual(ids.toSorted());
      expect(Number(JSON.parse(await stage.etag()))).toBe(7);
    });

    it("of another organization, or unknown: 422 with pointers, and nothing changes", async () => {
      const other = await api.makeOrganization();
      const ids = [stage.two(kind)[0], await make(other.name), "none-0000000000000000"];
      for (const answer of [await stage.add(kind, ids), await stage.remove(kind, ids)]) {
        expect(answer.status).toBe(422);
        expect(pointers(answer)).toEqual(["/data/1/id", "/data/2/id"]);
      }
      expect(await stage.linked(kind)).toEqual([]);
    });

    it("of another type, or more than 1000: 422", async () => {
      const path = `${stage.at}/relationships/${kind}`;
      const wrong = await stage.org.owner.post(path, { data: [{ type: "teams", id: "team-1" }] });
      expect(pointers(wrong)).toEqual(["/data/0"]);
      const ids = Array.from({ length: 1001 }, (_, index) => `x-${index}`);
      expect(pointers(await stage.add(kind, ids))).toEqual(["/data"]);
    });

    it("1000 in one request: 204", async () => {
      const ids = stage.two(kind);
      const many = Array.from({ length: 1000 }, (_, index) => ids[index % 2] ?? "");
      expect((await stage.add(kind, many)).status).toBe(204);
      expect(await stage.linked(kind)).toEqual(ids);
    });

    it("of a global set: 422", async () => {
      await stage.update({ global: true });
      expectRefused(await stage.add(kind, stage.two(kind)), `/data/relationships/${kind}`, globalSentence(kind));
      expect((await stage.remove(kind, stage.two(kind))).status).toBe(204);
    });

    it("are removed when the workspace or project is deleted", async () => {
      const id = await make(stage.org.name);
      await stage.add(kind, [id, stage.two(kind)[0]]);
      expect((await stage.org.owner.delete(`/${kind}/${id}`)).status).toBe(204);
      expect(await stage.linked(kind)).toEqual([stage.two(kind)[0]]);
    });
  });

  describe("a set that a project owns", () => {
    it("can only be applied within that project", async () => {
      const [project, other] = stage.projects as [string, string];
      const owned = data(await stage.create({}, { parent: { data: { type: "projects", id: project } } }));
      const post = (kind: "workspaces" | "projects", id: string) =>
        stage.org.owner.post(`/varsets/${owned.id}/relationships/${kind}`, linkage(kind, [id]));
      expect((await post("projects", project)).status).toBe(204);
      expect((await post("workspaces", stage.workspaces[0] ?? "")).status).toBe(204);
      const beyond = "is not in the project that owns the variable set";
      expectRefused(await post("projects", other), "/data/0/id", `Project '${other}' ${beyond}`);
      const id = stage.workspaces[2] ?? "";
      expectRefused(await post("workspaces", id), "/data/0/id", `Workspace '${id}' ${beyond}`);
    });

    it("no longer applies to a workspace that was moved to another project", async () => {
      const [project, other] = stage.projects as [string, string];
      const { id } = await api.makeWorkspace(stage.org.name, {}, inProject(project));
      const relationships = {
        parent: { data: { type: "projects", id: project } },
        workspaces: linkage("workspaces", [id]),
      };
      const owned = data(await stage.create({}, relationships));
      const applied = async () => {
        const sets = data(await stage.org.owner.get(`/workspaces/${id}/varsets?page[size]=100`));
        return sets.some((set: { id: string }) => set.id === owned.id);
      };
      expect(await applied()).toBe(true);
      data(
        await stage.org.owner.patch(`/workspaces/${id}`, {
          data: { type: "workspaces", relationships: inProject(other) },
        }),
      );
      expect(await applied()).toBe(false);
      const path = `/varsets/${owned.id}/relationships/workspaces`;
      expect((await stage.org.owner.delete(path, linkage("workspaces", [id]))).status).toBe(204);
    });
  });
});
