/** Team tokens, and revoking all tokens of an organization's teams. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource } from "../../../support/builders.ts";

const api = useApi();

describe("team tokens", () => {
  const single = (teamId: string) => `/teams/${teamId}/authentication-token`;
  const several = (teamId: string) => `/teams/${teamId}/authentication-tokens`;
  const wanted = (attributes: object) => resource("authentication-tokens", attributes);
  const works = async (caller: Caller) => (await caller.get("/account/details")).status === 200;
  const bearer = (token: { attributes: { token: string } }) => api.as(token.attributes.token);

  /** Calls every operation on a team's tokens; returns the status codes. */
  async function tryAll(caller: Caller, teamId: string, tokenId: string): Promise<Record<string, number>> {
    return {
      replace: (await caller.post(single(teamId))).status,
      create: (await caller.post(several(teamId))).status,
      list: (await caller.get(several(teamId))).status,
      showSingle: (await caller.get(single(teamId))).status,
      show: (await caller.get(`/authentication-tokens/${tokenId}`)).status,
      delete: (await caller.delete(`/authentication-tokens/${tokenId}`)).status,
      deleteSingle: (await caller.delete(single(teamId))).status,
    };
  }
  const allowed = { replace: 201, create: 201, list: 200, showSingle: 200, show: 200, delete: 204, deleteSingle: 204 };
  /** The caller can see the team but none of its tokens. */
  const refused = { replace: 403, create: 403, list: 403, showSingle: 404, show: 404, delete: 404, deleteSingle: 404 };
  const unknown = { replace: 404, create: 404, list: 404, showSingle: 404, show: 404, delete: 404, deleteSingle: 404 };

  describe("the single token of a team", () => {
    it("201: acts as the team, and a new one replaces it", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const first = await org.owner.post(single(team.id), wanted({ description: "one" }));
      expect(first.status).toBe(201);
      expect(data(first).relationships.team.data).toEqual({ id: team.id, type: "teams" });
      expect(data(first).relationships["created-by"].data).toEqual({ id: org.owner.id, type: "users" });
      expect(data(await bearer(data(first)).get("/account/details")).id).toBe(team.id);

      const second = data(await org.owner.post(single(team.id)));
      expect(await works(bearer(data(first)))).toBe(false);
      expect(await works(bearer(second))).toBe(true);
      const shown = data(await org.owner.get(single(team.id)));
      expect(shown).toEqual({
        ...second,
        attributes: { ...second.attributes, token: null, "last-used-at": shown.attributes["last-used-at"] },
      });
    });

    it("201: concurrent replacements leave one token that works", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const answers = await Promise.all([1, 2, 3].map(() => org.owner.post(single(team.id))));
      expect(answers.map((answer) => answer.status)).toEqual([201, 201, 201]);
      const working = await Promise.all(answers.map((answer) => works(bearer(data(answer)))));
      expect(working.filter(Boolean)).toHaveLength(1);
      expect((await org.owner.get(several(team.id))).body.meta.pagination["total-count"]).toBe(1);
    });

    it("422: after a rejected replacement the previous token still works", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const token = await api.makeTeamToken(team.id);
      const answer = await org.owner.post(single(team.id), wanted({ "expired-at": "2020-01-01T00:00:00Z" }));
      expect(pointers(answer)).toEqual(["/data/attributes/expired-at"]);
      expect(await works(token)).toBe(true);
    });

    it("204: revoked; then 404 until there is a new one", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      expect((await org.owner.get(single(team.id))).status).toBe(404);
      expect((await org.owner.delete(single(team.id))).status).toBe(404);
      const token = await api.makeTeamToken(team.id);
      const stale = await org.owner.delete(single(team.id), undefined, { "if-match": '"9"' });
      expect(stale.status).toBe(412);
      expect((await org.owner.delete(single(team.id), undefined, { "if-match": '"1"' })).status).toBe(204);
      expect(await works(token)).toBe(false);
      expect((await org.owner.get(single(team.id))).status).toBe(404);
    });
  });

  describe("several tokens of a team", () => {
    it("201: several tokens work together with the legacy one", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const tokens = [
        await api.makeTeamToken(team.id),
        bearer(data(await org.owner.post(several(team.id), wanted({ description: "two" })))),
        bearer(data(await org.owner.post(several(team.id)))),
      ];
      for (const token of tokens) expect(await works(token)).toBe(true);
      await api.makeTeamToken(team.id);
      expect(await Promise.all(tokens.map(works))).toEqual([false, true, true]);
      expect((await org.owner.delete(single(team.id))).status).toBe(204);
      expect(await Promise.all(tokens.map(works))).toEqual([false, true, true]);
      const list = await org.owner.get(`${several(team.id)}?page[size]=1`);
      expect(data(list)).toHaveLength(1);
      expect(list.body.meta.pagination["total-count"]).toBe(2);
    });

    it("204: revokes only the given token", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const [one, two] = [data(await org.owner.post(several(team.id))), data(await org.owner.post(several(team.id)))];
      expect((await org.owner.delete(`/authentication-tokens/${one.id}`)).status).toBe(204);
      expect([await works(bearer(one)), await works(bearer(two))]).toEqual([false, true]);
    });
  });

  describe("a team's tokens: permissions", () => {
    it("owners, site admins, the organization's token, holders of manage-teams", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name, { "allow-member-token-management": false });
      const holder = await api.makeHolder(org.name, "manage-teams");
      const callers = [org.owner, api.admin, await api.makeOrganizationToken(org.name), holder];
      for (const caller of [...callers, await api.makeTeamToken(holder.teamId)]) {
        const token = data(await org.owner.post(several(team.id)));
        expect(await tryAll(caller, team.id, token.id)).toEqual(allowed);
      }
    });

    it("members, only if the team allows it", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const member = await api.makeMember(org.name, [team.id]);
      const token = data(await org.owner.post(several(team.id)));
      expect(await tryAll(member, team.id, token.id)).toEqual(allowed);
      const closed = resource("teams", { "allow-member-token-management": false });
      await org.owner.patch(`/teams/${team.id}`, closed);
      await api.makeTeamToken(team.id);
      const another = data(await org.owner.post(several(team.id)));
      expect(await tryAll(member, team.id, another.id)).toEqual(refused);
    });

    it("the team's own token as a member", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const lasting = resource("authentication-tokens", { "expired-at": null });
      const own = bearer(data(await org.owner.post(several(team.id), lasting)));
      const token = data(await own.post(several(team.id)));
      expect(token.relationships["created-by"].data).toEqual({ id: team.id, type: "teams" });
      expect(await tryAll(own, team.id, token.id)).toEqual(allowed);
    });

    it("403 and 404: other members, whatever else they manage", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      await api.makeTeamToken(team.id);
      const token = data(await org.owner.post(several(team.id)));
      const member = await api.makeMember(org.name);
      const manager = await api.makeHolder(org.name, "manage-membership", "manage-organization-access");
      for (const caller of [member, manager]) expect(await tryAll(caller, team.id, token.id)).toEqual(refused);
      expect(details(await member.post(several(team.id)))[0]).toContain("manage-teams");
    });

    it("404: strangers, and holders of manage-teams where the team is secret to them", async () => {
      const [here, there] = [await api.makeOrganization(), await api.makeOrganization()];
      const team = await api.makeTeam(here.name, { visibility: "secret" });
      await api.makeTeamToken(team.id);
      const token = data(await here.owner.post(several(team.id)));
      const callers = [
        await api.makeUser(),
        there.owner,
        await api.makeOrganizationToken(there.name),
        await api.makeHolder(here.name, "manage-teams"),
      ];
      for (const caller of callers) expect(await tryAll(caller, team.id, token.id)).toEqual(unknown);
    });

    it("the owners team's tokens: only owners", async () => {
      const org = await api.makeOrganization();
      const createToken = async () => data(await org.owner.post(several(org.ownersTeamId)));
      for (const caller of [org.owner, api.admin])
        expect(await tryAll(caller, org.ownersTeamId, (await createToken()).id)).toEqual(allowed);
      await api.makeTeamToken(org.ownersTeamId);
      const { id } = await createToken();
      const callers = [
        await api.makeOrganizationToken(org.name),
        await api.makeHolder(org.name, "manage-teams", "manage-membership", "access-secret-teams"),
        await api.makeMember(org.name),
      ];
      for (const caller of callers) expect(await tryAll(caller, org.ownersTeamId, id)).toEqual(refused);
    });
  });

  describe("a token of a team with more access", () => {
    it("403: more organization permissions; the previous token still works", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name, { "organization-access": { "manage-projects": true } });
      const token = await api.makeTeamToken(team.id);
      const holder = await api.makeHolder(org.name, "manage-teams");
      for (const path of [single(team.id), several(team.id)]) {
        const answer = await holder.post(path);
        expect(answer.status).toBe(403);
        expect(details(answer)[0]).toContain("access that you don't have");
      }
      expect(await works(token)).toBe(true);
    });

    it("403: a grant on a project; 201 for a member of the team", async () => {
      const org = await api.makeOrganization();
      const project = await api.makeProject(org.name);
      const team = await api.makeTeam(org.name);
      await api.grantProject(project.id, team.id, "write");
      const holder = await api.makeHolder(org.name, "manage-teams");
      expect((await holder.post(several(team.id))).status).toBe(403);
      const member = await api.makeMember(org.name, [team.id]);
      expect((await member.post(several(team.id))).status).toBe(201);
    });
  });
});

describe("deleteOrganizationTeamTokens", () => {
  let org: Org;
  let plain: Caller;
  let more: Caller;
  let secret: Caller;
  let owners: Caller;
  let secretTeam: Json;
  beforeEach(async () => {
    org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    secretTeam = await api.makeTeam(org.name, { visibility: "secret" });
    plain = await api.makeTeamToken(team.id);
    more = api.as(data(await org.owner.post(`/teams/${team.id}/authentication-tokens`)).attributes.token);
    secret = await api.makeTeamToken(secretTeam.id);
    owners = await api.makeTeamToken(org.ownersTeamId);
  });

  const revoke = (caller: Caller, name = org.name) => caller.delete(`/organizations/${name}/team-tokens`);
  const working = async () => {
    const statuses: boolean[] = [];
    for (const caller of [plain, more, secret, owners])
      statuses.push((await caller.get("/account/details")).status === 200);
    return statuses;
  };

  it("204: an owner revokes all of them; other tokens and other organizations' team tokens still work", async () => {
    const other = await api.makeOrganization();
    const others = [
      await api.makeTeamToken(other.ownersTeamId),
      await api.makeOrganizationToken(org.name),
      await api.makeMember(org.name),
    ];
    const answer = await revoke(org.owner);
    expect(answer.status).toBe(204);
    expect(answer.body).toBeUndefined();
    expect(await working()).toEqual([false, false, false, false]);
    for (const caller of others) expect((await caller.get("/account/details")).status).toBe(200);
    expect(data(await org.owner.get(`/organizations/${org.name}/team-tokens`))).toEqual([]);
    expect((await revoke(org.owner)).status).toBe(204);
  });

  it("204: records an event for each", async () => {
    await revoke(org.owner);
    const query = "filter[action]=authentication-tokens.delete";
    const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?${query}`));
    expect(events).toHaveLength(4);
    const holders = events.map(({ attributes }: Json) => attributes.before.holder);
    expect(holders).toEqual(expect.arrayContaining([secretTeam.id, org.ownersTeamId]));
  });

  it("204: the organization's token doesn't revoke the owners team's tokens", async () => {
    expect((await revoke(await api.makeOrganizationToken(org.name))).status).toBe(204);
    expect(await working()).toEqual([false, false, false, true]);
  });

  it("204: with manage-teams, revokes what the list shows: not the owners team's and hidden teams' tokens", async () => {
    const holder = await api.makeHolder(org.name, "manage-teams");
    expect((await revoke(holder)).status).toBe(204);
    expect(await working()).toEqual([false, false, true, true]);
    const seeing = await api.makeHolder(org.name, "manage-teams", "access-secret-teams");
    expect((await revoke(seeing)).status).toBe(204);
    expect(await working()).toEqual([false, false, false, true]);
  });

  it("204: a team token with manage-teams revokes itself, too", async () => {
    const holder = await api.makeHolder(org.name, "manage-teams");
    const token = await api.makeTeamToken(holder.teamId);
    expect((await revoke(token)).status).toBe(204);
    expect((await token.get("/account/details")).status).toBe(401);
  });

  it("403: members who don't manage teams; 404: strangers, and no such organization", async () => {
    for (const caller of [await api.makeMember(org.name), plain, await api.makeHolder(org.name, "manage-membership")])
      expect((await revoke(caller)).status).toBe(403);
    expect((await revoke(await api.makeUser())).status).toBe(404);
    expect((await revoke(api.admin, "unknown")).status).toBe(404);
    expect(await working()).toEqual([true, true, true, true]);
  });
});
