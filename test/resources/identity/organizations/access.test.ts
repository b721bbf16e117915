/** Who may do what to an organization: every kind of caller against every operation, and what the document says of it. */
import { beforeAll, describe, expect, it } from "vitest";
import { organizationPermissionFlags } from "../../../../src/access/permissions/organization.ts";
import { type Caller, useApi } from "../../../support/api.ts";
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
  resource,
} from "../../../support/builders.ts";

const api = useApi();
let org: Org;
let other: Org;
beforeAll(async () => {
  org = await makeOrganization(api);
  other = await makeOrganization(api);
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
  ["a site admin", async () => makeUser(api, { "is-site-admin": true }), owner],
  ["the organization's token", (own) => makeOrganizationToken(api, own.name), owner],
  ["the owners team's token", (own) => makeTeamToken(api, own.ownersTeamId), owner],
  ["a plain member", (own) => makeMember(api, own.name), member],
  [
    "a holder of manage-projects and manage-workspaces",
    (own) => makeHolder(api, own.name, "manage-projects", "manage-workspaces"),
    member,
  ],
  [
    "a holder of manage-teams, manage-membership and manage-organization-access",
    (own) => makeHolder(api, own.name, "manage-teams", "manage-membership", "manage-organization-access"),
    member,
  ],
  ["a team's token", async (own) => makeTeamToken(api, (await makeTeam(api, own.name)).id), member],
  ["a stranger", () => makeUser(api), stranger],
  ["an owner of another organization", async () => other.owner, stranger],
  ["another organization's token", () => makeOrganizationToken(api, other.name), stranger],
  ["a token of another organization's team", () => makeTeamToken(api, other.ownersTeamId), stranger],
  ["no token", async () => api.nobody, unknown],
  ["an unknown token", async () => api.as("cadastre-unknown"), unknown],
];

describe.each(callers)("%s", (_, makeCaller, [show, update, remove]) => {
  let own: Org;
  let caller: Caller;
  beforeAll(async () => {
    own = await makeOrganization(api);
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
      await makeUser(api, { "is-site-admin": true }),
      await makeOrganizationToken(api, org.name),
      await makeTeamToken(api, org.ownersTeamId),
    ]) {
      expect(await flagsFor(caller)).toEqual([...all]);
    }
  });

  it("are none but can-traverse for a plain member and for a team without any", async () => {
    expect(await flagsFor(await makeMember(api, org.name))).toEqual(["can-traverse"]);
    const team = await makeTeam(api, org.name);
    expect(await flagsFor(await makeTeamToken(api, team.id))).toEqual(["can-traverse"]);
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
    const holder = await makeHolder(api, org.name, permission);
    expect(await flagsFor(holder)).toEqual(expected);
    expect(await flagsFor(await makeTeamToken(api, holder.teamId))).toEqual(expected);
  });

  it("add up over a person's teams", async () => {
    const teams = await Promise.all(
      ["manage-teams", "manage-projects"].map((permission) =>
        makeTeam(api, org.name, { "organization-access": { [permission]: true } }),
      ),
    );
    const person = await makeMember(
      api,
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
  it("an organization that may not be seen is refused like one that is not there", async () => {
    const person = await makeUser(api);
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

  it("the body's shape comes before 404 and 403", async () => {
    const body = resource("organizations", { email: "nobody" });
    expect((await (await makeUser(api)).patch(path(), body)).status).toBe(422);
    expect((await (await makeMember(api, org.name)).patch(path(), body)).status).toBe(422);
    expect((await api.nobody.patch(path(), body)).status).toBe(401);
    expect((await org.owner.patch(path(), "{", {})).status).toBe(400);
    expect((await org.owner.patch(path(), "{}", { "content-type": "text/plain" })).status).toBe(415);
  });
});
