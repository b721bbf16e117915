/** A project's default-execution-mode, default-agent-pool-id and setting-overwrites, and which workspaces use them. */
import { change as commitSomething } from "../../../support/database.ts";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Org, resource, unique } from "../../../support/builders.ts";
import { at, faults, makeAgentPool } from "../workspaces/support.ts";

const api = useApi();
let org: Org;
let pool: string;
let otherPool: string;
let foreignPool: string;
beforeAll(async () => {
  org = await api.makeOrganization();
  pool = await makeAgentPool(api, org.name);
  otherPool = await makeAgentPool(api, org.name);
  foreignPool = await makeAgentPool(api, (await api.makeOrganization()).name);
});

const own = { "default-execution-mode": true, "default-agent-pool": true };
const followed = { "default-execution-mode": false, "default-agent-pool": false };
const agent = () => ({ "default-execution-mode": "agent", "default-agent-pool-id": pool });
const path = (project: Json) => `/projects/${project.id}`;
const defaults = ({ attributes, relationships }: Json) => ({
  mode: attributes["default-execution-mode"],
  overwrites: attributes["setting-overwrites"],
  pool: relationships["default-agent-pool"].data?.id ?? null,
});
const inForce = (mode: string, overwrites: object, poolId: string | null = null) => ({
  mode,
  overwrites,
  pool: poolId,
});
const execution = ({ attributes, relationships }: Json) => [
  attributes["execution-mode"],
  relationships["agent-pool"].data?.id ?? null,
];
const create = (attributes: object): Promise<Answer> =>
  org.owner.post(`/organizations/${org.name}/projects`, resource("projects", { name: unique("p"), ...attributes }));
const setOrganization = async (of: Org, attributes: object, poolId?: string | null) => {
  const pointed = poolId === null ? null : { type: "agent-pools", id: poolId };
  const relationships = poolId === undefined ? undefined : { "default-agent-pool": { data: pointed } };
  return data(await of.owner.patch(`/organizations/${of.name}`, resource("organizations", attributes, relationships)));
};
const versionOf = async (of: Org, at: string) => (await of.owner.get(at)).headers.get("etag");

const needsPool = at("default-agent-pool-id", "Default agent pool must be specified when using 'agent' execution mode");
const noPool = at(
  "default-agent-pool-id",
  "Default agent pool must not be specified unless using 'agent' execution mode",
);
const same = at(
  "setting-overwrites",
  "If agent-pool and execution-mode are both included in setting-overwrites, their values must be the same.",
);
const needsMode = at(
  "default-execution-mode",
  "Default execution mode must be sent when setting-overwrites.default-execution-mode is true",
);
const noMode = at(
  "default-execution-mode",
  "Default execution mode can't be sent when setting-overwrites.default-agent-pool is false, because then the default applies",
);
const unknownPool = at("default-agent-pool-id", "Default agent pool does not exist in this organization");

/** Invalid requests, on creation and on an update of a project without its own defaults alike. */
const refused: readonly [string, () => object, [string, string][]][] = [
  ["agent without a pool", () => ({ "default-execution-mode": "agent" }), [needsPool]],
  ["agent with no pool", () => ({ "default-execution-mode": "agent", "default-agent-pool-id": null }), [needsPool]],
  ["agent with a blank pool", () => ({ "default-execution-mode": "agent", "default-agent-pool-id": "" }), [needsPool]],
  ["a pool with remote", () => ({ "default-execution-mode": "remote", "default-agent-pool-id": pool }), [noPool]],
  ["a pool with local", () => ({ "default-execution-mode": "local", "default-agent-pool-id": pool }), [noPool]],
  ["a pool alone", () => ({ "default-agent-pool-id": pool }), [noPool]],
  [
    "a mode together with a default pool",
    () => ({ "default-execution-mode": "local", "setting-overwrites": { "default-agent-pool": false } }),
    [noMode],
  ],
  ["own without a mode", () => ({ "setting-overwrites": own }), [needsMode]],
  [
    "overwrites that differ",
    () => ({ ...agent(), "setting-overwrites": { ...own, "default-agent-pool": false } }),
    [same],
  ],
  ["an unknown pool", () => ({ ...agent(), "default-agent-pool-id": "apool-unknown" }), [unknownPool]],
  ["another organization's pool", () => ({ ...agent(), "default-agent-pool-id": foreignPool }), [unknownPool]],
  ...[null, "moon", 1].map((mode): (typeof refused)[number] => [
    `the mode ${String(mode)}`,
    () => ({ "default-execution-mode": mode }),
    [at("default-execution-mode", "Default execution mode must be one of: remote, local, agent")],
  ]),
  [
    "a pool that is no text",
    () => ({ "default-agent-pool-id": 1 }),
    [at("default-agent-pool-id", "Default agent pool id must be a string")],
  ],
  [
    "overwrites null",
    () => ({ "setting-overwrites": null }),
    [at("setting-overwrites", "Setting overwrites must be an object")],
  ],
  [
    "an overwrite that is no flag",
    () => ({ "setting-overwrites": { "default-agent-pool": "yes" } }),
    [at("setting-overwrites/default-agent-pool", "Setting overwrites default agent pool must be true or false")],
  ],
];

describe("createProject: execution defaults", () => {
  it.each<[string, object, object]>([
    ["nothing", {}, inForce("remote", followed)],
    ["remote", { "default-execution-mode": "remote" }, inForce("remote", own)],
    ["local", { "default-execution-mode": "local" }, inForce("local", own)],
    [
      "local, and overwrites true",
      { "default-execution-mode": "local", "setting-overwrites": own },
      inForce("local", own),
    ],
    ["overwrites false", { "setting-overwrites": followed }, inForce("remote", followed)],
    ["one overwrite false", { "setting-overwrites": { "default-agent-pool": false } }, inForce("remote", followed)],
    ["no overwrite named", { "setting-overwrites": {} }, inForce("remote", followed)],
    ["no pool", { "default-agent-pool-id": null }, inForce("remote", followed)],
    ["a blank pool", { "default-agent-pool-id": "" }, inForce("remote", followed)],
    [
      "local with a blank pool",
      { "default-execution-mode": "local", "default-agent-pool-id": "" },
      inForce("local", own),
    ],
  ])("%s", async (_, attributes, expected) => {
    const answer = await create(attributes);
    expect(answer.status).toBe(201);
    expect(defaults(answer.body.data)).toEqual(expected);
    expect(data(await org.owner.get(path(answer.body.data)))).toEqual(answer.body.data);
  });

  it("agent with a pool; the pool is shown only as a relationship, in the list too", async () => {
    const made = data(await create(agent()));
    expect(defaults(made)).toEqual(inForce("agent", own, pool));
    expect(made.attributes).not.toHaveProperty("default-agent-pool-id");
    const listed = await org.owner.get(`/organizations/${org.name}/projects?filter[names]=${made.attributes.name}`);
    expect(data(listed)).toEqual([made]);
  });

  it.each<[string, () => object]>([
    ["a mode", () => ({ "default-execution-mode": "local", "setting-overwrites": followed })],
    ["a pool", () => ({ "default-agent-pool-id": pool, "setting-overwrites": followed })],
    ["a mode and a pool", () => ({ ...agent(), "setting-overwrites": followed })],
    [
      "a mode and a blank pool",
      () => ({ "default-execution-mode": "local", "default-agent-pool-id": "", "setting-overwrites": followed }),
    ],
  ])("%s beside overwrites false is ignored: the organization is followed", async (_, attributes) => {
    const followsAll = inForce("remote", followed);
    expect(defaults(data(await create(attributes())))).toEqual(followsAll);
    const settled = await api.makeProject(org.name, { "default-execution-mode": "local" });
    expect(defaults(data(await org.owner.patch(path(settled), resource("projects", attributes()))))).toEqual(
      followsAll,
    );
  });

  it.each(refused)("%s: 422", async (_, attributes, expected) => {
    const answer = await create(attributes());
    expect(answer.status).toBe(422);
    expect(faults(answer)).toEqual(expected);
  });

  it("reports a taken name and an unknown pool together", async () => {
    const taken = await api.makeProject(org.name);
    const answer = await create({ ...agent(), name: taken.attributes.name, "default-agent-pool-id": foreignPool });
    expect(faults(answer)).toEqual([at("name", "Name has already been taken"), unknownPool]);
  });
});

describe("updateProject: execution defaults", () => {
  let project: Json;
  const start = async (attributes: object) => {
    project = await api.makeProject(org.name, attributes);
  };
  const update = (attributes: object) => org.owner.patch(path(project), resource("projects", attributes));

  it("absent keys keep everything", async () => {
    await start(agent());
    expect(defaults(data(await update({ description: "x" })))).toEqual(defaults(project));
    const answer = await update({ "setting-overwrites": {}, "default-agent-pool-id": pool });
    expect(answer.headers.get("etag")).toBe('"2"');
  });

  it.each(["remote", "local"])("agent → %s removes the pool", async (mode) => {
    await start(agent());
    expect(defaults(data(await update({ "default-execution-mode": mode })))).toEqual(inForce(mode, own));
    expect(faults(await update({ "default-execution-mode": "agent" }))).toEqual([needsPool]);
  });

  it("agent again keeps the pool; another replaces it; null is refused", async () => {
    await start(agent());
    expect(defaults(data(await update({ "default-execution-mode": "agent" }))).pool).toBe(pool);
    expect(defaults(data(await update({ "default-agent-pool-id": otherPool }))).pool).toBe(otherPool);
    expect(faults(await update({ "default-agent-pool-id": null }))).toEqual([needsPool]);
  });

  it("overwrites false uses the organization's defaults again, and drops its own", async () => {
    await start(agent());
    expect(defaults(data(await update({ "setting-overwrites": followed })))).toEqual(inForce("remote", followed));
    expect(faults(await update({ "default-execution-mode": "agent" }))).toEqual([needsPool]);
  });

  it.each(refused)("%s: 422, and nothing changes", async (_, attributes, expected) => {
    await start({});
    const answer = await update(attributes());
    expect(answer.status).toBe(422);
    expect(faults(answer)).toEqual(expected);
    expect(data(await org.owner.get(path(project)))).toEqual(project);
  });

  it("needs 'update' on the project's settings", async () => {
    await start({});
    const team = await api.makeTeam(org.name);
    await api.grantProject(project.id, team.id, "maintain");
    const member = await api.makeMember(org.name, [team.id]);
    const body = resource("projects", { "default-execution-mode": "local" });
    expect((await member.patch(path(project), body)).status).toBe(403);
  });

  it("records an audit event with the mode, the overwrites and the effective pool", async () => {
    await start({});
    data(await update(agent()));
    const events = await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject][id]=${project.id}`);
    const [{ attributes }] = data(events);
    expect(attributes.before).toMatchObject({
      "default-execution-mode": "remote",
      "setting-overwrites": followed,
      "default-agent-pool": null,
    });
    expect(attributes.after).toMatchObject({
      "default-execution-mode": "agent",
      "setting-overwrites": own,
      "default-agent-pool": pool,
    });
  });
});

describe("which defaults apply", () => {
  let of: Org;
  let ownPool: string;
  let project: Json;
  let follower: Json;
  beforeEach(async () => {
    of = await api.makeOrganization();
    ownPool = await makeAgentPool(api, of.name);
    project = await api.makeProject(of.name);
    follower = await api.makeWorkspace(of.name, {}, inProject(project.id));
  });
  const change = async (attributes: object) =>
    data(await of.owner.patch(path(project), resource("projects", attributes)));
  const shown = async (workspace = follower) => data(await of.owner.get(`/workspaces/${workspace.id}`));
  const listed = async (query = "") =>
    data(await of.owner.get(`/organizations/${of.name}/workspaces?${query}`)).find(
      (item: Json) => item.id === follower.id,
    );

  it("a project uses the organization's current defaults, including the pool", async () => {
    await setOrganization(of, { "default-execution-mode": "agent" }, ownPool);
    expect(defaults(data(await of.owner.get(path(project))))).toEqual(inForce("agent", followed, ownPool));
    await setOrganization(of, { "default-execution-mode": "local" }, null);
    expect(defaults(data(await of.owner.get(path(project))))).toEqual(inForce("local", followed));
    const [inList] = data(
      await of.owner.get(`/organizations/${of.name}/projects?filter[names]=${project.attributes.name}`),
    );
    expect(inList).toEqual(data(await of.owner.get(path(project))));
  });

  it("a workspace uses its project's default, or else the organization's", async () => {
    const agents = { "default-execution-mode": "agent", "default-agent-pool-id": ownPool };
    await setOrganization(of, { "default-execution-mode": "local" });
    expect(execution(await shown())).toEqual(["local", null]);
    await change(agents);
    expect(execution(await shown())).toEqual(["agent", ownPool]);
    expect((await shown()).attributes["setting-overwrites"]).toEqual({ "execution-mode": false, "agent-pool": false });
    for (const query of ["", "search[name]=ws", `filter[project][id]=${project.id}`])
      expect(await listed(query)).toEqual(await shown());
    await setOrganization(of, { "default-execution-mode": "remote" });
    expect(execution(await shown())).toEqual(["agent", ownPool]);
    await change({ "setting-overwrites": followed });
    expect(execution(await shown())).toEqual(["remote", null]);
  });

  it("the project's mode without the organization's pool", async () => {
    await setOrganization(of, { "default-execution-mode": "agent" }, ownPool);
    await change({ "default-execution-mode": "remote" });
    expect(execution(await shown())).toEqual(["remote", null]);
    const another = await makeAgentPool(api, of.name);
    await change({ "default-execution-mode": "agent", "default-agent-pool-id": another });
    expect(execution(await shown())).toEqual(["agent", another]);
  });

  it("a workspace with its own mode uses no default; with overwrites false it uses its project's again", async () => {
    await change({ "default-execution-mode": "local" });
    const set = async (attributes: object) =>
      data(await of.owner.patch(`/workspaces/${follower.id}`, resource("workspaces", attributes)));
    expect(execution(await set({ "execution-mode": "remote" }))).toEqual(["remote", null]);
    expect(execution(await shown())).toEqual(["remote", null]);
    const overwrites = { "setting-overwrites": { "execution-mode": false, "agent-pool": false } };
    expect(execution(await set(overwrites))).toEqual(["local", null]);
  });

  it("a new workspace, and one that moves in, either way", async () => {
    await change({ "default-execution-mode": "local" });
    const born = await api.makeWorkspace(of.name, {}, inProject(project.id));
    expect(execution(born)).toEqual(["local", null]);
    const [one, two] = [await api.makeWorkspace(of.name), await api.makeWorkspace(of.name)];
    const moved = await of.owner.patch(`/workspaces/${one.id}`, resource("workspaces", {}, inProject(project.id)));
    expect(execution(data(moved))).toEqual(["local", null]);
    const before = await versionOf(of, `/workspaces/${two.id}`);
    const linkage = { data: [{ type: "workspaces", id: two.id }] };
    expect((await of.owner.post(`${path(project)}/relationships/workspaces`, linkage)).status).toBe(204);
    expect(execution(await shown(two))).toEqual(["local", null]);
    expect(await versionOf(of, `/workspaces/${two.id}`)).not.toBe(before);
  });

  it("raises the versions of workspaces that use the default, and no others", async () => {
    const own = await api.makeWorkspace(of.name, { "execution-mode": "remote" }, inProject(project.id));
    const outside = await api.makeWorkspace(of.name);
    const settled = await api.makeProject(of.name, { "default-execution-mode": "remote" });
    const inSettled = await api.makeWorkspace(of.name, {}, inProject(settled.id));
    const comparedPaths = {
      project: path(project),
      follower: `/workspaces/${follower.id}`,
      own: `/workspaces/${own.id}`,
      outside: `/workspaces/${outside.id}`,
      settled: path(settled),
      inSettled: `/workspaces/${inSettled.id}`,
    };
    const versions = async () =>
      Object.fromEntries(
        await Promise.all(Object.entries(comparedPaths).map(async ([name, at]) => [name, await versionOf(of, at)])),
      );
    const raisedBy = async (work: () => Promise<unknown>) => {
      const before = await versions();
      await work();
      const after = await versions();
      return Object.keys(comparedPaths).filter((name) => after[name] !== before[name]);
    };
    expect(await raisedBy(() => change({ "default-execution-mode": "local" }))).toEqual(["project", "follower"]);
    expect(await raisedBy(() => change({ description: "x" }))).toEqual(["project"]);
    const organization = () => setOrganization(of, { "default-execution-mode": "local" });
    expect(await raisedBy(organization)).toEqual(["outside"]);
    await change({ "setting-overwrites": followed });
    const back = () => setOrganization(of, { "default-execution-mode": "remote" });
    expect(await raisedBy(back)).toEqual(["project", "follower", "outside"]);
    const renaming = () => setOrganization(of, { name: unique("renamed"), "default-execution-mode": "local" });
    expect(await raisedBy(renaming)).toEqual(Object.keys(comparedPaths));
  });

  it("needs no additional statements", async () => {
    await change({ "default-execution-mode": "local" });
    const least = async (at: string) => {
      const counts: number[] = [];
      for (let round = 0; round < 3; round += 1) {
        await commitSomething(api.database);
        const before = api.database.statementCount();
        await of.owner.get(at);
        counts.push(api.database.statementCount() - before);
      }
      return Math.min(...counts);
    };
    expect(await least(`/workspaces/${follower.id}`)).toBeLessThanOrEqual(2);
    expect(await least(`/organizations/${of.name}/workspaces`)).toBeLessThanOrEqual(3);
    expect(await least(path(project))).toBeLessThanOrEqual(2);
    expect(await least(`/organizations/${of.name}/projects`)).toBeLessThanOrEqual(3);
  });
});
