/** Lists of access requests: the users that they include, and the requests that each kind of decider can see. */
import { beforeAll, expect, it } from "vitest";
import { approve, makeRequest, readRequest } from "../../../support/access-requests.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Member, type Org } from "../../../support/builders.ts";
import { joining, moving, projectGrant, workspaceGrant } from "../../../support/previews.ts";

const api = useApi();
let org: Org;
let member: Member;
let team: Json;

beforeAll(async () => {
  org = await api.makeOrganization();
  team = await api.makeTeam(org.name, { name: "on-call" });
  member = await api.makeMember(org.name, [(await api.makeTeam(org.name)).id]);
});

it("a request and a list include the requester, and the user who decided", async () => {
  const { id } = await makeRequest(member, org.name, [joining(team.id, member.username)]);
  expect((await approve(org.owner, id)).status).toBe(200);
  const names = async (path: string) =>
    ((await member.get(path)).body.included ?? []).map(({ attributes }: Json) => attributes.username).sort();
  const both = [member.username, org.owner.username].sort();
  expect(await names(`/access-requests/${id}?include=requester,decided_by`)).toEqual(both);
  expect(await names(`/organizations/${org.name}/access-requests?include=requester`)).toEqual([member.username]);
  expect(await names(`/access-requests/${id}`)).toEqual([]);
});

it("a list has what each kind of decider can decide, by one permission in the organization, on a project or on a workspace", async () => {
  const [from, to] = [(await api.makeProject(org.name)).id, (await api.makeProject(org.name)).id];
  const workspace = (await api.makeWorkspace(org.name, {}, inProject(from))).id;
  const newTeam = async () => (await api.makeTeam(org.name)).id as string;
  const readers = await newTeam();
  for (const id of [from, to]) await api.makeTeamProject(id, readers, { access: "read" });
  const [requester, reader] = [await api.makeMember(org.name, [readers]), await api.makeMember(org.name, [readers])];
  const [ofProject, ofWorkspace, movers] = [await newTeam(), await newTeam(), await newTeam()];
  await api.makeTeamProject(from, ofProject, { access: "admin" });
  await api.makeTeamWorkspace(workspace, ofWorkspace, { access: "admin" });
  const custom = { access: "custom", "project-access": { settings: "read" }, "workspace-access": { move: true } };
  for (const id of [from, to]) await api.makeTeamProject(id, movers, custom);
  const inTeam = (id: string) => api.makeMember(org.name, [id]);
  const cases = [
    [await inTeam(ofProject), projectGrant("read", await newTeam(), from)],
    [await inTeam(ofWorkspace), workspaceGrant("read", await newTeam(), workspace)],
    [await inTeam(movers), moving(to, workspace)],
    [await api.makeHolder(org.name, "manage-membership"), joining(await newTeam(), requester.username)],
  ] as const;
  const listed = async (caller: Member, query: string) =>
    data(await caller.get(`/organizations/${org.name}/access-requests?${query}`)).map((one: Json) => one.id);
  for (const [decider, change] of cases) {
    const { id } = await makeRequest(requester, org.name, [change]);
    expect((await readRequest(decider, id)).attributes.permissions["can-approve"], change.path).toBe(true);
    expect(await listed(decider, "filter[mine]=to-decide"), change.path).toContain(id);
    expect(await listed(decider, `filter[requester]=${requester.id}`), change.path).toContain(id);
    expect(await listed(reader, "page[size]=100"), change.path).not.toContain(id);
  }
});
