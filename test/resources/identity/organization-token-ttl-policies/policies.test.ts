/** /organizations/:organization_name/token-ttl-policies: who reads and who changes how long tokens may work. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  details,
  makeHolder,
  makeMember,
  makeOrganization,
  makeOrganizationToken,
  makeTeam,
  makeTeamToken,
  makeUser,
  type Org,
  pointers,
} from "../../../support/builders.ts";

const api = useApi();
let org: Org;
beforeEach(async () => {
  org = await makeOrganization(api);
});

const type = "organization-token-ttl-policies";
const day = 86_400_000;
const twoYears = 63_113_904_000;
const path = (name = org.name) => `/organizations/${name}/token-ttl-policies`;
const body = (policies: unknown) => ({ data: { type, attributes: { "token-ttl-policies": policies } } });
const set = (policies: Record<string, unknown>, caller: Caller = org.owner) =>
  caller.patch(path(), body(Object.entries(policies).map(([name, ms]) => ({ "token-type": name, "max-ttl-ms": ms }))));
const values = (answer: Answer) =>
  Object.fromEntries(data(answer).map(({ attributes }: Json) => [attributes["token-type"], attributes["max-ttl-ms"]]));
const initially = { organization: twoYears, team: twoYears, user: twoYears, audit_trails: twoYears };

describe("listTokenTtlPolicies", () => {
  it("200: two years for each type, from the beginning on", async () => {
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

  it("200: to owners, site admins, the owners team's token and the organization's; 403: to other members", async () => {
    const owning = [
      org.owner,
      api.admin,
      await makeTeamToken(api, org.ownersTeamId),
      await makeOrganizationToken(api, org.name),
    ];
    for (const caller of owning) expect(values(await caller.get(path()))).toEqual(initially);
    const team = await makeTeam(api, org.name);
    for (const caller of [await makeMember(api, org.name), await makeTeamToken(api, team.id)])
      expect((await caller.get(path())).status).toBe(403);
  });

  it("404: strangers, and no such organization", async () => {
    expect((await (await makeUser(api)).get(path())).status).toBe(404);
    expect((await api.admin.get(path("unknown"))).status).toBe(404);
  });
});

describe("updateTokenTtlPolicies", () => {
  it("200: changes those that are sent, keeps the others, and answers all", async () => {
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

  it("200: the same again changes nothing, and leaves no trace", async () => {
    await set({ team: day });
    const before = data(await org.owner.get(path()));
    expect(data(await set({ team: day, user: twoYears }))).toEqual(before);
    const trail = data(await org.owner.get(`/organizations/${org.name}/audit-events?filter[action]=${type}.update`));
    expect(trail).toHaveLength(1);
    expect(trail[0].attributes).toMatchObject({
      before: { "token-type": "team", "max-ttl-ms": twoYears },
      after: { "token-type": "team", "max-ttl-ms": day },
    });
  });

  it("200: owners, site admins, the owners team's token and the organization's", async () => {
    const callers = [
      org.owner,
      api.admin,
      await makeTeamToken(api, org.ownersTeamId),
      await makeOrganizationToken(api, org.name),
    ];
    for (const caller of callers) expect((await set({ team: day }, caller)).status).toBe(200);
  });

  it("403: members, whatever they manage; 404: strangers", async () => {
    const holder = await makeHolder(api, org.name, "manage-teams", "manage-organization-access", "manage-membership");
    for (const caller of [await makeMember(api, org.name), holder, await makeTeamToken(api, holder.teamId)])
      expect((await set({ team: day }, caller)).status).toBe(403);
    expect((await set({ team: day }, await makeUser(api))).status).toBe(404);
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

  it("422: an unknown type, a type twice, no policy at all, another shape", async () => {
    expect(pointers(await set({ "audit-trails": day }))).toEqual(["/data/attributes/token-ttl-policies/0/token-type"]);
    const twice = [day, 2 * day].map((ms) => ({ "token-type": "team", "max-ttl-ms": ms }));
    const repeated = await org.owner.patch(path(), body(twice));
    expect(pointers(repeated)).toEqual(["/data/attributes/token-ttl-policies/1/token-type"]);
    expect(details(repeated)).toEqual(["Token type 'team' is given twice"]);
    for (const wrong of [body([]), body({}), body(undefined), { data: { type: "policies", attributes: {} } }, {}])
      expect((await org.owner.patch(path(), wrong)).status).toBe(422);
    expect(values(await org.owner.get(path()))).toEqual(initially);
  });
});
