/** Nobody gives longer than they hold: access that ends is no way to access that stays. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  details,
  makeMember,
  makeOrganization,
  makeProject,
  makeTeam,
  makeTeamProject,
  makeTeamToken,
  type Member,
  onProject,
  type Org,
  resource,
  unique,
} from "../../../support/builders.ts";
import { before, inMs } from "../../../support/clock.ts";

const api = useApi();
const hourMs = 3_600_000;
const end = inMs(hourMs);
const later = inMs(2 * hourMs);
let org: Org;
let project: Json;
let friends: Json;
let friend: Member;

beforeAll(async () => {
  org = await makeOrganization(api);
  project = await makeProject(api, org.name);
  friend = await makeMember(api, org.name);
});

const seat = (teamId: string, who: Member, meta: object, by: Caller = org.owner) =>
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
    how: "a project's admin whose place in the team ends",
    make: async () => {
      const admins = await makeTeam(api, org.name);
      await makeTeamProject(api, project.id, admins.id, { access: "admin" });
      const admin = await makeMember(api, org.name);
      await seat(admins.id, admin, { "expires-at": end });
      return admin;
    },
  },
  {
    how: "a project's admin whose team's record ends",
    make: async () => {
      const admins = await makeTeam(api, org.name);
      await makeTeamProject(api, project.id, admins.id, { access: "admin", "expires-at": end });
      return makeMember(api, org.name, [admins.id]);
    },
  },
  {
    how: "the token of a team whose record ends",
    make: async () => {
      const admins = await makeTeam(api, org.name);
      await makeTeamProject(api, project.id, admins.id, { access: "admin", "expires-at": end });
      return makeTeamToken(api, admins.id);
    },
  },
  {
    how: "an owner until a moment",
    make: async () => {
      const owner = await makeMember(api, org.name);
      await seat(org.ownersTeamId, owner, { "expires-at": end });
      return owner;
    },
  },
])("$how", ({ make }) => {
  let caller: Caller;
  beforeAll(async () => {
    friends = await makeTeam(api, org.name);
    caller = await make();
  });

  it("gives until that moment, and 403 for a later one and for ever", async () => {
    refused(
      await giveOn(caller, {}),
      /^You can't grant this for ever, because your own access ends before: .*settings/,
    );
    refused(await giveOn(caller, { "expires-at": later }), new RegExp(`^You can't grant this until ${later}, because`));
    const record = data(await giveOn(caller, { "expires-at": end }));
    expect(record.attributes["expires-at"]).toBe(end);
  });

  it("cuts others' access short, and 403 to extend it or to add to it", async () => {
    const [{ id }] = data(
      await org.owner.get(`/team-projects?filter[project][id]=${project.id}&page[size]=100`),
    ).filter(({ relationships }: Json) => relationships.team.data.id === friends.id);
    const change = (attributes: object, by: Caller = caller) =>
      by.patch(`/team-projects/${id}`, resource("team-projects", attributes));
    expect((await change({ "expires-at": before(end), reason: "shorter" })).status).toBe(200);
    expect((await change({ "expires-at": end })).status).toBe(200);
    refused(await change({ "expires-at": null }), /for ever, because your own access ends before/);
    refused(await change({ "expires-at": later }), /because your own access ends before/);
    expect((await change({ "expires-at": later }, org.owner)).status).toBe(200);
    refused(await change({ access: "write" }), /because your own access ends before/);
    expect((await change({ reason: "it lasts" })).status).toBe(200);
    expect((await org.owner.delete(`/team-projects/${id}`)).status).toBe(204);
  });
});

describe("places in teams, tokens, and what teams hold in the organization", () => {
  let guest: Member;
  let strong: Json;
  beforeAll(async () => {
    guest = await makeMember(api, org.name);
    await seat(org.ownersTeamId, guest, { "expires-at": end });
    strong = await makeTeam(api, org.name, { "organization-access": { "manage-projects": true } });
  });
  const outlasts = /^This would give more than you hold yourself: .* or not for as long/;

  it("403: a place in a team, the owners' too, that outlasts one's own; until then it can be given", async () => {
    for (const teamId of [strong.id, org.ownersTeamId]) {
      refused(await seat(teamId, friend, {}, guest), outlasts);
      refused(await seat(teamId, friend, { "expires-at": later }, guest), outlasts);
      expect((await seat(teamId, friend, { "expires-at": end }, guest)).status).toBe(204);
      refused(await seat(teamId, friend, { "expires-at": null }, guest), outlasts);
      expect((await seat(teamId, friend, { reason: "help" }, guest)).status).toBe(204);
    }
    refused(await seat(org.ownersTeamId, guest, { "expires-at": null }, guest), outlasts);
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

  it("a record that ends before is no obstacle: what a place gives ends with it", async () => {
    const brief = await makeTeam(api, org.name);
    await makeTeamProject(api, project.id, brief.id, { access: "read", "expires-at": end });
    const readers = await makeTeam(api, org.name, { "organization-access": { "manage-membership": true } });
    await makeTeamProject(api, project.id, readers.id, { access: "read", "expires-at": end });
    const manager = await makeMember(api, org.name, [readers.id]);
    expect((await seat(brief.id, friend, {}, manager)).status).toBe(204);
    const longer = await makeTeam(api, org.name);
    await makeTeamProject(api, project.id, longer.id, { access: "read", "expires-at": later });
    refused(await seat(longer.id, friend, {}, manager), outlasts);
    expect((await seat(longer.id, friend, { "expires-at": end }, manager)).status).toBe(204);
  });

  it("403: the token of a team or of the organization that would outlast one's own access", async () => {
    const token = (expiry?: string) => resource("authentication-tokens", expiry ? { "expired-at": expiry } : {});
    for (const path of [`/teams/${strong.id}`, `/teams/${org.ownersTeamId}`]) {
      refused(await guest.post(`${path}/authentication-token`, token()), outlasts);
      expect((await guest.post(`${path}/authentication-token`, token(end))).status).toBe(201);
    }
    const own = `/organizations/${org.name}/authentication-token`;
    refused(await guest.post(own, token()), /^The token would outlast your own ownership of the organization/);
    expect((await guest.post(own, token(end))).status).toBe(201);
  });

  it("403: what a team holds in the organization has no end, so whoever has one does not give it", async () => {
    const sentence = /^You can't grant for ever what you hold until a moment: read-projects/;
    const attributes = { name: unique("team"), "organization-access": { "read-projects": true } };
    refused(await guest.post(`/organizations/${org.name}/teams`, resource("teams", attributes)), sentence);
    const plain = await makeTeam(api, org.name);
    const change = (by: Caller, given: boolean) =>
      by.patch(`/teams/${plain.id}`, resource("teams", { "organization-access": { "read-projects": given } }));
    refused(await change(guest, true), sentence);
    expect((await change(org.owner, true)).status).toBe(200);
    expect((await change(guest, false)).status).toBe(200);
  });
});
