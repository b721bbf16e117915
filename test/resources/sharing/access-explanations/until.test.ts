/** Explanations tell until when a permission is held, by what, and what that was given for; and nothing of what has ended. */
import { beforeAll, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  inProject,
  makeMember,
  makeOrganization,
  makeProject,
  makeTeam,
  makeTeamProject,
  makeTeamWorkspace,
  makeWorkspace,
  type Member,
  type Org,
} from "../../../support/builders.ts";
import { atTime, inMs } from "../../../support/clock.ts";

const api = useApi();
const hourMs = 3_600_000;
const [soon, later] = [inMs(hourMs), inMs(2 * hourMs)];
let org: Org;
let workspace: Json;
let brief: Json;
let long: Json;
let member: Member;

/** A member in one team until soon, which has write for ever, and in another for ever, which may read until later. */
beforeAll(async () => {
  org = await makeOrganization(api);
  const project = await makeProject(api, org.name);
  workspace = await makeWorkspace(api, org.name, {}, inProject(project.id));
  [brief, long] = [await makeTeam(api, org.name), await makeTeam(api, org.name)];
  member = await makeMember(api, org.name, [long.id]);
  const meta = { "expires-at": soon, reason: "on call" };
  await org.owner.post(`/teams/${brief.id}/relationships/users`, { data: [{ type: "users", id: member.id, meta }] });
  await makeTeamProject(api, project.id, brief.id, { access: "write", reason: "they run it" });
  await makeTeamWorkspace(api, workspace.id, long.id, { access: "read", "expires-at": later, reason: "the audit" });
});

const explained = async (caller: Caller, query = "") =>
  data(await caller.get(`/workspaces/${workspace.id}/access${query}`)).attributes.permissions;

it("each permission until its last source ends, each source until the record or the place in the team does", async () => {
  for (const permissions of [await explained(member), await explained(org.owner, `?filter[user][id]=${member.id}`)]) {
    expect(permissions.runs).toMatchObject({
      value: "apply",
      until: soon,
      "given-by": [{ kind: "team-project", until: soon, reason: "on call" }],
    });
    expect(permissions.settings).toMatchObject({ value: "read", until: soon });
    expect(permissions.delete).toEqual({ value: false, until: null, "given-by": [] });
  }
});

it("a team's own access has no place in a team: the record alone says until when", async () => {
  expect((await explained(org.owner, `?filter[team][id]=${brief.id}`)).runs).toMatchObject({
    until: null,
    "given-by": [{ until: null, reason: "they run it" }],
  });
  expect((await explained(org.owner, `?filter[team][id]=${long.id}`)).runs).toMatchObject({
    until: later,
    "given-by": [{ until: later, reason: "the audit" }],
  });
});

it("the list of teams tells the same, and leaves out what has ended", async () => {
  const listed = async () =>
    data(await org.owner.get(`/workspaces/${workspace.id}/team-access?page[size]=100`)).flatMap((each: Json) =>
      [brief.id, long.id].includes(each.relationships.subject.data.id)
        ? [[each.relationships.subject.data.id, each.attributes.permissions.runs.until]]
        : [],
    );
  expect(Object.fromEntries(await listed())).toEqual({ [brief.id]: null, [long.id]: later });
  await atTime(later, async () => expect(Object.fromEntries(await listed())).toEqual({ [brief.id]: null }));
});

it("after the first end, what is left; after the last, nothing", async () => {
  await atTime(soon, async () => {
    const permissions = await explained(member);
    expect(permissions.runs).toMatchObject({ value: "read", until: later });
    expect(permissions.runs["given-by"]).toHaveLength(1);
  });
  await atTime(later, async () => expect((await member.get(`/workspaces/${workspace.id}/access`)).status).toBe(404));
});
