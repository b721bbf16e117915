/** Whom a pool serves is asked when a workspace or a project takes it, and not again. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  details,
  inProject,
  makeOrganization,
  makeProject,
  makeWorkspace,
  type Org,
  pointers,
  resource,
  unique,
} from "../../../support/builders.ts";

const api = useApi();
let org: Org;
let project: string;
let other: string;
beforeAll(async () => {
  org = await makeOrganization(api);
  project = (await makeProject(api, org.name)).id;
  other = (await makeProject(api, org.name)).id;
});

type Scope = "allowed-workspaces" | "allowed-projects" | "excluded-workspaces";
const lists = (scopes: Partial<Record<Scope, string[]>>) =>
  Object.fromEntries(
    Object.entries(scopes).map(([name, ids]) => [
      name,
      { data: ids.map((id) => ({ type: name.replace(/^.*-/, ""), id })) },
    ]),
  );
const makePool = async (scoped: boolean, scopes: Partial<Record<Scope, string[]>> = {}): Promise<string> => {
  const body = resource("agent-pools", { name: unique("pool"), "organization-scoped": scoped }, lists(scopes));
  return data(await org.owner.post(`/organizations/${org.name}/agent-pools`, body)).id;
};
const inPool = (id: string) => ({ "execution-mode": "agent", "agent-pool-id": id });
const create = (pool: string, projectId: string): Promise<Answer> =>
  org.owner.post(
    `/organizations/${org.name}/workspaces`,
    resource("workspaces", { name: unique("ws"), ...inPool(pool) }, inProject(projectId)),
  );
const take = (workspace: Json, pool: string, relationships?: object): Promise<Answer> =>
  org.owner.patch(`/workspaces/${workspace.id}`, resource("workspaces", inPool(pool), relationships));

function expectRefused(answer: Answer): void {
  expect(answer.status, JSON.stringify(answer.body)).toBe(422);
  expect(pointers(answer)).toEqual(["/data/attributes/agent-pool-id"]);
  expect(details(answer)).toEqual([
    "Agent pool does not serve this workspace; let the pool serve it or its project, or use another pool",
  ]);
}

describe("a workspace takes a pool", () => {
  it("that is for the whole organization, unless it is excluded", async () => {
    const [one, two] = [
      await makeWorkspace(api, org.name, {}, inProject(project)),
      await makeWorkspace(api, org.name, {}, inProject(project)),
    ];
    const pool = await makePool(true, { "excluded-workspaces": [two.id] });
    expect((await take(one, pool)).status).toBe(200);
    expectRefused(await take(two, pool));
    expect((await create(pool, project)).status).toBe(201);
  });

  it("that names it", async () => {
    const [one, two] = [
      await makeWorkspace(api, org.name, {}, inProject(project)),
      await makeWorkspace(api, org.name, {}, inProject(project)),
    ];
    const pool = await makePool(false, { "allowed-workspaces": [one.id] });
    expect((await take(one, pool)).status).toBe(200);
    expectRefused(await take(two, pool));
    expectRefused(await create(pool, project));
    expect(data(await org.owner.get(`/workspaces/${two.id}`)).attributes["execution-mode"]).toBe("remote");
  });

  it("that names its project, unless it is excluded; also where it comes there with the same request", async () => {
    const [one, two, elsewhere] = [
      await makeWorkspace(api, org.name, {}, inProject(project)),
      await makeWorkspace(api, org.name, {}, inProject(project)),
      await makeWorkspace(api, org.name, {}, inProject(other)),
    ];
    const pool = await makePool(false, { "allowed-projects": [project], "excluded-workspaces": [two.id] });
    expect((await take(one, pool)).status).toBe(200);
    expectRefused(await take(two, pool));
    expectRefused(await take(elsewhere, pool));
    expect((await create(pool, project)).status).toBe(201);
    expectRefused(await create(pool, other));
    expect((await take(elsewhere, pool, inProject(project))).status).toBe(200);
  });

  it("that names nobody: never", async () => {
    const workspace = await makeWorkspace(api, org.name, {}, inProject(project));
    const pool = await makePool(false);
    expectRefused(await take(workspace, pool));
    expectRefused(await create(pool, project));
  });

  it("and keeps it when the pool serves others later, or it is moved away", async () => {
    const pool = await makePool(false, { "allowed-projects": [project] });
    const workspace = data(await create(pool, project));
    const narrowed = resource("agent-pools", {}, lists({ "allowed-projects": [] }));
    expect((await org.owner.patch(`/agent-pools/${pool}`, narrowed)).status).toBe(200);
    const kept = async () => {
      const shown = data(await org.owner.get(`/workspaces/${workspace.id}`));
      return [shown.attributes["execution-mode"], shown.relationships["agent-pool"].data.id];
    };
    const changes = [
      take(workspace, pool),
      org.owner.patch(`/workspaces/${workspace.id}`, resource("workspaces", { description: "kept" })),
      org.owner.patch(`/workspaces/${workspace.id}`, resource("workspaces", {}, inProject(other))),
    ];
    for (const answer of await Promise.all(changes)) expect(answer.status).toBe(200);
    expect(await kept()).toEqual(["agent", pool]);
    expect((await take(workspace, await makePool(true))).status).toBe(200);
    expectRefused(await take(workspace, pool));
  });

  it("422, as before, for one that is not there", async () => {
    const workspace = await makeWorkspace(api, org.name);
    expect(details(await take(workspace, "apool-0000000000000000"))).toEqual([
      "Agent pool does not exist in this organization",
    ]);
  });
});

describe("a project takes a pool as its default", () => {
  const defaults = (pool: string) => ({ "default-execution-mode": "agent", "default-agent-pool-id": pool });
  const give = (id: string, pool: string) => org.owner.patch(`/projects/${id}`, resource("projects", defaults(pool)));
  const makeWith = (pool: string) =>
    org.owner.post(
      `/organizations/${org.name}/projects`,
      resource("projects", { name: unique("project"), ...defaults(pool) }),
    );

  function expectNotServed(answer: Answer): void {
    expect(answer.status, JSON.stringify(answer.body)).toBe(422);
    expect(pointers(answer)).toEqual(["/data/attributes/default-agent-pool-id"]);
    expect(details(answer)).toEqual([
      "Default agent pool does not serve this project; let the pool serve it, or use another pool",
    ]);
  }

  it("that is for the whole organization, or names it", async () => {
    const [everyones, own] = [await makePool(true), await makePool(false, { "allowed-projects": [project] })];
    for (const pool of [everyones, own]) expect((await give(project, pool)).status).toBe(200);
    expect((await makeWith(everyones)).status).toBe(201);
  });

  it("422 for one that names others, or only some of its workspaces", async () => {
    const workspace = await makeWorkspace(api, org.name, {}, inProject(other));
    const named = await makePool(false, { "allowed-projects": [project], "allowed-workspaces": [workspace.id] });
    expectNotServed(await give(other, named));
    expectNotServed(await makeWith(named));
    expect(data(await org.owner.get(`/projects/${other}`)).attributes["default-execution-mode"]).toBe("remote");
  });

  it("and keeps it when the pool serves others later", async () => {
    const pool = await makePool(false, { "allowed-projects": [other] });
    expect((await give(other, pool)).status).toBe(200);
    await org.owner.patch(`/agent-pools/${pool}`, resource("agent-pools", {}, lists({ "allowed-projects": [] })));
    const changed = await org.owner.patch(`/projects/${other}`, resource("projects", { description: "kept" }));
    expect(data(changed).relationships["default-agent-pool"].data.id).toBe(pool);
  });
});
