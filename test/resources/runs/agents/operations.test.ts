/** The entitlement `operations`: true once an agent could have executed runs for the organization, and ever after. */
import { describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, makeOrganization, type Org } from "../../../support/builders.ts";
import { makeAgent, makePool, makeSitePool } from "../../../support/agent-callers.ts";

const api = useApi();
const operations = async ({ name, owner }: Org): Promise<boolean> =>
  data(await owner.get(`/organizations/${name}/entitlement-set`)).attributes.operations;

describe("the entitlement `operations`", () => {
  it("becomes true for an organization with its first agent, for no other, and stays true without agents", async () => {
    const [org, other] = [await makeOrganization(api), await makeOrganization(api)];
    const pool = await makePool(api, org);
    expect(await operations(org)).toBe(false);
    const agent = await makeAgent(api, pool);
    expect(await operations(org)).toBe(true);
    expect(await operations(other)).toBe(false);
    await pool.agent.post(`/agents/${agent.id}/actions/ping`, { status: "exited" });
    await org.owner.delete(`/agents/${agent.id}`);
    expect((await org.owner.delete(`/agent-pools/${pool.id}`)).status).toBe(204);
    expect(await operations(org)).toBe(true);
  });

  it("becomes true for all organizations, also future ones, with the site's first agent, and stays true", async () => {
    const org = await makeOrganization(api);
    expect(await operations(org)).toBe(false);
    const pool = await makeSitePool(api);
    expect(await operations(org)).toBe(false);
    await makeAgent(api, pool);
    expect(await operations(org)).toBe(true);
    expect(await operations(await makeOrganization(api))).toBe(true);
    expect((await api.admin.delete(`/admin/agent-pools/${pool.id}`)).status).toBe(204);
    expect(await operations(await makeOrganization(api))).toBe(true);
  });
});
