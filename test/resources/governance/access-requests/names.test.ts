/** What a requester must be able to see, and which names its request shows. */
import { beforeAll, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Member, type Org, pointers, resource } from "../../../support/builders.ts";
import { approve, makeRequest, readRequest, sendRequest } from "../../../support/access-requests.ts";
import { grantOn, makeOffer, seatIn, takeBody } from "../../../support/offers.ts";
import { joining, leaving, projectGrant } from "../../../support/previews.ts";

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
const ask = (changes: Json[]) => makeRequest(reader, org.name, changes);

it("names only what the caller can see now, not what it would gain", async () => {
  const hidden = await api.makeProject(org.name);
  const workspace = await api.makeWorkspace(org.name, {}, inProject(hidden.id));
  const team = await newTeam();
  await api.makeTeamProject(hidden.id, team, { access: "write" });
  const request = await ask([joining(team, reader.username)]);
  const shown = await readRequest(reader, request.id);
  for (const { attributes } of [request, shown]) {
    expect(attributes.effects.gains[0]).toMatchObject({ "project-count": 1, "workspace-count": 1 });
    for (const id of [hidden.id, workspace.id]) expect(JSON.stringify(attributes.effects)).not.toContain(id);
  }
  expect(JSON.stringify((await readRequest(org.owner, request.id)).attributes.effects)).toContain(workspace.id);
});

it("counts a secret team and its members that an offer's change would show, without names", async () => {
  const secret = await api.makeTeam(org.name, { visibility: "secret" });
  const hidden = await api.makeMember(org.name, [secret.id]);
  const eligible = await newTeam();
  const taker = await api.makeMember(org.name, [eligible]);
  const changes = [seatIn(secret.id), grantOn(project, secret.id)];
  const offer = await makeOffer(org.owner, org.name, changes, [eligible], { approvals: "one" });
  const taken = data(await taker.post(`/access-offers/${offer.id}/actions/take`, takeBody()));
  const shown = await readRequest(taker, taken.id);
  for (const { attributes } of [taken, shown]) {
    expect(attributes.effects["unseen-gains"]).toEqual({ teams: 1, users: 1 });
    expect(attributes.effects.gains.map(({ subject }: Json) => subject.id)).toEqual([taker.id]);
    expect(JSON.stringify(attributes.effects)).not.toContain(hidden.username);
  }
});

it("owners see after an approval who left their only team, others don't", async () => {
  const leaver = await api.makeMember(org.name);
  const team = await newTeam();
  data(await org.owner.post(`/teams/${team}/relationships/users`, joining(team, leaver.username).body));
  await api.makeTeamProject(project, team, { access: "read" });
  const request = await ask([leaving(team, leaver.username)]);
  data(await approve(org.owner, request.id));
  const lossesFor = async (caller: Member | Org["owner"]) => (await readRequest(caller, request.id)).attributes.effects;
  const effects = await lossesFor(org.owner);
  expect(effects.losses.map(({ subject }: Json) => subject)).toContainEqual(
    expect.objectContaining({ type: "users", id: leaver.id, name: leaver.username }),
  );
  expect(effects["unseen-losses"]).toEqual({ teams: 0, users: 0 });
  expect((await lossesFor(reader))["unseen-losses"]).toEqual({ teams: 0, users: 1 });
});

it("404 for a move to a project that the caller can't see, also where an earlier change would show it", async () => {
  const manager = await api.makeTeam(org.name);
  const caller = await api.makeMember(org.name, [manager.id]);
  await api.makeTeamProject(project, manager.id, { access: "admin" });
  const workspace = await api.makeWorkspace(org.name, {}, inProject(project));
  const hidden = (await api.makeProject(org.name)).id;
  const insiders = await newTeam();
  await api.makeTeamProject(hidden, insiders, { access: "read" });
  const elsewhere = (await api.makeOrganization()).defaultProjectId;
  const moveTo = (target: string) => ({
    method: "PATCH",
    path: `/workspaces/${workspace.id}`,
    body: resource("workspaces", {}, inProject(target)),
  });
  for (const target of [hidden, elsewhere, "prj-0000000000000000"])
    expect((await sendRequest(caller, org.name, [moveTo(target)])).status).toBe(404);
  const join = joining(insiders, caller.username);
  for (const change of [moveTo(hidden), projectGrant("read", insiders, hidden)]) {
    const answer = await sendRequest(caller, org.name, [join, change]);
    expect([answer.status, pointers(answer)]).toEqual([404, ["/data/attributes/changes/1"]]);
  }
});
