import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource, unique } from "../../../support/builders.ts";

const api = useApi();

const change = (attributes: object) => resource("teams", attributes);
const auditEvents = async (org: Org, id: string, query = ""): Promise<Json[]> =>
  data(await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject][id]=${id}${query}`)).map(
    (event: Json) => event.attributes,
  );

describe("updateTeam: value, null and absent", () => {
  const attributes = ["name", "visibility", "sso-team-id", "allow-member-token-management", "organization-access"];
  const values: Record<string, unknown> = {
    name: "renamed",
    description: "What it is for.",
    visibility: "secret",
    "sso-team-id": "sso-9",
    "allow-member-token-management": false,
  };

  it.each(Object.keys(values))("200: changes only %s", async (name) => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name, {
      "sso-team-id": "sso-1",
      "organization-access": { "manage-teams": true },
    });
    const answer = await org.owner.patch(`/teams/${team.id}`, change({ [name]: values[name] }));
    expect(answer.status).toBe(200);
    expect(answer.headers.get("etag")).toBe('"2"');
    expect(data(answer).attributes).toEqual({ ...team.attributes, [name]: values[name] });
    expect(data(await org.owner.get(`/teams/${team.id}`)).attributes).toEqual(data(answer).attributes);
  });

  it.each(["sso-team-id", "description"])("200: %s null clears it", async (name) => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name, { [name]: "something" });
    const answer = await org.owner.patch(`/teams/${team.id}`, change({ [name]: null }));
    expect(data(answer).attributes[name]).toBeNull();
  });

  it("422: a description that is too long", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    const answer = await org.owner.patch(`/teams/${team.id}`, change({ description: "x".repeat(1025) }));
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(["/data/attributes/description"]);
  });

  it.each(attributes.filter((name) => name !== "sso-team-id"))("422: %s null", async (name) => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    const answer = await org.owner.patch(`/teams/${team.id}`, change({ [name]: null }));
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual([`/data/attributes/${name}`]);
  });

  it("200: organization-access keeps permissions that are left out", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name, {
      "organization-access": { "manage-teams": true, "read-projects": true },
    });
    const answer = await org.owner.patch(
      `/teams/${team.id}`,
      change({ "organization-access": { "read-projects": false, "manage-modules": true } }),
    );
    expect(data(answer).attributes["organization-access"]).toEqual({
      ...team.attributes["organization-access"],
      "read-projects": false,
      "manage-modules": true,
    });
  });

  it("200: an update without changes writes nothing and records no event", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    const answer = await org.owner.patch(
      `/teams/${team.id}`,
      change({ name: team.attributes.name, "organization-access": { "manage-teams": false } }),
    );
    expect(answer.headers.get("etag")).toBe('"1"');
    expect((await auditEvents(org, team.id)).map((event) => event.action)).toEqual(["teams.create"]);
  });
});

describe("updateTeam", () => {
  it("422: a taken or invalid name; 200: the team's own name in another case", async () => {
    const org = await api.makeOrganization();
    const [team, other] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
    const rename = (name: string) => org.owner.patch(`/teams/${team.id}`, change({ name }));
    const taken = await rename(other.attributes.name.toUpperCase());
    expect(taken.status).toBe(422);
    expect(details(taken)).toEqual(["Name has already been taken"]);
    expect(details(await rename("a.b"))).toEqual([
      "Name may only contain letters, numbers, spaces, slashes, dashes and underscores, and can't begin or end with a space",
    ]);
    expect(data(await rename(team.attributes.name.toUpperCase())).attributes.name).toBe(
      team.attributes.name.toUpperCase(),
    );
  });

  it("records an event with the values before and after", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    await org.owner.patch(`/teams/${team.id}`, change({ "organization-access": { "manage-modules": true } }));
    const [event, ...more] = await auditEvents(org, team.id, "&filter[action]=teams.update");
    expect(more).toEqual([]);
    expect(event["actor-id"]).toBe(org.owner.id);
    expect(event.before["organization-access"]["manage-modules"]).toBe(false);
    expect(event.after["organization-access"]["manage-modules"]).toBe(true);
  });

  it("412: a new member is a change", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    await api.makeMember(org.name, [team.id]);
    const answer = await org.owner.patch(`/teams/${team.id}`, change({ name: "v" }), { "if-match": '"1"' });
    expect(answer.status).toBe(412);
  });

  it("403 before 412 and 422", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    const member = await api.makeMember(org.name);
    const answer = await member.patch(`/teams/${team.id}`, change({ name: "owners" }), { "if-match": '"9"' });
    expect(answer.status).toBe(403);
    expect(details(answer)[0]).toContain("manage-teams");
  });

  it("200: holders of manage-teams and the organization's token; 403: the team itself; 404: strangers", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    const holder = await api.makeHolder(org.name, "manage-teams");
    for (const caller of [holder, await api.makeOrganizationToken(org.name)])
      expect((await caller.patch(`/teams/${team.id}`, change({ name: unique("v") }))).status).toBe(200);
    for (const caller of [await api.makeTeamToken(team.id), await api.makeMember(org.name, [team.id])])
      expect((await caller.patch(`/teams/${team.id}`, change({ name: unique("v") }))).status).toBe(403);
    expect((await (await api.makeUser()).patch(`/teams/${team.id}`, change({ name: unique("v") }))).status).toBe(404);
  });

  it("403: manage-teams without manage-organization-access can't change permissions", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name, { "organization-access": { "read-projects": true } });
    const holder = await api.makeHolder(org.name, "manage-teams", "read-projects", "manage-modules");
    for (const access of [{ "manage-modules": true }, { "read-projects": false }]) {
      const answer = await holder.patch(`/teams/${team.id}`, change({ "organization-access": access }));
      expect(answer.status).toBe(403);
      expect(details(answer)[0]).toContain("manage-organization-access");
    }
    const same = change({ name: unique("v"), "organization-access": { "read-projects": true } });
    expect((await holder.patch(`/teams/${team.id}`, same)).status).toBe(200);
  });

  it("403: callers can't grant more than they have, not even to their own team; existing permissions can stay", async () => {
    const org = await api.makeOrganization();
    const holder = await api.makeHolder(org.name, "manage-teams", "manage-organization-access");
    const rich = await api.makeTeam(org.name, { "organization-access": { "manage-projects": true } });
    const grant = (id: string, access: object) =>
      holder.patch(`/teams/${id}`, change({ "organization-access": access }));
    for (const id of [holder.teamId, rich.id]) {
      const answer = await grant(id, { "manage-membership": true });
      expect(answer.status).toBe(403);
      expect(details(answer)[0]).toContain("manage-membership");
    }
    expect((await grant(rich.id, { "manage-projects": true, "manage-teams": true })).status).toBe(200);
    expect((await grant(rich.id, { "manage-projects": false })).status).toBe(200);
    expect((await grant(rich.id, { "manage-projects": true })).status).toBe(403);
  });

  it("members lose a removed permission with their next request", async () => {
    const org = await api.makeOrganization();
    const holder = await api.makeHolder(org.name, "manage-teams");
    await org.owner.patch(`/teams/${holder.teamId}`, change({ "organization-access": { "manage-teams": false } }));
    expect((await holder.post(`/organizations/${org.name}/teams`, change({ name: "v" }))).status).toBe(403);
  });
});

describe("deleteTeam", () => {
  it("204: deletes its tokens, its members' access and its project access", async () => {
    const org = await api.makeOrganization();
    const project = await api.makeProject(org.name);
    const team = await api.makeTeam(org.name);
    await api.grantProject(project.id, team.id, "read");
    const member = await api.makeMember(org.name, [team.id]);
    const token = await api.makeTeamToken(team.id);
    const extra = api.as(data(await org.owner.post(`/teams/${team.id}/authentication-tokens`)).attributes.token);
    const count = async () => data(await org.owner.get(`/projects/${project.id}`)).attributes["team-count"];
    expect(await count()).toBe(1);
    for (const caller of [member, token, extra]) expect((await caller.get(`/projects/${project.id}`)).status).toBe(200);

    expect((await org.owner.delete(`/teams/${team.id}`)).status).toBe(204);

    expect(await count()).toBe(0);
    expect((await member.get(`/projects/${project.id}`)).status).toBe(404);
    for (const caller of [token, extra]) expect((await caller.get("/account/details")).status).toBe(401);
    expect((await org.owner.get(`/teams/${team.id}`)).status).toBe(404);
    const membership = data(await org.owner.get(`/organization-memberships/${member.membershipId}`));
    expect(membership.relationships.teams.data).toEqual([]);
    expect((await org.owner.delete(`/teams/${team.id}`)).status).toBe(404);
  });

  it("records an event with its last attributes", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    await org.owner.delete(`/teams/${team.id}`);
    expect(await auditEvents(org, team.id, "&filter[action]=teams.delete")).toMatchObject([
      { "actor-id": org.owner.id, before: { name: team.attributes.name }, after: null },
    ]);
  });

  it("204: holders of manage-teams; 403: other members; 404: strangers", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    expect((await (await api.makeUser()).delete(`/teams/${team.id}`)).status).toBe(404);
    const membership = await api.makeHolder(org.name, "manage-membership");
    for (const caller of [membership, await api.makeMember(org.name, [team.id]), await api.makeTeamToken(team.id)])
      expect((await caller.delete(`/teams/${team.id}`)).status).toBe(403);
    const holder = await api.makeHolder(org.name, "manage-teams");
    expect((await holder.delete(`/teams/${team.id}`)).status).toBe(204);
  });
});
