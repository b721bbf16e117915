/** The permission `variable-sets` on a project: reading or managing that project's own sets, and nothing more. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, pointers, resource, unique } from "../../../support/builders.ts";
import { addVar, linkage, useStage } from "./support.ts";

const api = useApi();
const stage = useStage(api);

const missing = "'write' on the variable sets of the project that owns the set";
const organizationWide = "the organization permission 'manage-workspaces' or 'manage-projects'";

type Sets = "none" | "read" | "write";
let callers: Record<Sets, Caller>;
let teamToken: Caller;

/** Custom permissions that differ only in this one. */
async function onFirstProject(sets: Sets): Promise<{ caller: Caller; teamId: string }> {
  const { id } = await api.makeTeam(stage.org.name);
  const access = { access: "custom", "project-access": { settings: "read", "variable-sets": sets } };
  await api.makeTeamProject(stage.projects[0] ?? "", id, access);
  return { caller: await api.makeMember(stage.org.name, [id]), teamId: id };
}

beforeAll(async () => {
  const [none, read, write] = [
    await onFirstProject("none"),
    await onFirstProject("read"),
    await onFirstProject("write"),
  ];
  callers = { none: none.caller, read: read.caller, write: write.caller };
  teamToken = await api.makeTeamToken(write.teamId);
});

const parentOf = (id: string | undefined) => ({ parent: { data: { type: "projects", id } } });
const inFirst = () => parentOf(stage.projects[0]);

/** A set of the first project, with a variable. */
async function makeOwned(): Promise<{ at: string; id: string; vars: string; varId: string; name: string }> {
  const owned = data(await stage.create({}, inFirst()));
  const at = `/varsets/${owned.id}`;
  const vars = `${at}/relationships/vars`;
  const varId = await addVar(stage.org, vars, { key: "one", value: "a value" });
  return { at, id: owned.id, vars, varId, name: owned.attributes.name };
}

const newVar = () => resource("vars", { key: unique("key"), category: "terraform" });
const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status);

type Owned = Awaited<ReturnType<typeof makeOwned>>;
const readsOf = ({ at, vars, varId }: Owned) => [at, vars, `${vars}/${varId}`];

/** In this order, with the deletions last. */
async function writesTo({ at, vars, varId }: Owned, caller: Caller): Promise<Answer[]> {
  const workspaces = linkage("workspaces", stage.workspaces.slice(0, 2));
  const projects = linkage("projects", stage.projects.slice(0, 1));
  const steps = [
    () => caller.patch(at, resource("varsets", { description: unique("text") }, { workspaces })),
    () => caller.post(`${at}/relationships/workspaces`, workspaces),
    () => caller.delete(`${at}/relationships/workspaces`, workspaces),
    () => caller.post(`${at}/relationships/projects`, projects),
    () => caller.delete(`${at}/relationships/projects`, projects),
    () => caller.post(vars, newVar()),
    () => caller.patch(`${vars}/${varId}`, resource("vars", { value: "new" })),
    () => caller.delete(`${vars}/${varId}`),
    () => caller.delete(at),
  ];
  const answers: Answer[] = [];
  for (const step of steps) answers.push(await step());
  return answers;
}

const listedBy = async (caller: Caller, { id, name }: Owned): Promise<boolean[]> => {
  const paths = [stage.path, `/workspaces/${stage.workspaces[0]}/varsets`, `/projects/${stage.projects[0]}/varsets`];
  const lists = await Promise.all(paths.map((path) => caller.get(`${path}?q=${name}`)));
  return lists.map((list) => list.body.data.some((set: Json) => set.id === id));
};

describe("write", () => {
  it("creates sets that the project owns, applied within it", async () => {
    const relationships = { ...inFirst(), workspaces: linkage("workspaces", stage.workspaces.slice(0, 1)) };
    for (const caller of [callers.write, teamToken]) {
      const answer = await stage.create({}, relationships, caller);
      expect(answer.status, JSON.stringify(answer.body)).toBe(201);
      expect(answer.body.data.relationships.parent.data).toEqual({ type: "projects", id: stage.projects[0] });
      expect(answer.body.data.attributes.permissions).toEqual({ "can-update": true });
      expect(data(await caller.get(`/varsets/${answer.body.data.id}`))).toEqual(answer.body.data);
    }
  });

  it("changes, fills, applies and deletes them", async () => {
    const owned = await makeOwned();
    expect(statuses(await writesTo(owned, callers.write))).toEqual([200, 204, 204, 204, 204, 201, 200, 204, 204]);
    expect((await stage.org.owner.get(owned.at)).status).toBe(404);
  });

  it("counts links that the caller can't see, and doesn't change them", async () => {
    const owned = await makeOwned();
    const [first, second] = stage.workspaces as [string, string];
    await stage.org.owner.post(`${owned.at}/relationships/workspaces`, linkage("workspaces", [first, second]));
    const move = (project: string | undefined) =>
      stage.org.owner.post(`/projects/${project}/relationships/workspaces`, linkage("workspaces", [second]));
    expect((await move(stage.projects[1])).status).toBe(204);
    const seen = data(await callers.write.get(owned.at));
    expect(seen.relationships.workspaces).toEqual(linkage("workspaces", [first]));
    expect(seen.attributes["workspace-count"]).toBe(2);
    const changed = data(
      await callers.write.patch(owned.at, resource("varsets", {}, { workspaces: linkage("workspaces", []) })),
    );
    expect(changed.relationships.workspaces.data).toEqual([]);
    expect(changed.attributes["workspace-count"]).toBe(1);
    expect(data(await callers.write.get(owned.at))).toEqual(changed);
    expect(data(await stage.org.owner.get(owned.at)).relationships.workspaces).toEqual(linkage("workspaces", [second]));
    expect((await move(stage.projects[0])).status).toBe(204);
  });

  it.each<readonly ["workspaces" | "projects", number]>([
    ["workspaces", 2],
    ["projects", 1],
  ])("422 for %s outside the project, which may as well not be there", async (kind, index) => {
    const { at } = await makeOwned();
    const foreign = stage[kind][index] ?? "";
    const unknown = "none-0000000000000000";
    const post = async (caller: Caller, id: string, verb: "post" | "delete" = "post") =>
      caller[verb](`${at}/relationships/${kind}`, linkage(kind, [id]));
    for (const verb of ["post", "delete"] as const) {
      const [theirs, nobodys] = [await post(callers.write, foreign, verb), await post(callers.write, unknown, verb)];
      expect(statuses([theirs, nobodys])).toEqual([422, 422]);
      expect(pointers(theirs)).toEqual(["/data/0/id"]);
      expect(details(theirs)[0]?.replace(foreign, unknown)).toBe(details(nobodys)[0]);
    }
    const patched = await callers.write.patch(at, resource("varsets", {}, { [kind]: linkage(kind, [foreign]) }));
    expect(patched.status).toBe(422);
  });

  it("422 for making a set of the project global", async () => {
    expect((await stage.create({ global: true }, inFirst(), callers.write)).status).toBe(422);
    const { at } = await makeOwned();
    expect((await callers.write.patch(at, resource("varsets", { global: true }))).status).toBe(422);
  });

  it("403 for the organization's own sets, even if they apply to the project", async () => {
    await stage.add("projects", stage.projects.slice(0, 1));
    const before = data(await stage.show());
    const vars = `${stage.at}/relationships/vars`;
    const varId = await addVar(stage.org, vars, { key: "one" });
    const owned = { at: stage.at, vars, varId, id: stage.set.id, name: "" };
    for (const answer of await writesTo(owned, callers.write)) {
      expect(answer.status).toBe(403);
      expect(details(answer)[0]).toContain(organizationWide);
    }
    expect(data(await callers.write.get(stage.at)).attributes.permissions).toEqual({ "can-update": false });
    expect(data(await stage.show()).relationships.projects).toEqual(before.relationships.projects);
  });

  it("403 for creating sets of the organization", async () => {
    for (const relationships of [undefined, { parent: { data: { type: "organizations", id: stage.org.name } } }]) {
      const answer = await stage.create({}, relationships, callers.write);
      expect(answer.status).toBe(403);
      expect(details(answer)[0]).toContain(organizationWide);
    }
  });

  it("403 for creating sets of other projects, whether they exist or not", async () => {
    const readable = await api.makeProject(stage.org.name);
    const { id } = await api.makeTeam(stage.org.name);
    const access = { access: "custom", "project-access": { "variable-sets": "write" } };
    await api.makeTeamProject(stage.projects[0] ?? "", id, access);
    await api.makeTeamProject(readable.id, id, { access: "custom" });
    const caller = await api.makeMember(stage.org.name, [id]);
    for (const project of [readable.id, stage.projects[1], "prj-0000000000000000"]) {
      const answer = await stage.create({}, parentOf(project), caller);
      expect(answer.status, project).toBe(403);
      expect(details(answer)[0]).toContain(missing);
    }
    expect((await stage.create({}, inFirst(), caller)).status).toBe(201);
  });

  it("404 for the sets of other projects", async () => {
    const owned = data(await stage.create({}, parentOf(stage.projects[1])));
    const at = `/varsets/${owned.id}`;
    const varId = await addVar(stage.org, `${at}/relationships/vars`, { key: "one" });
    const theirs = { at, vars: `${at}/relationships/vars`, varId, id: owned.id, name: owned.attributes.name };
    for (const path of readsOf(theirs)) expect((await callers.write.get(path)).status).toBe(404);
    for (const answer of await writesTo(theirs, callers.write)) expect(answer.status).toBe(404);
  });

  it("422 for a name that another set has", async () => {
    const taken = await stage.create({ name: stage.set.attributes.name }, inFirst(), callers.write);
    expect(details(taken)).toEqual(["Name has already been taken"]);
  });

  it("is in the named levels write, maintain and admin", async () => {
    for (const access of ["write", "maintain", "admin"]) {
      const { id } = await api.makeTeam(stage.org.name);
      await api.makeTeamProject(stage.projects[0] ?? "", id, { access });
      const caller = await api.makeMember(stage.org.name, [id]);
      expect((await stage.create({}, inFirst(), caller)).status, access).toBe(201);
    }
  });
});

describe("read", () => {
  it("reads the project's sets and their variables", async () => {
    const owned = await makeOwned();
    await stage.org.owner.post(`${owned.at}/relationships/projects`, linkage("projects", stage.projects.slice(0, 1)));
    for (const path of readsOf(owned)) expect((await callers.read.get(path)).status).toBe(200);
    expect(await listedBy(callers.read, owned)).toEqual([true, true, true]);
    expect(data(await callers.read.get(owned.at)).attributes.permissions).toEqual({ "can-update": false });
  });

  it("403 for changing them, with the missing permission", async () => {
    const owned = await makeOwned();
    for (const answer of [...(await writesTo(owned, callers.read)), await stage.create({}, inFirst(), callers.read)]) {
      expect(answer.status).toBe(403);
      expect(details(answer)[0]).toContain(missing);
    }
  });
});

describe("none", () => {
  it("404, and in no list, although the caller can read the project", async () => {
    const owned = await makeOwned();
    await stage.org.owner.post(`${owned.at}/relationships/projects`, linkage("projects", stage.projects.slice(0, 1)));
    expect((await callers.none.get(`/projects/${stage.projects[0]}`)).status).toBe(200);
    for (const path of readsOf(owned)) expect((await callers.none.get(path)).status).toBe(404);
    for (const answer of await writesTo(owned, callers.none)) expect(answer.status).toBe(404);
    expect(await listedBy(callers.none, owned)).toEqual([false, false, false]);
    expect((await stage.create({}, inFirst(), callers.none)).status).toBe(403);
  });

  it("is also the level of callers with access only to a workspace, even admin", async () => {
    const owned = await makeOwned();
    const { id } = await api.makeTeam(stage.org.name);
    await api.makeTeamWorkspace(stage.workspaces[0] ?? "", id, { access: "admin" });
    const caller = await api.makeMember(stage.org.name, [id]);
    for (const path of readsOf(owned)) expect((await caller.get(path)).status).toBe(404);
    for (const answer of await writesTo(owned, caller)) expect(answer.status).toBe(404);
  });
});

describe("organization-level permissions", () => {
  it.each([
    ["read-projects", 200, 403],
    ["read-workspaces", 404, 404],
    ["manage-workspaces", 200, 200],
    ["manage-projects", 200, 200],
  ])("%s: %i to read, %i to change", async (permission, read, write) => {
    const owned = await makeOwned();
    const caller = await api.makeHolder(stage.org.name, permission);
    expect((await caller.get(owned.at)).status).toBe(read);
    expect((await caller.patch(owned.at, resource("varsets", { priority: true }))).status).toBe(write);
  });
});
