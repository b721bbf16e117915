/**
 * `workspace-limit`: the maximum number of workspaces, which doesn't affect existing ones. Which
 * organizations can use another's modules: stored and shown, until there is a registry.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Org, pointers, resource, unique } from "../../../support/builders.ts";

const api = useApi();
let org: Org;

describe("an organization with a limit", () => {
  beforeEach(async () => {
    org = await api.makeOrganization();
  });

  const limit = async (workspaces: number | null) =>
    data(
      await api.admin.patch(
        `/admin/organizations/${org.name}`,
        resource("organizations", { "workspace-limit": workspaces }),
      ),
    );
  const create = (relationships?: object) =>
    org.owner.post(
      `/organizations/${org.name}/workspaces`,
      resource("workspaces", { name: unique("ws") }, relationships),
    );
  const count = async () =>
    (await org.owner.get(`/organizations/${org.name}/workspaces`)).body.meta.pagination["total-count"];

  it("409: one workspace more than the limit, counted over all projects, also for site admins; nothing is stored", async () => {
    await limit(2);
    const project = await api.makeProject(org.name);
    expect((await create()).status).toBe(201);
    expect((await create(inProject(project.id))).status).toBe(201);
    for (const caller of [org.owner, api.admin]) {
      const answer = await caller.post(
        `/organizations/${org.name}/workspaces`,
        resource("workspaces", { name: unique("ws") }),
      );
      expect(answer.status).toBe(409);
      expect(details(answer)[0]).toMatch(
        /^The organization has reached its limit of 2 workspaces .*workspace-limit.*site admin/,
      );
    }
    expect(await count()).toBe(2);
    const { attributes } = data(await org.owner.get(`/projects/${org.defaultProjectId}`));
    expect(attributes["workspace-count"]).toBe(1);
  });

  it("201: after one is deleted, or the limit is raised or removed by null or 0", async () => {
    await limit(1);
    const workspace = data(await create());
    expect((await create()).status).toBe(409);
    await org.owner.delete(`/workspaces/${workspace.id}`);
    expect((await create()).status).toBe(201);
    for (const more of [2, 0, null]) {
      await limit(more);
      expect((await create()).status).toBe(201);
    }
  });

  it("keeps existing workspaces when the limit is lowered", async () => {
    const workspaces = [await api.makeWorkspace(org.name), await api.makeWorkspace(org.name)];
    await limit(1);
    expect(await count()).toBe(2);
    const change = resource("workspaces", { description: "still here" });
    for (const { id } of workspaces) expect((await org.owner.patch(`/workspaces/${id}`, change)).status).toBe(200);
    expect((await create()).status).toBe(409);
  });

  it("adds a constant number of statements, regardless of the number of projects and workspaces", async () => {
    const statements = async () => {
      const before = api.database.statementCount();
      expect((await create()).status).toBe(201);
      return api.database.statementCount() - before;
    };
    const unlimited = await statements();
    await limit(100);
    const limited = await statements();
    expect(limited).toBeLessThanOrEqual(unlimited + 2);
    for (let more = 0; more < 5; more += 1)
      await api.makeWorkspace(org.name, {}, inProject((await api.makeProject(org.name)).id));
    expect(await statements()).toBe(limited);
  });

  it("is not exceeded by concurrent requests in several projects", async () => {
    const projects = await Promise.all(Array.from({ length: 3 }, () => api.makeProject(org.name)));
    await limit(4);
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, position) => create(inProject(projects[position % 3]?.id))),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(4);
    expect(statuses.filter((status) => status === 409)).toHaveLength(8);
    expect(await count()).toBe(4);
  });
});

describe("replaceModuleConsumers", () => {
  let [first, second]: Org[] = [];
  beforeEach(async () => {
    org = await api.makeOrganization();
    [first, second] = [await api.makeOrganization(), await api.makeOrganization()];
  });

  const at = () => `/admin/organizations/${org.name}`;
  const path = () => `${at()}/relationships/module-consumers`;
  const replace = (...names: (string | undefined)[]) =>
    api.admin.patch(path(), { data: names.map((id) => ({ type: "organizations", id })) });
  const consumers = async (query = ""): Promise<string[]> =>
    data(await api.admin.get(path() + query))
      .map(({ id }: Json) => id)
      .toSorted();
  const share = (isOn: boolean) => api.admin.patch(at(), resource("organizations", { "global-module-sharing": isOn }));
  const isShared = async () => data(await api.admin.get(at())).attributes["global-module-sharing"];

  it("204: replaces the consumers", async () => {
    expect(await consumers()).toEqual([]);
    expect((await replace(first?.name, second?.name)).status).toBe(204);
    expect(await consumers()).toEqual([first?.name, second?.name].toSorted());
    expect(data(await api.admin.get(`${path()}?page[size]=1`))).toHaveLength(1);
    expect((await replace(second?.name.toUpperCase(), second?.name)).status).toBe(204);
    expect(await consumers()).toEqual([second?.name]);
    expect((await replace()).status).toBe(204);
    expect(await consumers()).toEqual([]);
  });

  it("204: stops sharing with all; sharing with all clears the list", async () => {
    await share(true);
    await replace(first?.name);
    expect(await isShared()).toBe(false);
    expect(await consumers()).toEqual([first?.name]);
    await share(true);
    expect(await isShared()).toBe(true);
    expect(await consumers()).toEqual([]);
  });

  it("422: an unknown organization, itself, another type; nothing changes", async () => {
    await replace(first?.name);
    const unknown = await replace(second?.name, "unknown");
    expect(unknown.status).toBe(422);
    expect(pointers(unknown)).toEqual(["/data/1/id"]);
    expect(details(unknown)).toEqual(["Organization 'unknown' does not exist"]);
    expect(details(await replace(org.name))).toEqual(["An organization can't be its own consumer"]);
    expect((await api.admin.patch(path(), { data: [{ type: "teams", id: first?.name }] })).status).toBe(422);
    expect(await consumers()).toEqual([first?.name]);
  });

  it("a deleted organization is removed from the lists, and its own list with it", async () => {
    await replace(first?.name, second?.name);
    await api.admin.delete(`/organizations/${first?.name}`);
    expect(await consumers()).toEqual([second?.name]);
    await api.admin.delete(`/organizations/${org.name}`);
    expect((await api.admin.get(path())).status).toBe(404);
  });

  it("records an event", async () => {
    await replace(first?.name);
    const query = "filter[action]=organizations.replace-module-consumers";
    const [event] = data(await org.owner.get(`/organizations/${org.name}/audit-events?${query}`));
    expect(event.attributes).toMatchObject({
      before: { "module-consumers": [] },
      after: { "module-consumers": [first?.name] },
    });
  });
});
