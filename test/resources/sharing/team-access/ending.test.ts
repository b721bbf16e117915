/**
 * Team access records that expire: on time, by the decision itself, not when a job removes them. Nobody can grant
 * access for longer than their own lasts.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  details,
  inProject,
  type Member,
  onProject,
  onWorkspace,
  type Org,
  pointers,
  resource,
  unique,
} from "../../../support/builders.ts";
import { atTime, before, inMs } from "../../../support/clock.ts";

const api = useApi();
const hourMs = 3_600_000;
let org: Org;
let project: Json;

describe("expiry", () => {
  let team: Json;
  let workspace: Json;
  /** A member of the team. */
  let member: Caller;

  beforeAll(async () => {
    org = await api.makeOrganization();
  });

  const events = async (subjectId: string) =>
    (
      await api.database.reader.db
        .selectFrom("auditEvents")
        .selectAll()
        .where("subjectId", "=", subjectId)
        .orderBy("createdAt")
        .execute()
    ).map(({ action }) => action);

  describe.each([
    { type: "team-projects", on: () => onProject(project.id, team.id), at: () => `/projects/${project.id}` },
    { type: "team-workspaces", on: () => onWorkspace(workspace.id, team.id), at: () => `/workspaces/${workspace.id}` },
  ])("$type", ({ type, on, at }) => {
    beforeAll(async () => {
      team = await api.makeTeam(org.name);
      project = await api.makeProject(org.name);
      workspace = await api.makeWorkspace(org.name, {}, inProject(project.id));
      member = await api.makeMember(org.name, [team.id]);
    });

    const give = (attributes: object = {}, by: Caller = org.owner) =>
      by.post(`/${type}`, resource(type, { access: "read", ...attributes }, on()));
    const change = (id: string, attributes: object, by: Caller = org.owner) =>
      by.patch(`/${type}/${id}`, resource(type, attributes));
    const take = (id: string) => org.owner.delete(`/${type}/${id}`);
    const statusOf = async (path: string, by: Caller = member) => (await by.get(path)).status;
    const list = () => {
      const [name, { data: place }] = Object.entries<Json>(on()).find(([key]) => key !== "team")!;
      return org.owner.get(`/${type}?filter[${name}][id]=${place.id}&page[size]=100`);
    };

    it("have no expiry and no reason by default", async () => {
      const record = data(await give());
      expect(record.attributes).toMatchObject({ "expires-at": null, reason: null });
      await atTime(inMs(365 * 24 * hourMs), async () => expect(await statusOf(at())).toBe(200));
      await take(record.id);
    });

    it("show their expiry and reason, and accept any time zone", async () => {
      const end = inMs(hourMs);
      const record = data(await give({ "expires-at": end.replace("Z", "+00:00"), reason: "the audit of May" }));
      expect(record.attributes).toMatchObject({ "expires-at": end, reason: "the audit of May" });
      expect(data(await org.owner.get(`/${type}/${record.id}`)).attributes).toMatchObject({ "expires-at": end });
      expect(data(await list()).map((each: Json) => each.attributes["expires-at"])).toEqual([end]);
      await take(record.id);
    });

    it("422: an expiry in the past, on creation and on change, with all other faults", async () => {
      const refused = await give({ access: "none", "expires-at": inMs(-1), reason: "x".repeat(1025) });
      expect(refused.status).toBe(422);
      expect(pointers(refused).toSorted()).toEqual(
        ["/data/attributes/access", "/data/attributes/expires-at", "/data/attributes/reason"].toSorted(),
      );
      const record = data(await give());
      const changed = await change(record.id, { "expires-at": inMs(-1) });
      expect([changed.status, ...pointers(changed)]).toEqual([422, "/data/attributes/expires-at"]);
      expect(details(changed)[0]).toMatch(
        /^Expires at must be in the future: .* has passed\. To end access now, delete it$/,
      );
      expect((await change(record.id, { "expires-at": "tomorrow" })).status).toBe(422);
      await take(record.id);
    });

    it("give access until exactly that moment, to users and to the team's token", async () => {
      const end = inMs(hourMs);
      const record = data(await give({ "expires-at": end }));
      const token = await api.makeTeamToken(team.id);
      for (const caller of [member, token]) {
        await atTime(before(end), async () => expect(await statusOf(at(), caller)).toBe(200));
        await atTime(end, async () => expect(await statusOf(at(), caller)).toBe(404));
      }
      await atTime(end, async () => {
        const names = `/organizations/${org.name}/workspaces`;
        expect(data(await member.get(names))).toEqual([]);
        expect((await member.get(names)).body?.meta.pagination["total-count"]).toBe(0);
        expect(data(await member.get(`/organizations/${org.name}/projects`))).toEqual([]);
        expect(await statusOf(`/organizations/${org.name}`, token)).toBe(200);
      });
      await take(record.id);
    });

    it("404, and in no list or count, once they have expired", async () => {
      const end = inMs(hourMs);
      const record = data(await give({ "expires-at": end }));
      await atTime(end, async () => {
        for (const answer of [
          await org.owner.get(`/${type}/${record.id}`),
          await change(record.id, { reason: "late" }),
          await take(record.id),
        ])
          expect(answer.status).toBe(404);
        const listed = await list();
        expect(data(listed)).toEqual([]);
        expect(listed.body?.meta.pagination["total-count"]).toBe(0);
        expect(data(await org.owner.get(`/projects/${project.id}`)).attributes["team-count"]).toBe(0);
      });
      await take(record.id);
    });

    it("can be extended, shortened and made permanent; absent keeps the expiry", async () => {
      const [sooner, later] = [inMs(hourMs), inMs(2 * hourMs)];
      const record = data(await give({ "expires-at": sooner, reason: "first" }));
      const shown = async (attributes: object) => data(await change(record.id, attributes)).attributes;
      expect(await shown({ "expires-at": later })).toMatchObject({ "expires-at": later, reason: "first" });
      await atTime(sooner, async () => expect(await statusOf(at())).toBe(200));
      expect(await shown({ "expires-at": sooner, reason: null })).toMatchObject({ "expires-at": sooner, reason: null });
      await atTime(sooner, async () => expect(await statusOf(at())).toBe(404));
      expect(await shown({ access: "admin" })).toMatchObject({ access: "admin", "expires-at": sooner });
      expect(await shown({ "expires-at": null })).toMatchObject({ "expires-at": null, access: "admin" });
      await atTime(later, async () => expect(await statusOf(at())).toBe(200));
      await take(record.id);
      expect(await events(record.id)).toEqual([
        `${type}.create`,
        ...Array.from({ length: 4 }, () => `${type}.update`),
        `${type}.delete`,
      ]);
    });

    it("a change of the expiry increments the version, and the same expiry does not", async () => {
      const end = inMs(hourMs);
      const record = data(await give());
      const tag = async () => (await org.owner.get(`/${type}/${record.id}`)).headers.get("etag");
      const first = await tag();
      await change(record.id, { "expires-at": end });
      const second = await tag();
      expect(second).not.toBe(first);
      await change(record.id, { "expires-at": end });
      expect(await tag()).toBe(second);
      await take(record.id);
    });

    it("make room for a new one when they have expired, even if not removed yet; and not before", async () => {
      const end = inMs(hourMs);
      const ended = data(await give({ "expires-at": end }));
      expect(details(await give())).toEqual(["Team has already been taken"]);
      const anew = await atTime(end, async () => data(await give({ access: "admin" })));
      expect(anew.id).not.toBe(ended.id);
      expect(await statusOf(`/${type}/${ended.id}`, org.owner)).toBe(404);
      expect(data(await list()).map((each: Json) => each.id)).toEqual([anew.id]);
      expect(await events(ended.id)).toEqual([`${type}.create`, `${type}.expire`]);
      if (type === "team-projects")
        expect(data(await org.owner.get(`/projects/${project.id}`)).attributes["team-count"]).toBe(1);
      await take(anew.id);
    });
  });
});

describe("a caller whose access expires", () => {
  const end = inMs(hourMs);
  const later = inMs(2 * hourMs);
  let friends: Json;
  let friend: Member;

  beforeAll(async () => {
    org = await api.makeOrganization();
    project = await api.makeProject(org.name);
    friend = await api.makeMember(org.name);
  });

  const addMember = (teamId: string, who: Member, meta: object, by: Caller = org.owner) =>
    by.post(`/teams/${teamId}/relationships/users`, { data: [{ type: "users", id: who.username, meta }] });
  const giveOn = (by: Caller, attributes: object) =>
    by.post(
      "/team-projects",
      resource("team-projects", { access: "read", ...attributes }, onProject(project.id, friends.id)),
    );
  const refused = (answer: Answer, sentence: RegExp) => {
    expect(answer.status).toBe(403);
    expect(details(answer)[0]).toMatch(sentence);
  };

  describe.each([
    {
      how: "a project's admin whose membership of the team expires",
      make: async () => {
        const admins = await api.makeTeam(org.name);
        await api.makeTeamProject(project.id, admins.id, { access: "admin" });
        const admin = await api.makeMember(org.name);
        await addMember(admins.id, admin, { "expires-at": end });
        return admin;
      },
    },
    {
      how: "a project's admin whose team's record ends",
      make: async () => {
        const admins = await api.makeTeam(org.name);
        await api.makeTeamProject(project.id, admins.id, { access: "admin", "expires-at": end });
        return api.makeMember(org.name, [admins.id]);
      },
    },
    {
      how: "the token of a team whose record ends",
      make: async () => {
        const admins = await api.makeTeam(org.name);
        await api.makeTeamProject(project.id, admins.id, { access: "admin", "expires-at": end });
        return api.makeTeamToken(admins.id);
      },
    },
    {
      how: "an owner until a moment",
      make: async () => {
        const owner = await api.makeMember(org.name);
        await addMember(org.ownersTeamId, owner, { "expires-at": end });
        return owner;
      },
    },
  ])("$how", ({ make }) => {
    let caller: Caller;
    beforeAll(async () => {
      friends = await api.makeTeam(org.name);
      caller = await make();
    });

    it("can grant until that moment, and gets 403 for a later one and for no expiry", async () => {
      refused(
        await giveOn(caller, {}),
        /^You can't grant this without expiry, because your own access expires earlier: .*settings/,
      );
      refused(
        await giveOn(caller, { "expires-at": later }),
        new RegExp(`^You can't grant this until ${later}, because`),
      );
      const record = data(await giveOn(caller, { "expires-at": end }));
      expect(record.attributes["expires-at"]).toBe(end);
    });

    it("can shorten others' access, and gets 403 to extend it or to add to it", async () => {
      const [{ id }] = data(
        await org.owner.get(`/team-projects?filter[project][id]=${project.id}&page[size]=100`),
      ).filter(({ relationships }: Json) => relationships.team.data.id === friends.id);
      const change = (attributes: object, by: Caller = caller) =>
        by.patch(`/team-projects/${id}`, resource("team-projects", attributes));
      expect((await change({ "expires-at": before(end), reason: "shorter" })).status).toBe(200);
      expect((await change({ "expires-at": end })).status).toBe(200);
      refused(await change({ "expires-at": null }), /without expiry, because your own access expires earlier/);
      refused(await change({ "expires-at": later }), /because your own access expires earlier/);
      expect((await change({ "expires-at": later }, org.owner)).status).toBe(200);
      refused(await change({ access: "write" }), /because your own access expires earlier/);
      expect((await change({ reason: "it lasts" })).status).toBe(200);
      expect((await org.owner.delete(`/team-projects/${id}`)).status).toBe(204);
    });
  });

  describe("memberships in teams, tokens, and organization-level permissions", () => {
    let guest: Member;
    let strong: Json;
    beforeAll(async () => {
      guest = await api.makeMember(org.name);
      await addMember(org.ownersTeamId, guest, { "expires-at": end });
      strong = await api.makeTeam(org.name, { "organization-access": { "manage-projects": true } });
    });
    const outlasts = /^The team has access that you don't have, or that you have for a shorter time/;

    it("403: a membership in a team, also the owners team, that outlasts one's own; until then it can be granted", async () => {
      for (const teamId of [strong.id, org.ownersTeamId]) {
        refused(await addMember(teamId, friend, {}, guest), outlasts);
        refused(await addMember(teamId, friend, { "expires-at": later }, guest), outlasts);
        expect((await addMember(teamId, friend, { "expires-at": end }, guest)).status).toBe(204);
        refused(await addMember(teamId, friend, { "expires-at": null }, guest), outlasts);
        expect((await addMember(teamId, friend, { reason: "help" }, guest)).status).toBe(204);
      }
      refused(await addMember(org.ownersTeamId, guest, { "expires-at": null }, guest), outlasts);
      const invited = (meta: object) =>
        guest.post(
          `/organizations/${org.name}/organization-memberships`,
          resource(
            "organization-memberships",
            { email: `${unique("new")}@example.com` },
            { teams: { data: [{ type: "teams", id: strong.id, meta }] } },
          ),
        );
      refused(await invited({}), outlasts);
      expect((await invited({ "expires-at": end })).status).toBe(201);
    });

    it("a record that expires earlier is no obstacle, because the membership's access ends with it", async () => {
      const brief = await api.makeTeam(org.name);
      await api.makeTeamProject(project.id, brief.id, { access: "read", "expires-at": end });
      const readers = await api.makeTeam(org.name, { "organization-access": { "manage-membership": true } });
      await api.makeTeamProject(project.id, readers.id, { access: "read", "expires-at": end });
      const manager = await api.makeMember(org.name, [readers.id]);
      expect((await addMember(brief.id, friend, {}, manager)).status).toBe(204);
      const longer = await api.makeTeam(org.name);
      await api.makeTeamProject(project.id, longer.id, { access: "read", "expires-at": later });
      refused(await addMember(longer.id, friend, {}, manager), outlasts);
      expect((await addMember(longer.id, friend, { "expires-at": end }, manager)).status).toBe(204);
    });

    it("403: the token of a team or of the organization that would outlast one's own access", async () => {
      const token = (expiry?: string) => resource("authentication-tokens", expiry ? { "expired-at": expiry } : {});
      for (const path of [`/teams/${strong.id}`, `/teams/${org.ownersTeamId}`]) {
        refused(await guest.post(`${path}/authentication-token`, token()), outlasts);
        expect((await guest.post(`${path}/authentication-token`, token(end))).status).toBe(201);
      }
      const own = `/organizations/${org.name}/authentication-token`;
      refused(await guest.post(own, token()), /^The token would outlast your ownership of the organization/);
      expect((await guest.post(own, token(end))).status).toBe(201);
    });

    it("403: organization-level permissions have no expiry, so callers with temporary access can't grant them", async () => {
      const sentence = /^You have these permissions only for a limited time, .* permanently: read-projects/;
      const attributes = { name: unique("team"), "organization-access": { "read-projects": true } };
      refused(await guest.post(`/organizations/${org.name}/teams`, resource("teams", attributes)), sentence);
      const plain = await api.makeTeam(org.name);
      const change = (by: Caller, given: boolean) =>
        by.patch(`/teams/${plain.id}`, resource("teams", { "organization-access": { "read-projects": given } }));
      refused(await change(guest, true), sentence);
      expect((await change(org.owner, true)).status).toBe(200);
      expect((await change(guest, false)).status).toBe(200);
    });
  });
});
