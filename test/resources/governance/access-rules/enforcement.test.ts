/** Changes of access that rules forbid, need an approval for, or advise against, by every route. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Member, type Org, resource, unique } from "../../../support/builders.ts";
import { joining, leaving, permitting, projectGrant, workspaceGrant } from "../../../support/previews.ts";
import { makeRule, message, ruleFor, whileRuled } from "./support.ts";

const api = useApi();
let org: Org;
let team: Json;
let member: Member;
let project: Json;
let workspace: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
  team = await api.makeTeam(org.name);
  member = await api.makeMember(org.name);
  project = await api.makeProject(org.name);
  workspace = await api.makeWorkspace(org.name, {}, inProject(project.id));
});

const withRule = <T>(attributes: object, work: (rule: Json) => Promise<T>, of = org) =>
  whileRuled(of, attributes, work);
const send = ({ method, path, body }: Json, by: Caller = org.owner): Promise<Answer> =>
  by.send(method, path.replace("/api/v2", ""), body);
const grant = (access = "read", teamId = team.id) => projectGrant(access, teamId, project.id);

/** Each change of access: what makes it, the action that the rules see, and what undoes it. */
const changes: readonly (readonly [name: string, action: string, prepare: () => Promise<Json>])[] = [
  ["createTeamProject", "grant", async () => projectGrant("read", (await api.makeTeam(org.name)).id, project.id)],
  ["createTeamWorkspace", "grant", async () => workspaceGrant("read", (await api.makeTeam(org.name)).id, workspace.id)],
  [
    "updateTeamProject",
    "update",
    async () => {
      const id = await api.grantProject(project.id, (await api.makeTeam(org.name)).id, "read");
      return { method: "PATCH", path: `/team-projects/${id}`, body: resource("team-projects", { access: "write" }) };
    },
  ],
  [
    "updateTeamWorkspace",
    "update",
    async () => {
      const id = await api.grantWorkspace(workspace.id, (await api.makeTeam(org.name)).id, "read");
      return { method: "PATCH", path: `/team-workspaces/${id}`, body: resource("team-workspaces", { access: "plan" }) };
    },
  ],
  [
    "deleteTeamProject",
    "revoke",
    async () => {
      const id = await api.grantProject(project.id, (await api.makeTeam(org.name)).id, "read");
      return { method: "DELETE", path: `/team-projects/${id}` };
    },
  ],
  [
    "deleteTeamWorkspace",
    "revoke",
    async () => {
      const id = await api.grantWorkspace(workspace.id, (await api.makeTeam(org.name)).id, "read");
      return { method: "DELETE", path: `/team-workspaces/${id}` };
    },
  ],
  ["addTeamUsers", "addMember", async () => joining((await api.makeTeam(org.name)).id, member.username)],
  [
    "addTeamMemberships",
    "addMember",
    async () => ({
      method: "POST",
      path: `/teams/${(await api.makeTeam(org.name)).id}/relationships/organization-memberships`,
      body: { data: [{ type: "organization-memberships", id: member.membershipId }] },
    }),
  ],
  [
    "removeTeamUsers",
    "removeMember",
    async () => {
      const left = await api.makeTeam(org.name);
      const leaver = await api.makeMember(org.name, [left.id]);
      return leaving(left.id, leaver.username);
    },
  ],
  ["updateTeam", "updateTeam", async () => permitting((await api.makeTeam(org.name)).id, "manage-teams")],
  [
    "updateTeam of the group whose users join",
    "updateTeam",
    async () => ({
      method: "PATCH",
      path: `/teams/${(await api.makeTeam(org.name)).id}`,
      body: resource("teams", { "sso-team-id": unique("group") }),
    }),
  ],
  [
    "createTeam",
    "updateTeam",
    async () => ({
      method: "POST",
      path: `/organizations/${org.name}/teams`,
      body: resource("teams", { name: unique("team"), "organization-access": { "manage-projects": true } }),
    }),
  ],
  [
    "createOrganizationMembership",
    "addMember",
    async () => ({
      method: "POST",
      path: `/organizations/${org.name}/organization-memberships`,
      body: resource(
        "organization-memberships",
        { email: `${unique("someone")}@example.com` },
        { teams: { data: [{ type: "teams", id: team.id }] } },
      ),
    }),
  ],
  [
    "moveWorkspaces",
    "moveWorkspace",
    async () => ({
      method: "POST",
      path: `/projects/${(await api.makeProject(org.name)).id}/relationships/workspaces`,
      body: { data: [{ type: "workspaces", id: (await api.makeWorkspace(org.name, {}, inProject(project.id))).id }] },
    }),
  ],
  [
    "updateWorkspace",
    "moveWorkspace",
    async () => {
      const { id } = await api.makeWorkspace(org.name, {}, inProject(project.id));
      const target = await api.makeProject(org.name);
      return { method: "PATCH", path: `/workspaces/${id}`, body: resource("workspaces", {}, inProject(target.id)) };
    },
  ],
  [
    "updateWorkspaceByName",
    "moveWorkspace",
    async () => {
      const { attributes } = await api.makeWorkspace(org.name, {}, inProject(project.id));
      const path = `/organizations/${org.name}/workspaces/${attributes.name}`;
      const target = await api.makeProject(org.name);
      return { method: "PATCH", path, body: resource("workspaces", {}, inProject(target.id)) };
    },
  ],
  [
    "createTeamToken",
    "createToken",
    async () => ({
      method: "POST",
      path: `/teams/${team.id}/authentication-tokens`,
      body: resource("authentication-tokens", { description: unique("token") }),
    }),
  ],
  ["replaceTeamToken", "createToken", async () => ({ method: "POST", path: `/teams/${team.id}/authentication-token` })],
  [
    "replaceOrganizationToken",
    "createToken",
    async () => ({ method: "POST", path: `/organizations/${org.name}/authentication-token` }),
  ],
];

describe.each(changes)("%s, the action %s", (_, action, prepare) => {
  const scope = `principal, action == Action::"${action}", resource`;
  const policy = `@message("${message}") forbid (${scope});`;

  it("403 with the rule's name and message, and changes nothing; then as before without the rule", async () => {
    const change = await prepare();
    await withRule({ policy }, async (rule) => {
      const answer = await send(change);
      expect(answer.status).toBe(403);
      expect(details(answer)).toEqual([`The access rule '${rule.attributes.name}' forbids this change: ${message}`]);
    });
    expect((await send(change)).status).toBeLessThan(300);
  });

  it("a rule for other actions doesn't match", async () => {
    const change = await prepare();
    await withRule(
      { policy: `forbid (principal, action, resource) unless { action == Action::"${action}" };` },
      async () => expect((await send(change)).status).toBeLessThan(300),
    );
  });

  it("200 with a warning, if the rule advises", async () => {
    const change = await prepare();
    const { answer, rule } = await withRule({ policy, enforcement: "advise" }, async (advising) => ({
      answer: await send(change),
      rule: advising,
    }));
    expect(answer.status).toBeLessThanOrEqual(201);
    expect(answer.body.meta).toEqual({ warnings: [{ rule: rule.id, name: rule.attributes.name, message }] });
  });
});

describe("enforcement", () => {
  it("approval: 403 that asks for an access request", async () => {
    await withRule({ policy: ruleFor("true"), enforcement: "approval" }, async (rule) => {
      const answer = await send(grant());
      expect(answer.status).toBe(403);
      expect(details(answer)[0]).toContain(`'${rule.attributes.name}' requires an approved access request`);
      expect(details(answer)[0]).toContain(message);
    });
  });

  it("lists each rule that refuses", async () => {
    await withRule({ name: "a first", policy: ruleFor("true") }, () =>
      withRule({ name: "b second", policy: "forbid (principal, action, resource);" }, async () => {
        const sentences = details(await send(grant()));
        expect(sentences[0]).toContain("'a first'");
        expect(sentences[1]).toBe("The access rule 'b second' forbids this change: b second.");
      }),
    );
  });

  it("422: more members at once than the rules can be evaluated for", async () => {
    const own = await api.makeOrganization();
    const { id } = await api.makeTeam(own.name);
    const policy = `${ruleFor("context.breakGlass")} //`.padEnd(16_384, "a");
    for (let count = 0; count < 50; count += 1) await makeRule(own, { policy });
    const members: Member[] = [];
    while (members.length < 41) members.push(await api.makeMember(own.name));
    const add = (some: readonly Member[]) => send(joining(id, ...some.map(({ username }) => username)), own.owner);
    const refused = await add(members);
    expect([refused.status, details(refused)]).toEqual([
      422,
      [expect.stringContaining("at most 40 changes of access")],
    ]);
    expect((await add(members.slice(1))).status).toBe(204);
  });

  it("a disabled rule refuses nothing, until it is enabled", async () => {
    const rule = await makeRule(org, { enabled: false });
    const first = await api.makeTeam(org.name);
    expect((await send(grant("read", first.id))).status).toBe(200);
    data(await org.owner.patch(`/access-rules/${rule.id}`, resource("access-rules", { enabled: true })));
    const second = await api.makeTeam(org.name);
    expect((await send(grant("read", second.id))).status).toBe(403);
    data(await org.owner.patch(`/access-rules/${rule.id}`, resource("access-rules", { enabled: false })));
    expect((await send(grant("read", second.id))).status).toBe(200);
  });

  it("404 and 403 of permissions come first", async () => {
    await withRule({ policy: ruleFor("true") }, async () => {
      expect((await send(grant(), member)).status).toBe(404);
      const answer = await send(permitting(team.id, "manage-teams"), member);
      expect(JSON.stringify(answer.body)).not.toContain(message);
    });
  });

  it.each([
    ["an integer overflow", "context has expiresInSeconds && context.expiresInSeconds * 9223372036854775807 < 0"],
    ["an overflow of constants", "9223372036854775807 + 1 > 0"],
  ])("an error counts as a match: %s", async (_, condition) => {
    await withRule({ policy: ruleFor(condition) }, async () => {
      const ending = grant("read", (await api.makeTeam(org.name)).id);
      ending.body.data.attributes["expires-at"] = "2099-01-01T00:00:00Z";
      expect((await send(ending)).status).toBe(403);
    });
  });

  it("is not evaluated for names, descriptions, deletions of teams, memberships and workspaces, and rules", async () => {
    const leaver = await api.makeMember(org.name, [team.id]);
    const deleted = await api.makeTeam(org.name);
    await api.grantProject(project.id, deleted.id, "read");
    const gone = await api.makeWorkspace(org.name, {}, inProject(project.id));
    await withRule({ policy: ruleFor("true") }, async (rule) => {
      data(await org.owner.patch(`/teams/${deleted.id}`, resource("teams", { description: "x", name: unique("t") })));
      data(await org.owner.patch(`/workspaces/${gone.id}`, resource("workspaces", { description: "x" })));
      expect((await org.owner.delete(`/teams/${deleted.id}`)).status).toBe(204);
      expect((await org.owner.delete(`/organization-memberships/${leaver.membershipId}`)).status).toBe(204);
      expect((await org.owner.delete(`/workspaces/${gone.id}`)).status).toBe(204);
      data(await org.owner.post(`/organizations/${org.name}/teams`, resource("teams", { name: unique("plain") })));
      data(await org.owner.patch(`/access-rules/${rule.id}`, resource("access-rules", { description: "x" })));
    });
  });

  it("an earlier end of a seat or grant is no new seat", async () => {
    const seated = await api.makeMember(org.name, [team.id]);
    const ending = joining(team.id, seated.username);
    ending.body.data[0].meta = { "expires-at": "2099-01-01T00:00:00Z" };
    await withRule({ policy: ruleFor("true", 'principal, action == Action::"addMember", resource') }, async () =>
      expect((await send(ending)).status).toBe(204),
    );
  });
});

/** A rule, and whether it refuses an example. */
describe("what rules see", () => {
  const refuses = async (condition: string, change: Json, scope?: string, by: Caller = org.owner): Promise<boolean> =>
    withRule({ policy: ruleFor(condition, scope) }, async () => (await send(change, by)).status === 403);

  it("the principal, the team, the project and its tags", async () => {
    const tagged = data(
      await org.owner.post(
        `/organizations/${org.name}/projects`,
        resource(
          "projects",
          { name: unique("tagged") },
          { "tag-bindings": { data: [{ type: "tag-bindings", attributes: { key: "env", value: "prod" } }] } },
        ),
      ),
    );
    const inside = await api.makeWorkspace(org.name, {}, inProject(tagged.id));
    const onTagged = async () => projectGrant("admin", (await api.makeTeam(org.name)).id, tagged.id);
    const onInside = async () => workspaceGrant("admin", (await api.makeTeam(org.name)).id, inside.id);
    const owner = data(await org.owner.get("/account/details"));
    for (const condition of [
      'resource.hasTag("env") && resource.getTag("env") == "prod"',
      `resource in Organization::"${org.name}"`,
    ]) {
      const scope = 'principal, action == Action::"grant", resource';
      const both = `(resource is Project || resource is Workspace) && ${condition}`;
      expect([both, await refuses(both, await onTagged(), scope)]).toEqual([both, true]);
      expect([both, await refuses(both, await onInside(), scope)]).toEqual([both, true]);
    }
    for (const [condition, expected] of [
      [`principal == User::"${owner.id}"`, true],
      [`principal is User && principal.username == "${owner.attributes.username}"`, true],
      ["principal is User && principal.isSiteAdmin", owner.attributes["is-site-admin"] === true],
      ['context has access && context.access == "admin"', true],
      ['context.permissions.contains("runs:apply")', true],
      ['context.permissions.contains("workspace-locking")', true],
      ['context.permissions.contains("locking")', false],
      ["context has expiresInSeconds", false],
      ["context has user", false],
      ["context.approved || context.breakGlass", false],
      [`resource is Workspace && resource.project == Project::"${tagged.id}"`, true],
      [`resource is Workspace && resource.project.hasTag("env") && resource.project.getTag("env") == "prod"`, true],
    ] as const) {
      expect([condition, await refuses(condition, await onInside())]).toEqual([condition, expected]);
    }
  });

  it("the seat's user, end and reason", async () => {
    const seat = (meta: object) => {
      const change = joining(team.id, member.username);
      change.body.data[0].meta = meta;
      return change;
    };
    const scope = 'principal, action == Action::"addMember", resource';
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    const cases: readonly (readonly [string, object, boolean])[] = [
      ['context has user && context.user.email like "*@example.com"', { reason: "a" }, true],
      [`context has user && context.user == User::"${member.id}"`, { reason: "b" }, true],
      [
        `resource == Team::"${team.id}" && resource.name == "${team.attributes?.name ?? team.name}"`,
        { reason: "c" },
        true,
      ],
      ["context has expiresInSeconds && context.expiresInSeconds <= 3600", { "expires-at": soon }, true],
      ["!(context has expiresInSeconds)", { "expires-at": soon }, false],
      ['!(context has reason && context.reason like "INC-*")', { reason: "INC-7", "expires-at": soon }, false],
      ['!(context has reason && context.reason like "INC-*")', { reason: "bored", "expires-at": soon }, true],
    ];
    for (const [condition, meta, expected] of cases)
      expect([condition, await refuses(condition, seat(meta), scope)]).toEqual([condition, expected]);
  });

  it("the time until a token expires, also where the organization's limit shortens it", async () => {
    const limited = await api.makeOrganization();
    const { id } = await api.makeTeam(limited.name);
    const lifetimes = ["team", "organization"].map((kind) => ({ "token-type": kind, "max-ttl-ms": 30 * 86_400_000 }));
    const organization = `/organizations/${limited.name}`;
    data(await limited.owner.patch(organization, resource("organizations", { "max-ttl-enabled": true })));
    const policies = resource("organization-token-ttl-policies", { "token-ttl-policies": lifetimes });
    data(await limited.owner.patch(`${organization}/token-ttl-policies`, policies));
    const isLong = "!(context has expiresInSeconds && context.expiresInSeconds <= 2592000)";
    const policy = ruleFor(isLong, 'principal, action == Action::"createToken", resource');
    const paths = [`/teams/${id}/authentication-token`, `${organization}/authentication-token`];
    const statuses = () =>
      withRule(
        { policy },
        () => Promise.all(paths.map(async (path) => (await limited.owner.post(path)).status)),
        limited,
      );
    expect(await statuses()).toEqual([201, 201]);
    data(await limited.owner.patch(organization, resource("organizations", { "max-ttl-enabled": false })));
    expect(await statuses()).toEqual([403, 403]);
  });

  it("tokens of teams and of the organization as principals", async () => {
    const owners = await api.makeTeamToken(org.ownersTeamId);
    const token = await api.makeOrganizationToken(org.name);
    const fresh = async () => grant("read", (await api.makeTeam(org.name)).id);
    const isTeam = `principal == Team::"${org.ownersTeamId}" && principal is Team && principal.name == "owners"`;
    expect(await refuses(isTeam, await fresh(), undefined, owners)).toBe(true);
    const isOrganization = `principal == Organization::"${org.name}"`;
    expect(await refuses(isOrganization, await fresh(), undefined, token)).toBe(true);
    expect(await refuses(isOrganization, await fresh(), undefined, owners)).toBe(false);
  });

  it("the permissions that a team newly gets in the organization", async () => {
    const { id } = await api.makeTeam(org.name);
    data(await send(permitting(id, "manage-teams")));
    const policy = 'context.permissions.contains("manage-teams")';
    expect(await refuses(policy, permitting(id, "manage-projects"))).toBe(false);
    data(await send(permitting(id, "manage-teams", false)));
    expect(await refuses(policy, permitting(id, "manage-teams"))).toBe(true);
    expect(await refuses('context.permissions == ["manage-teams"]', permitting(id, "manage-teams"))).toBe(true);
  });
});
