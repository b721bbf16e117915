/** The tokens of agents and of runs: whom they stand for, where they are nobody, and when they die. */
import { beforeAll, describe, expect, it } from "vitest";
import { startApiOn, useApi } from "../support/api.ts";
import { data, makeOrganization, makeWorkspace, type Org, resource } from "../support/builders.ts";
import { makePool, makeRunCaller, type Pool } from "../support/machines.ts";
import { makeTenant, pathOf, routes, type Tenant } from "../support/tenant.ts";

const api = useApi();
let org: Org;
let pool: Pool;

beforeAll(async () => {
  org = await makeOrganization(api);
  pool = await makePool(api, org);
});

describe("an agent's token", () => {
  let tenant: Tenant;
  let own: Pool;
  beforeAll(async () => {
    tenant = await makeTenant(api);
    own = await makePool(api, tenant);
  });

  // What is open to everybody looks at no token.
  const ordinary = routes.filter(
    ({ operation }) => operation.callers !== "agents" && !operation.signed && !operation.open,
  );
  it.each(ordinary)("is nobody to $id", async ({ operation }) => {
    const answer = await own.agent.send(operation.method, pathOf(operation, tenant.params), operation.example);
    // A query that can't be understood is told before anything is looked for.
    expect([404, 400]).toContain(answer.status);
  });

  it("is told from one that was never made", async () => {
    expect((await pool.agent.get("/account/details")).status).toBe(404);
    expect((await api.as("cadastre-nobodys").get("/account/details")).status).toBe(401);
  });

  it("dies when it is revoked", async () => {
    const { agent, tokenId } = await makePool(api, org);
    expect((await agent.get("/account/details")).status).toBe(404);
    expect((await org.owner.delete(`/authentication-tokens/${tokenId}`)).status).toBe(204);
    expect((await agent.get("/account/details")).status).toBe(401);
  });

  it("notes when it was last used, in batches", async () => {
    const { agent, tokenId } = await makePool(api, org);
    const { database, address } = api;
    const other = await startApiOn({ database, address, drop: async () => {} } as never);
    await other.as(agent.token).get("/account/details");
    await other.stop();
    const shown = data(await org.owner.get(`/authentication-tokens/${tokenId}`));
    expect(shown.attributes["last-used-at"]).toMatch(/Z$/);
  });
});

describe("a run's token", () => {
  it("stands for the run while its phase is executed, and for nobody after", async () => {
    const workspace = await makeWorkspace(api, org.name);
    const run = await makeRunCaller(api, { id: workspace.id, organizationId: org.id });
    expect((await run.get(`/workspaces/${workspace.id}`)).status).toBe(200);
    await api.database.write((tx) =>
      tx.db.updateTable("runPhases").set({ status: "finished" }).where("id", "=", run.phaseId).execute(),
    );
    expect((await run.get(`/workspaces/${workspace.id}`)).status).toBe(401);
  });

  it("dies when another attempt begins", async () => {
    const workspace = await makeWorkspace(api, org.name);
    const run = await makeRunCaller(api, { id: workspace.id, organizationId: org.id });
    expect((await run.get(`/workspaces/${workspace.id}`)).status).toBe(200);
    await api.database.write((tx) =>
      tx.db.updateTable("runPhases").set({ tokenHash: "another" }).where("id", "=", run.phaseId).execute(),
    );
    expect((await run.get(`/workspaces/${workspace.id}`)).status).toBe(401);
  });

  it("is nobody in an organization that was disabled", async () => {
    const closed = await makeOrganization(api);
    const workspace = await makeWorkspace(api, closed.name);
    const run = await makeRunCaller(api, { id: workspace.id, organizationId: closed.id });
    const disable = resource("organizations", { "is-disabled": true });
    data(await api.admin.patch(`/admin/organizations/${closed.name}`, disable));
    expect((await run.get(`/workspaces/${workspace.id}`)).status).toBe(404);
    expect((await run.get(`/organizations/${closed.name}/entitlement-set`)).status).toBe(404);
  });
});
