/** Who can decide an access request: lists, the request itself and the decision must agree. */
import { beforeAll, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Member, type Org } from "../../../support/builders.ts";
import { approve, deny, makeRequest, readRequest } from "../../../support/access-requests.ts";
import { joining, leaving, projectGrant, workspaceGrant } from "../../../support/previews.ts";

const api = useApi();
let org: Org;
let project: string;
let requester: Member;

beforeAll(async () => {
  org = await api.makeOrganization();
  project = (await api.makeProject(org.name)).id;
  requester = await api.makeMember(org.name, [org.ownersTeamId]);
});

const newTeam = async () => (await api.makeTeam(org.name)).id as string;
const ask = (...changes: Json[]) => makeRequest(requester, org.name, changes);
const path = () => `/organizations/${org.name}/access-requests`;
const toDecide = async (caller: Caller) =>
  data(await caller.get(`${path()}?filter[mine]=to-decide&page[size]=100`)).map(({ id }: Json) => id);

async function expectDecides(caller: Caller, { id }: Json): Promise<void> {
  expect(await toDecide(caller)).toContain(id);
  const expected = { "can-approve": true, "can-deny": true };
  expect((await readRequest(caller, id)).attributes.permissions).toMatchObject(expected);
  const listed = data(await caller.get(`${path()}?page[size]=100`)).find((one: Json) => one.id === id);
  expect(listed.attributes.permissions).toMatchObject(expected);
  expect((await approve(caller, id)).status).toBe(200);
}

it("a member of a team that has more on the whole project already gains nothing by its grant on a workspace", async () => {
  const team = await newTeam();
  await api.makeTeamProject(project, team, { access: "admin" });
  const workspace = await api.makeWorkspace(org.name, {}, inProject(project));
  const member = await api.makeMember(org.name, [org.ownersTeamId, team]);
  await expectDecides(member, await ask(workspaceGrant("read", team, workspace.id)));
});

it("a permanent member of a team gains nothing by joining it again", async () => {
  const team = await newTeam();
  const member = await api.makeMember(org.name, [org.ownersTeamId, team]);
  await expectDecides(member, await ask(joining(team, member.username)));
});

it("a seat that exists already can be approved by who manages members, without the team's access", async () => {
  const team = await newTeam();
  await api.makeTeamProject(project, team, { access: "admin" });
  const member = await api.makeMember(org.name, [team]);
  const manager = await api.makeHolder(org.name, "manage-membership");
  await expectDecides(manager, await ask(joining(team, member.username)));
  const other = await api.makeMember(org.name);
  const more = await ask(joining(team, member.username, other.username));
  expect((await manager.get(`/access-requests/${more.id}`)).status).toBe(404);
});

it("who loses by an earlier change what a later one needs can't decide, and the request says so", async () => {
  const team = await newTeam();
  await api.makeTeamProject(project, team, { access: "admin" });
  const lead = await api.makeHolder(org.name, "manage-membership");
  data(await org.owner.post(`/teams/${team}/relationships/users`, joining(team, lead.username).body));
  const { id } = await ask(leaving(team, lead.username), projectGrant("read", await newTeam(), project));
  expect((await readRequest(lead, id)).attributes.permissions).toMatchObject({ "can-approve": false });
  expect([(await approve(lead, id)).status, (await deny(lead, id)).status]).toEqual([403, 403]);
});

it("somebody in a team that would gain can't decide while the change is impossible, and the request says so", async () => {
  const team = await newTeam();
  const member = await api.makeMember(org.name, [org.ownersTeamId, team]);
  const { id } = await ask(projectGrant("write", team, project));
  await api.makeTeamProject(project, team, { access: "write" });
  expect([(await approve(member, id)).status, (await deny(member, id)).status]).toEqual([403, 403]);
  const permissionsFor = async (caller: Caller) => (await readRequest(caller, id)).attributes.permissions;
  expect(await permissionsFor(member)).toMatchObject({ "can-approve": false, "can-deny": false });
  expect(await permissionsFor(org.owner)).toMatchObject({ "can-approve": true, "can-deny": true });
});
