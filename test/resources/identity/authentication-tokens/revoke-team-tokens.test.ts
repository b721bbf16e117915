/** DELETE /organizations/:organization_name/team-tokens: every token of the organization's teams, at once. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  makeHolder,
  makeMember,
  makeOrganization,
  makeOrganizationToken,
  makeTeam,
  makeTeamToken,
  makeUser,
  type Org,
} from "../../../support/builders.ts";

const api = useApi();
let org: Org;
let plain: Caller;
let more: Caller;
let secret: Caller;
let owners: Caller;
let secretTeam: Json;
beforeEach(async () => {
  org = await makeOrganization(api);
  const team = await makeTeam(api, org.name);
  secretTeam = await makeTeam(api, org.name, { visibility: "secret" });
  plain = await makeTeamToken(api, team.id);
  more = api.as(data(await org.owner.post(`/teams/${team.id}/authentication-tokens`)).attributes.token);
  secret = await makeTeamToken(api, secretTeam.id);
  owners = await makeTeamToken(api, org.ownersTeamId);
});

const revoke = (caller: Caller, name = org.name) => caller.delete(`/organizations/${name}/team-tokens`);
const working = async () => {
  const statuses: boolean[] = [];
  for (const caller of [plain, more, secret, owners])
    statuses.push((await caller.get("/account/details")).status === 200);
  return statuses;
};

describe("deleteOrganizationTeamTokens", () => {
  it("204: an owner revokes all of them; other tokens go on, and so do other organizations' teams", async () => {
    const other = await makeOrganization(api);
    const others = [
      await makeTeamToken(api, other.ownersTeamId),
      await makeOrganizationToken(api, org.name),
      await makeMember(api, org.name),
    ];
    const answer = await revoke(org.owner);
    expect(answer.status).toBe(204);
    expect(answer.body).toBeUndefined();
    expect(await working()).toEqual([false, false, false, false]);
    for (const caller of others) expect((await caller.get("/account/details")).status).toBe(200);
    expect(data(await org.owner.get(`/organizations/${org.name}/team-tokens`))).toEqual([]);
    expect((await revoke(org.owner)).status).toBe(204);
  });

  it("204: leaves a trace for each", async () => {
    await revoke(org.owner);
    const query = "filter[action]=authentication-tokens.delete";
    const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?${query}`));
    expect(events).toHaveLength(4);
    const holders = events.map(({ attributes }: Json) => attributes.before.holder);
    expect(holders).toEqual(expect.arrayContaining([secretTeam.id, org.ownersTeamId]));
  });

  it("204: the organization's token leaves the owners team's alone", async () => {
    expect((await revoke(await makeOrganizationToken(api, org.name))).status).toBe(204);
    expect(await working()).toEqual([false, false, false, true]);
  });

  it("204: whoever manages teams revokes what the list shows: no owners', and no team's that may not be known", async () => {
    const holder = await makeHolder(api, org.name, "manage-teams");
    expect((await revoke(holder)).status).toBe(204);
    expect(await working()).toEqual([false, false, true, true]);
    const seeing = await makeHolder(api, org.name, "manage-teams", "access-secret-teams");
    expect((await revoke(seeing)).status).toBe(204);
    expect(await working()).toEqual([false, false, false, true]);
  });

  it("204: a team's own token that manages teams goes with the others", async () => {
    const holder = await makeHolder(api, org.name, "manage-teams");
    const token = await makeTeamToken(api, holder.teamId);
    expect((await revoke(token)).status).toBe(204);
    expect((await token.get("/account/details")).status).toBe(401);
  });

  it("403: members who don't manage teams; 404: strangers, and no such organization", async () => {
    for (const caller of [await makeMember(api, org.name), plain, await makeHolder(api, org.name, "manage-membership")])
      expect((await revoke(caller)).status).toBe(403);
    expect((await revoke(await makeUser(api))).status).toBe(404);
    expect((await revoke(api.admin, "unknown")).status).toBe(404);
    expect(await working()).toEqual([true, true, true, true]);
  });
});
