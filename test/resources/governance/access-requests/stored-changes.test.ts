/** The changes of a request keep their meaning until the approval, and change nothing but access. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import {
  data,
  details,
  inProject,
  type Member,
  type Org,
  pointers,
  resource,
  unique,
} from "../../../support/builders.ts";
import { approve, deny, makeRequest, readRequest, sendRequest } from "../../../support/access-requests.ts";
import { joining, leaving, permitting } from "../../../support/previews.ts";

const api = useApi();
let org: Org;
let project: string;
let reader: Member;

beforeAll(async () => {
  org = await api.makeOrganization();
  project = (await api.makeProject(org.name)).id;
  reader = await api.makeReader(org.name, project);
});

const newTeam = async () => (await api.makeTeam(org.name)).id as string;
const ask = (...changes: Json[]) => makeRequest(reader, org.name, changes);
const rename = async (member: Member, username: string) =>
  void data(await member.patch("/account/update", resource("users", { username })));
const membersOf = async (teamId: string): Promise<string[]> =>
  data(await org.owner.get(`/teams/${teamId}?include=users`)).relationships.users.data.map(({ id }: Json) => id);

describe("what isn't access", () => {
  it("422: tags, which a rule can test and the effects don't show", async () => {
    const workspace = await api.makeWorkspace(org.name, {}, inProject(project));
    const tags = { "tag-bindings": { data: [] } };
    const move = {
      method: "PATCH",
      path: `/workspaces/${workspace.id}`,
      body: resource("workspaces", {}, { ...inProject(project), ...tags }),
    };
    const answer = await sendRequest(org.owner, org.name, [move]);
    expect([answer.status, pointers(answer)]).toEqual([
      422,
      ["/data/attributes/changes/0/body/data/relationships/tag-bindings"],
    ]);
  });
});

describe("names that mean somebody else by now", () => {
  it("409: a username has passed to another account; the person who had it can still be added by a new request", async () => {
    const [ada, mallory] = [await api.makeMember(org.name), await api.makeMember(org.name)];
    const name = ada.username;
    const team = await newTeam();
    const request = await ask(joining(team, name));
    await rename(ada, unique("ada"));
    await rename(mallory, name);
    const answer = await approve(org.owner, request.id);
    expect([answer.status, details(answer)[0]]).toEqual([409, expect.stringContaining("belongs to another account")]);
    expect([await membersOf(team), (await readRequest(reader, request.id)).attributes.status]).toEqual([[], "pending"]);
    expect((await deny(org.owner, request.id)).status).toBe(200);
  });

  it("409: also where the person would be removed", async () => {
    const team = await newTeam();
    const [ada, mallory] = [await api.makeMember(org.name, [team]), await api.makeMember(org.name, [team])];
    const name = ada.username;
    const request = await ask(leaving(team, name));
    await rename(ada, unique("ada"));
    await rename(mallory, name);
    expect((await approve(org.owner, request.id)).status).toBe(409);
    expect((await membersOf(team)).toSorted()).toEqual([ada.id, mallory.id].toSorted());
  });

  it("a person who was renamed in the case of letters, or is named by id, is the same person", async () => {
    const member = await api.makeMember(org.name);
    const [byName, byId] = [await newTeam(), await newTeam()];
    const request = await ask(joining(byName, member.username), joining(byId, member.id));
    await rename(member, member.username.toUpperCase());
    expect((await approve(org.owner, request.id)).status).toBe(200);
    expect([await membersOf(byName), await membersOf(byId)]).toEqual([[member.id], [member.id]]);
  });

  it("a workspace that is named in a path stays the one that had the name", async () => {
    const target = (await api.makeProject(org.name)).id;
    const workspace = await api.makeWorkspace(org.name, {}, inProject(project));
    const { name } = workspace.attributes;
    const path = `/organizations/${org.name}/workspaces/${name}`;
    const body = resource("workspaces", {}, inProject(target));
    const request = await makeRequest(org.owner, org.name, [{ method: "PATCH", path, body }]);
    expect(request.attributes.changes[0].path).toBe(`/api/v2/workspaces/${workspace.id}`);
    data(await org.owner.patch(`/workspaces/${workspace.id}`, resource("workspaces", { name: unique("renamed") })));
    const other = await api.makeWorkspace(org.name, { name }, inProject(project));
    const second = await api.makeMember(org.name, [org.ownersTeamId]);
    expect((await approve(second, request.id)).status).toBe(200);
    const projectOf = async (id: string) =>
      data(await org.owner.get(`/workspaces/${id}`)).relationships.project.data.id;
    expect([await projectOf(workspace.id), await projectOf(other.id)]).toEqual([target, project]);
  });
});

it("409: an invited person would be added, because the approver can have the invitation's link", async () => {
  const team = await newTeam();
  const invitation = data(
    await org.owner.post(
      `/organizations/${org.name}/organization-memberships`,
      resource("organization-memberships", { email: `${unique("invited")}@example.com` }),
    ),
  );
  const request = await makeRequest(await api.makeHolder(org.name, "manage-membership"), org.name, [
    {
      method: "POST",
      path: `/teams/${team}/relationships/organization-memberships`,
      body: { data: [{ type: "organization-memberships", id: invitation.id }] },
    },
  ]);
  const answer = await approve(org.owner, request.id);
  expect([answer.status, details(answer)[0]]).toEqual([409, expect.stringContaining("has not joined")]);
});

it("a request that removes its requester can be approved", async () => {
  const leaver = await api.makeMember(org.name);
  const path = `/organization-memberships/${leaver.membershipId}`;
  const request = await makeRequest(leaver, org.name, [{ method: "DELETE", path }]);
  expect((await approve(org.owner, request.id)).status).toBe(200);
  expect((await leaver.get(`/organizations/${org.name}`)).status).toBe(404);
});

it("an approval's answer has the access-version that the next one needs", async () => {
  const [first, second] = [await newTeam(), await newTeam()];
  const requests = [await ask(permitting(first, "manage-projects")), await ask(permitting(second, "manage-projects"))];
  const approved = data(await approve(org.owner, requests[0].id));
  const version = approved.attributes["access-version"];
  const answer = await org.owner.post(
    `/access-requests/${requests[1].id}/actions/approve`,
    resource("access-requests", { "access-version": version }),
  );
  expect(answer.status).toBe(200);
});
