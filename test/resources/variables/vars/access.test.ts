/** Who can read and write variables, by their access to the workspace. */
import { describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, resource } from "../../../support/builders.ts";
import { newKey, type Stage, useStage } from "./support.ts";

const api = useApi();
const stage = useStage(api);

type Make = (stage: Stage) => Promise<Caller>;
const onWorkspace =
  (attributes: object): Make =>
  async ({ org, parent: workspace }) => {
    const team = await api.makeTeam(org.name);
    await api.makeTeamWorkspace(workspace.id, team.id, attributes);
    return api.makeMember(org.name, [team.id]);
  };
const onProject =
  (attributes: object): Make =>
  async ({ org, parent: workspace }) => {
    const team = await api.makeTeam(org.name);
    await api.makeTeamProject(workspace.relationships.project.data.id, team.id, attributes);
    return api.makeMember(org.name, [team.id]);
  };
const teamToken =
  (access: string): Make =>
  async ({ org, parent: workspace }) => {
    const team = await api.makeTeam(org.name);
    await api.makeTeamWorkspace(workspace.id, team.id, { access });
    return api.makeTeamToken(team.id);
  };

const writers: readonly (readonly [string, Make])[] = [
  ["an owner", async ({ org }) => org.owner],
  ["a site admin", async () => api.admin],
  ["the organization's token", ({ org }) => api.makeOrganizationToken(org.name)],
  ["a holder of manage-workspaces", ({ org }) => api.makeHolder(org.name, "manage-workspaces")],
  ["write on the workspace", onWorkspace({ access: "write" })],
  ["admin on the workspace", onWorkspace({ access: "admin" })],
  ["custom on the workspace: variables write", onWorkspace({ access: "custom", variables: "write" })],
  ["write on the project", onProject({ access: "write" })],
  [
    "custom on the project: variables write",
    onProject({ access: "custom", "workspace-access": { variables: "write" } }),
  ],
  ["the token of a team with write", teamToken("write")],
];
const readers: readonly (readonly [string, Make])[] = [
  ["a holder of read-workspaces", ({ org }) => api.makeHolder(org.name, "read-workspaces")],
  ["read on the workspace", onWorkspace({ access: "read" })],
  ["plan on the workspace", onWorkspace({ access: "plan" })],
  ["custom on the workspace: variables read", onWorkspace({ access: "custom", variables: "read" })],
  ["read on the project", onProject({ access: "read" })],
  ["the token of a team with read", teamToken("read")],
];
const seeing: readonly (readonly [string, Make])[] = [
  ["custom on the workspace: variables none", onWorkspace({ access: "custom", variables: "none" })],
  [
    "custom on the workspace: everything but variables",
    onWorkspace({ access: "custom", runs: "apply", "state-versions": "write", "workspace-locking": true }),
  ],
  ["custom on the project: variables none", onProject({ access: "custom", "workspace-access": { variables: "none" } })],
];
const reads = (caller: Caller): Promise<Answer[]> =>
  Promise.all([caller.get(stage.path), caller.get(stage.path.replace(/vars$/, "all-vars")), caller.get(stage.at)]);

/** In this order, with the deletion last. */
async function writes(caller: Caller): Promise<Answer[]> {
  const created = await stage.create({}, caller);
  const changed = await caller.patch(stage.at, resource("vars", { key: newKey() }));
  return [created, changed, await caller.delete(stage.at)];
}

async function namedTo(caller: Caller): Promise<string[]> {
  const workspace = data(await caller.get(`/workspaces/${stage.parent.id}`));
  return workspace.relationships.vars.data.map(({ id }: Json) => id);
}

describe("callers who can write", () => {
  it.each(writers)("%s: reads and writes", async (_, make) => {
    const caller = await make(stage);
    expect(await namedTo(caller)).toContain(stage.variable.id);
    expect((await reads(caller)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await writes(caller)).map(({ status }) => status)).toEqual([201, 200, 204]);
  });
});

describe("callers who can read", () => {
  it.each(readers)("%s: reads, and gets 403 with the missing permission", async (_, make) => {
    const caller = await make(stage);
    expect(await namedTo(caller)).toContain(stage.variable.id);
    expect((await reads(caller)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(data(await caller.get(stage.at))).toEqual(stage.variable);
    for (const answer of await writes(caller)) {
      expect(answer.status).toBe(403);
      expect(details(answer)[0]).toContain("'write' on the workspace's variables (can-update-variable)");
    }
    expect(data(await stage.show())).toEqual(stage.variable);
  });
});

describe("callers who can see the workspace but not its variables", () => {
  it.each(seeing)("%s: gets 403 with the missing permission, whether or not the variable exists", async (_, make) => {
    const caller = await make(stage);
    expect(await namedTo(caller)).toEqual([]);
    const unknown = await caller.get(`${stage.path}/var-0000000000000000`);
    for (const answer of [...(await reads(caller)), unknown]) {
      expect(answer.status).toBe(403);
      expect(details(answer)[0]).toContain("'read' on the workspace's variables (can-read-variable)");
    }
    for (const answer of await writes(caller)) expect(answer.status).toBe(403);
  });
});

it.each<readonly [string, Make]>([
  ["a plain member", ({ org }) => api.makeMember(org.name)],
  ["a user of no organization", () => api.makeUser()],
])("%s, who may not see the workspace: gets 404", async (_, make) => {
  const caller = await make(stage);
  for (const answer of [...(await reads(caller)), ...(await writes(caller))]) expect(answer.status).toBe(404);
  expect(data(await stage.show())).toEqual(stage.variable);
});
