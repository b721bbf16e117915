/** project-remote-state: state that is shared with the workspaces of the same project. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Org, resource, unique } from "../../../support/builders.ts";
import { consumersOf, consumersPath, link } from "../../state/remote-state-consumers/support.ts";
import { at, faults, pathById } from "./support.ts";

const api = useApi();
const sharing = useApi({ options: { globalRemoteStateDefault: true } });
let org: Org;
let project: Json;
let shared: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
});
beforeEach(async () => {
  project = await api.makeProject(org.name);
  shared = await api.makeWorkspace(org.name, {}, inProject(project.id));
});

const update = (attributes: object) => org.owner.patch(pathById(shared), resource("workspaces", attributes));
const settings = ({ attributes }: Json) => [attributes["project-remote-state"], attributes["global-remote-state"]];
const both = at(
  "project-remote-state",
  "Project remote state cannot be enabled when global remote state sharing is enabled",
);

describe("project-remote-state: a value, null, absent", () => {
  it("is false by default; a value is set, and an absent key keeps it", async () => {
    expect(settings(shared)).toEqual([false, false]);
    const set = data(await update({ "project-remote-state": true }));
    expect(set.attributes).toEqual({
      ...shared.attributes,
      "project-remote-state": true,
      "updated-at": set.attributes["updated-at"],
    });
    expect(settings(data(await update({ description: "x" })))).toEqual([true, false]);
    expect(settings(data(await org.owner.get(pathById(shared))))).toEqual([true, false]);
    expect(settings(data(await update({ "project-remote-state": false })))).toEqual([false, false]);
  });

  it("can be sent on creation, and the list shows it", async () => {
    const made = await api.makeWorkspace(org.name, { "project-remote-state": true }, inProject(project.id));
    expect(settings(made)).toEqual([true, false]);
    const listed = data(await org.owner.get(`/organizations/${org.name}/workspaces?filter[project][id]=${project.id}`));
    expect(listed).toContainEqual(made);
  });

  it.each([null, 1, "true"])("%j is refused", async (value) => {
    const expected = [at("project-remote-state", "Project remote state must be true or false")];
    expect(faults(await update({ "project-remote-state": value }))).toEqual(expected);
  });

  it("is refused together with global-remote-state, in one body or one after the other", async () => {
    expect(faults(await update({ "project-remote-state": true, "global-remote-state": true }))).toEqual([both]);
    const attributes = { name: unique("ws"), "project-remote-state": true, "global-remote-state": true };
    const answer = await org.owner.post(`/organizations/${org.name}/workspaces`, resource("workspaces", attributes));
    expect([answer.status, faults(answer)]).toEqual([422, [both]]);
    data(await update({ "project-remote-state": true }));
    expect(faults(await update({ "global-remote-state": true }))).toEqual([both]);
    expect(settings(data(await update({ "global-remote-state": true, "project-remote-state": false })))).toEqual([
      false,
      true,
    ]);
    expect(faults(await update({ "project-remote-state": true }))).toEqual([both]);
    expect(settings(data(await update({ "global-remote-state": false, "project-remote-state": true })))).toEqual([
      true,
      false,
    ]);
  });

  it("needs global-remote-state false where the service's default is true", async () => {
    const own = await sharing.makeOrganization();
    const create = (attributes: object) =>
      own.owner.post(
        `/organizations/${own.name}/workspaces`,
        resource("workspaces", { name: unique("ws"), "project-remote-state": true, ...attributes }),
      );
    expect(faults(await create({}))).toEqual([both]);
    expect(settings(data(await create({ "global-remote-state": false })))).toEqual([true, false]);
  });

  it("needs admin access to the workspace", async () => {
    const team = await api.makeTeam(org.name);
    await api.grantWorkspace(shared.id, team.id, "write");
    const member = await api.makeMember(org.name, [team.id]);
    const body = resource("workspaces", { "project-remote-state": true });
    expect((await member.patch(pathById(shared), body)).status).toBe(403);
  });

  it("is in the audit log", async () => {
    data(await update({ "project-remote-state": true }));
    const events = await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject][id]=${shared.id}`);
    const [{ attributes }] = data(events);
    expect([attributes.before["project-remote-state"], attributes.after["project-remote-state"]]).toEqual([
      false,
      true,
    ]);
  });
});

describe("the consumers of a workspace with project-remote-state", () => {
  it("are the other workspaces of its project that the caller can read; the stored list is kept", async () => {
    const inside = await api.makeWorkspace(org.name, { name: unique("a") }, inProject(project.id));
    const another = await api.makeWorkspace(org.name, { name: unique("b") }, inProject(project.id));
    const outside = await api.makeWorkspace(org.name);
    await org.owner.post(consumersPath(shared), link(outside));
    data(await update({ "project-remote-state": true }));
    expect(await consumersOf(org.owner, shared)).toEqual([inside.id, another.id]);
    const team = await api.makeTeam(org.name);
    const member = await api.makeMember(org.name, [team.id]);
    for (const id of [shared.id, another.id, outside.id]) await api.grantWorkspace(id, team.id, "read");
    expect(await consumersOf(member, shared)).toEqual([another.id]);
    data(await update({ "project-remote-state": false }));
    expect(await consumersOf(org.owner, shared)).toEqual([outside.id]);
  });

  it("are those of its current project", async () => {
    const next = await api.makeProject(org.name);
    const there = await api.makeWorkspace(org.name, {}, inProject(next.id));
    data(await update({ "project-remote-state": true }));
    expect(await consumersOf(org.owner, shared)).toEqual([]);
    data(await org.owner.patch(pathById(shared), resource("workspaces", {}, inProject(next.id))));
    expect(await consumersOf(org.owner, shared)).toEqual([there.id]);
  });

  it("can't be changed individually, with any method: 422", async () => {
    const outside = await api.makeWorkspace(org.name);
    data(await update({ "project-remote-state": true }));
    const detail =
      "Remote state consumers can't be changed while project-remote-state is true, because every workspace of the project can read the state. Set it to false first";
    for (const method of ["post", "patch", "delete"] as const) {
      const answer = await org.owner[method](consumersPath(shared), link(outside));
      expect([answer.status, faults(answer)]).toEqual([422, [["/data", detail]]]);
    }
  });
});
