/** Where a workspace runs: execution-mode, operations, agent-pool-id and setting-overwrites, in all combinations. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeWorkspace, type Org, resource, unique } from "../../../support/builders.ts";
import { at, faults, makeAgentPool, pathById } from "./support.ts";

const api = useApi();
let org: Org;
let pool: string;
let otherPool: string;
let foreignPool: string;
beforeAll(async () => {
  org = await makeOrganization(api);
  pool = await makeAgentPool(api, org.name);
  otherPool = await makeAgentPool(api, org.name);
  foreignPool = await makeAgentPool(api, (await makeOrganization(api)).name);
});

const create = (attributes: object): Promise<Answer> =>
  org.owner.post(
    `/organizations/${org.name}/workspaces`,
    resource("workspaces", { name: unique("ws"), ...attributes }),
  );
const execution = ({ attributes, relationships }: Json) => ({
  mode: attributes["execution-mode"],
  operations: attributes.operations,
  overwrites: attributes["setting-overwrites"],
  pool: relationships["agent-pool"].data,
});
const own = { "execution-mode": true, "agent-pool": true };
const followed = { "execution-mode": false, "agent-pool": false };
const inForce = (mode: string, overwrites: object, poolId?: string) => ({
  mode,
  operations: mode !== "local",
  overwrites,
  pool: poolId === undefined ? null : { id: poolId, type: "agent-pools" },
});
const unknownPool = at("agent-pool-id", "Agent pool does not exist in this organization");

const together = at("operations", "Operations can't be sent together with execution-mode; send only execution-mode");
const needsPool = at("agent-pool-id", "Agent pool must be specified when using 'agent' execution mode");
const noPool = at("agent-pool-id", "Agent pool must not be specified unless using 'agent' execution mode");
const same = at(
  "setting-overwrites",
  "If agent-pool and execution-mode are both included in setting-overwrites, their values must be the same.",
);
const needsMode = at("execution-mode", "Execution mode must be sent when setting-overwrites.execution-mode is true");

describe("createWorkspace: execution", () => {
  it.each<[string, object, object]>([
    ["nothing", {}, inForce("remote", followed)],
    ["remote", { "execution-mode": "remote" }, inForce("remote", own)],
    ["local", { "execution-mode": "local" }, inForce("local", own)],
    ["operations true", { operations: true }, inForce("remote", own)],
    ["operations false", { operations: false }, inForce("local", own)],
    ["overwrites true with a mode", { "execution-mode": "local", "setting-overwrites": own }, inForce("local", own)],
    [
      "overwrites true of the mode alone",
      { "execution-mode": "local", "setting-overwrites": { "execution-mode": true } },
      inForce("local", own),
    ],
    ["overwrites false", { "setting-overwrites": followed }, inForce("remote", followed)],
    [
      "overwrites false of the mode alone",
      { "setting-overwrites": { "execution-mode": false } },
      inForce("remote", followed),
    ],
    ["no overwrites named", { "setting-overwrites": {} }, inForce("remote", followed)],
    ["a pool that is null", { "agent-pool-id": null }, inForce("remote", followed)],
    ["a pool that is blank, which is null", { "agent-pool-id": "" }, inForce("remote", followed)],
    ["remote with a pool that is blank", { "execution-mode": "remote", "agent-pool-id": "" }, inForce("remote", own)],
    ["remote with a pool that is null", { "execution-mode": "remote", "agent-pool-id": null }, inForce("remote", own)],
  ])("%s", async (_, attributes, expected) => {
    const answer = await create(attributes);
    expect(answer.status).toBe(201);
    expect(execution(answer.body.data)).toEqual(expected);
    expect(data(await org.owner.get(pathById(answer.body.data)))).toEqual(answer.body.data);
  });

  it("agent with a pool", async () => {
    const made = data(await create({ "execution-mode": "agent", "agent-pool-id": pool }));
    expect(execution(made)).toEqual(inForce("agent", own, pool));
  });

  it.each<[string, () => object, [string, string][]]>([
    ["a mode and operations", () => ({ "execution-mode": "remote", operations: true }), [together]],
    ["a mode and operations that differ", () => ({ "execution-mode": "local", operations: true }), [together]],
    ["agent without a pool", () => ({ "execution-mode": "agent" }), [needsPool]],
    ["agent with a pool that is null", () => ({ "execution-mode": "agent", "agent-pool-id": null }), [needsPool]],
    ["agent with a pool that is blank", () => ({ "execution-mode": "agent", "agent-pool-id": "" }), [needsPool]],
    ["a pool with remote", () => ({ "execution-mode": "remote", "agent-pool-id": pool }), [noPool]],
    ["a pool with local", () => ({ "execution-mode": "local", "agent-pool-id": pool }), [noPool]],
    ["a pool with operations true", () => ({ operations: true, "agent-pool-id": pool }), [noPool]],
    ["a pool with operations false", () => ({ operations: false, "agent-pool-id": pool }), [noPool]],
    ["a pool alone", () => ({ "agent-pool-id": pool }), [noPool]],
    ["overwrites true without a mode", () => ({ "setting-overwrites": { "execution-mode": true } }), [needsMode]],
    ["overwrites both true without a mode", () => ({ "setting-overwrites": own }), [needsMode]],
    [
      "overwrites that differ",
      () => ({
        "execution-mode": "agent",
        "agent-pool-id": pool,
        "setting-overwrites": { "execution-mode": true, "agent-pool": false },
      }),
      [same],
    ],
    [
      "overwrites that differ the other way",
      () => ({ "setting-overwrites": { "execution-mode": false, "agent-pool": true } }),
      [same],
    ],
    ["an unknown pool", () => ({ "execution-mode": "agent", "agent-pool-id": "apool-unknown" }), [unknownPool]],
    ["another organization's pool", () => ({ "execution-mode": "agent", "agent-pool-id": foreignPool }), [unknownPool]],
  ])("%s is refused", async (_, attributes, expected) => {
    const answer = await create(attributes());
    expect(answer.status).toBe(422);
    expect(faults(answer)).toEqual(expected);
  });

  it.each<[string, () => object]>([
    ["a mode", () => ({ "execution-mode": "local", "setting-overwrites": { "execution-mode": false } })],
    ["a mode, both followed", () => ({ "execution-mode": "local", "setting-overwrites": followed })],
    ["operations", () => ({ operations: false, "setting-overwrites": followed })],
    ["a pool", () => ({ "agent-pool-id": pool, "setting-overwrites": followed })],
    [
      "a pool, its own overwrite false",
      () => ({ "agent-pool-id": pool, "setting-overwrites": { "agent-pool": false } }),
    ],
    ["an unknown pool", () => ({ "agent-pool-id": "apool-unknown", "setting-overwrites": followed })],
    ["agent and a pool", () => ({ "execution-mode": "agent", "agent-pool-id": pool, "setting-overwrites": followed })],
    ["agent without a pool", () => ({ "execution-mode": "agent", "setting-overwrites": followed })],
    [
      "remote and a blank pool",
      () => ({ "execution-mode": "remote", "agent-pool-id": "", "setting-overwrites": followed }),
    ],
  ])("%s beside overwrites false is ignored: the default is followed", async (_, attributes) => {
    expect(execution(data(await create(attributes())))).toEqual(inForce("remote", followed));
    const settled = await makeWorkspace(api, org.name, { "execution-mode": "local" });
    const changed = await org.owner.patch(pathById(settled), resource("workspaces", attributes()));
    expect(execution(data(changed))).toMatchObject({ mode: "remote", overwrites: followed, pool: null });
  });

  it("a mode together with the pool's overwrite false is refused, not ignored", async () => {
    const answer = await create({ "execution-mode": "local", "setting-overwrites": { "agent-pool": false } });
    expect(answer.status).toBe(422);
    expect(faults(answer)).toEqual([
      at(
        "execution-mode",
        "Execution mode can't be sent when setting-overwrites.agent-pool is false, because then the default applies",
      ),
    ]);
  });

  it("several faults come together", async () => {
    const answer = await create({
      "execution-mode": "local",
      operations: true,
      "agent-pool-id": pool,
      "setting-overwrites": { "execution-mode": true, "agent-pool": false },
    });
    expect(faults(answer)).toEqual([together, same, noPool]);
  });
});

describe("updateWorkspace: execution", () => {
  let workspace: Json;
  const start = async (attributes: object) => {
    workspace = await makeWorkspace(api, org.name, attributes);
  };
  const update = (attributes: object) => org.owner.patch(pathById(workspace), resource("workspaces", attributes));
  const agent = () => ({ "execution-mode": "agent", "agent-pool-id": pool });

  it("absent keys keep everything", async () => {
    await start(agent());
    expect(execution(data(await update({ description: "x" })))).toEqual(execution(workspace));
  });

  it.each(["remote", "local"])("agent → %s removes the pool", async (mode) => {
    await start(agent());
    expect(execution(data(await update({ "execution-mode": mode })))).toMatchObject({ mode, pool: null });
    expect(faults(await update({ "execution-mode": "agent" }))).toEqual([needsPool]);
  });

  it("operations false removes the pool too", async () => {
    await start(agent());
    expect(execution(data(await update({ operations: false })))).toMatchObject({ mode: "local", pool: null });
  });

  it("agent again keeps the pool; another pool replaces it", async () => {
    await start(agent());
    expect(data(await update({ "execution-mode": "agent" })).relationships["agent-pool"].data.id).toBe(pool);
    expect(data(await update({ "agent-pool-id": otherPool })).relationships["agent-pool"].data.id).toBe(otherPool);
  });

  it("the pool of an agent workspace can't be removed", async () => {
    await start(agent());
    for (const none of [null, ""]) expect(faults(await update({ "agent-pool-id": none }))).toEqual([needsPool]);
    expect(data(await org.owner.get(pathById(workspace)))).toEqual(workspace);
  });

  it("remote → agent needs a pool, in the same request", async () => {
    await start({ "execution-mode": "remote" });
    expect(faults(await update({ "execution-mode": "agent" }))).toEqual([needsPool]);
    expect(faults(await update({ "agent-pool-id": pool }))).toEqual([noPool]);
    expect(execution(data(await update(agent())))).toMatchObject({ mode: "agent", overwrites: own });
  });

  it("another organization's pool is unknown", async () => {
    await start(agent());
    const answer = await update({ "agent-pool-id": foreignPool });
    expect(faults(answer)).toEqual([unknownPool]);
  });

  it("a mode becomes the workspace's own; overwrites false uses the default again", async () => {
    await start({});
    expect(execution(data(await update({ "execution-mode": "local" })))).toMatchObject({
      mode: "local",
      overwrites: own,
    });
    expect(execution(data(await update({ "setting-overwrites": followed })))).toEqual(inForce("remote", followed));
  });

  it.each<[string, object, [string, string][]]>([
    ["a mode and operations", { "execution-mode": "remote", operations: false }, [together]],
    ["overwrites true without a mode", { "setting-overwrites": own }, [needsMode]],
    ["overwrites that differ", { "setting-overwrites": { "execution-mode": false, "agent-pool": true } }, [same]],
  ])("%s is refused", async (_, attributes, expected) => {
    await start({});
    expect(faults(await update(attributes))).toEqual(expected);
    expect(data(await org.owner.get(pathById(workspace)))).toEqual(workspace);
  });
});

describe("the organization's default", () => {
  let organization: Org;
  let ownPool: string;
  beforeEach(async () => {
    organization = await makeOrganization(api);
    ownPool = await makeAgentPool(api, organization.name);
  });
  const setDefault = async (attributes: object, poolId?: string | null) =>
    data(
      await organization.owner.patch(
        `/organizations/${organization.name}`,
        resource(
          "organizations",
          attributes,
          poolId === undefined
            ? undefined
            : { "default-agent-pool": { data: poolId && { type: "agent-pools", id: poolId } } },
        ),
      ),
    );
  const shown = async (workspace: Json) => execution(data(await organization.owner.get(pathById(workspace))));

  it("applies in show and list, also when it changes later; a workspace's own mode stays", async () => {
    const follower = await makeWorkspace(api, organization.name);
    const settled = await makeWorkspace(api, organization.name, { "execution-mode": "remote" });
    await setDefault({ "default-execution-mode": "local" });
    expect(await shown(follower)).toEqual(inForce("local", followed));
    expect(await shown(settled)).toMatchObject({ mode: "remote", operations: true, overwrites: own });
    const listed = data(await organization.owner.get(`/organizations/${organization.name}/workspaces`));
    expect(Object.fromEntries(listed.map((item: Json) => [item.id, item.attributes["execution-mode"]]))).toEqual({
      [follower.id]: "local",
      [settled.id]: "remote",
    });
    const born = await makeWorkspace(api, organization.name);
    expect(execution(born)).toEqual(inForce("local", followed));
    await setDefault({ "default-execution-mode": "remote" });
    expect(await shown(born)).toMatchObject({ mode: "remote" });
  });

  it("applies with its agent pool, and stops applying with it", async () => {
    const follower = await makeWorkspace(api, organization.name);
    const local = await makeWorkspace(api, organization.name, { "execution-mode": "local" });
    await setDefault({ "default-execution-mode": "agent" }, ownPool);
    expect(await shown(follower)).toEqual(inForce("agent", followed, ownPool));
    expect(await shown(local)).toMatchObject({ mode: "local", pool: null });
    await setDefault({ "default-execution-mode": "remote" });
    expect(await shown(follower)).toMatchObject({ mode: "remote", pool: null });
  });

  it("changes the ETag of workspaces that use it", async () => {
    const follower = await makeWorkspace(api, organization.name);
    const etag = async () => (await organization.owner.get(pathById(follower))).headers.get("etag");
    const before = await etag();
    await setDefault({ "default-execution-mode": "local" });
    expect(await etag()).not.toBe(before);
  });
});
