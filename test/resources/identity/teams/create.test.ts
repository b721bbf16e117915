import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, pointers, resource, unique } from "../../../support/builders.ts";

const api = useApi();

const newTeam = (attributes: object = {}) => resource("teams", { name: unique("team"), ...attributes });
const permissionNames = [
  "manage-workspaces",
  "read-workspaces",
  "manage-projects",
  "read-projects",
  "manage-teams",
  "manage-membership",
  "manage-organization-access",
  "access-secret-teams",
  "manage-vcs-settings",
  "manage-agent-pools",
  "manage-policies",
  "manage-policy-overrides",
  "manage-run-tasks",
  "manage-modules",
  "manage-providers",
  "delegate-policy-overrides",
];
const none = Object.fromEntries(permissionNames.map((name) => [name, false]));

describe("createTeam", () => {
  it("201: a secret team without permissions if only a name is sent", async () => {
    const org = await api.makeOrganization();
    const name = unique("network");
    const answer = await org.owner.post(`/organizations/${org.name}/teams`, newTeam({ name }));
    expect(answer.status).toBe(201);
    expect(answer.headers.get("etag")).toBe('"1"');
    const team = data(answer);
    expect(team.id).toMatch(/^team-/);
    expect(team.attributes).toMatchObject({
      name,
      description: null,
      visibility: "secret",
      "sso-team-id": null,
      "allow-member-token-management": true,
      "organization-access": none,
      "users-count": 0,
      "is-unified": false,
      permissions: {
        "can-update": true,
        "can-destroy": true,
        "can-update-membership": true,
        "can-update-organization-access": true,
        "can-update-api-token": true,
      },
    });
    expect(team.relationships.organization.data).toEqual({ id: org.name, type: "organizations" });
    expect(team.links.self).toBe(`/api/v2/teams/${team.id}`);
    expect(data(await org.owner.get(`/teams/${team.id}`))).toEqual(team);
  });

  it("201: stores all attributes", async () => {
    const org = await api.makeOrganization();
    const sent = {
      name: "Net_work-1",
      description: "Those who lay the cables.",
      visibility: "organization",
      "sso-team-id": "sso-7",
      "allow-member-token-management": false,
    };
    const team = data(
      await org.owner.post(
        `/organizations/${org.name}/teams`,
        newTeam({ ...sent, "organization-access": { "read-projects": true, "manage-teams": false } }),
      ),
    );
    expect(team.attributes).toMatchObject(sent);
    expect(team.attributes["organization-access"]).toEqual({ ...none, "read-projects": true });
  });

  it("201: a name with slashes, which can be found and shown", async () => {
    const org = await api.makeOrganization();
    const name = "team/name/with/slashes";
    const team = data(await org.owner.post(`/organizations/${org.name}/teams`, newTeam({ name })));
    expect(team.attributes.name).toBe(name);
    const teams = `/organizations/${org.name}/teams`;
    for (const query of [`filter[names]=${name}`, `filter[names]=${encodeURIComponent(name)}`, "q=/with/"])
      expect(data(await org.owner.get(`${teams}?${query}`)).map(({ id }: Json) => id)).toEqual([team.id]);
    expect((await org.owner.post(teams, newTeam({ name: name.toUpperCase() }))).status).toBe(422);
    const renamed = await org.owner.patch(`/teams/${team.id}`, resource("teams", { name: "a/b" }));
    expect(data(renamed).attributes.name).toBe("a/b");
  });

  it.each(permissionNames)("201: an owner grants %s", async (name) => {
    const org = await api.makeOrganization();
    const body = newTeam({ "organization-access": { [name]: true } });
    const team = data(await org.owner.post(`/organizations/${org.name}/teams`, body));
    expect(team.attributes["organization-access"]).toEqual({ ...none, [name]: true });
  });

  it("records an event with the creator and the attributes", async () => {
    const org = await api.makeOrganization();
    const team = data(await org.owner.post(`/organizations/${org.name}/teams`, newTeam()));
    const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject][id]=${team.id}`));
    expect(events).toHaveLength(1);
    expect(events[0].attributes).toMatchObject({
      action: "teams.create",
      "actor-kind": "user",
      "actor-id": org.owner.id,
      "actor-name": org.owner.username,
      before: null,
      after: { name: team.attributes.name, visibility: "secret", "organization-access": none },
    });
  });

  it.each([
    ["name", ""],
    ["name", null],
    ["name", " a"],
    ["name", "a.b"],
    ["name", "ünï"],
    ["name", "x".repeat(91)],
    ["visibility", "public"],
    ["visibility", null],
    ["sso-team-id", 7],
    ["sso-team-id", "x".repeat(256)],
    ["allow-member-token-management", "yes"],
    ["allow-member-token-management", null],
    ["organization-access", null],
    ["organization-access", []],
  ])("422: %s %j", async (name, value) => {
    const org = await api.makeOrganization();
    const answer = await org.owner.post(`/organizations/${org.name}/teams`, newTeam({ [name]: value }));
    expect(answer.status).toBe(422);
    expect(new Set(pointers(answer))).toEqual(new Set([`/data/attributes/${name}`]));
  });

  it("422: points to the permission that is not a boolean", async () => {
    const org = await api.makeOrganization();
    const body = newTeam({ "organization-access": { "manage-teams": "yes", "read-projects": null } });
    const answer = await org.owner.post(`/organizations/${org.name}/teams`, body);
    expect(pointers(answer).toSorted()).toEqual([
      "/data/attributes/organization-access/manage-teams",
      "/data/attributes/organization-access/read-projects",
    ]);
  });

  it("422: reports all faults of the body", async () => {
    const org = await api.makeOrganization();
    const answer = await org.owner.post(`/organizations/${org.name}/teams`, resource("team", { visibility: "x" }));
    expect(pointers(answer).toSorted()).toEqual(["/data/attributes/name", "/data/attributes/visibility", "/data/type"]);
  });

  it("201: a name of 90 characters, and unknown attributes are ignored", async () => {
    const org = await api.makeOrganization();
    const body = newTeam({ name: "x".repeat(90), nonsense: true, "organization-access": { "fly-planes": true } });
    const team = data(await org.owner.post(`/organizations/${org.name}/teams`, body));
    expect(team.attributes.name).toHaveLength(90);
    expect(team.attributes["organization-access"]).toEqual(none);
  });

  it("422: a name that is taken, whatever its case, 'owners' too; 201 in another organization", async () => {
    const [here, there] = [await api.makeOrganization(), await api.makeOrganization()];
    const { name } = (await api.makeTeam(here.name)).attributes;
    for (const taken of [name, name.toUpperCase(), "Owners"]) {
      const answer = await here.owner.post(`/organizations/${here.name}/teams`, newTeam({ name: taken }));
      expect(answer.status).toBe(422);
      expect(details(answer)).toEqual(["Name has already been taken"]);
      expect(pointers(answer)).toEqual(["/data/attributes/name"]);
    }
    expect((await there.owner.post(`/organizations/${there.name}/teams`, newTeam({ name }))).status).toBe(201);
  });

  it("422 for all but one of concurrent requests with the same name", async () => {
    const org = await api.makeOrganization();
    const body = newTeam();
    const answers = await Promise.all([1, 2, 3].map(() => org.owner.post(`/organizations/${org.name}/teams`, body)));
    expect(answers.map((answer) => answer.status).toSorted()).toEqual([201, 422, 422]);
  });
});

describe("createTeam: permissions", () => {
  it("201: owners, site admins, the organization's token and holders of manage-teams, as users or team tokens", async () => {
    const org = await api.makeOrganization();
    const holder = await api.makeHolder(org.name, "manage-teams");
    const callers = [
      org.owner,
      api.admin,
      await api.makeOrganizationToken(org.name),
      holder,
      await api.makeTeamToken(holder.teamId),
      await api.makeTeamToken(org.ownersTeamId),
    ];
    for (const caller of callers)
      expect((await caller.post(`/organizations/${org.name}/teams`, newTeam())).status).toBe(201);
  });

  it("403: members without manage-teams, whatever their other permissions", async () => {
    const org = await api.makeOrganization();
    const callers = [
      await api.makeMember(org.name),
      await api.makeHolder(org.name, "manage-membership", "manage-projects", "manage-organization-access"),
    ];
    for (const caller of callers) {
      const answer = await caller.post(`/organizations/${org.name}/teams`, newTeam());
      expect(answer.status).toBe(403);
      expect(details(answer)[0]).toContain("manage-teams");
    }
  });

  it("403: manage-teams alone can't grant organization permissions, not even its own", async () => {
    const org = await api.makeOrganization();
    const holder = await api.makeHolder(org.name, "manage-teams");
    const body = newTeam({ "organization-access": { "manage-teams": true } });
    const answer = await holder.post(`/organizations/${org.name}/teams`, body);
    expect(answer.status).toBe(403);
    expect(details(answer)[0]).toContain("manage-organization-access");
  });

  it("403: callers can't grant permissions they lack; 201 for those they have", async () => {
    const org = await api.makeOrganization();
    const holder = await api.makeHolder(org.name, "manage-teams", "manage-organization-access", "read-projects");
    const grant = (access: object) =>
      holder.post(`/organizations/${org.name}/teams`, newTeam({ "organization-access": access }));
    const answer = await grant({ "read-projects": true, "manage-projects": true, "manage-policies": true });
    expect(answer.status).toBe(403);
    expect(details(answer)[0]).toContain("manage-projects, manage-policies");
    expect((await grant({ "read-projects": true, "manage-teams": true })).status).toBe(201);
    expect((await grant({ "manage-projects": false })).status).toBe(201);
  });
});
