/** The organization's second token, which reads the audit trail and nothing else. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Caller, useApi } from "../../../support/api.ts";
import {
  data,
  makeMember,
  makeOrganization,
  makeOrganizationToken,
  makeTeam,
  makeTeamToken,
  makeUser,
  type Org,
  pointers,
  resource,
} from "../../../support/builders.ts";
import { makeTenant, pathOf, routes } from "../../../support/tenant.ts";

const api = useApi();
let org: Org;
beforeEach(async () => {
  org = await makeOrganization(api);
});
const ordinary = (name = org.name) => `/organizations/${name}/authentication-token`;
const audit = (name = org.name) => `${ordinary(name)}?token=audit-trails`;
const make = async (name = org.name) => data(await api.admin.post(audit(name)));
const works = async (caller: Caller) => (await caller.get("/account/details")).status === 200;

describe("the token for the audit trail", () => {
  it("201: lives beside the ordinary one, and a new one replaces it alone", async () => {
    const organizationToken = await makeOrganizationToken(api, org.name);
    const first = await org.owner.post(audit(), resource("authentication-tokens", { description: "to the archive" }));
    expect(first.status).toBe(201);
    expect(data(first).attributes.description).toBe("to the archive");
    expect(data(first).relationships.organization.data).toEqual({ id: org.name, type: "organizations" });
    const second = data(await org.owner.post(audit()));
    expect(await works(api.as(data(first).attributes.token))).toBe(false);
    expect(await works(api.as(second.attributes.token))).toBe(true);
    expect(await works(organizationToken)).toBe(true);
    await makeOrganizationToken(api, org.name);
    expect(await works(organizationToken)).toBe(false);
    expect(await works(api.as(second.attributes.token))).toBe(true);
  });

  it("200: each is shown by its own address, without the secret", async () => {
    expect((await org.owner.get(audit())).status).toBe(404);
    const made = await make();
    expect((await org.owner.get(ordinary())).status).toBe(404);
    await makeOrganizationToken(api, org.name);
    const [one, other] = [data(await org.owner.get(ordinary())), data(await org.owner.get(audit()))];
    expect(other.id).toBe(made.id);
    expect(one.id).not.toBe(made.id);
    expect(other.attributes.token).toBeNull();
    expect(data(await org.owner.get(`/authentication-tokens/${made.id}`)).id).toBe(made.id);
  });

  it("204: revoked alone; then 404 until there is a new one", async () => {
    const made = api.as((await make()).attributes.token);
    const organizationToken = await makeOrganizationToken(api, org.name);
    expect((await org.owner.delete(audit())).status).toBe(204);
    expect([await works(made), await works(organizationToken)]).toEqual([false, true]);
    expect((await org.owner.get(audit())).status).toBe(404);
    expect((await org.owner.delete(audit())).status).toBe(404);
    expect((await org.owner.get(ordinary())).status).toBe(200);
  });

  it("400: a kind of token that there is not", async () => {
    for (const method of ["GET", "POST", "DELETE"]) {
      const answer = await org.owner.send(method, `${ordinary()}?token=everything`);
      expect(answer.status).toBe(400);
      expect(pointers(answer)).toEqual(["token"]);
    }
  });

  it("who may: owners and the ordinary token; 403 and 404 for the others, and for itself", async () => {
    const organizationToken = await makeOrganizationToken(api, org.name);
    for (const caller of [org.owner, api.admin, organizationToken])
      expect((await caller.post(audit())).status).toBe(201);
    const team = await makeTeamToken(api, (await makeTeam(api, org.name)).id);
    for (const caller of [await makeMember(api, org.name), team])
      expect([(await caller.post(audit())).status, (await caller.get(audit())).status]).toEqual([403, 404]);
    const itself = api.as((await make()).attributes.token);
    for (const caller of [await makeUser(api), (await makeOrganization(api)).owner, itself])
      for (const method of ["POST", "GET", "DELETE"]) expect((await caller.send(method, audit())).status).toBe(404);
    expect((await itself.post(ordinary())).status).toBe(404);
    expect(await works(organizationToken)).toBe(true);
  });
});

describe("by the token for the audit trail", () => {
  it("200: the trail of its organization; 404: another's", async () => {
    const token = api.as((await make()).attributes.token);
    const trail = await token.get(`/organizations/${org.name}/audit-events`);
    expect(trail.status).toBe(200);
    expect(trail.body).toEqual((await org.owner.get(`/organizations/${org.name}/audit-events`)).body);
    const other = await makeOrganization(api);
    expect((await token.get(`/organizations/${other.name}/audit-events`)).status).toBe(404);
  });

  it("who it is: a service account of the organization's", async () => {
    const token = api.as((await make()).attributes.token);
    expect(data(await token.get("/account/details"))).toMatchObject({
      id: org.id,
      attributes: { username: `api-audit-trails-${org.name}`, "is-service-account": true, "is-site-admin": false },
    });
  });

  it("nothing else, by any route", async () => {
    const tenant = await makeTenant(api);
    const token = api.as((await make(tenant.name)).attributes.token);
    // What anybody is told, also without a token, is told here too.
    const allowed = new Set(["listAuditEvents", "listAuditTrails", "showAccount", "showSignInOptions"]);
    for (const { id, operation } of routes) {
      if (operation.signed || allowed.has(id)) continue;
      const answer = await token.send(operation.method, pathOf(operation, tenant.params), operation.example);
      if (id === "listOrganizations") expect(answer.body.data).toEqual([]);
      else expect([id, answer.status >= 400 && answer.status < 500]).toEqual([id, true]);
    }
  });
});
