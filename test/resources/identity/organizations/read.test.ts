/**
 * GET /organizations: visibility, search and pagination. GET /organizations/:organization_name with what
 * can be included. Permissions on an organization: every kind of caller against every operation, and the
 * permissions in the document.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { organizationPermissionFlags } from "../../../../src/access/permissions/organization.ts";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, type Person, pointers, resource, unique } from "../../../support/builders.ts";

const api = useApi();

describe("list", () => {
  let person: Person;
  const names = ["Zeta", "alpha", "be_ta", "beXta", "gamma"];
  let othersName: string;

  beforeAll(async () => {
    person = await api.makeUser();
    for (const name of names) {
      await api.makeOrganization({ name, email: `${name}-Mail@example.com` });
      await join(name, person.email);
    }
    othersName = (await api.makeOrganization()).name;
  });

  const join = async (name: string, email: string) =>
    data(
      await api.admin.post(
        `/organizations/${name}/organization-memberships`,
        resource(
          "organization-memberships",
          { email },
          { teams: { data: [{ type: "teams", id: await ownersOf(name) }] } },
        ),
      ),
    );
  const ownersOf = async (name: string): Promise<string> =>
    data(await api.admin.get(`/organizations/${name}/teams?filter[names]=owners`))[0].id;
  const namesFor = async (caller: Caller, query = ""): Promise<string[]> =>
    data(await caller.get(`/organizations${query}`)).map((organization: Json) => organization.id);

  describe("listOrganizations: visibility", () => {
    it("shows users the organizations in which they are active members, by name", async () => {
      const answer = await person.get("/organizations");
      expect(answer.status).toBe(200);
      expect(answer.body.data.map(({ id }: Json) => id)).toEqual(["alpha", "be_ta", "beXta", "gamma", "Zeta"]);
      expect(answer.body.meta.pagination).toEqual({
        "current-page": 1,
        "page-size": 20,
        "prev-page": null,
        "next-page": null,
        "total-pages": 1,
        "total-count": 5,
      });
      for (const organization of answer.body.data) {
        expect(data(await person.get(`/organizations/${organization.id}`))).toEqual(organization);
      }
    });

    it("shows non-members nothing", async () => {
      const answer = await (await api.makeUser()).get("/organizations");
      expect(answer.body.data).toEqual([]);
      expect(answer.body.meta.pagination["total-count"]).toBe(0);
    });

    it("shows a member without teams the organization, with a member's permissions", async () => {
      const member = await api.makeMember("alpha");
      const [shown] = data(await member.get("/organizations"));
      expect(shown.id).toBe("alpha");
      expect(shown.attributes.permissions).toMatchObject({ "can-traverse": true, "can-update": false });
    });

    it("no longer shows it to former members", async () => {
      const member = await api.makeMember("alpha");
      expect(await namesFor(member)).toEqual(["alpha"]);
      data(await api.admin.delete(`/organization-memberships/${member.membershipId}`));
      expect(await namesFor(member)).toEqual([]);
    });

    it("shows a team or organization token its own organization", async () => {
      const team = await api.makeTeam("gamma");
      expect(await namesFor(await api.makeTeamToken(team.id))).toEqual(["gamma"]);
      expect(await namesFor(await api.makeOrganizationToken("be_ta"))).toEqual(["be_ta"]);
    });

    it("shows a site admin all", async () => {
      expect(await namesFor(api.admin, "?page[size]=100")).toEqual(expect.arrayContaining([...names, othersName]));
      const admin = await api.makeUser({ "is-site-admin": true });
      expect(await namesFor(admin, "?page[size]=100")).toEqual(expect.arrayContaining([...names, othersName]));
    });
  });

  describe("listOrganizations: search", () => {
    it.each([
      ["?q[name]=ETA", ["Zeta"]],
      ["?q[name]=be_ta", ["be_ta"]],
      ["?q[name]=%25", []],
      ["?q[name]=mail", []],
      ["?q[name]=", ["alpha", "be_ta", "beXta", "gamma", "Zeta"]],
      ["?q=mm", ["gamma"]],
      ["?q=ALPHA-mail", ["alpha"]],
      ["?q=mail%40EXAMPLE", ["alpha", "be_ta", "beXta", "gamma", "Zeta"]],
      ["?q=_", ["be_ta"]],
      ["?q=nothing", []],
      ["?q=mail&q[name]=zet", ["Zeta"]],
    ])("%s", async (query, expected) => {
      const answer = await person.get(`/organizations${query}`);
      expect(answer.body.data.map(({ id }: Json) => id)).toEqual(expected);
      expect(answer.body.meta.pagination["total-count"]).toBe(expected.length);
    });

    it("doesn't find organizations that the caller can't see", async () => {
      expect(await namesFor(person, `?q=${othersName}`)).toEqual([]);
    });
  });

  describe("listOrganizations: pages", () => {
    it("'next' links visit every organization once", async () => {
      const seen: string[] = [];
      let next: string | null = "/api/v2/organizations?page[size]=2";
      while (next !== null) {
        const { body }: { body: Json } = await person.get(next);
        seen.push(...body.data.map(({ id }: Json) => id));
        next = body.links.next;
      }
      expect(seen).toEqual(["alpha", "be_ta", "beXta", "gamma", "Zeta"]);
    });

    it("is empty past the end, with the right totals", async () => {
      const { status, body } = await person.get("/organizations?page[size]=2&page[number]=9");
      expect(status).toBe(200);
      expect(body.data).toEqual([]);
      expect(body.meta.pagination).toMatchObject({
        "total-count": 5,
        "total-pages": 3,
        "prev-page": 3,
        "next-page": null,
      });
    });

    it("limits the size to 100, and rejects invalid numbers", async () => {
      const large = await person.get("/organizations?page[size]=500");
      expect(large.body.meta.pagination["page-size"]).toBe(100);
      const bad = await person.get("/organizations?page[size]=0&page[number]=x&include=moon");
      expect(bad.status).toBe(400);
      expect(pointers(bad).sort()).toEqual(["include", "page[number]", "page[size]"]);
    });

    it("shows an organization that was just created", async () => {
      const name = unique("fresh");
      await api.makeOrganization({ name });
      expect(await namesFor(api.admin, `?q[name]=${name}`)).toEqual([name]);
    });
  });
});

describe("show", () => {
  let org: Org;
  beforeAll(async () => {
    org = await api.makeOrganization();
  });
  const path = () => `/organizations/${org.name}`;

  describe("showOrganization: include", () => {
    it.each(["default_project", "default-project", "default_project,default-project"])(
      "%s brings the default project, as its own address gives it",
      async (spelling) => {
        const answer = await org.owner.get(`${path()}?include=${spelling}`);
        expect(answer.status).toBe(200);
        expect(answer.body.included).toEqual([data(await org.owner.get(`/projects/${org.defaultProjectId}`))]);
        expect(answer.body.data).toEqual(data(await org.owner.get(path())));
        expect(answer.body.data.relationships["default-project"].data.id).toBe(org.defaultProjectId);
      },
    );

    it("is absent without include, and for callers who can't read it", async () => {
      expect((await org.owner.get(path())).body).not.toHaveProperty("included");
      const pathWithInclude = `${path()}?include=default_project`;
      const member = await api.makeMember(org.name);
      expect((await member.get(pathWithInclude)).body.included).toEqual([]);
      const team = await api.makeTeam(org.name);
      await api.grantProject(org.defaultProjectId, team.id, "read");
      const reader = await api.makeMember(org.name, [team.id]);
      for (const caller of [reader, await api.makeOrganizationToken(org.name)])
        expect((await caller.get(pathWithInclude)).body.included).toHaveLength(1);
    });

    it("400: in a list, and for unknown names", async () => {
      expect((await org.owner.get("/organizations?include=default_project")).status).toBe(400);
      expect((await org.owner.get(`${path()}?include=entitlement_set`)).status).toBe(400);
    });
  });

  describe("showOrganization: constant attributes", () => {
    it("has no limit for module tests", async () => {
      expect(data(await org.owner.get(path())).attributes["remaining-testable-count"]).toBe(2_147_483_647);
    });
  });
});

describe("access", () => {
  let org: Org;
  let other: Org;
  beforeAll(async () => {
    org = await api.makeOrganization();
    other = await api.makeOrganization();
  });

  const all = organizationPermissionFlags;
  const path = () => `/organizations/${org.name}`;
  const flagsFor = async (caller: Caller): Promise<string[]> => {
    const { permissions } = data(await caller.get(path())).attributes;
    expect(Object.keys(permissions).sort()).toEqual([...all].sort());
    return Object.keys(permissions).filter((flag) => permissions[flag]);
  };

  type MakeCaller = (own: Org) => Promise<Caller>;
  const owner = [200, 200, 204] as const;
  const member = [200, 403, 403] as const;
  const stranger = [404, 404, 404] as const;
  const unknown = [401, 401, 401] as const;

  const callers: readonly (readonly [string, MakeCaller, readonly [number, number, number]])[] = [
    ["an owner", async (own) => own.owner, owner],
    ["a site admin", async () => api.makeUser({ "is-site-admin": true }), owner],
    ["the organization's token", (own) => api.makeOrganizationToken(own.name), owner],
    ["the owners team's token", (own) => api.makeTeamToken(own.ownersTeamId), owner],
    ["a plain member", (own) => api.makeMember(own.name), member],
    [
      "a holder of manage-projects and manage-workspaces",
      (own) => api.makeHolder(own.name, "manage-projects", "manage-workspaces"),
      member,
    ],
    [
      "a holder of manage-teams, manage-membership and manage-organization-access",
      (own) => api.makeHolder(own.name, "manage-teams", "manage-membership", "manage-organization-access"),
      member,
    ],
    ["a team's token", async (own) => api.makeTeamToken((await api.makeTeam(own.name)).id), member],
    ["a stranger", () => api.makeUser(), stranger],
    ["an owner of another organization", async () => other.owner, stranger],
    ["another organization's token", () => api.makeOrganizationToken(other.name), stranger],
    ["a token of another organization's team", () => api.makeTeamToken(other.ownersTeamId), stranger],
    ["no token", async () => api.nobody, unknown],
    ["an unknown token", async () => api.as("cadastre-unknown"), unknown],
  ];

  describe.each(callers)("%s", (_, makeCaller, [show, update, remove]) => {
    let own: Org;
    let caller: Caller;
    beforeAll(async () => {
      own = await api.makeOrganization();
      caller = await makeCaller(own);
    });
    const at = () => `/organizations/${own.name}`;

    it(`showOrganization: ${show}`, async () => {
      const answer = await caller.get(at());
      expect(answer.status).toBe(show);
      expect(answer.body.data?.id).toBe(show === 200 ? own.name : undefined);
    });

    it(`updateOrganization: ${update}`, async () => {
      const answer = await caller.patch(at(), resource("organizations", { email: "changed@example.com" }));
      expect(answer.status).toBe(update);
      if (update === 403) expect(details(answer)[0]).toContain("ownership of the organization");
      const { email } = data(await api.admin.get(at())).attributes;
      expect(email).toBe(update === 200 ? "changed@example.com" : "org@example.com");
    });

    it(`deleteOrganization: ${remove}`, async () => {
      const answer = await caller.delete(at());
      expect(answer.status).toBe(remove);
      if (remove === 403) expect(details(answer)[0]).toContain("ownership of the organization");
      expect((await api.admin.get(at())).status).toBe(remove === 204 ? 404 : 200);
    });
  });

  describe("the permissions of the document", () => {
    it("are all of them for owners, site admins and the organization's token", async () => {
      for (const caller of [
        org.owner,
        api.admin,
        await api.makeUser({ "is-site-admin": true }),
        await api.makeOrganizationToken(org.name),
        await api.makeTeamToken(org.ownersTeamId),
      ]) {
        expect(await flagsFor(caller)).toEqual([...all]);
      }
    });

    it("are none but can-traverse for a plain member and for a team without any", async () => {
      expect(await flagsFor(await api.makeMember(org.name))).toEqual(["can-traverse"]);
      const team = await api.makeTeam(org.name);
      expect(await flagsFor(await api.makeTeamToken(team.id))).toEqual(["can-traverse"]);
    });

    it.each([
      ["manage-projects", ["can-traverse", "can-create-project", "can-create-workspace"]],
      ["manage-workspaces", ["can-traverse", "can-create-workspace", "can-delete-tags"]],
      ["read-projects", ["can-traverse"]],
      ["read-workspaces", ["can-traverse"]],
      ["manage-teams", ["can-traverse", "can-create-team"]],
      ["manage-membership", ["can-traverse", "can-manage-memberships"]],
      ["manage-run-tasks", ["can-traverse", "can-manage-run-tasks"]],
      ["manage-vcs-settings", ["can-traverse", "can-update-oauth", "can-update-ssh-keys"]],
      ["manage-agent-pools", ["can-traverse", "can-update-agent-pools"]],
      ["manage-policies", ["can-traverse", "can-update-sentinel"]],
      ["access-secret-teams", ["can-traverse"]],
    ])("of a holder of %s", async (permission, expected) => {
      const holder = await api.makeHolder(org.name, permission);
      expect(await flagsFor(holder)).toEqual(expected);
      expect(await flagsFor(await api.makeTeamToken(holder.teamId))).toEqual(expected);
    });

    it("add up over a user's teams", async () => {
      const teams = await Promise.all(
        ["manage-teams", "manage-projects"].map((permission) =>
          api.makeTeam(org.name, { "organization-access": { [permission]: true } }),
        ),
      );
      const person = await api.makeMember(
        org.name,
        teams.map((team) => team.id),
      );
      expect(await flagsFor(person)).toEqual([
        "can-traverse",
        "can-create-team",
        "can-create-project",
        "can-create-workspace",
      ]);
    });
  });

  describe("refusals", () => {
    it("a hidden organization gets the same error as an unknown one", async () => {
      const person = await api.makeUser();
      const [hidden, missing] = [await person.get(path()), await person.get("/organizations/no-such-organization")];
      expect(hidden.status).toBe(404);
      expect(hidden.body).toEqual(missing.body);
      expect(hidden.body.errors).toEqual([{ status: "404", title: "not found", detail: expect.any(String) }]);
    });

    it("an unknown include is 400", async () => {
      const answer = await org.owner.get(`${path()}?include=moon`);
      expect(answer.status).toBe(400);
      expect(details(answer)[0]).toContain("include parameter");
    });

    it("invalid bodies are reported before 404 and 403", async () => {
      const body = resource("organizations", { email: "nobody" });
      expect((await (await api.makeUser()).patch(path(), body)).status).toBe(422);
      expect((await (await api.makeMember(org.name)).patch(path(), body)).status).toBe(422);
      expect((await api.nobody.patch(path(), body)).status).toBe(401);
      expect((await org.owner.patch(path(), "{", {})).status).toBe(400);
      expect((await org.owner.patch(path(), "{}", { "content-type": "text/plain" })).status).toBe(415);
    });
  });
});
