/** `is-disabled`: everybody but site admins gets 404 for the organization, on every route and with every token. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, makeMember, makeUser, resource } from "../../../support/builders.ts";
import { makeTenant, pathOf, routes, type Tenant, writes } from "../../../support/tenant.ts";

const api = useApi();
let tenant: Tenant;
let auditor: Caller;
beforeAll(async () => {
  tenant = await makeTenant(api);
  const path = `/organizations/${tenant.name}/authentication-token?token=audit-trails`;
  auditor = api.as(data(await tenant.owner.post(path)).attributes.token);
});

const disable = async (isDisabled: boolean) =>
  data(
    await api.admin.patch(
      `/admin/organizations/${tenant.name}`,
      resource("organizations", { "is-disabled": isDisabled }),
    ),
  );
const path = () => `/organizations/${tenant.name}`;

describe("an organization that is disabled", () => {
  it("404: on every route of its resources, for its owners, members and tokens", async () => {
    const own = new Set(["showUser", "listUserTokens", "createUserToken", "deleteSession"]);
    await disable(true);
    const named = routes.filter(
      ({ id, operation }) => operation.path.includes(":") && !operation.isSigned && !own.has(id),
    );
    const kinds = Object.entries(tenant.callers);
    for (const [position, { id, operation }] of named.entries()) {
      // Each route with one kind of caller, and each kind of caller on many routes.
      const [kind, caller] = kinds[position % kinds.length] as [string, Caller];
      const answer = await caller.send(operation.method, pathOf(operation, tenant.params), operation.example);
      expect([id, kind, answer.status]).toEqual([id, kind, 404]);
    }
    expect((await auditor.get(`${path()}/audit-events`)).status).toBe(404);
    expect((await (await makeUser(api)).get(path())).status).toBe(404);
    await disable(false);
  });

  it("404: on /organization/audit-trails, which names no organization; also for a cached response", async () => {
    const connector = "/organization/audit-trails";
    const ofOrganization = tenant.callers["organization token"];
    for (const caller of [auditor, ofOrganization]) expect((await caller.get(connector)).status).toBe(200);
    await disable(true);
    for (const caller of [auditor, ofOrganization]) {
      const answer = await caller.get(connector);
      expect(answer.status).toBe(404);
      expect(details(answer)[0]).toBe("The organization is disabled. Ask a site admin to enable it again.");
    }
    await disable(false);
    for (const caller of [auditor, ofOrganization]) expect((await caller.get(connector)).status).toBe(200);
  });

  it("doesn't appear in responses of routes without an id", async () => {
    await disable(true);
    // The caller's own account and sessions belong to no organization.
    const own = new Set(["showAccount", "listSessions"]);
    const unnamed = routes.filter(
      ({ id, operation }) => !operation.path.includes(":") && !writes(operation) && !own.has(id),
    );
    const secrets = [tenant.name, tenant.id, ...Object.values(tenant.params)].filter((text) => /-/.test(text));
    for (const { id, operation } of unnamed)
      for (const [kind, caller] of Object.entries({ ...tenant.callers, auditor })) {
        const responseText = JSON.stringify((await caller.get(operation.path)).body ?? {});
        expect([id, kind, secrets.filter((text) => responseText.includes(text))]).toEqual([id, kind, []]);
      }
    await disable(false);
  });

  it("is reported as disabled only to its members", async () => {
    await disable(true);
    for (const caller of Object.values(tenant.callers))
      expect(details(await caller.get(path()))[0]).toBe(
        "The organization is disabled. Ask a site admin to enable it again.",
      );
    const stranger = await makeUser(api);
    expect(details(await stranger.get(path()))).toEqual(details(await stranger.get("/organizations/unknown")));
    await disable(false);
  });

  it("is missing from lists", async () => {
    const other = await makeTenant(api);
    await api.admin.post(
      `${path()}/organization-memberships`,
      resource("organization-memberships", { email: other.owner.email }),
    );
    const stranger = await makeMember(api, tenant.name);
    await disable(true);
    const names = async (caller: Caller): Promise<string[]> =>
      data(await caller.get("/organizations?page[size]=100")).map(({ id }: Json) => id);
    expect(await names(other.owner)).toEqual([other.name]);
    for (const caller of Object.values(tenant.callers)) expect(await names(caller)).toEqual([]);
    expect(await names(api.admin)).toContain(tenant.name);
    const mine = data(await other.owner.get("/organization-memberships"));
    expect(mine.map((one: Json) => one.relationships.organization.data.id)).toEqual([other.name]);
    expect((await other.owner.get(`/users/${stranger.id}`)).status).toBe(404);
    await disable(false);
    expect((await other.owner.get(`/users/${stranger.id}`)).status).toBe(200);
  });

  it("200: for site admins, and for everybody after it is enabled again", async () => {
    await disable(true);
    const reads = routes.filter(({ operation }) => !writes(operation) && operation.path.includes(":organization_name"));
    for (const { id, operation } of reads.filter(({ id }) => !/DataRetention|AuditToken/.test(id)))
      expect([id, (await api.admin.get(pathOf(operation, tenant.params))).status]).toEqual([id, 200]);
    await disable(false);
    for (const caller of Object.values(tenant.callers)) expect((await caller.get(path())).status).toBe(200);
    expect((await auditor.get(`${path()}/audit-events`)).status).toBe(200);
  });
});
