/** `user-tokens-enabled`: an organization that rejects users' own tokens. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, resource, unique } from "../../../support/builders.ts";
import { makeTenant, pathOf, routes } from "../../../support/tenant.ts";

const api = useApi();
let org: Org;
let owners: Caller;
beforeEach(async () => {
  org = await api.makeOrganization();
  owners = await api.makeTeamToken(org.ownersTeamId);
});

const path = () => `/organizations/${org.name}`;
const body = (enabled: unknown) => resource("organizations", { "user-tokens-enabled": enabled });
const switchTo = async (enabled: boolean, caller = owners) => data(await caller.patch(path(), body(enabled)));

describe("user-tokens-enabled", () => {
  it("is true by default, without effect", async () => {
    expect(data(await org.owner.get(path())).attributes["user-tokens-enabled"]).toBe(true);
    expect((await org.owner.patch(path(), body(true))).status).toBe(200);
  });

  it("false: rejects users' tokens with 401, including site admins', and accepts others", async () => {
    const member = await api.makeMember(org.name);
    const organizationToken = await api.makeOrganizationToken(org.name);
    const teamToken = await api.makeTeamToken((await api.makeTeam(org.name)).id);
    expect((await switchTo(false)).attributes["user-tokens-enabled"]).toBe(false);
    for (const caller of [org.owner, member, api.admin]) {
      const answer = await caller.get(path());
      expect(answer.status).toBe(401);
      expect(answer.body.errors[0].title).toBe("unauthorized");
      expect(details(answer)[0]).toContain("user-tokens-enabled");
    }
    for (const caller of [owners, organizationToken, teamToken]) expect((await caller.get(path())).status).toBe(200);
    expect((await (await api.makeUser()).get(path())).status).toBe(404);
  });

  it("true again: accepts them again", async () => {
    await switchTo(false);
    expect((await switchTo(true)).attributes["user-tokens-enabled"]).toBe(true);
    expect((await org.owner.get(path())).status).toBe(200);
    expect((await api.admin.get(path())).status).toBe(200);
  });

  it("absent: stays; null and other types: 422", async () => {
    await switchTo(false);
    const renamed = data(await owners.patch(path(), resource("organizations", { email: "other@example.com" })));
    expect(renamed.attributes["user-tokens-enabled"]).toBe(false);
    for (const wrong of [null, "false", 0]) expect((await owners.patch(path(), body(wrong))).status).toBe(422);
  });

  it("403: callers can't lock out their own token, by an update or a creation", async () => {
    for (const caller of [org.owner, api.admin]) {
      const answer = await caller.patch(path(), body(false));
      expect(answer.status).toBe(403);
      expect(details(answer)[0]).toContain("the token you are using");
    }
    const attributes = { name: unique("org"), email: "org@example.com", "user-tokens-enabled": false };
    expect((await api.admin.post("/organizations", resource("organizations", attributes))).status).toBe(403);
    expect((await api.admin.get(`/organizations/${attributes.name}`)).status).toBe(404);
    expect(data(await org.owner.get(path())).attributes["user-tokens-enabled"]).toBe(true);
  });

  it("records an event", async () => {
    await switchTo(false);
    const [event] = data(await owners.get(`${path()}/audit-events?filter[action]=organizations.update`));
    expect(event.attributes).toMatchObject({
      before: { "user-tokens-enabled": true },
      after: { "user-tokens-enabled": false },
    });
  });
});

describe("an organization that refuses users' tokens", () => {
  it("is missing from lists", async () => {
    const other = await api.makeOrganization();
    await other.owner.get("/account/details");
    const email = other.owner.email;
    data(await api.admin.post(`${path()}/organization-memberships`, resource("organization-memberships", { email })));
    await switchTo(false);
    const names = async (caller: Caller): Promise<string[]> =>
      data(await caller.get("/organizations?page[size]=100")).map(({ id }: Json) => id);
    expect(await names(other.owner)).toEqual([other.name]);
    expect(await names(api.admin)).toEqual(expect.arrayContaining([other.name]));
    expect(await names(api.admin)).not.toContain(org.name);
    expect(await names(owners)).toEqual([org.name]);
    const mine = data(await other.owner.get("/organization-memberships"));
    expect(mine.map((one: Json) => one.relationships.organization.data.id)).toEqual([other.name]);
  });

  it("rejects them for all of its resources, also by id", async () => {
    const project = await api.makeProject(org.name);
    const workspace = await api.makeWorkspace(org.name);
    const team = await api.makeTeam(org.name);
    await switchTo(false);
    const paths = [
      `/projects/${project.id}`,
      `/workspaces/${workspace.id}`,
      `/teams/${team.id}`,
      `/organization-memberships/${(org.owner as unknown as { membershipId: string }).membershipId}`,
      `${path()}/workspaces`,
      `${path()}/workspaces/${workspace.attributes.name}`,
      `${path()}/teams`,
    ];
    for (const one of paths) {
      expect((await org.owner.get(one)).status, one).toBe(401);
      expect((await api.admin.get(one)).status, one).toBe(401);
      expect((await owners.get(one)).status, one).toBe(200);
    }
    const change = resource("projects", { name: unique("changed") });
    expect((await org.owner.patch(`/projects/${project.id}`, change)).status).toBe(401);
    expect((await api.admin.delete(path())).status).toBe(401);
  });

  it("gives users no access on any route, and is still not found for non-members", async () => {
    const tenant = await makeTenant(api);
    const stranger = await api.makeUser();
    const own = new Set(["showUser", "listUserTokens", "showTerraformVersion"]);
    const token = tenant.callers["owners team token"];
    data(await token.patch(`/organizations/${tenant.name}`, body(false)));
    for (const { id, operation } of routes) {
      if (operation.method !== "GET" || !operation.path.includes(":") || operation.isSigned || own.has(id)) continue;
      const at = pathOf(operation, tenant.params);
      const refused = await tenant.callers.owner.get(at);
      expect([id, refused.status]).toEqual([id, (await token.get(at)).status === 200 ? 401 : refused.status]);
      expect(refused.status, id).toBeGreaterThanOrEqual(400);
      expect((await stranger.get(at)).status, id).toBe(404);
    }
  });

  it("doesn't show its members to users without another shared organization", async () => {
    const tenant = await makeTenant(api);
    const other = await api.makeMember(tenant.name);
    expect((await tenant.member.get(`/users/${other.id}`)).status).toBe(200);
    data(await tenant.callers["owners team token"].patch(`/organizations/${tenant.name}`, body(false)));
    expect((await tenant.member.get(`/users/${other.id}`)).status).toBe(404);
    expect((await tenant.member.get(`/users/${tenant.member.id}`)).status).toBe(200);
    expect((await tenant.callers["team token"].get(`/users/${other.id}`)).status).toBe(200);
  });
});
