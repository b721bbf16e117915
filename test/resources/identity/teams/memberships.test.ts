/** GET /teams/:team_id/relationships/organization-memberships; and what a place in a team does to a membership's ETag. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  makeMember,
  makeOrganization,
  makeOrganizationToken,
  makeTeam,
  makeTeamToken,
  makeUser,
  type Org,
  resource,
  unique,
} from "../../../support/builders.ts";

const api = useApi();
let org: Org;
let team: Json;
beforeEach(async () => {
  org = await makeOrganization(api);
  team = await makeTeam(api, org.name);
});
const path = (id = team.id) => `/teams/${id}/relationships/organization-memberships`;
const ids = (answer: Answer): string[] => data(answer).map(({ id }: Json) => id);

describe("listTeamMemberships", () => {
  it("200: the memberships of the people in the team, also of those who are only invited, newest first", async () => {
    const first = await makeMember(api, org.name, [team.id]);
    await makeMember(api, org.name);
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

  it("200: an empty list, to every member for a visible team", async () => {
    const callers = [
      await makeMember(api, org.name),
      await makeTeamToken(api, org.ownersTeamId),
      await makeOrganizationToken(api, org.name),
    ];
    for (const caller of callers) expect(ids(await caller.get(path()))).toEqual([]);
  });

  it("404: a secret team, to those who may not know of it; strangers; no such team", async () => {
    const secret = await makeTeam(api, org.name, { visibility: "secret" });
    const member = await makeMember(api, org.name, [secret.id]);
    expect(ids(await member.get(path(secret.id)))).toEqual([member.membershipId]);
    for (const caller of [await makeMember(api, org.name), await makeUser(api)])
      expect((await caller.get(path(secret.id))).status).toBe(404);
    expect((await org.owner.get(path("team-unknown"))).status).toBe(404);
  });

  it("names of each membership only the teams that the caller may see", async () => {
    const secret = await makeTeam(api, org.name, { visibility: "secret" });
    await makeMember(api, org.name, [team.id, secret.id]);
    const [seen] = data(await (await makeMember(api, org.name)).get(path()));
    expect(seen.relationships.teams.data).toEqual([{ id: team.id, type: "teams" }]);
  });
});

describe("a membership's ETag", () => {
  it("changes with the person's teams: joining, leaving, and a team that goes", async () => {
    const member = await makeMember(api, org.name);
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
