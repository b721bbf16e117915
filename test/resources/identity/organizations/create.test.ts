/**
 * POST /organizations: results, permissions and errors. POST /organizations if the settings let every
 * user create one.
 */
import { describe, expect, it } from "vitest";
import { type Answer, type Caller, useApi } from "../../../support/api.ts";
import { data, details, pointers, resource, unique } from "../../../support/builders.ts";

describe("create", () => {
  const api = useApi();

  const valid = (attributes: object = {}) =>
    resource("organizations", { name: unique("org"), email: "org@example.com", ...attributes });
  const create = (attributes: object = {}, caller: Caller = api.admin) =>
    caller.post("/organizations", valid(attributes));

  function expectRefused(answer: Answer, attribute: string, detail: string | RegExp): void {
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toEqual([
      {
        status: "422",
        title: "invalid attribute",
        detail: typeof detail === "string" ? detail : expect.stringMatching(detail),
        source: { pointer: `/data/attributes/${attribute}` },
      },
    ]);
  }

  describe("createOrganization: success", () => {
    it("answers 201 with the whole document, including defaults", async () => {
      const name = unique("Org");
      const answer = await create({ name });
      expect(answer.status).toBe(201);
      const { attributes, relationships } = answer.body.data;
      const id = attributes["external-id"];
      const projectId = relationships["default-project"].data.id;
      expect(id).toMatch(/^org-[1-9A-Za-z]{16}$/);
      expect(projectId).toMatch(/^prj-/);
      expect(Object.values(attributes.permissions)).not.toContain(false);
      expect(answer.body).toEqual({
        data: {
          id: name,
          type: "organizations",
          attributes: {
            name,
            email: "org@example.com",
            "external-id": id,
            "default-execution-mode": "remote",
            "allow-force-delete-workspaces": false,
            "access-request-lapse-seconds": 604800,
            "assessments-enforced": false,
            "collaborator-auth-policy": "password",
            "cost-estimation-enabled": false,
            "session-remember": null,
            "session-timeout": null,
            "owners-team-saml-role-id": null,
            "send-passing-statuses-for-untriggered-speculative-plans": false,
            "aggregated-commit-status-enabled": true,
            "speculative-plan-management-enabled": true,
            "user-tokens-enabled": true,
            "max-ttl-enabled": false,
            "stacks-enabled": false,
            "remaining-testable-count": 2_147_483_647,
            "saml-enabled": false,
            "two-factor-conformant": true,
            "is-unified": false,
            permissions: attributes.permissions,
            "created-at": expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
          },
          relationships: {
            "default-project": {
              data: { id: projectId, type: "projects" },
              links: { related: `/api/v2/projects/${projectId}` },
            },
            "default-agent-pool": { data: null },
            "data-retention-policy": { data: null },
            "entitlement-set": {
              data: { id, type: "entitlement-sets" },
              links: { related: `/api/v2/organizations/${name}/entitlement-set` },
            },
          },
          links: { self: `/api/v2/organizations/${name}` },
        },
      });
      expect(data(await api.admin.get(`/organizations/${name}`))).toEqual(answer.body.data);
      expect(data(await api.admin.get(`/organizations?q[name]=${name}`))).toEqual([answer.body.data]);
    });

    it("stores every attribute", async () => {
      const attributes = {
        email: "Other+tag@example.org",
        "default-execution-mode": "local",
        "allow-force-delete-workspaces": true,
        "assessments-enforced": true,
        "collaborator-auth-policy": "password",
        "cost-estimation-enabled": true,
        "session-remember": 20160,
        "session-timeout": 1,
        "owners-team-saml-role-id": "saml-owners",
        "send-passing-statuses-for-untriggered-speculative-plans": true,
        "aggregated-commit-status-enabled": false,
        "speculative-plan-management-enabled": false,
        "max-ttl-enabled": true,
        "stacks-enabled": true,
      };
      const created = data(await create(attributes));
      expect(created.attributes).toMatchObject(attributes);
      expect(data(await api.admin.get(`/organizations/${created.id}`)).attributes).toEqual(created.attributes);
    });

    it("ignores unknown and read-only attributes", async () => {
      const created = data(
        await create({ colour: "blue", "external-id": "org-mine", "saml-enabled": true, "plan-expired": 1 }),
      );
      expect(created.attributes["external-id"]).not.toBe("org-mine");
      expect(created.attributes["saml-enabled"]).toBe(false);
      expect(created.attributes).not.toHaveProperty("colour");
    });

    it("makes the creator an owner and an active member", async () => {
      const created = data(await create());
      const teams = data(await api.admin.get(`/organizations/${created.id}/teams?include=users`));
      expect(teams).toHaveLength(1);
      expect(teams[0].attributes).toMatchObject({ name: "owners", "users-count": 1 });
      const members = data(await api.admin.get(`/organizations/${created.id}/organization-memberships?include=user`));
      expect(members).toHaveLength(1);
      expect(members[0].attributes).toMatchObject({ status: "active", email: "admin@localhost" });
      expect(members[0].relationships.teams.data).toEqual([{ id: teams[0].id, type: "teams" }]);
    });
  });

  describe("createOrganization: permissions", () => {
    it("rejects users who are not site admins with 403", async () => {
      const answer = await create({}, await api.makeUser());
      expect(answer.status).toBe(403);
      expect(details(answer)[0]).toContain("site admins");
    });

    it("rejects tokens of teams and organizations with 403", async () => {
      const org = await api.makeOrganization();
      for (const caller of [await api.makeTeamToken(org.ownersTeamId), await api.makeOrganizationToken(org.name)]) {
        expect((await create({}, caller)).status).toBe(403);
      }
      expect((await create({}, org.owner)).status).toBe(403);
    });

    it("reports faults of the body before 403", async () => {
      const person = await api.makeUser();
      expect((await create({ name: "x" }, person)).status).toBe(422);
    });
  });

  describe("createOrganization: name", () => {
    it.each(["abc", "a".repeat(40), "A_b-9", "000", "---"])("takes %s", async (name) => {
      expect(data(await create({ name })).id).toBe(name);
    });

    it.each([
      ["ab", "Name is too short (minimum is 3 characters)"],
      ["a".repeat(41), "Name is too long (maximum is 40 characters)"],
      ["", "Name can't be blank"],
      [undefined, "Name can't be blank"],
      [null, "Name must be a string"],
      [5, "Name must be a string"],
      ["a b c", "Name may only contain letters, numbers, dashes and underscores"],
      ["a.b.c", "Name may only contain letters, numbers, dashes and underscores"],
      ["a/b/c", "Name may only contain letters, numbers, dashes and underscores"],
      ["\u00fcml\u00e4ut", "Name may only contain letters, numbers, dashes and underscores"],
      ["abc\n", "Name may only contain letters, numbers, dashes and underscores"],
    ])("refuses %j", async (name, detail) => {
      expectRefused(await create({ name }), "name", detail);
    });

    it("is unique across the site, ignoring case", async () => {
      const name = unique("Acme");
      data(await create({ name }));
      for (const again of [name, name.toUpperCase(), name.toLowerCase()]) {
        expectRefused(await create({ name: again }), "name", "Name has already been taken");
      }
    });

    it("is taken by only one of concurrent requests", async () => {
      const name = unique("Race");
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, number) => create({ name: number % 2 === 0 ? name : name.toUpperCase() })),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(7).fill(422)]);
      for (const answer of answers.filter(({ status }) => status === 422)) {
        expect(details(answer)).toEqual(["Name has already been taken"]);
      }
    });
  });

  describe("createOrganization: 422", () => {
    it.each([
      ["email", undefined, "Email can't be blank"],
      ["email", "", "Email can't be blank"],
      ["email", null, "Email must be a string"],
      ["email", "nobody", "Email must be a valid email address"],
      ["email", "a b@example.com", "Email must be a valid email address"],
      ["email", `${"a".repeat(250)}@b.cd`, "Email is too long (maximum is 254 characters)"],
      ["default-execution-mode", "magic", /^Default execution mode must be one of: remote, local, agent/],
      ["default-execution-mode", "agent", /^Default agent pool must be specified/],
      ["collaborator-auth-policy", "none", /^Collaborator auth policy must be one of: password, two_factor_mandatory/],
      ["cost-estimation-enabled", "yes", "Cost estimation enabled must be true or false"],
      ["session-timeout", 0, "Session timeout must be a whole number from 1 to 2147483647"],
      ["session-remember", 1.5, "Session remember must be a whole number from 1 to 2147483647"],
      ["session-remember", "20", "Session remember must be a number"],
      ["owners-team-saml-role-id", "x".repeat(256), "Owners team saml role id is too long (maximum is 255 characters)"],
    ])("%s: %j", async (attribute, value, detail) => {
      expectRefused(await create({ [attribute]: value }), attribute, detail);
    });

    it.each([
      ["no data", {}, ["/data"]],
      ["another type", resource("organization", { name: unique("org"), email: "a@b.c" }), ["/data/type"]],
      ["attributes an array", { data: { type: "organizations", attributes: [] } }, ["/data/attributes"]],
    ])("%s", async (_, body, where) => {
      const answer = await api.admin.post("/organizations", body);
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual(expect.arrayContaining(where));
    });

    it("reports all faults of the body, then all faults that need the database", async () => {
      const wrong = resource("teams", { name: "x", email: "y", "session-timeout": 0 });
      const first = await api.admin.post("/organizations", wrong);
      expect(new Set(pointers(first))).toEqual(
        new Set(["/data/type", "/data/attributes/name", "/data/attributes/email", "/data/attributes/session-timeout"]),
      );
      const { name } = await api.makeOrganization();
      const second = await create({ name, "default-execution-mode": "agent" });
      expect(pointers(second).sort()).toEqual(["/data/attributes/default-execution-mode", "/data/attributes/name"]);
    });
  });
});

describe("createOrganization by anyone", () => {
  const api = useApi({ options: { organizationCreation: "anyone" } });
  const valid = () => resource("organizations", { name: unique("org"), email: "org@example.com" });

  it("makes the caller the first owner and the only member", async () => {
    const person = await api.makeUser();
    const created = data(await person.post("/organizations", valid()));
    expect(Object.values(created.attributes.permissions)).not.toContain(false);
    expect(data(await person.get(`/organizations/${created.id}`))).toEqual(created);
    expect(data(await person.get("/organizations"))).toEqual([created]);
    const teams = data(await person.get(`/organizations/${created.id}/teams`));
    expect(teams.map((team: { attributes: object }) => team.attributes)).toEqual([
      expect.objectContaining({ name: "owners", "users-count": 1 }),
    ]);
    const members = (await person.get(`/organizations/${created.id}/organization-memberships?include=user`)).body;
    expect(members.data).toHaveLength(1);
    expect(members.data[0].attributes).toMatchObject({ status: "active", email: person.email });
    expect(members.included.map((user: { id: string }) => user.id)).toEqual([person.id]);
  });

  it("gives the caller an owner's permissions", async () => {
    const person = await api.makeUser();
    const { id } = data(await person.post("/organizations", valid()));
    const project = data(await person.post(`/organizations/${id}/projects`, resource("projects", { name: "First" })));
    expect((await person.delete(`/projects/${project.id}`)).status).toBe(204);
    expect((await person.delete(`/organizations/${id}`)).status).toBe(204);
  });

  it("shows it only to the caller and site admins", async () => {
    const { id } = data(await (await api.makeUser()).post("/organizations", valid()));
    expect((await (await api.makeUser()).get(`/organizations/${id}`)).status).toBe(404);
    expect((await api.admin.get(`/organizations/${id}`)).status).toBe(200);
  });

  it("still rejects tokens of teams and organizations, and callers without a token", async () => {
    const org = await api.makeOrganization();
    for (const caller of [await api.makeTeamToken(org.ownersTeamId), await api.makeOrganizationToken(org.name)]) {
      const answer = await caller.post("/organizations", valid());
      expect(answer.status).toBe(403);
      expect(details(answer)[0]).toContain("Only users can create organizations");
    }
    expect((await api.nobody.post("/organizations", valid())).status).toBe(401);
  });
});
