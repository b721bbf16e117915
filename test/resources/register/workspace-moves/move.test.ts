import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Org, pointers, resource } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await api.makeOrganization();
});

const move = (caller: Caller, to: Json, ids: readonly string[]) =>
  caller.post(`/projects/${to.id}/relationships/workspaces`, { data: ids.map((id) => ({ type: "workspaces", id })) });
const show = async (id: string) => data(await org.owner.get(`/workspaces/${id}`));
const projectOf = async (id: string): Promise<string> => (await show(id)).relationships.project.data.id;
const countOf = async (project: Json): Promise<number> =>
  data(await org.owner.get(`/projects/${project.id}`)).attributes["workspace-count"];
const places = async (count: number, attributes: object = {}) => {
  const from = await api.makeProject(org.name, attributes);
  const to = await api.makeProject(org.name);
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) ids.push((await api.makeWorkspace(org.name, {}, inProject(from.id))).id);
  return { from, to, ids };
};
/** A member whose team has this access to these projects. */
const holding = async (attributes: object, ...projects: Json[]) => {
  const team = await api.makeTeam(org.name);
  for (const { id } of projects) await api.makeTeamProject(id, team.id, attributes);
  return api.makeMember(org.name, [team.id]);
};
const mover = { access: "custom", "workspace-access": { move: true } };

describe("moveWorkspaces: done", () => {
  it("204, from several projects in one request; updates counters, versions and times", async () => {
    const first = await places(2);
    const second = await places(1);
    const there = (await api.makeWorkspace(org.name, {}, inProject(first.to.id))).id;
    const versions = async () =>
      Promise.all(
        [...first.ids, there].map(async (id) => (await org.owner.get(`/workspaces/${id}`)).headers.get("etag")),
      );
    const before = await versions();
    const ids = [...first.ids, ...second.ids, there];
    const answer = await move(org.owner, first.to, ids);
    expect(answer.status).toBe(204);
    expect(answer.body).toBeUndefined();
    for (const id of ids) expect(await projectOf(id)).toBe(first.to.id);
    expect([await countOf(first.from), await countOf(second.from), await countOf(first.to)]).toEqual([0, 0, 4]);
    const after = await versions();
    expect(after.map((etag, index) => etag === before[index])).toEqual([false, false, true]);
  });

  it("204 for workspaces that are already there, for duplicates and for an empty list; nothing is written then", async () => {
    const { from, ids } = await places(1);
    const etag = (await org.owner.get(`/projects/${from.id}`)).headers.get("etag");
    expect((await move(org.owner, from, [...ids, ...ids])).status).toBe(204);
    expect((await move(org.owner, from, [])).status).toBe(204);
    expect((await org.owner.get(`/projects/${from.id}`)).headers.get("etag")).toBe(etag);
    const { to } = await places(0);
    expect((await move(org.owner, to, [...ids, ...ids])).status).toBe(204);
    expect([await countOf(from), await countOf(to)]).toEqual([0, 1]);
  });

  it("records one audit event with each workspace before and after", async () => {
    const { from, to, ids } = await places(2);
    data(await move(org.owner, to, ids));
    const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=10`));
    const moved = events.filter((item: Json) => item.attributes.action === "projects.move-workspaces");
    const event = moved[0].attributes;
    const auditedIn = (project: Json) =>
      ids.toSorted().map((id) => expect.objectContaining({ id, project: project.id, name: expect.any(String) }));
    expect(event.before.workspaces).toEqual(auditedIn(from));
    expect(event.after.workspaces).toEqual(auditedIn(to));
    expect(moved.filter((item: Json) => JSON.stringify(item).includes(ids[0] ?? "-"))).toHaveLength(1);
  });

  it("moves team access to the workspaces along; team access to the projects stays", async () => {
    const { from, to, ids } = await places(1);
    const team = await api.makeTeam(org.name);
    await api.makeTeamWorkspace(ids[0] ?? "", team.id, { access: "plan" });
    const along = await api.makeMember(org.name, [team.id]);
    const left = await holding({ access: "read" }, from);
    const gained = await holding({ access: "read" }, to);
    data(await move(org.owner, to, ids));
    const statuses = await Promise.all([along, left, gained].map((caller) => caller.get(`/workspaces/${ids[0]}`)));
    expect(statuses.map(({ status }) => status)).toEqual([200, 404, 200]);
  });

  it.each<[string, () => Promise<Caller>]>([
    ["the organization's token", () => api.makeOrganizationToken(org.name)],
    ["a holder of manage-projects", () => api.makeHolder(org.name, "manage-projects")],
  ])("by %s", async (_, makeCaller) => {
    const { to, ids } = await places(1);
    expect((await move(await makeCaller(), to, ids)).status).toBe(204);
  });

  it("by a caller with only 'move' on both", async () => {
    const { from, to, ids } = await places(2);
    expect((await move(await holding(mover, from, to), to, ids)).status).toBe(204);
  });
});

describe("moveWorkspaces: auto-destroy follows", () => {
  const shown = async (id: string) => {
    const { attributes } = await show(id);
    return [attributes["auto-destroy-activity-duration"], attributes["inherits-project-auto-destroy"]];
  };

  it.each([
    ["7d", "14d"],
    ["7d", null],
    [null, "14d"],
  ])("what is inherited changes from %j to %j; what is the workspace's own stays", async (before, after) => {
    const from = await api.makeProject(org.name, { "auto-destroy-activity-duration": before });
    const to = await api.makeProject(org.name, { "auto-destroy-activity-duration": after });
    const make = (attributes: object) => api.makeWorkspace(org.name, attributes, inProject(from.id));
    const inheriting = await make({});
    const own = await make({ "auto-destroy-activity-duration": "3h" });
    const timed = await make({ "auto-destroy-at": "2099-01-01T00:00:00.000Z" });
    const none = await make({ "auto-destroy-activity-duration": null });
    const kept = await Promise.all([own, timed, none].map(({ id }) => shown(id)));
    data(await move(org.owner, to, [inheriting.id, own.id, timed.id, none.id]));
    expect((await shown(inheriting.id))[0]).toBe(after);
    expect(await Promise.all([own, timed, none].map(({ id }) => shown(id)))).toEqual(kept);
    expect((await show(timed.id)).attributes["auto-destroy-at"]).toBe("2099-01-01T00:00:00.000Z");
  });

  it("the same as a move by an update", async () => {
    const from = await api.makeProject(org.name, { "auto-destroy-activity-duration": "7d" });
    const to = await api.makeProject(org.name, { "auto-destroy-activity-duration": "2d" });
    const ids = await Promise.all(
      [1, 2].map(async () => (await api.makeWorkspace(org.name, {}, inProject(from.id))).id),
    );
    const [first = "", second = ""] = ids;
    data(await move(org.owner, to, [first]));
    data(await org.owner.patch(`/workspaces/${second}`, resource("workspaces", {}, inProject(to.id))));
    expect(await shown(first)).toEqual(await shown(second));
  });
});

describe("moveWorkspaces: all or nothing, 403", () => {
  it.each<[string, () => Promise<string>]>([
    ["unknown", async () => "ws-unknown"],
    ["of another organization", async () => (await api.makeWorkspace((await api.makeOrganization()).name)).id],
  ])("one that is %s", async (_, foreign) => {
    const { from, to, ids } = await places(2);
    const id = await foreign();
    const answer = await move(org.owner, to, [...ids, id]);
    expect(answer.status).toBe(403);
    expect(details(answer)[0]).toContain(id);
    expect(details(answer)[0]).toContain("can-move-workspaces");
    expect(await countOf(to)).toBe(0);
    for (const one of ids) expect(await projectOf(one)).toBe(from.id);
    expect((await move(api.admin, to, [...ids, id])).status).toBe(403);
  });

  it.each(["read", "write", "maintain"])("one in a project on which the caller has only %s", async (access) => {
    const { from, to, ids } = await places(1);
    const other = await places(1);
    const team = await api.makeTeam(org.name);
    for (const { id } of [from, to]) await api.makeTeamProject(id, team.id, mover);
    await api.makeTeamProject(other.from.id, team.id, { access });
    const caller = await api.makeMember(org.name, [team.id]);
    expect((await move(caller, to, [...ids, ...other.ids])).status).toBe(403);
    expect(await projectOf(ids[0] ?? "")).toBe(from.id);
    expect((await move(caller, to, ids)).status).toBe(204);
  });

  it("one that the caller administers, in a project from which the caller can't move workspaces", async () => {
    const { to, ids } = await places(1);
    const team = await api.makeTeam(org.name);
    await api.makeTeamProject(to.id, team.id, { access: "admin" });
    await api.makeTeamWorkspace(ids[0] ?? "", team.id, { access: "admin" });
    expect((await move(await api.makeMember(org.name, [team.id]), to, ids)).status).toBe(403);
  });
});

describe("moveWorkspaces: 404", () => {
  it("an unknown destination, and one of another organization", async () => {
    const { ids } = await places(1);
    const other = await api.makeOrganization();
    expect((await move(org.owner, { id: "prj-unknown" }, ids)).status).toBe(404);
    expect((await move(org.owner, await api.makeProject(other.name), ids)).status).toBe(404);
  });

  it.each(["read", "write", "maintain"])("a destination on which the caller has only %s, not 403", async (access) => {
    const { from, to, ids } = await places(1);
    const team = await api.makeTeam(org.name);
    await api.makeTeamProject(from.id, team.id, { access: "admin" });
    await api.makeTeamProject(to.id, team.id, { access });
    expect((await move(await api.makeMember(org.name, [team.id]), to, ids)).status).toBe(404);
    expect(await countOf(to)).toBe(0);
  });
});

describe("moveWorkspaces: 422", () => {
  it.each([
    ["no body", undefined],
    ["no array", { data: { type: "workspaces", id: "ws-1" } }],
    ["another type", { data: [{ type: "projects", id: "prj-1" }] }],
    ["no id", { data: [{ type: "workspaces" }] }],
    [
      "more than 1,000",
      { data: Array.from({ length: 1001 }, (_, index) => ({ type: "workspaces", id: `ws-${index}` })) },
    ],
  ])("%s", async (_, body) => {
    const { to } = await places(0);
    const answer = await org.owner.post(`/projects/${to.id}/relationships/workspaces`, body);
    expect([400, 422]).toContain(answer.status);
    if (answer.status === 422) expect(pointers(answer)[0]).toMatch(/^\/data/);
  });
});
