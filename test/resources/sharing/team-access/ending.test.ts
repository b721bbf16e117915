/** Records of team access that end: at their moment, by the decision itself, and not when a job comes by. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  details,
  makeMember,
  makeOrganization,
  makeProject,
  makeTeam,
  makeTeamToken,
  makeWorkspace,
  inProject,
  onProject,
  onWorkspace,
  type Org,
  pointers,
  resource,
} from "../../../support/builders.ts";
import { atTime, before, inMs } from "../../../support/clock.ts";

const api = useApi();
const hourMs = 3_600_000;
let org: Org;
let team: Json;
let project: Json;
let workspace: Json;
/** Somebody in the team. */
let member: Caller;

beforeAll(async () => {
  org = await makeOrganization(api);
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
    team = await makeTeam(api, org.name);
    project = await makeProject(api, org.name);
    workspace = await makeWorkspace(api, org.name, {}, inProject(project.id));
    member = await makeMember(api, org.name, [team.id]);
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

  it("last for ever, for no reason, unless it is said", async () => {
    const record = data(await give());
    expect(record.attributes).toMatchObject({ "expires-at": null, reason: null });
    await atTime(inMs(365 * 24 * hourMs), async () => expect(await statusOf(at())).toBe(200));
    await take(record.id);
  });

  it("show their end and their reason, and take an end in any zone", async () => {
    const end = inMs(hourMs);
    const record = data(await give({ "expires-at": end.replace("Z", "+00:00"), reason: "the audit of May" }));
    expect(record.attributes).toMatchObject({ "expires-at": end, reason: "the audit of May" });
    expect(data(await org.owner.get(`/${type}/${record.id}`)).attributes).toMatchObject({ "expires-at": end });
    expect(data(await list()).map((each: Json) => each.attributes["expires-at"])).toEqual([end]);
    await take(record.id);
  });

  it("422: an end that has passed, on creation and on change; all faults at once", async () => {
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

  it("give until that very moment and not from it on, to people and to the team's token", async () => {
    const end = inMs(hourMs);
    const record = data(await give({ "expires-at": end }));
    const token = await makeTeamToken(api, team.id);
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

  it("404, and in no list or count, once they have ended", async () => {
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

  it("are extended, cut short and made to last by a change; absent keeps", async () => {
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

  it("a change of the end is another version, and the same end is none", async () => {
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

  it("make room for a new one when they have ended, though nobody tidied up; and not before", async () => {
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
