/** Access requests and access rules; approvals at a wrong time; `If-Match`; denial and withdrawal. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Member, type Org, pointers, resource } from "../../../support/builders.ts";
import { inMs } from "../../../support/clock.ts";
import { approve, decide, deny, makeRequest, readRequest } from "../../../support/access-requests.ts";
import { joining, projectGrant } from "../../../support/previews.ts";

const api = useApi();
let org: Org;
let requester: Member;
let project: string;

beforeAll(async () => {
  org = await api.makeOrganization();
  project = (await api.makeProject(org.name)).id;
  await api.makeWorkspace(org.name, {}, inProject(project));
  requester = await api.makeReader(org.name, project);
});

const ask = async (more: object = {}, change?: Json) =>
  makeRequest(requester, org.name, [change ?? projectGrant("write", (await api.makeTeam(org.name)).id, project)], more);

async function withRule(name: string, policy: string, enforcement: string, work: (id: string) => Promise<void>) {
  const attributes = { name, policy, enforcement };
  const rule = data(
    await org.owner.post(`/organizations/${org.name}/access-rules`, resource("access-rules", attributes)),
  );
  await work(rule.id);
  data(await org.owner.delete(`/access-rules/${rule.id}`));
}

it("lists the rules that match; one that forbids refuses the approval, and the request stays pending", async () => {
  await withRule("frozen", `@message("Ask Ada.")\nforbid (principal, action, resource);`, "forbid", async (id) => {
    const request = await ask();
    const listed = [{ id, name: "frozen", message: "Ask Ada.", enforcement: "forbid" }];
    expect(request.attributes.rules).toEqual(listed);
    expect((await readRequest(org.owner, request.id)).attributes.rules).toEqual(listed);
    const answer = await approve(org.owner, request.id);
    expect([answer.status, details(answer)[0]]).toEqual([403, expect.stringContaining("Ask Ada.")]);
    expect((await readRequest(requester, request.id)).attributes.status).toBe("pending");
  });
});

it("an approved request satisfies a rule that needs approval", async () => {
  const policy = `forbid (principal, action == Action::"grant", resource) unless { context.approved };`;
  await withRule("four-eyes", policy, "forbid", async () => {
    const change = projectGrant("write", (await api.makeTeam(org.name)).id, project);
    expect((await org.owner.post(change.path, change.body)).status).toBe(403);
    expect((await approve(org.owner, (await ask({}, change)).id)).status).toBe(200);
  });
  await withRule("reviewed", `forbid (principal, action, resource);`, "approval", async () => {
    const change = projectGrant("write", (await api.makeTeam(org.name)).id, project);
    expect((await org.owner.post(change.path, change.body)).status).toBe(403);
    expect((await approve(org.owner, (await ask({}, change)).id)).status).toBe(200);
  });
});

it("an approval lists the rules that only advise in its warnings, each once", async () => {
  await withRule("logged", `@message("Tell Ada.")\nforbid (principal, action, resource);`, "advise", async (id) => {
    const changes = [1, 2].map(async () => projectGrant("write", (await api.makeTeam(org.name)).id, project));
    const request = await makeRequest(requester, org.name, await Promise.all(changes));
    const answer = await approve(org.owner, request.id);
    expect([answer.status, answer.body.meta]).toEqual([
      200,
      { warnings: [{ rule: id, name: "logged", message: "Tell Ada." }] },
    ]);
  });
});

it("409 once a change's own expires-at has passed; the request can still be read and withdrawn", async () => {
  const change = projectGrant("write", (await api.makeTeam(org.name)).id, project);
  const request = await ask({}, change);
  const passed = structuredClone(change);
  passed.body.data.attributes["expires-at"] = "2020-01-01T00:00:00.000Z";
  await api.database.write(async ({ db }) => {
    const changes = JSON.stringify([passed]);
    await db.updateTable("accessRequests").set({ changes }).where("id", "=", request.id).execute();
  });
  expect((await readRequest(org.owner, request.id)).attributes).toMatchObject({
    status: "pending",
    effects: { gains: [] },
  });
  const answer = await approve(org.owner, request.id);
  expect([answer.status, details(answer)[0]]).toEqual([409, expect.stringContaining("has passed")]);
  data(await decide(requester, request.id, "withdraw"));
});

it("409 for a seat that exists already and would end earlier, also an owner's; a later end is given", async () => {
  const other = await api.makeMember(org.name, [org.ownersTeamId]);
  const own = await ask({ "duration-seconds": 300 }, joining(org.ownersTeamId, other.username));
  const answer = await approve(org.owner, own.id);
  expect([answer.status, details(answer)[0]]).toEqual([409, expect.stringContaining("would shorten the membership")]);
  expect((await readRequest(requester, own.id)).attributes.status).toBe("pending");
  const team = (await api.makeTeam(org.name)).id;
  const seat = { data: [{ type: "users", id: other.id, meta: { "expires-at": inMs(600_000) } }] };
  data(await org.owner.post(`/teams/${team}/relationships/users`, seat));
  const [longer, shorter] = [
    await ask({ "duration-seconds": 1200 }, joining(team, other.username)),
    await ask({ "duration-seconds": 300 }, joining(team, other.username)),
  ];
  data(await approve(org.owner, longer.id));
  expect((await approve(org.owner, shorter.id)).status).toBe(409);
});

it("403 for a member of a team whose members would manage its tokens", async () => {
  const team = await api.makeTeam(org.name, { "allow-member-token-management": false });
  const member = await api.makeMember(org.name, [team.id, org.ownersTeamId]);
  const body = resource("teams", { "allow-member-token-management": true });
  const request = await ask({}, { method: "PATCH", path: `/teams/${team.id}`, body });
  expect((await approve(member, request.id)).status).toBe(403);
  expect((await approve(org.owner, request.id)).status).toBe(200);
});

it("an approval with an outdated If-Match is 412, and changes nothing", async () => {
  const request = await ask({}, joining((await api.makeTeam(org.name)).id, requester.username));
  const shown = await org.owner.get(`/access-requests/${request.id}`);
  const body = resource("access-requests", { "access-version": shown.body.data.attributes["access-version"] });
  const path = `/access-requests/${request.id}/actions/approve`;
  expect((await org.owner.send("POST", path, body, { "if-match": `"99"` })).status).toBe(412);
  const etag = shown.headers.get("etag") ?? "";
  expect((await org.owner.send("POST", path, body, { "if-match": etag })).status).toBe(200);
});

describe("denyAccessRequest and withdrawAccessRequest", () => {
  it("deny: needs a comment, and the same people as an approval", async () => {
    const request = await ask();
    expect(pointers(await decide(org.owner, request.id, "deny"))).toEqual(["/data/attributes/comment"]);
    expect((await deny(requester, request.id)).status).toBe(403);
    expect(data(await deny(org.owner, request.id, "No."))).toMatchObject({
      attributes: { status: "denied", "decision-comment": "No.", effects: null },
      relationships: { "decided-by": { data: { id: org.owner.id } } },
    });
  });

  it("withdraw: the requester alone; nobody decided", async () => {
    const request = await ask();
    expect((await decide(org.owner, request.id, "withdraw")).status).toBe(403);
    expect(data(await decide(requester, request.id, "withdraw"))).toMatchObject({
      attributes: { status: "withdrawn", "decided-at": expect.any(String), "decision-comment": null },
      relationships: { "decided-by": { data: null } },
    });
  });
});
