/** Team memberships with an expiry: set and shown in the `meta` of a link, and without effect from then on, before any cleanup. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Member, type Org, pointers, resource, unique } from "../../../support/builders.ts";
import { atTime, before, inMs } from "../../../support/clock.ts";

const api = useApi();
const hourMs = 3_600_000;
let org: Org;
let team: Json;
let member: Member;

beforeAll(async () => {
  org = await api.makeOrganization();
  team = await api.makeTeam(org.name, { "organization-access": { "read-projects": true } });
  member = await api.makeMember(org.name);
});

type Kind = "users" | "organization-memberships";
const path = (kind: Kind, teamId = team.id) => `/teams/${teamId}/relationships/${kind}`;
const item = (kind: Kind, who: Member, meta?: object | null) => ({
  type: kind,
  id: kind === "users" ? who.username : who.membershipId,
  ...(meta !== undefined && { meta }),
});
const add = (kind: Kind, who: Member, meta?: object | null, teamId = team.id, by: Caller = org.owner) =>
  by.post(path(kind, teamId), { data: [item(kind, who, meta)] });
const remove = (who: Member, teamId = team.id) =>
  org.owner.delete(path("users", teamId), { data: [item("users", who)] });
const reads = async (who: Caller) => data(await who.get(`/organizations/${org.name}/projects`)).length > 0;
const usersCount = async () => data(await org.owner.get(`/teams/${team.id}`)).attributes["users-count"];
const done = (answer: Answer) => expect([answer.status, details(answer)]).toEqual([204, []]);
const verbs = async (subjectId = team.id) =>
  (
    await api.database.reader.db
      .selectFrom("auditEvents")
      .selectAll()
      .where("subjectId", "=", subjectId)
      .where("action", "like", "%-members")
      .orderBy("createdAt")
      .orderBy("id")
      .execute()
  ).map(({ action, before, after }) => ({ action, before, after }));

describe.each<{ kind: Kind }>([{ kind: "users" }, { kind: "organization-memberships" }])("by $kind", ({ kind }) => {
  it("a member with an expiry is in the team until then", async () => {
    const end = inMs(hourMs);
    done(await add(kind, member, { "expires-at": end, reason: "on call" }));
    await atTime(before(end), async () => expect(await reads(member)).toBe(true));
    await atTime(end, async () => {
      expect(await reads(member)).toBe(false);
      expect(await usersCount()).toBe(0);
      expect(data(await org.owner.get(path("organization-memberships")))).toEqual([]);
    });
    done(await remove(member));
  });

  it("the meta of every link shows expiry and reason, and is absent without them", async () => {
    const meta = { "expires-at": inMs(hourMs), reason: "on call" };
    const shown = async () => {
      const shownTeam = data(await org.owner.get(`/teams/${team.id}?include=users,organization-memberships`));
      const one = data(await org.owner.get(`/organization-memberships/${member.membershipId}`));
      const [listed] = data(await org.owner.get(path("organization-memberships")));
      const [own] = data(await member.get("/organization-memberships"));
      return [
        shownTeam.relationships.users.data[0].meta,
        shownTeam.relationships["organization-memberships"].data[0].meta,
        ...[one, listed, own].map(({ relationships }: Json) => relationships.teams.data[0].meta),
      ];
    };
    done(await add(kind, member, meta));
    expect(await shown()).toEqual(Array.from({ length: 5 }, () => meta));
    done(await add(kind, member, { "expires-at": null, reason: null }));
    expect(await shown()).toEqual(Array.from({ length: 5 }, () => undefined));
    done(await remove(member));
  });

  it("adding again extends, shortens or removes the expiry; without meta nothing changes", async () => {
    const [sooner, later] = [inMs(hourMs), inMs(2 * hourMs)];
    done(await add(kind, member, { "expires-at": sooner, reason: "first" }));
    done(await add(kind, member));
    await atTime(sooner, async () => expect(await reads(member)).toBe(false));
    done(await add(kind, member, { "expires-at": later }));
    await atTime(sooner, async () => expect(await reads(member)).toBe(true));
    done(await add(kind, member, { reason: "second" }));
    await atTime(later, async () => expect(await reads(member)).toBe(false));
    done(await add(kind, member, { "expires-at": null }));
    await atTime(later, async () => expect(await reads(member)).toBe(true));
    expect(await usersCount()).toBe(1);
    done(await remove(member));
  });

  it("422: an expiry in the past, an invalid reason or meta; all faults with pointers", async () => {
    const answer = await org.owner.post(path(kind), {
      data: [
        item(kind, member, { "expires-at": inMs(-1), reason: "x".repeat(1025) }),
        { ...item(kind, member), meta: "soon" },
        { type: kind },
        item(kind, member, { reason: "a\u001fb" }),
      ],
    });
    expect(answer.status).toBe(422);
    expect(pointers(answer).toSorted()).toEqual([
      "/data/0/meta/expires-at",
      "/data/0/meta/reason",
      "/data/1/meta",
      "/data/2",
      "/data/3/meta/reason",
    ]);
    expect(details(answer).find((detail) => detail.includes("future"))).toMatch(
      /^Meta expires at must be in the future/,
    );
  });

  it("an ended membership starts again before the cleanup, and the audit log records both", async () => {
    const own = await api.makeTeam(org.name, { "organization-access": { "read-projects": true } });
    const end = inMs(hourMs);
    done(await add(kind, member, { "expires-at": end, reason: "first" }, own.id));
    await atTime(end, async () => done(await add(kind, member, null, own.id)));
    expect(data(await org.owner.get(`/teams/${own.id}`)).attributes["users-count"]).toBe(1);
    expect(await reads(member)).toBe(true);
    const events = await verbs(own.id);
    expect(events.map(({ action }) => action).toSorted()).toEqual([
      "teams.add-members",
      "teams.add-members",
      "teams.expire-members",
    ]);
    expect(JSON.parse(events.find(({ before }) => before !== null)?.before ?? "")).toEqual({
      members: [{ membership: member.membershipId, username: member.username, "expires-at": end, reason: "first" }],
    });
    const added = events.flatMap(({ after }) => (after === null ? [] : JSON.parse(after).members));
    expect(added.filter((each: Json) => !("expires-at" in each))).toEqual([
      { membership: member.membershipId, username: member.username },
    ]);
    done(await remove(member, own.id));
  });
});

it("a change of the expiry is recorded in the audit log and changes the membership's version", async () => {
  const own = await api.makeTeam(org.name);
  const end = inMs(hourMs);
  const tag = async () => (await org.owner.get(`/organization-memberships/${member.membershipId}`)).headers.get("etag");
  done(await add("users", member, undefined, own.id));
  const first = await tag();
  done(await add("users", member, { "expires-at": end }, own.id));
  const second = await tag();
  expect(second).not.toBe(first);
  await atTime(end, async () => expect(await tag()).not.toBe(second));
  const [, changed] = await verbs(own.id);
  expect(changed?.action).toBe("teams.update-members");
  expect(JSON.parse(changed?.after ?? "").members[0]).toMatchObject({ "expires-at": end, reason: null });
});

describe("a new member of the organization", () => {
  const invite = (teams: object[], by: Caller = org.owner) =>
    by.post(
      `/organizations/${org.name}/organization-memberships`,
      resource("organization-memberships", { email: `${unique("new")}@example.com` }, { teams: { data: teams } }),
    );

  it("joins teams with an expiry, also while only invited", async () => {
    const meta = { "expires-at": inMs(hourMs), reason: "a trial" };
    const created = data(await invite([{ type: "teams", id: team.id, meta }]));
    expect(created.relationships.teams.data).toEqual([{ type: "teams", id: team.id, meta }]);
    const person = data(
      await api.admin.post(
        "/admin/users",
        resource("users", { username: unique("new"), email: created.attributes.email }),
      ),
    );
    const token = data(await api.admin.post(`/users/${person.id}/authentication-tokens`)).attributes.token;
    expect(await reads(api.as(token))).toBe(true);
    await atTime(meta["expires-at"], async () => expect(await reads(api.as(token))).toBe(false));
    await org.owner.delete(`/organization-memberships/${created.id}`);
  });

  it("422: an expiry in the past", async () => {
    const answer = await invite([{ type: "teams", id: team.id, meta: { "expires-at": inMs(-1) } }]);
    expect([answer.status, ...pointers(answer)]).toEqual([422, "/data/relationships/teams/data/0/meta/expires-at"]);
  });

  it("an invited person who accepts after the expiry is in no team and not counted", async () => {
    const own = await api.makeTeam(org.name, { "organization-access": { "read-projects": true } });
    const end = inMs(hourMs);
    const created = data(await invite([{ type: "teams", id: own.id, meta: { "expires-at": end } }]));
    await atTime(end, async () => {
      const body = resource("users", { username: unique("new"), email: created.attributes.email });
      const person = data(await api.admin.post("/admin/users", body));
      const token = data(await api.admin.post(`/users/${person.id}/authentication-tokens`)).attributes.token;
      expect(await reads(api.as(token))).toBe(false);
      expect(data(await org.owner.get(`/teams/${own.id}`)).attributes["users-count"]).toBe(0);
    });
  });
});

it("an invitation that is merged into a membership renews an ended team membership", async () => {
  const own = await api.makeTeam(org.name, { "organization-access": { "read-projects": true } });
  const person = await api.makeMember(org.name);
  const end = inMs(hourMs);
  done(await add("users", person, { "expires-at": end }, own.id));
  const email = `${unique("new")}@example.com`;
  const teams = { teams: { data: [{ type: "teams", id: own.id }] } };
  data(
    await org.owner.post(
      `/organizations/${org.name}/organization-memberships`,
      resource("organization-memberships", { email }, teams),
    ),
  );
  await atTime(end, async () => {
    expect(await reads(person)).toBe(false);
    data(await api.admin.patch(`/admin/users/${person.id}`, resource("users", { email })));
    expect(await reads(person)).toBe(true);
    expect(data(await org.owner.get(`/teams/${own.id}`)).attributes["users-count"]).toBe(1);
  });
  expect((await verbs(own.id)).map(({ action }) => action)).toContain("teams.expire-members");
});

describe("the owners team", () => {
  const owners = (who: Member, meta?: object, by: Caller = org.owner) => add("users", who, meta, org.ownersTeamId, by);

  it("409: the only permanent owner can't get an expiry, or leave while the others have one", async () => {
    const alone = await api.makeOrganization();
    const site = data(await api.admin.get(`/teams/${alone.ownersTeamId}?include=users`)).relationships.users.data;
    for (const { id } of site.filter((each: Json) => each.id !== alone.owner.id))
      done(await api.admin.delete(path("users", alone.ownersTeamId), { data: [{ type: "users", id }] }));
    const self = { type: "users", id: alone.owner.username };
    const end = { "expires-at": inMs(hourMs) };
    const visitor = await api.makeMember(alone.name);
    done(await alone.owner.post(path("users", alone.ownersTeamId), { data: [item("users", visitor, end)] }));
    const refused = [
      await alone.owner.post(path("users", alone.ownersTeamId), { data: [{ ...self, meta: end }] }),
      await alone.owner.delete(path("users", alone.ownersTeamId), { data: [self] }),
      await alone.owner.delete(`/organization-memberships/${(alone.owner as Member).membershipId}`),
      await api.admin.delete(`/admin/users/${alone.owner.id}`),
    ];
    expect(refused.map(({ status }) => status)).toEqual([409, 409, 409, 409]);
    expect(details(refused[0]!)[0]).toMatch(/without a permanent owner/);
    done(
      await alone.owner.post(path("users", alone.ownersTeamId), {
        data: [item("users", visitor, { "expires-at": null })],
      }),
    );
    done(await alone.owner.post(path("users", alone.ownersTeamId), { data: [{ ...self, meta: end }] }));
  });

  it("an owner with an expiry is an owner until then", async () => {
    const guest = await api.makeMember(org.name);
    const end = inMs(hourMs);
    done(await owners(guest, { "expires-at": end }));
    const own = async () => data(await guest.get(`/organizations/${org.name}`)).attributes.permissions["can-destroy"];
    await atTime(before(end), async () => expect(await own()).toBe(true));
    await atTime(end, async () => expect(await own()).toBe(false));
  });
});

it("a caller with manage-membership can set the expiry", async () => {
  const manager = await api.makeHolder(org.name, "manage-membership", "read-projects");
  done(await add("users", member, { "expires-at": inMs(hourMs) }, team.id, manager));
  done(await remove(member));
});
