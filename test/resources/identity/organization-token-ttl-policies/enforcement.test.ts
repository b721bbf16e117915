/** `max-ttl-enabled`: tokens are not made for longer, and do not work for longer, than the organization's policies allow. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  details,
  makeMember,
  makeOrganization,
  makeTeam,
  makeUser,
  type Org,
  pointers,
  resource,
} from "../../../support/builders.ts";

const api = useApi();
let org: Org;
let team: Json;
beforeEach(async () => {
  org = await makeOrganization(api);
  team = await makeTeam(api, org.name);
});

const day = 86_400_000;
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

/** Makes a token look as if it was made earlier. */
async function age(token: Json, ms: number): Promise<void> {
  await api.database.write((tx) =>
    tx.db
      .updateTable("tokens")
      .set({ createdAt: new Date(Date.now() - ms).toISOString() })
      .where("id", "=", token.id)
      .execute(),
  );
}
/** What the owner signs in with, made to look older. */
async function ageOwner(ms: number): Promise<void> {
  const [token] = data(await org.owner.get(`/users/${org.owner.id}/authentication-tokens`));
  await age(token, ms);
}

describe.each(kinds)("a token for: %s", (kind) => {
  it("is made as ever while the policies are not in force", async () => {
    await bound(typeOf(kind), day);
    expect(data(await make(kind, { "expired-at": null })).attributes["expired-at"]).toBeNull();
  });

  it("201: expires as late as may be where no time is sent", async () => {
    await bound(typeOf(kind), 30 * day);
    await enable(true);
    const { attributes } = data(await make(kind));
    const lifetime = Date.parse(attributes["expired-at"]) - Date.parse(attributes["created-at"]);
    expect(lifetime).toBe(30 * day);
  });

  it("201: after two years where the policy would let it work longer", async () => {
    await bound(typeOf(kind), 3650 * day);
    await enable(true);
    const { attributes } = data(await make(kind));
    const twoYears = new Date(attributes["created-at"]);
    twoYears.setUTCFullYear(twoYears.getUTCFullYear() + 2);
    expect(attributes["expired-at"]).toBe(twoYears.toISOString());
  });

  it("201: at an earlier time that is sent; 422: at a later one, or never", async () => {
    await bound(typeOf(kind), 30 * day);
    await enable(true);
    const earlier = inDays(29);
    expect(data(await make(kind, { "expired-at": earlier })).attributes["expired-at"]).toBe(earlier);
    for (const later of [inDays(31), null]) {
      const answer = await make(kind, { "expired-at": later });
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual(["/data/attributes/expired-at"]);
      expect(details(answer)[0]).toMatch(/^Expired at must be \S+Z or earlier: .*max-ttl-enabled/);
    }
  });

  it("401: stops working when it is older than the policy allows, and works again when that allows more", async () => {
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

  it("goes by its own type and its own organization alone", async () => {
    const other = await makeOrganization(api);
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
  it("422: stays where the new one is refused", async () => {
    await bound("organization", day);
    await enable(true);
    const token = data(await make("organization"));
    expect((await make("organization", { "expired-at": null })).status).toBe(422);
    expect((await api.as(token.attributes.token).get("/account/details")).status).toBe(200);
  });
});

describe("users' tokens", () => {
  it("401: one that is older than the policy allows, on everything of the organization; others go on", async () => {
    const member = await makeMember(api, org.name, [team.id]);
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
    expect((await (await makeUser(api)).get(`/organizations/${org.name}`)).status).toBe(404);
  });

  it("200: a new one of the same person", async () => {
    await bound("user", day);
    await enable(true);
    await ageOwner(2 * day);
    expect((await org.owner.get(`/organizations/${org.name}`)).status).toBe(401);
    const fresh = data(await org.owner.post(`/users/${org.owner.id}/authentication-tokens`));
    expect((await api.as(fresh.attributes.token).get(`/organizations/${org.name}`)).status).toBe(200);
  });

  it("401: a site admin's too", async () => {
    const admin = await makeUser(api, { "is-site-admin": true });
    const [token] = data(await admin.get(`/users/${admin.id}/authentication-tokens`));
    await age(token, 10 * day);
    await bound("user", 9 * day);
    expect((await admin.get(`/organizations/${org.name}`)).status).toBe(200);
    await enable(true);
    expect((await admin.get(`/organizations/${org.name}`)).status).toBe(401);
    expect((await admin.get(`/admin/organizations/${org.name}`)).status).toBe(200);
  });

  it("leaves the organization out of lists of theirs, and shows them nobody who is in it", async () => {
    const member = await makeMember(api, org.name);
    await bound("user", 9 * day);
    await enable(true);
    const names = async () => data(await org.owner.get("/organizations")).map(({ id }: Json) => id);
    expect(await names()).toEqual([org.name]);
    await ageOwner(10 * day);
    expect(await names()).toEqual([]);
    expect(data(await org.owner.get("/organization-memberships"))).toEqual([]);
    expect((await org.owner.get(`/users/${member.id}`)).status).toBe(404);
  });

  it("are made as ever: they belong to no organization", async () => {
    await bound("user", day);
    await enable(true);
    const path = `/users/${org.owner.id}/authentication-tokens`;
    const made = await org.owner.post(path, resource("authentication-tokens", { "expired-at": null }));
    expect(data(made).attributes["expired-at"]).toBeNull();
  });
});
