/** GET /organizations/:organization_name/entitlement-set: the features that clients check before they use them. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, useApi } from "../../../support/api.ts";
import { data, details, type Org, resource, unique } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await api.makeOrganization();
});
const path = () => `/organizations/${org.name}/entitlement-set`;

describe("showEntitlementSet", () => {
  it("answers 200 with the whole document", async () => {
    const answer = await org.owner.get(path());
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      data: {
        id: org.id,
        type: "entitlement-sets",
        attributes: {
          agents: true,
          "audit-logging": true,
          "cost-estimation": false,
          "global-run-tasks": false,
          operations: false,
          "private-module-registry": false,
          "private-run-tasks": false,
          "run-tasks": false,
          sso: true,
          sentinel: false,
          "state-storage": true,
          teams: true,
          "vcs-integrations": true,
        },
        links: { self: `/api/v2${path()}` },
      },
    });
  });

  it("is linked from the organization's relationship", async () => {
    const relationship = data(await org.owner.get(`/organizations/${org.name}`)).relationships["entitlement-set"];
    const set = data(await org.owner.get(relationship.links.related));
    expect(relationship.data).toEqual({ id: set.id, type: set.type });
  });

  it("keeps its id when the organization is renamed", async () => {
    const own = await api.makeOrganization();
    const name = unique("renamed");
    data(await own.owner.patch(`/organizations/${own.name}`, resource("organizations", { name })));
    const set = data(await own.owner.get(`/organizations/${name}/entitlement-set`));
    expect(set.id).toBe(own.id);
    expect(set.links.self).toBe(`/api/v2/organizations/${name}/entitlement-set`);
  });

  it.each<[string, () => Promise<Caller>, number]>([
    ["an owner", async () => org.owner, 200],
    ["a site admin", async () => api.admin, 200],
    ["a plain member", () => api.makeMember(org.name), 200],
    ["a team's token", async () => api.makeTeamToken((await api.makeTeam(org.name)).id), 200],
    ["the organization's token", () => api.makeOrganizationToken(org.name), 200],
    ["a stranger", () => api.makeUser(), 404],
    ["another organization's token", async () => api.makeOrganizationToken((await api.makeOrganization()).name), 404],
    ["no token", async () => api.nobody, 401],
  ])("for %s", async (_, make, status) => {
    expect((await (await make()).get(path())).status).toBe(status);
  });

  it("is 404 for an unknown organization, and read-only", async () => {
    expect((await org.owner.get(`/organizations/${unique("none")}/entitlement-set`)).status).toBe(404);
    expect((await org.owner.patch(path(), resource("entitlement-sets", { sentinel: true }))).status).toBe(404);
    expect((await org.owner.delete(path())).status).toBe(404);
  });

  it("refuses an unknown include", async () => {
    const answer = await org.owner.get(`${path()}?include=moon`);
    expect(answer.status).toBe(400);
    expect(details(answer)[0]).toContain("include parameter");
  });
});
