/** Access offers: creation, validation, updates and deletion. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Member, type Org, pointers, resource, unique } from "../../../support/builders.ts";
import { grantOn, makeOffer, membershipIn, offer, offersOf, seatIn, teamsNamed } from "../../../support/offers.ts";

const api = useApi();
let org: Org;
let onCall: Json;
let developers: Json;
let approvers: Json;
let project: string;
let dev: Member;
let outsider: Member;
/** Has `manage-teams`, but neither `manage-membership` nor access to projects. */
let manager: Member & { teamId: string };

beforeAll(async () => {
  org = await api.makeOrganization();
  onCall = await api.makeTeam(org.name, { name: "on-call" });
  developers = await api.makeTeam(org.name, { name: "developers" });
  approvers = await api.makeTeam(org.name, { name: "approvers" });
  project = (await api.makeProject(org.name)).id;
  dev = await api.makeMember(org.name, [developers.id]);
  outsider = await api.makeMember(org.name);
  manager = await api.makeHolder(org.name, "manage-teams");
});

const post = (caller: Caller, body: Json) => caller.post(offersOf(org.name), body);
const seatOffer = (attributes: object = {}) => offer([seatIn(onCall.id)], [developers.id], attributes);
const make = (attributes: object = {}, caller: Caller = org.owner) =>
  makeOffer(caller, org.name, [seatIn(onCall.id)], [developers.id], attributes);
const linkOf = (made: Json) => `/access-offers/${made.id}`;
const patch = (
  caller: Caller,
  made: Json,
  attributes: object,
  relationships?: object,
  headers?: Record<string, string>,
) => caller.patch(linkOf(made), resource("access-offers", attributes, relationships), headers);
const eventsOf = async (id: string): Promise<Json[]> =>
  api.database.reader.db
    .selectFrom("auditEvents")
    .selectAll()
    .where("subjectId", "=", id)
    .orderBy("createdAt")
    .orderBy("id")
    .execute();

describe("creating an offer", () => {
  it("201: the whole document, with defaults and its ETag", async () => {
    const answer = await post(org.owner, seatOffer({ name: "Break glass" }));
    expect(answer.status).toBe(201);
    const { id, type, attributes, relationships } = answer.body.data;
    expect([id, type]).toEqual([expect.stringMatching(/^aoff-[A-Za-z0-9]{16}$/), "access-offers"]);
    expect(attributes).toEqual({
      name: "Break glass",
      description: null,
      changes: [seatIn(onCall.id)],
      "duration-seconds-max": 3600,
      approvals: "one",
      enabled: true,
      permissions: { "can-update": true, "can-destroy": true, "can-take": false },
      "created-at": expect.stringMatching(/Z$/),
    });
    expect(relationships["eligible-teams"].data).toEqual([{ type: "teams", id: developers.id }]);
    expect(relationships["approver-teams"].data).toEqual([]);
    expect(relationships.organization.data).toEqual({ type: "organizations", id: org.name });
    const shown = await org.owner.get(`/access-offers/${id}`);
    expect(shown.body).toEqual(answer.body);
    expect(shown.headers.get("etag")).toBe(answer.headers.get("etag"));
  });

  it("201: every attribute and relationship, and its audit event", async () => {
    const changes = [seatIn(onCall.id), membershipIn(onCall.id), grantOn(project, onCall.id)];
    const attributes = { description: "For incidents", approvals: "none", enabled: false };
    const body = offer(changes, [developers.id, onCall.id], attributes);
    body.data.relationships["approver-teams"] = teamsNamed(approvers.id);
    const made = data(await post(org.owner, body));
    expect(made.attributes).toMatchObject({ ...attributes, changes });
    expect(made.relationships["eligible-teams"].data).toHaveLength(2);
    expect(made.relationships["approver-teams"].data).toEqual([{ type: "teams", id: approvers.id }]);
    const [event] = await eventsOf(made.id);
    expect(event).toMatchObject({ action: "access-offers.create", actorId: org.owner.id });
    expect(JSON.parse(event.after)).toMatchObject({
      "duration-seconds-max": 3600,
      changes,
      "approver-teams": [approvers.id],
      "eligible-teams": [developers.id, onCall.id].sort(),
    });
  });

  it("201: by a team with manage-teams, its token, and the organization's token", async () => {
    const own = await api.makeHolder(org.name, "manage-teams", "manage-membership");
    for (const caller of [own, await api.makeTeamToken(own.teamId), await api.makeOrganizationToken(org.name)])
      expect((await post(caller, seatOffer())).status).toBe(201);
  });

  it("201: a change that is impossible now, such as a grant that exists", async () => {
    const other = await api.makeTeam(org.name);
    await api.grantProject(project, other.id, "read");
    expect((await post(org.owner, offer([grantOn(project, other.id)], [developers.id]))).status).toBe(201);
  });

  it("403: a caller without manage-teams; 404: a stranger", async () => {
    expect((await post(outsider, seatOffer())).status).toBe(403);
    expect((await post(dev, seatOffer())).status).toBe(403);
    expect((await post(await api.makeUser(), seatOffer())).status).toBe(404);
  });

  it.each([
    ["a seat, without manage-membership", () => seatIn(onCall.id), 403, /can-update-membership/],
    ["a seat by membership, without manage-membership", () => membershipIn(onCall.id), 403, /can-update-membership/],
    ["a seat in the owners team", () => seatIn(org.ownersTeamId), 403, /owners/],
  ])("403: the writer can't make the change: %s", async (_, change, status, sentence) => {
    const answer = await post(manager, offer([change()], [developers.id]));
    expect(answer.status).toBe(status);
    expect(details(answer)[0]).toMatch(sentence);
    expect(pointers(answer)).toEqual(["/data/attributes/changes/0"]);
  });

  it("403: a grant of more than the writer has, and of a project whose access it can't manage; 404 if it can't see it", async () => {
    const own = await api.makeHolder(org.name, "manage-teams");
    const grant = (access: string) => offer([grantOn(project, onCall.id, { access })], [developers.id]);
    expect((await post(own, grant("read"))).status).toBe(404);
    await api.grantProject(project, own.teamId, "read");
    expect((await post(own, grant("read"))).status).toBe(403);
    const lead = await api.makeHolder(org.name, "manage-teams");
    await api.makeTeamProject(project, lead.teamId, { access: "admin" });
    expect((await post(lead, grant("admin"))).status).toBe(201);
  });

  it("404: a seat for somebody who is not a member of the organization, or for a misspelled placeholder", async () => {
    const stranger = await api.makeUser();
    const seatFor = (id: string) => {
      const change = seatIn(onCall.id);
      return { ...change, body: { data: [{ type: "users", id }] } };
    };
    for (const id of [stranger.username, "user-0000000000000000", "$USER"]) {
      const answer = await post(org.owner, offer([seatIn(onCall.id), seatFor(id)], [developers.id]));
      expect([answer.status, ...pointers(answer)]).toEqual([404, "/data/attributes/changes/1"]);
      expect((await patch(org.owner, await make(), { changes: [seatFor(id)] })).status).toBe(404);
    }
    expect((await post(org.owner, offer([seatFor(dev.username)], [developers.id]))).status).toBe(201);
  });

  it("403: the second change alone is refused, with its pointer", async () => {
    const own = await api.makeHolder(org.name, "manage-teams", "manage-membership");
    const answer = await post(own, offer([seatIn(onCall.id), seatIn(org.ownersTeamId)], [developers.id]));
    expect([answer.status, ...pointers(answer)]).toEqual([403, "/data/attributes/changes/1"]);
  });

  it("403: the writer's own access ends before the longest duration", async () => {
    const own = await api.makeHolder(org.name, "manage-teams");
    const lending = await api.makeTeam(org.name);
    const soon = new Date(Date.now() + 1_800_000).toISOString();
    await api.makeTeamProject(project, lending.id, { access: "admin" });
    await org.owner.post(`/teams/${lending.id}/relationships/users`, {
      data: [{ type: "users", id: own.id, meta: { "expires-at": soon } }],
    });
    const grant = (seconds: number) =>
      offer([grantOn(project, onCall.id, { access: "read" })], [developers.id], { "duration-seconds-max": seconds });
    const answer = await post(own, grant(3600));
    expect(answer.status).toBe(403);
    expect(details(answer)[0]).toMatch(/your own access expires earlier/);
    expect((await post(own, grant(600))).status).toBe(201);
  });

  it("403: a token that expires, because the offer would outlive it", async () => {
    const expiring = resource("authentication-tokens", { "expired-at": "2099-01-01T00:00:00Z" });
    const owners = await org.owner.post(`/teams/${org.ownersTeamId}/authentication-token`, expiring);
    const token = api.as(data(owners).attributes.token);
    expect((await post(token, seatOffer())).status).toBe(403);
    expect((await patch(token, await make(), { enabled: false })).status).toBe(403);
  });

  it("404: a change that names what does not exist, or belongs to another organization", async () => {
    const other = await api.makeOrganization();
    const foreign = await api.makeTeam(other.name);
    for (const id of [foreign.id, "team-1234567890abcdef"])
      expect((await post(org.owner, offer([seatIn(id)], [developers.id]))).status).toBe(404);
    expect((await post(api.admin, offer([seatIn(foreign.id)], [developers.id]))).status).toBe(404);
  });
});

const invalidChanges: readonly [string, () => readonly Json[], string, RegExp?][] = [
  ["none", () => [], "/data/attributes/changes"],
  ["more than 20", () => Array.from({ length: 21 }, () => seatIn(onCall.id)), "/data/attributes/changes"],
  ["another method", () => [{ ...seatIn(onCall.id), method: "DELETE" }], "/data/attributes/changes/0/method"],
  ["another path", () => [{ method: "POST", path: "/api/v2/workspaces" }], "/data/attributes/changes/0/path"],
  [
    "a change that is neither a grant nor a seat",
    () => [
      seatIn(onCall.id),
      { method: "POST", path: `/api/v2/projects/${project}/relationships/workspaces`, body: { data: [] } },
    ],
    "/data/attributes/changes/1/path",
    /new grant or of new members/,
  ],
  [
    "a malformed body",
    () => [grantOn(project, onCall.id, { access: "all" })],
    "/data/attributes/changes/0/body/data/attributes/access",
  ],
  [
    "the placeholder in the place of a team",
    () => [grantOn(project, "$user")],
    "/data/attributes/changes/0/body/data/relationships/team/data/id",
    /user or membership id/,
  ],
  [
    "the placeholder as a reason",
    () => [seatIn(onCall.id, { reason: "$user" })],
    "/data/attributes/changes/0/body/data/0/meta/reason",
  ],
  ["the placeholder in the path", () => [seatIn("$user")], "/data/attributes/changes/0/path"],
  [
    "an expiry that has passed",
    () => [seatIn(onCall.id, { "expires-at": "2020-01-01T00:00:00Z" })],
    "/data/attributes/changes/0/body/data/0/meta/expires-at",
  ],
];

describe("invalid offers", () => {
  it.each(invalidChanges)("422: changes: %s", async (_, changes, pointer, sentence = /./) => {
    const answer = await post(org.owner, offer(changes(), [developers.id]));
    expect([answer.status, pointers(answer)[0]]).toEqual([422, pointer]);
    expect(details(answer)[0]).toMatch(sentence);
    const made = await make();
    expect(pointers(await patch(org.owner, made, { changes: changes() }))[0]).toBe(pointer);
  });

  it.each([
    ["name", ""],
    ["name", "x".repeat(91)],
    ["name", null],
    ["description", "x".repeat(1025)],
    ["duration-seconds-max", 299],
    ["duration-seconds-max", 604_801],
    ["duration-seconds-max", null],
    ["duration-seconds-max", 300.5],
    ["approvals", "two"],
    ["approvals", null],
    ["enabled", null],
    ["enabled", "yes"],
    ["changes", null],
    ["changes", "none"],
  ])("422: %s is %j", async (attribute, value) => {
    for (const answer of [
      await post(org.owner, seatOffer({ [attribute]: value })),
      await patch(org.owner, await make(), { [attribute]: value }),
    ])
      expect([answer.status, pointers(answer)[0]]).toEqual([422, `/data/attributes/${attribute}`]);
  });

  it.each(["name", "changes", "duration-seconds-max"])("422: without %s", async (attribute) => {
    const answer = await post(org.owner, seatOffer({ [attribute]: undefined }));
    expect([answer.status, pointers(answer)]).toEqual([422, [`/data/attributes/${attribute}`]]);
  });

  it("422: changes of more than 64 KiB", async () => {
    const team = await api.makeTeam(org.name);
    const seat = seatIn(team.id);
    const large = { ...seat, body: { ...seat.body, junk: "x".repeat(65_536) } };
    const answer = await org.owner.post(offersOf(org.name), offer([large], [team.id]));
    expect([answer.status, pointers(answer)]).toEqual([422, ["/data/attributes/changes"]]);
  });

  it("422: no eligible team, more than 20, or an unknown one", async () => {
    const withTeams = (teams: Json) => {
      const body = seatOffer();
      body.data.relationships = teams;
      return post(org.owner, body);
    };
    const eligible = (...ids: string[]) => withTeams({ "eligible-teams": teamsNamed(...ids) });
    const ids = [];
    for (let count = 0; count < 21; count += 1) ids.push((await api.makeTeam(org.name)).id as string);
    const foreign = await api.makeTeam((await api.makeOrganization()).name);
    expect((await withTeams(undefined)).status).toBe(422);
    expect(pointers(await eligible())).toEqual(["/data/relationships/eligible-teams"]);
    expect(pointers(await eligible(...ids))).toEqual(["/data/relationships/eligible-teams"]);
    expect((await eligible(...ids.slice(1))).status).toBe(201);
    expect(pointers(await eligible(developers.id, foreign.id))).toEqual([
      "/data/relationships/eligible-teams/data/1/id",
    ]);
    const approving = { "eligible-teams": teamsNamed(developers.id), "approver-teams": teamsNamed(...ids) };
    expect(pointers(await withTeams(approving))).toEqual(["/data/relationships/approver-teams"]);
  });

  it("422: the name is taken, ignoring case; another organization can use it", async () => {
    const name = unique("Name");
    const made = await make({ name });
    const taken = await post(org.owner, seatOffer({ name: name.toUpperCase() }));
    expect([taken.status, details(taken), pointers(taken)]).toEqual([
      422,
      ["Name has already been taken"],
      ["/data/attributes/name"],
    ]);
    expect((await patch(org.owner, await make(), { name })).status).toBe(422);
    expect((await patch(org.owner, made, { name: name.toUpperCase() })).status).toBe(200);
    const other = await api.makeOrganization();
    const team = await api.makeTeam(other.name);
    await makeOffer(other.owner, other.name, [seatIn(team.id)], [team.id], { name });
  });
});

describe("updating an offer", () => {
  it.each([
    ["name", "Renamed"],
    ["description", "What it is for"],
    ["changes", () => [grantOn(project, onCall.id)]],
    ["duration-seconds-max", 300],
    ["approvals", "none"],
    ["enabled", false],
  ])("200: %s changes alone, and stays without it", async (attribute, given) => {
    const value = typeof given === "function" ? given() : given;
    const made = await make({ description: "Before" });
    const changed = data(await patch(org.owner, made, { [attribute]: value }));
    expect(changed.attributes).toEqual({ ...made.attributes, [attribute]: value });
    const kept = data(await patch(org.owner, made, {}));
    expect(kept.attributes).toEqual(changed.attributes);
    const [, event] = await eventsOf(made.id);
    expect(event.action).toBe("access-offers.update");
    expect(JSON.parse(event.after)[attribute]).toEqual(value);
    await org.owner.delete(linkOf(made));
  });

  it("200: description is null again", async () => {
    const made = await make({ description: "Before" });
    expect(data(await patch(org.owner, made, { description: null })).attributes.description).toBe(null);
  });

  it("200: teams are replaced; an absent list stays; 422: no eligible team is left", async () => {
    const made = await make();
    const teamIds = (document: Json, kind: string) =>
      document.relationships[`${kind}-teams`].data.map(({ id }: Json) => id);
    const approving = data(await patch(org.owner, made, {}, { "approver-teams": teamsNamed(approvers.id) }));
    expect([teamIds(approving, "eligible"), teamIds(approving, "approver")]).toEqual([[developers.id], [approvers.id]]);
    const moved = data(await patch(org.owner, made, {}, { "eligible-teams": teamsNamed(onCall.id) }));
    expect([teamIds(moved, "eligible"), teamIds(moved, "approver")]).toEqual([[onCall.id], [approvers.id]]);
    const none = data(await patch(org.owner, made, {}, { "approver-teams": teamsNamed() }));
    expect(teamIds(none, "approver")).toEqual([]);
    for (const sent of [{ data: [] }, { data: null }])
      expect((await patch(org.owner, made, {}, { "eligible-teams": sent })).status).toBe(422);
  });

  it("200: somebody who saves it unchanged becomes its last writer, with an audit event; the last writer changes nothing", async () => {
    const made = await make();
    const own = await api.makeHolder(org.name, "manage-teams", "manage-membership");
    for (const caller of [org.owner, own, own]) data(await patch(caller, made, { enabled: true }));
    const events = await eventsOf(made.id);
    expect(events.map(({ after }) => JSON.parse(after)["last-writer"])).toEqual([org.owner.id, own.id]);
    expect((await patch(manager, made, { enabled: true })).status).toBe(403);
  });

  it("412: the version has changed; otherwise the ETag changes with each update", async () => {
    const made = await make();
    const etag = (await org.owner.get(linkOf(made))).headers.get("etag") ?? "";
    expect((await patch(org.owner, made, { enabled: false }, undefined, { "if-match": etag })).status).toBe(200);
    expect((await patch(org.owner, made, { enabled: true }, undefined, { "if-match": etag })).status).toBe(412);
    expect((await org.owner.delete(linkOf(made), undefined, { "if-match": etag })).status).toBe(412);
  });

  it("403: a caller who sees it but does not manage it, and a manager who can't make the changes; 404: others", async () => {
    const made = await make();
    expect((await patch(dev, made, { enabled: false })).status).toBe(403);
    expect((await patch(outsider, made, { enabled: false })).status).toBe(404);
    const answer = await patch(manager, made, { enabled: false });
    expect([answer.status, ...pointers(answer)]).toEqual([403, "/data/attributes/changes/0"]);
    expect(data(await org.owner.get(linkOf(made))).attributes.enabled).toBe(true);
  });
});

describe("deleting an offer", () => {
  it("204, with its audit event: by a manager; 403 and 404 for others", async () => {
    const made = await make();
    expect((await dev.delete(linkOf(made))).status).toBe(403);
    expect((await outsider.delete(linkOf(made))).status).toBe(404);
    expect((await manager.delete(linkOf(made))).status).toBe(204);
    expect((await org.owner.get(linkOf(made))).status).toBe(404);
    expect((await eventsOf(made.id)).at(-1).action).toBe("access-offers.delete");
  });
});
