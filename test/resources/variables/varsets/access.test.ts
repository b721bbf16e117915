/** Who can see and manage variable sets and their variables, and how much of a set they see. */
import { describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, resource, unique } from "../../../support/builders.ts";
import { addVar, linkage, type Stage, useStage } from "./support.ts";

const api = useApi();
const stage = useStage(api);

type Make = (stage: Stage) => Promise<Caller>;
const holderOf =
  (...permissions: string[]): Make =>
  ({ org }) =>
    api.makeHolder(org.name, ...permissions);
const onProject =
  (access: string): Make =>
  async ({ org, projects }) => {
    const team = await api.makeTeam(org.name);
    await api.makeTeamProject(projects[0] ?? "", team.id, { access });
    return api.makeMember(org.name, [team.id]);
  };
const onWorkspace =
  (access: string): Make =>
  async ({ org, workspaces }) => {
    const team = await api.makeTeam(org.name);
    await api.makeTeamWorkspace(workspaces[0] ?? "", team.id, { access });
    return api.makeMember(org.name, [team.id]);
  };

const managers: readonly (readonly [string, Make])[] = [
  ["an owner", async ({ org }) => org.owner],
  ["a site admin", async () => api.admin],
  ["the organization's token", ({ org }) => api.makeOrganizationToken(org.name)],
  ["a holder of manage-workspaces", holderOf("manage-workspaces")],
  ["a holder of manage-projects", holderOf("manage-projects")],
];
const readers: readonly (readonly [string, Make])[] = [
  ["a plain member", ({ org }) => api.makeMember(org.name)],
  ["a holder of read-workspaces and read-projects", holderOf("read-workspaces", "read-projects")],
  ["a holder of every other permission", holderOf("manage-teams", "manage-membership", "manage-policies")],
  ["admin on a workspace", onWorkspace("admin")],
  ["a team's token", async ({ org }) => api.makeTeamToken((await api.makeTeam(org.name)).id)],
];
const varPath = () => `${stage.at}/relationships/vars`;
const newVar = () => resource("vars", { key: unique("key"), category: "terraform" });

async function reads(caller: Caller, varId: string): Promise<Answer[]> {
  const paths = [stage.path, stage.at, varPath(), `${varPath()}/${varId}`];
  return Promise.all(paths.map((path) => caller.get(path)));
}

/** In this order, with the deletions last. */
async function writes(caller: Caller, varId: string): Promise<Answer[]> {
  const answers: Answer[] = [];
  const steps = [
    () => stage.create({}, undefined, caller),
    () => caller.patch(stage.at, resource("varsets", { description: unique("text") })),
    () => stage.add("workspaces", stage.workspaces, caller),
    () => stage.remove("workspaces", stage.workspaces, caller),
    () => stage.add("projects", stage.projects, caller),
    () => stage.remove("projects", stage.projects, caller),
    () => caller.post(varPath(), newVar()),
    () => caller.patch(`${varPath()}/${varId}`, resource("vars", { value: "new" })),
    () => caller.delete(`${varPath()}/${varId}`),
    () => caller.delete(stage.at),
  ];
  for (const step of steps) answers.push(await step());
  return answers;
}
const done = [201, 200, 204, 204, 204, 204, 201, 200, 204, 204];
const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status);

describe("callers who can manage", () => {
  it.each(managers)("%s: reads and writes", async (_, make) => {
    const caller = await make(stage);
    const varId = await addVar(stage.org, varPath(), { key: "one" });
    expect(statuses(await reads(caller, varId))).toEqual([200, 200, 200, 200]);
    expect(statuses(await writes(caller, varId))).toEqual(done);
  });
});

describe("callers who can read", () => {
  it.each(readers)("%s: reads, and gets 403 with the missing permission", async (_, make) => {
    const caller = await make(stage);
    const varId = await addVar(stage.org, varPath(), { key: "one", value: "a value" });
    const before = data(await stage.show());
    expect(statuses(await reads(caller, varId))).toEqual([200, 200, 200, 200]);
    const permissions = { "can-update": false };
    const seen = { ...before, attributes: { ...before.attributes, permissions } };
    expect(data(await caller.get(stage.at))).toEqual(seen);
    for (const answer of await writes(caller, varId)) {
      expect(answer.status, JSON.stringify(answer.body)).toBe(403);
      expect(details(answer)[0]).toContain("the organization permission 'manage-workspaces' or 'manage-projects'");
    }
    expect(data(await stage.show())).toEqual(before);
  });
});

it("a user without an organization gets 404", async () => {
  const caller = await api.makeUser();
  const varId = await addVar(stage.org, varPath(), { key: "one" });
  for (const answer of [...(await reads(caller, varId)), ...(await writes(caller, varId))])
    expect(answer.status).toBe(404);
});

describe("the visible parts of a set", () => {
  const everything: Make = holderOf("read-workspaces", "read-projects");
  const cases: readonly (readonly [string, Make, number[], number[]])[] = [
    ["a plain member", ({ org }) => api.makeMember(org.name), [], []],
    ["read on one project", onProject("read"), [0, 1], [0]],
    ["read on one workspace", onWorkspace("read"), [0], []],
    ["a holder of read-workspaces", holderOf("read-workspaces"), [0, 1, 2], []],
    ["a holder of read-projects", everything, [0, 1, 2], [0, 1]],
    ["an owner", async ({ org }) => org.owner, [0, 1, 2], [0, 1]],
  ];

  it.each(cases)(
    "%s: the workspaces and projects that the caller can read, in every document",
    async (_, make, ws, prj) => {
      await stage.add("workspaces", stage.workspaces);
      await stage.add("projects", stage.projects);
      const caller = await make(stage);
      const workspaces = ws.map((index) => stage.workspaces[index] ?? "").toSorted();
      const projects = prj.map((index) => stage.projects[index] ?? "").toSorted();
      const path = `${stage.path}?q=${stage.set.attributes.name}`;
      const [shown] = [data(await caller.get(stage.at))];
      const [listed] = data(await caller.get(path));
      for (const document of [shown, listed]) {
        expect(document.relationships.workspaces).toEqual(linkage("workspaces", workspaces));
        expect(document.relationships.projects).toEqual(linkage("projects", projects));
        expect(document.attributes).toMatchObject({ "workspace-count": 3, "project-count": 2 });
      }
      for (const at of [`${stage.at}?`, `${path}&`]) {
        const { included } = (await caller.get(`${at}include=workspaces,projects`)).body;
        const ids = included.map(({ id }: Json) => id).toSorted();
        expect(ids).toEqual([...workspaces, ...projects].toSorted());
      }
    },
  );
});

describe("a set that a project owns", () => {
  const make = async () => {
    const parent = { data: { type: "projects", id: stage.projects[0] } };
    const workspaces = linkage("workspaces", stage.workspaces.slice(0, 1));
    const owned = data(await stage.create({}, { parent, workspaces }));
    const varId = await addVar(stage.org, `/varsets/${owned.id}/relationships/vars`, { key: "one" });
    return { owned, varId };
  };
  const seen = async (caller: Caller, { owned, varId }: Awaited<ReturnType<typeof make>>): Promise<boolean[]> => {
    const q = `?q=${owned.attributes.name}`;
    const listed = async (path: string) => ((await caller.get(path + q)).body.data ?? []).length === 1;
    const at = `/varsets/${owned.id}`;
    const paths = [at, `${at}/relationships/vars`, `${at}/relationships/vars/${varId}`];
    const shown = await Promise.all(paths.map(async (path) => (await caller.get(path)).status === 200));
    const lists = [stage.path, `/workspaces/${stage.workspaces[0]}/varsets`, `/projects/${stage.projects[0]}/varsets`];
    return [...shown, ...(await Promise.all(lists.map(listed)))];
  };

  it.each<readonly [string, Make]>([
    ["an owner", async ({ org }) => org.owner],
    ["a holder of manage-workspaces", holderOf("manage-workspaces")],
    ["read on the project", onProject("read")],
  ])("is seen by %s", async (_, caller) => {
    expect(await seen(await caller(stage), await make())).toEqual(Array(6).fill(true));
  });

  it.each<readonly [string, Make]>([
    ["a plain member", ({ org }) => api.makeMember(org.name)],
    ["a holder of read-workspaces", holderOf("read-workspaces")],
    ["admin on a workspace of the project", onWorkspace("admin")],
  ])("is not there for %s", async (_, caller) => {
    expect(await seen(await caller(stage), await make())).toEqual(Array(6).fill(false));
  });
});
