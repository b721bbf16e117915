/** The tokens of agents and runs: where they are accepted, and when they end. */
import { beforeAll, describe, expect, it } from "vitest";
import { startApiOn, useApi } from "../support/api.ts";
import { data, makeOrganization, makeWorkspace, type Org, resource } from "../support/builders.ts";
import { makePool, makeRunCaller, type Pool } from "../support/agent-callers.ts";
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

  // Public operations ignore tokens.
  const ordinary = routes.filter(
    ({ operation }) => operation.callers !== "agents" && !operation.isSigned && !operation.isPublic,
  );
  it.each(ordinary)("gets 404 from $id", async ({ operation }) => {
    const answer = await own.agent.send(operation.method, pathOf(operation, tenant.params), operation.example);
    // An invalid query is reported before the caller is checked.
    expect([404, 400]).toContain(answer.status);
  });

  it("differs from an unknown token, which gets 401", async () => {
    expect((await pool.agent.get("/account/details")).status).toBe(404);
    expect((await api.as("cadastre-nobodys").get("/account/details")).status).toBe(401);
  });

  it("stops working when it is revoked", async () => {
    const { agent, tokenId } = await makePool(api, org);
    expect((await agent.get("/account/details")).status).toBe(404);
    expect((await org.owner.delete(`/authentication-tokens/${tokenId}`)).status).toBe(204);
    expect((await agent.get("/account/details")).status).toBe(401);
  });

  it("records when it was last used, in batches", async () => {
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
  it("works while a phase of the run is executed, and not afterwards", async () => {
    const workspace = await makeWorkspace(api, org.name);
    const run = await makeRunCaller(api, { id: workspace.id, organizationId: org.id });
    expect((await run.get(`/workspaces/${workspace.id}`)).status).toBe(200);
    await api.database.write((tx) =>
      tx.db.updateTable("runPhases").set({ status: "finished" }).where("id", "=", run.phaseId).execute(),
    );
    expect((await run.get(`/workspaces/${workspace.id}`)).status).toBe(401);
  });

  it("stops working when another attempt starts", async () => {
    const workspace = await makeWorkspace(api, org.name);
    const run = await makeRunCaller(api, { id: workspace.id, organizationId: org.id });
    expect((await run.get(`/workspaces/${workspace.id}`)).status).toBe(200);
    await api.database.write((tx) =>
      tx.db.updateTable("runPhases").set({ tokenHash: "another" }).where("id", "=", run.phaseId).execute(),
    );
    expect((await run.get(`/workspaces/${workspace.id}`)).status).toBe(401);
  });

  it("is refused in a disabled organization", async () => {
    const closed = await makeOrganization(api);
    const workspace = await makeWorkspace(api, closed.name);
    const run = await makeRunCaller(api, { id: workspace.id, organizationId: closed.id });
    const disable = resource("organizations", { "is-disabled": true });
    data(await api.admin.patch(`/admin/organizations/${closed.name}`, disable));
    expect((await run.get(`/workspaces/${workspace.id}`)).status).toBe(404);
    expect((await run.get(`/organizations/${closed.name}/entitlement-set`)).status).toBe(404);
  });
});
