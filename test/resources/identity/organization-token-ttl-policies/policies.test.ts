/**
 * /organizations/:organization_name/token-ttl-policies: who can read and change the maximum lifetimes of tokens.
 * `max-ttl-enabled`: tokens are not issued for longer, and do not work for longer, than the organization's policies
 * allow.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
const day = 86_400_000;

describe("policies", () => {
  beforeEach(async () => {
    org = await api.makeOrganization();
  });

  const type = "organization-token-ttl-policies";
  const twoYears = 63_113_904_000;
  const path = (name = org.name) => `/organizations/${name}/token-ttl-policies`;
  const body = (policies: unknown) => ({ data: { type, attributes: { "token-ttl-policies": policies } } });
  const set = (policies: Record<string, unknown>, caller: Caller = org.owner) =>
    caller.patch(
      path(),
      body(Object.entries(policies).map(([name, ms]) => ({ "token-type": name, "max-ttl-ms": ms }))),
    );
  const values = (answer: Answer) =>
    Object.fromEntries(
      data(answer).map(({ attributes }: Json) => [attributes["token-type"], attributes["max-ttl-ms"]]),
    );
  const initially = { organization: twoYears, team: twoYears, user: twoYears, audit_trails: twoYears };

  describe("listTokenTtlPolicies", () => {
    it("200: two years for each type by default", async () => {
      const answer = await org.owner.get(path());
      expect(values(answer)).toEqual(initially);
      expect(answer.body.meta.pagination["total-count"]).toBe(4);
      for (const policy of answer.body.data) {
        expect(policy).toEqual({
          id: expect.stringMatching(/^ttl-/),
          type,
          attributes: {
            "token-type": expect.any(String),
            "max-ttl-ms": twoYears,
            "created-at": expect.stringMatching(/Z$/),
            "updated-at": policy.attributes["created-at"],
          },
        });
      }
      expect(new Set(answer.body.data.map(({ id }: Json) => id)).size).toBe(4);
      expect(data(await org.owner.get(`${path()}?page[size]=3&page[number]=2`))).toHaveLength(1);
    });

    it("200: for owners, site admins, the owners team's token and the organization's; 403: for other members", async () => {
      const owning = [
        org.owner,
        api.admin,
        await api.makeTeamToken(org.ownersTeamId),
        await api.makeOrganizationToken(org.name),
      ];
      for (const caller of owning) expect(values(await caller.get(path()))).toEqual(initially);
      const team = await api.makeTeam(org.name);
      for (const caller of [await api.makeMember(org.name), await api.makeTeamToken(team.id)])
        expect((await caller.get(path())).status).toBe(403);
    });
  });

  describe("updateTokenTtlPolicies", () => {
    it("200: changes the given policies and returns all of them", async () => {
      const before = data(await org.owner.get(path()));
      const answer = await set({ organization: day, team: 7 * day });
      expect(answer.status).toBe(200);
      expect(values(answer)).toEqual({ ...initially, organization: day, team: 7 * day });
      const after = data(await org.owner.get(path()));
      expect(answer.body.data).toEqual(after);
      expect(after.map(({ id }: Json) => id)).toEqual(before.map(({ id }: Json) => id));
      expect(values(await set({ user: 365 * day, audit_trails: day }))).toEqual({
        organization: day,
        team: 7 * day,
        user: 365 * day,
        audit_trails: day,
      });
    });

    it("200: an update without changes writes nothing and records no event", async () => {
      await set({ team: day });
      const before = data(await org.owner.get(path()));
      expect(data(await set({ team: day, user: twoYears }))).toEqual(before);
      const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?filter[action]=${type}.update`));
      expect(events).toHaveLength(1);
      expect(events[0].attributes).toMatchObject({
        before: { "token-type": "team", "max-ttl-ms": twoYears },
        after: { "token-type": "team", "max-ttl-ms": day },
      });
    });

    it("200: owners, site admins, the owners team's token and the organization's", async () => {
      const callers = [
        org.owner,
        api.admin,
        await api.makeTeamToken(org.ownersTeamId),
        await api.makeOrganizationToken(org.name),
      ];
      for (const caller of callers) expect((await set({ team: day }, caller)).status).toBe(200);
    });

    it("403: members, whatever they manage; 404: strangers", async () => {
      const holder = await api.makeHolder(org.name, "manage-teams", "manage-organization-access", "manage-membership");
      for (const caller of [await api.makeMember(org.name), holder, await api.makeTeamToken(holder.teamId)])
        expect((await set({ team: day }, caller)).status).toBe(403);
      expect((await set({ team: day }, await api.makeUser())).status).toBe(404);
      expect(values(await org.owner.get(path()))).toEqual(initially);
    });

    it.each([59_999, 0, -1, 1.5, "1d", null, 3_155_695_200_001])("422: a lifetime of %j", async (ms) => {
      const answer = await set({ team: ms });
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual(["/data/attributes/token-ttl-policies/0/max-ttl-ms"]);
    });

    it.each([60_000, 3_155_695_200_000])("200: a lifetime of %j", async (ms) => {
      expect(values(await set({ audit_trails: ms }))["audit_trails"]).toBe(ms);
    });

    it("422: an unknown type, a duplicate type, an empty list, an invalid shape", async () => {
      expect(pointers(await set({ "audit-trails": day }))).toEqual([
        "/data/attributes/token-ttl-policies/0/token-type",
      ]);
      const twice = [day, 2 * day].map((ms) => ({ "token-type": "team", "max-ttl-ms": ms }));
      const repeated = await org.owner.patch(path(), body(twice));
      expect(pointers(repeated)).toEqual(["/data/attributes/token-ttl-policies/1/token-type"]);
      expect(details(repeated)).toEqual(["Token type 'team' is listed more than once"]);
      for (const wrong of [body([]), body({}), body(undefined), { data: { type: "policies", attributes: {} } }, {}])
        expect((await org.owner.patch(path(), wrong)).status).toBe(422);
      expect(values(await org.owner.get(path()))).toEqual(initially);
    });
  });
});

describe("enforcement", () => {
  let team: Json;
  beforeEach(async () => {
    org = await api.makeOrganization();
    team = await api.makeTeam(org.name);
  });
  const enable = (isOn: boolean, caller: Caller = org.owner) =>
    caller.patch(`/organizations/${org.name}`, resource("organizations", { "max-ttl-enabled": isOn }));
  async function bound(type: string, ms: number, caller: Caller = org.owner): Promise<void> {
    const policies = [{ "token-type": type, "max-ttl-ms": ms }];
    const body = resource("organization-token-ttl-policies", { "token-ttl-policies": policies });
    data(await caller.patch(`/organizations/${org.name}/token-ttl-policies`, body));
  }

  const paths: Record<string, () => string> = {
    organization: () => `/organizations/${org.name}/authentication-token`,
    audit_trails: () => `/organizations/${org.name}/authentication-token?token=audit-trails`,
    team: () => `/teams/${team.id}/authentication-tokens`,
    "team, single": () => `/teams/${team.id}/authentication-token`,
  };
  const kinds = Object.keys(paths);
  const typeOf = (kind: string) => kind.replace(", single", "");
  const make = (kind: string, attributes: object = {}) =>
    org.owner.post(paths[kind]?.() ?? "", resource("authentication-tokens", attributes));
  const inDays = (days: number) => new Date(Date.now() + days * day).toISOString();

  /** Backdates the creation of a token. */
  async function age(token: Json, ms: number): Promise<void> {
    await api.database.write((tx) =>
      tx.db
        .updateTable("tokens")
        .set({ createdAt: new Date(Date.now() - ms).toISOString() })
        .where("id", "=", token.id)
        .execute(),
    );
  }
  /** Backdates the owner's token. */
  async function ageOwner(ms: number): Promise<void> {
    const [token] = data(await org.owner.get(`/users/${org.owner.id}/authentication-tokens`));
    await age(token, ms);
  }

  describe.each(kinds)("a token for: %s", (kind) => {
    it("is not limited while the policies are disabled", async () => {
      await bound(typeOf(kind), day);
      expect(data(await make(kind, { "expired-at": null })).attributes["expired-at"]).toBeNull();
    });

    it("201: gets the maximum lifetime by default", async () => {
      await bound(typeOf(kind), 30 * day);
      await enable(true);
      const { attributes } = data(await make(kind));
      const lifetime = Date.parse(attributes["expired-at"]) - Date.parse(attributes["created-at"]);
      expect(lifetime).toBe(30 * day);
    });

    it("201: expires after two years if the policy allows longer", async () => {
      await bound(typeOf(kind), 3650 * day);
      await enable(true);
      const { attributes } = data(await make(kind));
      const twoYears = new Date(attributes["created-at"]);
      twoYears.setUTCFullYear(twoYears.getUTCFullYear() + 2);
      expect(attributes["expired-at"]).toBe(twoYears.toISOString());
    });

    it("201: accepts an earlier expiry; 422: a later one, or never", async () => {
      await bound(typeOf(kind), 30 * day);
      await enable(true);
      const earlier = inDays(29);
      expect(data(await make(kind, { "expired-at": earlier })).attributes["expired-at"]).toBe(earlier);
      for (const later of [inDays(31), null]) {
        const answer = await make(kind, { "expired-at": later });
        expect(answer.status).toBe(422);
        expect(pointers(answer)).toEqual(["/data/attributes/expired-at"]);
        expect(details(answer)[0]).toMatch(/^Expired at must be \S+Z or earlier, .*max-ttl-enabled/);
      }
    });

    it("401: stops working when it is older than the policy allows, and works again after the policy is relaxed", async () => {
      const token = data(await make(kind, { "expired-at": null }));
      const caller = api.as(token.attributes.token);
      const works = async () => (await caller.get("/account/details")).status;
      await age(token, 10 * day);
      await bound(typeOf(kind), 9 * day);
      expect(await works()).toBe(200);
      await enable(true);
      expect(await works()).toBe(401);
      await bound(typeOf(kind), 11 * day);
      expect(await works()).toBe(200);
      await bound(typeOf(kind), day);
      await enable(false);
      expect(await works()).toBe(200);
    });

    it("is limited only by the policy of its own type and organization", async () => {
      const other = await api.makeOrganization();
      const token = data(await make(kind, { "expired-at": null }));
      await age(token, 10 * day);
      for (const type of ["organization", "team", "user", "audit_trails"])
        if (type !== typeOf(kind)) await bound(type, 30 * day);
      await enable(true);
      const body = resource("organization-token-ttl-policies", {
        "token-ttl-policies": [{ "token-type": typeOf(kind), "max-ttl-ms": day }],
      });
      data(await other.owner.patch(`/organizations/${other.name}/token-ttl-policies`, body));
      data(
        await other.owner.patch(`/organizations/${other.name}`, resource("organizations", { "max-ttl-enabled": true })),
      );
      expect((await api.as(token.attributes.token).get("/account/details")).status).toBe(200);
    });
  });

  describe("a replaced token", () => {
    it("422: still works if the new one is rejected", async () => {
      await bound("organization", day);
      await enable(true);
      const token = data(await make("organization"));
      expect((await make("organization", { "expired-at": null })).status).toBe(422);
      expect((await api.as(token.attributes.token).get("/account/details")).status).toBe(200);
    });
  });

  describe("users' tokens", () => {
    it("401: one that is older than the policy allows, on every resource of the organization; others still work", async () => {
      const member = await api.makeMember(org.name, [team.id]);
      await bound("user", 9 * day);
      await enable(true);
      await ageOwner(10 * day);
      for (const path of [`/organizations/${org.name}`, `/teams/${team.id}`, `/organizations/${org.name}/workspaces`]) {
        const answer = await org.owner.get(path);
        expect(answer.status, path).toBe(401);
        expect(details(answer)[0]).toContain("max-ttl-enabled");
        expect((await member.get(path)).status, path).toBe(200);
      }
      expect((await org.owner.get("/account/details")).status).toBe(200);
      expect((await (await api.makeUser()).get(`/organizations/${org.name}`)).status).toBe(404);
    });

    it("200: a new token of the same user", async () => {
      await bound("user", day);
      await enable(true);
      await ageOwner(2 * day);
      expect((await org.owner.get(`/organizations/${org.name}`)).status).toBe(401);
      const fresh = data(await org.owner.post(`/users/${org.owner.id}/authentication-tokens`));
      expect((await api.as(fresh.attributes.token).get(`/organizations/${org.name}`)).status).toBe(200);
    });

    it("401: also a site admin's token", async () => {
      const admin = await api.makeUser({ "is-site-admin": true });
      const [token] = data(await admin.get(`/users/${admin.id}/authentication-tokens`));
      await age(token, 10 * day);
      await bound("user", 9 * day);
      expect((await admin.get(`/organizations/${org.name}`)).status).toBe(200);
      await enable(true);
      expect((await admin.get(`/organizations/${org.name}`)).status).toBe(401);
      expect((await admin.get(`/admin/organizations/${org.name}`)).status).toBe(200);
    });

    it("lists don't show the organization, and its members are not visible", async () => {
      const member = await api.makeMember(org.name);
      await bound("user", 9 * day);
      await enable(true);
      const names = async () => data(await org.owner.get("/organizations")).map(({ id }: Json) => id);
      expect(await names()).toEqual([org.name]);
      await ageOwner(10 * day);
      expect(await names()).toEqual([]);
      expect(data(await org.owner.get("/organization-memberships"))).toEqual([]);
      expect((await org.owner.get(`/users/${member.id}`)).status).toBe(404);
    });

    it("are not limited when they are created, because they belong to no organization", async () => {
      await bound("user", day);
      await enable(true);
      const path = `/users/${org.owner.id}/authentication-tokens`;
      const created = await org.owner.post(path, resource("authentication-tokens", { "expired-at": null }));
      expect(data(created).attributes["expired-at"]).toBeNull();
    });
  });
});
