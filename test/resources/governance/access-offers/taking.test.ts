/** Taking offers: requests with a copy of the changes, approvals by approver teams, and what refuses them. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openDatabase } from "../../../../src/database/engines/open.ts";
import { type Answer, type Caller, type Json, startApiOn, useApi } from "../../../support/api.ts";
import { data, details, type Member, type Org, pointers, resource, unique } from "../../../support/builders.ts";
import { atTime, inMs } from "../../../support/clock.ts";
import { grantOn, makeOffer, membershipIn, seatIn, takeBody, teamsNamed } from "../../../support/offers.ts";

const api = useApi();
let org: Org;
let onCall: Json;
let developers: Json;
let approvers: Json;
let project: string;
let dev: Member;
let approver: Member;
let outsider: Member;

beforeAll(async () => {
  org = await api.makeOrganization();
  developers = await api.makeTeam(org.name);
  approvers = await api.makeTeam(org.name);
  project = (await api.makeProject(org.name)).id;
  dev = await api.makeMember(org.name, [developers.id]);
  approver = await api.makeMember(org.name, [approvers.id]);
  outsider = await api.makeMember(org.name);
});

beforeEach(async () => {
  onCall = await api.makeTeam(org.name);
  await api.makeTeamProject(project, onCall.id, { access: "admin" });
});

const make = (attributes: object = {}, by: Caller = org.owner, changes = [seatIn(onCall.id)]) =>
  makeOffer(by, org.name, changes, [developers.id], attributes);
const withApprovers = async (attributes: object = {}, by: Caller = org.owner, ids = [approvers.id]): Promise<Json> => {
  const made = await make(attributes, by);
  const body = resource("access-offers", {}, { "approver-teams": teamsNamed(...ids) });
  return data(await by.patch(`/access-offers/${made.id}`, body));
};
const take = (caller: Caller, made: Json, attributes: object = {}): Promise<Answer> =>
  caller.post(`/access-offers/${made.id}/actions/take`, takeBody(attributes));
async function approve(caller: Caller, requestId: string): Promise<Answer> {
  const shown = data(await caller.get(`/access-requests/${requestId}`));
  const attributes = { "access-version": shown.attributes["access-version"] };
  return caller.post(`/access-requests/${requestId}/actions/approve`, resource("access-requests", attributes));
}
const isMember = async (who: Member, teamId = onCall.id): Promise<boolean> => {
  const listed = data(await org.owner.get(`/teams/${teamId}/relationships/organization-memberships`));
  return listed.some(({ id }: Json) => id === who.membershipId);
};
const countRequests = async (): Promise<number> =>
  (await org.owner.get(`/organizations/${org.name}/access-requests`)).body.meta.pagination["total-count"];

describe("taking an offer with an approval", () => {
  it("201: a pending request with a copy of the changes; approval gives the seat for the duration", async () => {
    const changes = [seatIn(onCall.id), grantOn(project, developers.id, { access: "read" })];
    const made = await make({}, org.owner, changes);
    const answer = await take(dev, made, { "duration-seconds": 600 });
    expect([answer.status, answer.body.data.type]).toEqual([201, "access-requests"]);
    const { id, attributes, relationships } = answer.body.data;
    expect(attributes).toMatchObject({ status: "pending", reason: "Incident 4711", "duration-seconds": 600 });
    expect(attributes.changes[0].body.data).toEqual([{ type: "users", id: dev.id }]);
    expect(attributes.changes[1]).toEqual(changes[1]);
    expect(relationships.offer.data).toEqual({ type: "access-offers", id: made.id });
    expect(relationships.requester.data.id).toBe(dev.id);
    expect(await isMember(dev)).toBe(false);
    const before = inMs(600_000);
    const approved = data(await approve(org.owner, id));
    expect(approved.attributes.status).toBe("approved");
    expect(approved.relationships["decided-by"].data.id).toBe(org.owner.id);
    const memberships = await org.owner.get(`/organization-memberships/${dev.membershipId}`);
    const teams: Json[] = data(memberships).relationships.teams.data;
    const end = teams.find((team) => team.id === onCall.id).meta["expires-at"];
    expect(end >= before && end <= inMs(600_000)).toBe(true);
    await org.owner.delete(`/teams/${onCall.id}`);
  });

  it("201: the duration is the longest by default; the placeholder is the membership where memberships are listed", async () => {
    const made = await make({ "duration-seconds-max": 1200 }, org.owner, [membershipIn(onCall.id)]);
    const { attributes } = data(await take(dev, made));
    expect(attributes["duration-seconds"]).toBe(1200);
    expect(attributes.changes[0].body.data[0].id).toBe(dev.membershipId);
  });

  it("the copy stays when the offer changes", async () => {
    const made = await make();
    const taken = data(await take(dev, made));
    const other = await api.makeTeam(org.name);
    const changed = resource("access-offers", { changes: [seatIn(other.id)] });
    data(await org.owner.patch(`/access-offers/${made.id}`, changed));
    const shown = data(await dev.get(`/access-requests/${taken.id}`));
    expect(shown.attributes.changes).toEqual(taken.attributes.changes);
  });

  it.each([
    [{ reason: "" }, "/data/attributes/reason"],
    [{ reason: " " }, "/data/attributes/reason"],
    [{ reason: null }, "/data/attributes/reason"],
    [{ reason: undefined }, "/data/attributes/reason"],
    [{ reason: "x".repeat(501) }, "/data/attributes/reason"],
    [{ "duration-seconds": 299 }, "/data/attributes/duration-seconds"],
    [{ "duration-seconds": 3601 }, "/data/attributes/duration-seconds"],
    [{ "duration-seconds": "long" }, "/data/attributes/duration-seconds"],
  ])("422: %j", async (attributes, pointer) => {
    const answer = await take(dev, await make(), attributes);
    expect([answer.status, pointers(answer)]).toEqual([422, [pointer]]);
  });

  it("201: with the type of an offer, or of the request that it becomes; 422 with another type", async () => {
    const takeAs = async (type: string) =>
      dev.post(`/access-offers/${(await make()).id}/actions/take`, resource(type, { reason: "Incident 4711" }));
    for (const type of ["access-offers", "access-requests"]) expect((await takeAs(type)).status).toBe(201);
    const answer = await takeAs("teams");
    expect([answer.status, pointers(answer)]).toEqual([422, ["/data/type"]]);
  });

  it("403: somebody who sees an eligible team, also an owner; a token of the team; 404: somebody who sees none", async () => {
    const made = await make();
    for (const caller of [outsider, org.owner, await api.makeTeamToken(developers.id)])
      expect((await take(caller, made)).status).toBe(403);
    const secret = await api.makeTeam(org.name, { visibility: "secret" });
    const member = await api.makeMember(org.name, [secret.id]);
    const hidden = await makeOffer(org.owner, org.name, [seatIn(onCall.id)], [secret.id]);
    expect((await take(outsider, hidden)).status).toBe(404);
    expect((await take(await api.makeUser(), made)).status).toBe(404);
    expect((await take(member, hidden)).status).toBe(201);
  });

  it("409: the offer is disabled; 404: it is deleted", async () => {
    const made = await make({ enabled: false });
    const answer = await take(dev, made);
    expect([answer.status, details(answer)[0]]).toEqual([409, expect.stringMatching(/disabled/)]);
    await org.owner.delete(`/access-offers/${made.id}`);
    expect((await take(dev, made)).status).toBe(404);
  });

  it.each([
    [
      "disabled",
      (id: string) => org.owner.patch(`/access-offers/${id}`, resource("access-offers", { enabled: false })),
    ],
    ["deleted", (id: string) => org.owner.delete(`/access-offers/${id}`)],
  ])("409 on approval: the offer was %s meanwhile", async (_, change) => {
    const made = await withApprovers();
    const { id } = data(await take(dev, made));
    expect((await change(made.id)).status).toBeLessThan(300);
    expect((await approve(org.owner, id)).status).toBe(409);
    expect((await approve(approver, id)).status).toBe(409);
    expect(data(await dev.get(`/access-requests/${id}`)).attributes.status).toBe("pending");
  });

  it("409 on taking and on approval: the last writer lost a permission", async () => {
    const writer = await api.makeHolder(org.name, "manage-teams", "manage-membership", "manage-projects");
    const made = await withApprovers({}, writer);
    const { id } = data(await take(dev, made));
    const leaving = { data: [{ type: "users", id: writer.id }] };
    await org.owner.delete(`/teams/${writer.teamId}/relationships/users`, leaving);
    const taken = await take(dev, made);
    expect([taken.status, details(taken)[0]]).toEqual([409, expect.stringMatching(/last writer/)]);
    expect((await approve(org.owner, id)).status).toBe(409);
    expect((await approve(approver, id)).status).toBe(409);
    expect(await isMember(dev)).toBe(false);
  });

  it("409 on taking: the last writer's account is deleted, and then somebody else saves the offer", async () => {
    const writer = await api.makeHolder(org.name, "manage-teams", "manage-membership", "manage-projects");
    const made = await make({}, writer);
    expect((await api.admin.delete(`/admin/users/${writer.id}`)).status).toBe(204);
    expect((await take(dev, made)).status).toBe(409);
    data(await org.owner.patch(`/access-offers/${made.id}`, resource("access-offers", { description: "mine" })));
    expect((await take(dev, made)).status).toBe(201);
  });

  it("409: a fixed expiry in the changes has passed", async () => {
    const made = await make();
    const changes = JSON.stringify([seatIn(onCall.id, { "expires-at": "2020-01-01T00:00:00.000Z" })]);
    await api.database.write((tx) =>
      tx.db.updateTable("accessOffers").set({ changes }).where("id", "=", made.id).execute(),
    );
    const answer = await take(dev, made);
    expect([answer.status, details(answer)[0]]).toEqual([
      409,
      expect.stringMatching(/^A change of this offer is no longer possible: .*[^.]\. Ask somebody who manages offers/),
    ]);
  });

  it("409 on taking: a project was deleted, which neither the last writer nor anybody else can give", async () => {
    const own = await api.makeProject(org.name);
    const made = await make({}, org.owner, [seatIn(onCall.id), grantOn(own.id, developers.id)]);
    data(await org.owner.delete(`/projects/${own.id}`));
    const answer = await take(dev, made);
    expect([answer.status, details(answer)[0]]).toEqual([
      409,
      expect.stringMatching(/^Change 2 of the access offer is not possible now: .*[^.]\. Nothing was changed\.$/),
    ]);
  });

  it("409 on taking and on approval: the last writer no longer sees a secret team", async () => {
    const [secret, own] = [await api.makeTeam(org.name, { visibility: "secret" }), await api.makeProject(org.name)];
    const writer = await api.makeHolder(org.name, "manage-teams", "manage-projects");
    await org.owner.post(`/teams/${secret.id}/relationships/users`, { data: [{ type: "users", id: writer.id }] });
    const changes = [grantOn(own.id, secret.id)];
    const made = await makeOffer(writer, org.name, changes, [developers.id]);
    const { id } = data(await take(dev, made));
    await org.owner.delete(`/teams/${secret.id}/relationships/users`, { data: [{ type: "users", id: writer.id }] });
    for (const answer of [await take(dev, made), await approve(org.owner, id)])
      expect([answer.status, details(answer)[0]]).toEqual([409, expect.stringMatching(/^The last writer of the/)]);
  });
});

describe("approver teams", () => {
  it("a member approves without being able to make the changes, which are made as the offer's last writer", async () => {
    const { id } = data(await take(dev, await withApprovers()));
    const waiting = data(await approver.get(`/access-requests/${id}`));
    expect(waiting.attributes.permissions["can-approve"]).toBe(true);
    const approved = data(await approve(approver, id));
    expect(approved.relationships["decided-by"].data.id).toBe(approver.id);
    expect(await isMember(dev)).toBe(true);
    const events = await api.database.reader.db
      .selectFrom("auditEvents")
      .select(["action", "actorId", "tokenId"])
      .where("accessRequestId", "=", id)
      .where("subjectId", "=", onCall.id)
      .execute();
    expect(events).toEqual([{ action: "teams.add-members", actorId: org.owner.id, tokenId: null }]);
  });

  it("404: a team that the offer names no more; after the offer is deleted, its teams can still deny", async () => {
    const made = await withApprovers();
    const [taken, other] = [data(await take(dev, made)), data(await take(dev, made))];
    const without = resource("access-offers", {}, { "approver-teams": { data: [] } });
    data(await org.owner.patch(`/access-offers/${made.id}`, without));
    for (const path of ["actions/approve", "actions/deny"]) {
      const attributes = { "access-version": "0", comment: "No." };
      const answer = await approver.post(
        `/access-requests/${taken.id}/${path}`,
        resource("access-requests", attributes),
      );
      expect(answer.status).toBe(404);
    }
    const listed = data(await approver.get(`/organizations/${org.name}/access-requests`));
    expect(listed.map(({ id }: Json) => id)).not.toContain(taken.id);
    data(await org.owner.delete(`/access-offers/${made.id}`));
    const denial = resource("access-requests", { comment: "No." });
    expect((await approver.post(`/access-requests/${other.id}/actions/deny`, denial)).status).toBe(200);
  });

  it("403: an approver who gains by it, through another team", async () => {
    const made = await withApprovers({}, org.owner, [approvers.id, onCall.id]);
    const insider = await api.makeMember(org.name, [onCall.id, approvers.id]);
    const grant = [grantOn((await api.makeProject(org.name)).id, onCall.id)];
    data(await org.owner.patch(`/access-offers/${made.id}`, resource("access-offers", { changes: grant })));
    const { id } = data(await take(dev, made));
    expect((await approve(insider, id)).status).toBe(403);
    expect((await approve(approver, id)).status).toBe(200);
  });

  it("403: the requester, who is in an approver team", async () => {
    const both = await api.makeMember(org.name, [developers.id, approvers.id]);
    const { id } = data(await take(both, await withApprovers()));
    expect((await approve(both, id)).status).toBe(403);
  });
});

describe("break-glass", () => {
  it("201: approved in the same transaction as the last writer, without a decider, with its audit event", async () => {
    const made = await make({ approvals: "none" });
    const answer = await take(dev, made, { "duration-seconds": 300 });
    expect(answer.status).toBe(201);
    const { id, attributes, relationships } = answer.body.data;
    expect(attributes).toMatchObject({ status: "approved", "decided-at": expect.stringMatching(/Z$/) });
    expect(relationships["decided-by"].data).toBe(null);
    const shown = data(await dev.get(`/access-requests/${id}`));
    expect(attributes["access-version"]).toBe(shown.attributes["access-version"]);
    expect(await isMember(dev)).toBe(true);
    const events = await api.database.reader.db
      .selectFrom("auditEvents")
      .select(["action", "actorId", "subjectId"])
      .where("accessRequestId", "=", id)
      .execute();
    expect(events).toContainEqual({ action: "access-requests.break-glass", actorId: dev.id, subjectId: id });
    expect(events).toContainEqual({ action: "teams.add-members", actorId: org.owner.id, subjectId: onCall.id });
  });

  it("201: with 50 pending requests, which is the limit for others", async () => {
    const busy = await api.makeMember(org.name, [developers.id]);
    const offered = await make();
    for (let count = 0; count < 50; count += 1) expect((await take(busy, offered)).status).toBe(201);
    const refused = await take(busy, offered);
    expect([refused.status, details(refused)[0]]).toEqual([409, expect.stringContaining("50 pending")]);
    expect((await take(busy, await make({ approvals: "none" }))).status).toBe(201);
    expect(await isMember(busy)).toBe(true);
  });

  it("409: more than 20 times in an hour, because all owners are notified each time; offers with an approval remain", async () => {
    const eager = await api.makeMember(org.name, [developers.id]);
    const offered = await make({ approvals: "none" });
    for (let count = 0; count < 20; count += 1) expect((await take(eager, offered)).status).toBe(201);
    const refused = await take(eager, offered);
    expect([refused.status, details(refused)[0]]).toEqual([409, expect.stringContaining("20 times in the last hour")]);
    expect((await take(eager, await make())).status).toBe(201);
    expect((await take(dev, offered)).status).toBe(201);
  });

  it("409: it was taken already, and no request remains", async () => {
    const own = await api.makeProject(org.name);
    const made = await make({ approvals: "none" }, org.owner, [grantOn(own.id, developers.id)]);
    expect((await take(dev, made)).status).toBe(201);
    const before = await countRequests();
    const again = await take(dev, made);
    expect([again.status, details(again)[0]]).toEqual([
      409,
      "Change 1 of the access offer is not possible now: Team has already been taken. Nothing was changed.",
    ]);
    expect(await countRequests()).toBe(before);
  });

  it("409: the seat exists already and would end earlier", async () => {
    const made = await make({ approvals: "none" });
    const member = await api.makeMember(org.name, [developers.id, onCall.id]);
    expect((await take(member, made, { "duration-seconds": 300 })).status).toBe(409);
    const listed = data(await org.owner.get(`/teams/${onCall.id}?include=users`)).relationships.users.data;
    expect(listed).toEqual([{ type: "users", id: member.id }]);
    expect((await take(dev, made, { "duration-seconds": 300 })).status).toBe(201);
    expect((await take(dev, made)).status).toBe(201);
    expect((await take(dev, made, { "duration-seconds": 300 })).status).toBe(409);
  });

  it("409: the last writer lost a permission; nothing is changed and no request remains", async () => {
    const writer = await api.makeHolder(org.name, "manage-teams", "manage-membership", "manage-projects");
    const made = await make({ approvals: "none" }, writer);
    const leaving = { data: [{ type: "users", id: writer.id }] };
    await org.owner.delete(`/teams/${writer.teamId}/relationships/users`, leaving);
    const before = await countRequests();
    expect((await take(dev, made)).status).toBe(409);
    expect([await isMember(dev), await countRequests()]).toEqual([false, before]);
  });

  it("the seat ends on time, also if the server that gave it has stopped", async () => {
    const database = openDatabase(api.address);
    const dying = await startApiOn({ address: api.address, database, drop: () => database.close() });
    const made = await make({ approvals: "none" });
    expect((await take(dying.as(dev.token), made, { "duration-seconds": 300 })).status).toBe(201);
    await dying.stop();
    const end = inMs(300_000);
    await atTime(inMs(240_000), async () => expect(await isMember(dev)).toBe(true));
    await atTime(end, async () => expect(await isMember(dev)).toBe(false));
  });

  const forbidSeats = async (enforcement: string, unless = ""): Promise<Json> => {
    const scope = `resource == Team::"${onCall.id}"`;
    const policy = `@message("Ask first.") forbid (principal, action == Action::"addMember", ${scope})${unless};`;
    const rule = resource("access-rules", { name: unique("rule"), policy, enforcement });
    return data(await org.owner.post(`/organizations/${org.name}/access-rules`, rule));
  };

  it.each(["forbid", "approval"])("403: a rule with %s refuses it, and no request remains", async (enforcement) => {
    const made = await make({ approvals: "none" });
    await forbidSeats(enforcement);
    const before = await countRequests();
    const answer = await take(dev, made);
    expect([answer.status, details(answer)[0]]).toEqual([403, expect.stringMatching(/Ask first/)]);
    expect([await isMember(dev), await countRequests()]).toEqual([false, before]);
  });

  it("201: the rule exempts break-glass access, or its principal, who is the offer's last writer", async () => {
    await forbidSeats("approval", " unless { context.breakGlass }");
    expect((await take(dev, await make({ approvals: "none" }))).status).toBe(201);
    await org.owner.delete(`/teams/${onCall.id}/relationships/users`, { data: [{ type: "users", id: dev.id }] });
    await forbidSeats("forbid", ` when { principal != User::"${org.owner.id}" }`);
    expect((await take(dev, await make({ approvals: "none" }))).status).toBe(201);
  });

  it("201: a rule that only advises is in the warnings", async () => {
    const { id } = await forbidSeats("advise");
    const answer = await take(dev, await make({ approvals: "none" }));
    expect([answer.status, answer.body.meta?.warnings]).toMatchObject([201, [{ rule: id, message: "Ask first." }]]);
  });

  it("the rules that an approver sees are those of the offer's last writer, who makes the changes", async () => {
    const made = await withApprovers();
    const rule = await forbidSeats("forbid", ` when { principal == User::"${org.owner.id}" }`);
    const request = data(await take(dev, made));
    const shown = data(await approver.get(`/access-requests/${request.id}`));
    expect(shown.attributes.rules.map(({ id }: Json) => id)).toEqual([rule.id]);
    expect((await approve(approver, request.id)).status).toBe(403);
  });

  it("a rule with approval lets an approver team approve", async () => {
    const made = await withApprovers();
    await forbidSeats("approval");
    const { id, attributes } = data(await take(dev, made));
    expect(attributes.rules).toMatchObject([{ message: "Ask first.", enforcement: "approval" }]);
    expect((await approve(approver, id)).status).toBe(200);
    expect(await isMember(dev)).toBe(true);
  });
});
