/** Adding, removing and listing team members, and how this changes a membership's ETag. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource, unique } from "../../../support/builders.ts";

const api = useApi();

describe("members", () => {
  const people = (...ids: string[]) => ({ data: ids.map((id) => ({ type: "users", id })) });
  const linkage = (...ids: string[]) => ({ data: ids.map((id) => ({ type: "organization-memberships", id })) });
  const users = (team: Json) => `/teams/${team.id}/relationships/users`;
  const memberships = (team: Json) => `/teams/${team.id}/relationships/organization-memberships`;

  async function membersOf(org: Org, team: Json): Promise<{ ids: string[]; count: number }> {
    const shown = data(await org.owner.get(`/teams/${team.id}?include=organization-memberships`));
    return {
      ids: shown.relationships["organization-memberships"].data.map((item: Json) => item.id).toSorted(),
      count: shown.attributes["users-count"],
    };
  }

  async function invite(org: Org, email = `${unique("invited")}@example.com`): Promise<Json> {
    const body = resource("organization-memberships", { email });
    return data(await org.owner.post(`/organizations/${org.name}/organization-memberships`, body));
  }

  describe("adding people to a team", () => {
    it("204: by username in any case or by id; accepts whole documents and duplicates", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const [ada, grace] = [await api.makeMember(org.name), await api.makeMember(org.name)];
      const body = {
        data: [
          { type: "users", id: ada.username.toUpperCase(), attributes: { username: "ignored" } },
          { type: "users", id: grace.id },
          { type: "users", id: ada.username },
          { type: "users", id: ada.id },
        ],
      };
      const answer = await org.owner.post(users(team), body);
      expect(answer.status).toBe(204);
      expect(answer.body).toBeUndefined();
      expect(await membersOf(org, team)).toEqual({ ids: [ada.membershipId, grace.membershipId].toSorted(), count: 2 });
    });

    it("204: by membership, also invited people, who are not counted yet", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const ada = await api.makeMember(org.name);
      const invited = await invite(org);
      expect((await org.owner.post(memberships(team), linkage(ada.membershipId, invited.id))).status).toBe(204);
      expect(await membersOf(org, team)).toEqual({ ids: [ada.membershipId, invited.id].toSorted(), count: 1 });
      expect((await org.owner.delete(memberships(team), linkage(invited.id))).status).toBe(204);
      expect(await membersOf(org, team)).toEqual({ ids: [ada.membershipId], count: 1 });
    });

    it("204: skips current members and adds the rest", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const [ada, grace] = [await api.makeMember(org.name, [team.id]), await api.makeMember(org.name)];
      expect((await org.owner.post(users(team), people(ada.username))).status).toBe(204);
      expect((await membersOf(org, team)).count).toBe(1);
      expect((await org.owner.post(users(team), people(ada.username, grace.username))).status).toBe(204);
      expect((await membersOf(org, team)).count).toBe(2);
    });

    it("204: an empty list adds nobody", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      expect((await org.owner.post(users(team), people())).status).toBe(204);
      expect((await membersOf(org, team)).count).toBe(0);
    });

    it("204: the count is right after concurrent requests", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const joined = await Promise.all([1, 2, 3, 4].map(() => api.makeMember(org.name)));
      const answers = await Promise.all(
        joined.map((member, position) =>
          org.owner.post(users(team), people(member.username, joined[(position + 1) % joined.length]?.username ?? "")),
        ),
      );
      expect(answers.map((answer) => answer.status)).toEqual([204, 204, 204, 204]);
      const { ids, count } = await membersOf(org, team);
      expect([ids.length, count]).toEqual([4, 4]);
    });

    it("422: points to an unknown person or non-member, and adds nobody", async () => {
      const [org, otherOrg] = [await api.makeOrganization(), await api.makeOrganization()];
      const team = await api.makeTeam(org.name);
      const ada = await api.makeMember(org.name);
      const answer = await org.owner.post(
        users(team),
        people("nobody-there", ada.username, otherOrg.owner.username, otherOrg.owner.id),
      );
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual(["/data/0/id", "/data/2/id", "/data/3/id"]);
      expect(details(answer)[0]).toContain("nobody-there");
      expect((await membersOf(org, team)).count).toBe(0);
    });

    it("422: an unknown membership, or one of another organization", async () => {
      const [org, otherOrg] = [await api.makeOrganization(), await api.makeOrganization()];
      const team = await api.makeTeam(org.name);
      const [ada, foreign] = [await api.makeMember(org.name), await api.makeMember(otherOrg.name)];
      const answer = await org.owner.post(memberships(team), linkage(foreign.membershipId, ada.membershipId, "ou-x"));
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual(["/data/0/id", "/data/2/id"]);
      expect((await membersOf(org, team)).count).toBe(0);
    });

    it("422: an id is never treated as a username, so that nobody can impersonate another's id", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const [ada, mallory] = [await api.makeMember(org.name), await api.makeMember(org.name)];
      // Older databases may have such usernames.
      await api.database.write((tx) =>
        tx.db
          .updateTable("users")
          .set({ username: ada.id.toLowerCase(), usernameKey: ada.id.toLowerCase() })
          .where("id", "=", mallory.id)
          .execute(),
      );
      expect((await org.owner.post(users(team), people(ada.id))).status).toBe(204);
      expect(await membersOf(org, team)).toEqual({ ids: [ada.membershipId], count: 1 });
      await org.owner.delete(`/organization-memberships/${ada.membershipId}`);
      expect((await org.owner.post(users(team), people(ada.id))).status).toBe(422);
      expect((await membersOf(org, team)).count).toBe(0);
    });

    it.each([
      [{}],
      [{ data: {} }],
      [{ data: null }],
      [{ data: [{ type: "teams", id: "x" }] }],
      [{ data: [{ type: "users" }] }],
      [{ data: [{ type: "users", id: "" }] }],
      [{ data: [{ type: "users", id: 7 }] }],
      [{ data: ["ada"] }],
      [{ data: Array.from({ length: 1001 }, (_, position) => ({ type: "users", id: `u${position}` })) }],
    ])("422: the body %#", async (body) => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      for (const method of ["POST", "DELETE"])
        expect((await org.owner.send(method, users(team), body)).status).toBe(422);
    });
  });

  describe("removing people from a team", () => {
    it("204: by username in any case, by id or by membership; skips non-members", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const [ada, grace, alan, absent] = [
        await api.makeMember(org.name, [team.id]),
        await api.makeMember(org.name, [team.id]),
        await api.makeMember(org.name, [team.id]),
        await api.makeMember(org.name),
      ];
      expect((await org.owner.delete(users(team), people(ada.username.toUpperCase(), absent.username))).status).toBe(
        204,
      );
      expect((await membersOf(org, team)).count).toBe(2);
      expect((await org.owner.delete(users(team), people(grace.id))).status).toBe(204);
      expect((await org.owner.delete(memberships(team), linkage(alan.membershipId, absent.membershipId))).status).toBe(
        204,
      );
      expect(await membersOf(org, team)).toEqual({ ids: [], count: 0 });
      expect((await org.owner.delete(users(team), people(ada.username))).status).toBe(204);
      expect((await membersOf(org, team)).count).toBe(0);
    });

    it("422: points to an unknown person, and removes nobody", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const ada = await api.makeMember(org.name, [team.id]);
      const answer = await org.owner.delete(users(team), people(ada.username, "nobody-there"));
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual(["/data/1/id"]);
      expect((await membersOf(org, team)).count).toBe(1);
    });

    it("removed members lose the team's access with their next request", async () => {
      const org = await api.makeOrganization();
      const holder = await api.makeHolder(org.name, "manage-teams");
      const team = resource("teams", { name: unique("team") });
      expect((await holder.post(`/organizations/${org.name}/teams`, team)).status).toBe(201);
      await org.owner.delete(users({ id: holder.teamId }), people(holder.username));
      expect((await holder.post(`/organizations/${org.name}/teams`, team)).status).toBe(403);
    });
  });

  describe("team members: permissions and audit events", () => {
    it("204: owners, the organization's token, holders of manage-membership", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const ada = await api.makeMember(org.name);
      const holder = await api.makeHolder(org.name, "manage-membership");
      const callers = [org.owner, api.admin, holder, await api.makeOrganizationToken(org.name)];
      for (const caller of [...callers, await api.makeTeamToken(holder.teamId)]) {
        expect((await caller.post(users(team), people(ada.username))).status).toBe(204);
        expect((await membersOf(org, team)).count).toBe(1);
        expect((await caller.delete(memberships(team), linkage(ada.membershipId))).status).toBe(204);
        expect((await membersOf(org, team)).count).toBe(0);
      }
    });

    it("403: manage-teams, members and the team itself; 404: strangers", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const ada = await api.makeMember(org.name, [team.id]);
      const callers = [
        await api.makeHolder(org.name, "manage-teams", "manage-organization-access"),
        ada,
        await api.makeTeamToken(team.id),
      ];
      for (const caller of callers) {
        const answer = await caller.post(users(team), people(ada.username));
        expect(answer.status).toBe(403);
        expect(details(answer)[0]).toContain("manage-membership");
        expect((await caller.delete(users(team), people(ada.username))).status).toBe(403);
      }
      const stranger = await api.makeUser();
      expect((await stranger.post(users(team), people(ada.username))).status).toBe(404);
      expect((await api.nobody.post(users(team), people(ada.username))).status).toBe(401);
    });

    it("records who was added and removed, and nothing if nobody was", async () => {
      const org = await api.makeOrganization();
      const team = await api.makeTeam(org.name);
      const ada = await api.makeMember(org.name);
      for (let time = 0; time < 2; time += 1) await org.owner.post(users(team), people(ada.username));
      for (let time = 0; time < 2; time += 1) await org.owner.delete(users(team), people(ada.username));
      const members = { members: [{ membership: ada.membershipId, username: ada.username }] };
      const eventsPath = `/organizations/${org.name}/audit-events?filter[subject][id]=${team.id}&filter[action]=teams.`;
      const eventsOf = async (verb: string) =>
        data(await org.owner.get(eventsPath + verb)).map((event: Json) => event.attributes);
      expect(await eventsOf("add-members")).toMatchObject([{ "actor-id": org.owner.id, before: null, after: members }]);
      expect(await eventsOf("remove-members")).toMatchObject([
        { "actor-id": org.owner.id, before: members, after: null },
      ]);
    });
  });
});

describe("memberships", () => {
  let org: Org;
  let team: Json;
  beforeEach(async () => {
    org = await api.makeOrganization();
    team = await api.makeTeam(org.name);
  });
  const path = (id = team.id) => `/teams/${id}/relationships/organization-memberships`;
  const ids = (answer: Answer): string[] => data(answer).map(({ id }: Json) => id);

  describe("listTeamMemberships", () => {
    it("200: the memberships of the team's members and invited people, newest first", async () => {
      const first = await api.makeMember(org.name, [team.id]);
      await api.makeMember(org.name);
      const invitation = data(
        await org.owner.post(
          `/organizations/${org.name}/organization-memberships`,
          resource(
            "organization-memberships",
            { email: `${unique("someone")}@example.com` },
            { teams: { data: [{ type: "teams", id: team.id }] } },
          ),
        ),
      );
      const answer = await org.owner.get(path());
      expect(ids(answer)).toEqual([invitation.id, first.membershipId]);
      expect(answer.body.data[1]).toEqual(data(await org.owner.get(`/organization-memberships/${first.membershipId}`)));
      expect(answer.body.meta.pagination["total-count"]).toBe(2);
      const second = await org.owner.get(`${path()}?page[size]=1&page[number]=2`);
      expect(ids(second)).toEqual([first.membershipId]);
    });

    it("200: an empty list, for every member if the team is visible", async () => {
      const callers = [
        await api.makeMember(org.name),
        await api.makeTeamToken(org.ownersTeamId),
        await api.makeOrganizationToken(org.name),
      ];
      for (const caller of callers) expect(ids(await caller.get(path()))).toEqual([]);
    });

    it("404: a secret team that the caller can't see; non-members; an unknown team", async () => {
      const secret = await api.makeTeam(org.name, { visibility: "secret" });
      const member = await api.makeMember(org.name, [secret.id]);
      expect(ids(await member.get(path(secret.id)))).toEqual([member.membershipId]);
      for (const caller of [await api.makeMember(org.name), await api.makeUser()])
        expect((await caller.get(path(secret.id))).status).toBe(404);
      expect((await org.owner.get(path("team-unknown"))).status).toBe(404);
    });

    it("lists only those teams of each membership that the caller can see", async () => {
      const secret = await api.makeTeam(org.name, { visibility: "secret" });
      await api.makeMember(org.name, [team.id, secret.id]);
      const [seen] = data(await (await api.makeMember(org.name)).get(path()));
      expect(seen.relationships.teams.data).toEqual([{ id: team.id, type: "teams" }]);
    });
  });

  describe("a membership's ETag", () => {
    it("changes when the person joins or leaves a team, or a team is deleted", async () => {
      const member = await api.makeMember(org.name);
      const membership = `/organization-memberships/${member.membershipId}`;
      const tags = new Set<string | null>();
      const note = async () => tags.add((await org.owner.get(membership)).headers.get("etag"));
      await note();
      const body = { data: [{ type: "organization-memberships", id: member.membershipId }] };
      expect((await org.owner.post(path(), body)).status).toBe(204);
      await note();
      expect((await org.owner.delete(path(), body)).status).toBe(204);
      await note();
      await org.owner.post(path(), body);
      await note();
      expect((await org.owner.delete(`/teams/${team.id}`)).status).toBe(204);
      await note();
      expect(tags.size).toBe(5);
    });
  });
});
