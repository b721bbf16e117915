/** Access holders of an organization: each team and user, with the number of projects and workspaces and the grants. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Member, type Org, pointers } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
let project: Json;
let workspace: Json;
let aside: Json;
let [admins, readers, secret]: Json[] = [];
let adminRecord: Json;
let person: Member;
let both: Member;
/** The site admin who created the organization is one of its owners. */
let founder: string;

beforeAll(async () => {
  org = await api.makeOrganization({ "allow-force-delete-workspaces": false });
  project = await api.makeProject(org.name, { name: "apples" });
  workspace = await api.makeWorkspace(org.name, {}, inProject(project.id));
  aside = await api.makeWorkspace(org.name);
  admins = await api.makeTeam(org.name, { name: "admins" });
  readers = await api.makeTeam(org.name, { name: "readers", "organization-access": { "read-workspaces": true } });
  secret = await api.makeTeam(org.name, { name: "secret", visibility: "secret" });
  adminRecord = await api.makeTeamProject(project.id, admins!.id, { access: "admin" });
  await api.makeTeamWorkspace(aside.id, secret!.id, { access: "admin" });
  person = await api.makeMember(org.name, [admins!.id]);
  founder = data(await api.admin.get("/account/details")).id;
  both = await api.makeMember(org.name, [readers!.id, secret!.id]);
});

const path = (query = "") => `/organizations/${org.name}/access-holders?page[size]=100${query}`;
const listed = async (caller: Caller, query = ""): Promise<Json> => {
  const answer = await caller.get(path(query));
  data(answer);
  return answer.body;
};
const holderOf = ({ id }: Json): string => id.split(":")[1];
const byHolder = (body: Json): Record<string, Json> =>
  Object.fromEntries(body.data.map((item: Json) => [holderOf(item), item]));

describe("listAccessHolders", () => {
  it("lists each team and user, the number of projects and workspaces, and the grants", async () => {
    const body = await listed(org.owner, "&filter[permission]=can-queue-apply");
    const found = byHolder(body);
    expect(new Set(Object.keys(found))).toEqual(
      new Set([founder, org.ownersTeamId, org.owner.id, admins!.id, person.id, secret!.id, both.id]),
    );
    expect(found[person.id]).toMatchObject({
      id: `${org.id}:${person.id}`,
      type: "access-holders",
      attributes: {
        kind: "user",
        name: person.username,
        everywhere: false,
        "projects-count": 0,
        "workspaces-count": 1,
        "given-by": [{ kind: "team-project", team: { id: admins!.id, name: "admins" }, level: "admin", records: 1 }],
        "hidden-sources": 0,
      },
      relationships: { holder: { data: { type: "users", id: person.id } } },
    });
    expect(found[person.id].attributes.permissions).toBeUndefined();
    expect(found[org.owner.id].attributes).toMatchObject({
      everywhere: true,
      "workspaces-count": 2,
      "given-by": [{ kind: "ownership", team: { id: org.ownersTeamId, name: "owners" } }],
    });
    expect(body.meta).toMatchObject({ hidden: { teams: 0 }, pagination: { "total-count": 7 } });
  });

  it("without a permission, lists everybody with any access; can-force-delete is only the owners'", async () => {
    const all = byHolder(await listed(org.owner));
    expect(all[readers!.id].attributes).toMatchObject({
      everywhere: true,
      "projects-count": 0,
      "workspaces-count": 2,
      "given-by": [{ kind: "organization-permission", permission: "read-workspaces" }],
    });
    expect(all[admins!.id].attributes).toMatchObject({ "projects-count": 1, "workspaces-count": 1 });
    const forcing = byHolder(await listed(org.owner, "&filter[permission]=can-force-delete"));
    expect(Object.keys(forcing).toSorted()).toEqual([founder, org.ownersTeamId, org.owner.id].toSorted());
    const creating = byHolder(await listed(org.owner, "&filter[permission]=can-create-workspace"));
    expect(creating[admins!.id].attributes).toMatchObject({ "projects-count": 1, "workspaces-count": 0 });
  });

  it("for one workspace or project, shows every can-* there, and each grant", async () => {
    const onWorkspace = byHolder(await listed(org.owner, `&filter[workspace][id]=${workspace.id}`));
    expect(new Set(Object.keys(onWorkspace))).toEqual(
      new Set([founder, org.ownersTeamId, org.owner.id, admins!.id, person.id, readers!.id, both.id]),
    );
    const shown = data(await person.get(`/workspaces/${workspace.id}`)).attributes.permissions;
    expect(onWorkspace[person.id].attributes).toMatchObject({
      "workspaces-count": 1,
      "projects-count": 0,
      permissions: shown,
      "given-by": [
        {
          kind: "team-project",
          type: "team-projects",
          id: adminRecord.id,
          level: "admin",
          links: { related: `/api/v2/team-projects/${adminRecord.id}` },
        },
      ],
    });
    const onProject = byHolder(
      await listed(org.owner, `&filter[project][id]=${project.id}&filter[permission]=can-update`),
    );
    expect(onProject[person.id].attributes).toMatchObject({
      "projects-count": 1,
      "workspaces-count": 1,
      permissions: { "can-read": true, "can-update": true, "can-destroy": true, "can-create-workspace": true },
    });
    // The same names and values as in the explanation of the same user.
    const explained = data(await org.owner.get(`/projects/${project.id}/access?filter[user][id]=${person.id}`));
    const valued = Object.entries<Json>(explained.attributes.permissions).map(([name, { value }]) => [name, value]);
    expect(Object.fromEntries(valued)).toMatchObject(onProject[person.id].attributes.values);
    expect(Object.keys(onProject[person.id].attributes.values)).toHaveLength(14);
    expect(onWorkspace[both.id].attributes.values).toMatchObject({ runs: "read", locking: false });
    expect((await listed(org.owner)).data[0].attributes.values).toBeUndefined();
    expect(onProject[readers!.id]).toBeUndefined();
    expect(onProject[secret!.id]).toBeUndefined();
  });

  it("only teams, or only people, with totals of those", async () => {
    const [teams, people] = [
      await listed(org.owner, "&filter[kind]=team"),
      await listed(org.owner, "&filter[kind]=user"),
    ];
    expect(new Set(teams.data.map(holderOf))).toEqual(new Set([org.ownersTeamId, admins!.id, readers!.id, secret!.id]));
    expect(teams.meta.pagination["total-count"]).toBe(4);
    expect(new Set(people.data.map(holderOf))).toEqual(new Set([founder, org.owner.id, person.id, both.id]));
    expect(people.meta.pagination["total-count"]).toBe(4);
    expect((await org.owner.get(path("&filter[kind]=organization"))).status).toBe(400);
  });

  it("in pages, by name", async () => {
    const all = (await listed(org.owner)).data.map(holderOf);
    const names = (await listed(org.owner)).data.map(({ attributes }: Json) => attributes.name.toLowerCase());
    expect(names).toEqual(names.toSorted());
    const page = await org.owner.get(`/organizations/${org.name}/access-holders?page[size]=2&page[number]=2`);
    expect(data(page).map(holderOf)).toEqual(all.slice(2, 4));
    const past = await org.owner.get(`/organizations/${org.name}/access-holders?page[size]=2&page[number]=9`);
    expect([data(past), past.body.meta.pagination["total-count"]]).toEqual([[], all.length]);
  });

  it("agrees with the reach of each of them", async () => {
    for (const permission of ["can-update", "can-read-settings", "can-queue-run", "can-read"]) {
      const found = byHolder(await listed(org.owner, `&filter[permission]=${permission}`));
      const users = [org.owner, person, both].map(({ id }) => [
        id,
        `/users/${id}/reach?filter[organization][name]=${org.name}&`,
      ]);
      const teams = [org.ownersTeamId, admins!.id, readers!.id, secret!.id].map((id) => [id, `/teams/${id}/reach?`]);
      for (const [id = "", at] of [...users, ...teams]) {
        const reach = await org.owner.get(`${at}filter[permission]=${permission}&page[size]=100`);
        const kinds = data(reach).map(({ attributes }: Json) => attributes.kind);
        const counts = ["project", "workspace"].map((kind) => kinds.filter((each: string) => each === kind).length);
        const { "projects-count": projects = 0, "workspaces-count": workspaces = 0 } = found[id]?.attributes ?? {};
        expect([id, permission, projects, workspaces]).toEqual([id, permission, ...counts]);
      }
    }
  });

  it("a site admin who is a member has everything; one who is not is not listed", async () => {
    const other = await api.makeOrganization();
    const admin = await api.makeUser({ "is-site-admin": true });
    const at = `/organizations/${other.name}/access-holders?filter[permission]=can-force-delete`;
    expect(data(await other.owner.get(at)).map(holderOf)).not.toContain(admin.id);
    const body = { type: "organization-memberships", attributes: { email: admin.email } };
    data(await other.owner.post(`/organizations/${other.name}/organization-memberships`, { data: body }));
    const item = data(await other.owner.get(at)).find((each: Json) => holderOf(each) === admin.id);
    expect(item.attributes).toMatchObject({ everywhere: true, "given-by": [{ kind: "site-admin" }] });
  });

  it("secret teams are counted for callers who can't see them, and not named as a source either", async () => {
    const manager = await api.makeHolder(org.name, "manage-membership");
    const answer = await manager.get(path("&filter[permission]=can-update"));
    const found = byHolder(answer.body);
    expect(found[secret!.id]).toBeUndefined();
    expect(answer.body.meta).toMatchObject({ hidden: { teams: 1 }, pagination: { "total-count": 6 } });
    expect(found[both.id].attributes).toMatchObject({ "given-by": [], "hidden-sources": 1, "workspaces-count": 1 });
    expect(JSON.stringify(answer.body)).not.toContain(secret!.id);
  });

  it("400: both kinds of targets, or an unknown permission", async () => {
    const answer = await org.owner.get(
      path(`&filter[project][id]=${project.id}&filter[workspace][id]=${workspace.id}`),
    );
    expect([answer.status, pointers(answer)]).toEqual([400, ["filter[workspace][id]"]]);
    const unknown = await org.owner.get(path("&filter[permission]=can-fly"));
    expect([unknown.status, pointers(unknown)]).toEqual([400, ["filter[permission]"]]);
    expect(details(unknown)[0]).toContain("can-force-delete");
  });
});

describe("listAccessHolders: access", () => {
  it("200: callers who manage teams or memberships, owners, site admins, the organization token", async () => {
    const callers: Caller[] = [
      await api.makeHolder(org.name, "manage-teams"),
      await api.makeHolder(org.name, "manage-membership"),
      await api.makeOrganizationToken(org.name),
      await api.makeTeamToken(org.ownersTeamId),
      api.admin,
    ];
    for (const caller of callers) expect((await caller.get(path())).status).toBe(200);
  });

  it("200: for a project or workspace, callers who manage the access to it; 404 for others", async () => {
    expect((await person.get(path(`&filter[project][id]=${project.id}`))).status).toBe(200);
    expect((await person.get(path(`&filter[workspace][id]=${workspace.id}`))).status).toBe(200);
    expect((await person.get(path(`&filter[workspace][id]=${aside.id}`))).status).toBe(404);
    expect((await person.get(path())).status).toBe(404);
  });

  it("404: members, non-members, targets that do not exist or are not visible", async () => {
    const member = await api.makeMember(org.name, [readers!.id]);
    const refused = await member.get(path(`&filter[workspace][id]=${workspace.id}`));
    expect(refused.status).toBe(404);
    expect(details(refused)[0]).toContain("manage-teams");
    for (const caller of [member, await api.makeUser(), (await api.makeOrganization()).owner])
      expect((await caller.get(path())).status).toBe(404);
    const manager = await api.makeHolder(org.name, "manage-teams");
    expect((await manager.get(path(`&filter[workspace][id]=${workspace.id}`))).status).toBe(404);
    expect((await org.owner.get(path("&filter[workspace][id]=ws-none"))).status).toBe(404);
    expect((await org.owner.get(path("&filter[project][id]=prj-none"))).status).toBe(404);
    const foreign = await api.makeOrganization();
    expect((await org.owner.get(path(`&filter[project][id]=${foreign.defaultProjectId}`))).status).toBe(404);
    expect((await org.owner.get("/organizations/no-such-organization/access-holders")).status).toBe(404);
  });
});
