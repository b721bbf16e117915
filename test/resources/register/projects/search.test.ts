/** GET /organizations/:organization_name/projects: search, and which callers see which projects. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, type Org } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
const ids: Record<string, string> = {};
const names = ["alpha", "Alphabet", "a_b", "axb", "one two", "mini"];

beforeAll(async () => {
  org = await api.makeOrganization();
  for (const name of names) ids[name] = (await api.makeProject(org.name, { name })).id;
  const other = await api.makeOrganization();
  for (const name of ["alpha", "elsewhere"]) await api.makeProject(other.name, { name });
});

async function found(query: string, caller: Caller = org.owner): Promise<{ names: string[]; counts: Json }> {
  const answer = await caller.get(`/organizations/${org.name}/projects?sort=name${query}`);
  const shown: string[] = data(answer).map((project: Json) => project.attributes.name);
  const { pagination, "status-counts": counts } = answer.body.meta;
  expect(pagination["total-count"]).toBe(counts.matching);
  expect(shown).toHaveLength(Math.min(counts.matching, pagination["page-size"]));
  return { names: shown, counts };
}

describe("listProjects: q", () => {
  it.each([
    ["alph", ["Alphabet", "alpha"]],
    ["ALPHA", ["Alphabet", "alpha"]],
    ["bet", ["Alphabet"]],
    ["a_b", ["a_b"]],
    ["_", ["a_b"]],
    ["%25", []],
    ["a%25", []],
    ["one%20two", ["one two"]],
    ["ne+tw", ["one two"]],
    ["two+one", ["one two"]],
    ["e%20t", ["Alphabet", "Default Project", "one two"]],
    ["*", []],
    ["'", []],
    ["%5C", []],
    ["elsewhere", []],
    ["nothing like it", []],
    ["%F0%9F%98%80", []],
  ])("q=%s", async (q, expected) => {
    const answer = await found(`&q=${q}`);
    expect(answer.names).toEqual(expected);
    expect(answer.counts).toEqual({ total: 7, matching: expected.length });
  });

  it("an empty one finds everything", async () => {
    expect((await found("&q=")).counts).toEqual({ total: 7, matching: 7 });
  });
});

describe("listProjects: filter[names]", () => {
  it.each([
    ["alpha", ["alpha"]],
    ["ALPHA", ["alpha"]],
    ["alphabet,AXB", ["Alphabet", "axb"]],
    ["alpha,alpha,Alpha", ["alpha"]],
    ["alpha,unknown", ["alpha"]],
    ["one%20two", ["one two"]],
    ["%20alpha%20,%20mini", ["alpha", "mini"]],
    ["alph", []],
    ["a%25b", []],
    ["default%20project", ["Default Project"]],
    ["elsewhere", []],
    [",", []],
  ])("filter[names]=%s", async (value, expected) => {
    const answer = await found(`&filter[names]=${value}`);
    expect(answer.names).toEqual(expected);
    expect(answer.counts).toEqual({ total: 7, matching: expected.length });
  });

  it("takes precedence over q", async () => {
    expect((await found("&q=mini&filter[names]=axb")).names).toEqual(["axb"]);
    expect((await found("&filter[names]=unknown&q=mini")).names).toEqual([]);
  });

  it("accepts many names", async () => {
    const many = [...Array.from({ length: 500 }, (_, number) => `no-${number}`), "mini", "axb"].join(",");
    expect((await found(`&filter[names]=${many}`)).names).toEqual(["axb", "mini"]);
  });
});

describe("listProjects: filter[permissions]", () => {
  const createWorkspace = "&filter[permissions][create-workspace]";
  const update = "&filter[permissions][update]";
  let member: Caller;
  let teamToken: Caller;
  beforeAll(async () => {
    const [one, two] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
    await api.grantProject(ids["alpha"] ?? "", one.id, "admin");
    await api.grantProject(ids["axb"] ?? "", one.id, "maintain");
    await api.grantProject(ids["mini"] ?? "", one.id, "write");
    await api.grantProject(ids["mini"] ?? "", two.id, "admin");
    await api.grantProject(ids["a_b"] ?? "", two.id, "read");
    member = await api.makeMember(org.name, [one.id, two.id]);
    teamToken = await api.makeTeamToken(one.id);
  });

  it.each([
    ["", ["a_b", "alpha", "axb", "mini"]],
    [`${createWorkspace}=true`, ["alpha", "axb", "mini"]],
    [`${update}=true`, ["alpha", "mini"]],
    [`${update}=true${createWorkspace}=true`, ["alpha", "mini"]],
    [`${createWorkspace}=true&q=a`, ["alpha", "axb"]],
    [`${update}=true&filter[names]=axb,alpha`, ["alpha"]],
    [createWorkspace, ["alpha", "axb", "mini"]],
    [`${update}=false`, ["alpha", "mini"]],
    ["&filter%5Bpermissions%5D%5Bupdate%5D=1", ["alpha", "mini"]],
  ])("of a member of two teams: %s", async (query, expected) => {
    const answer = await found(query, member);
    expect(answer.names).toEqual(expected);
    expect(answer.counts).toEqual({ total: 4, matching: expected.length });
  });

  it("of a team's token: only by the team's grants", async () => {
    expect((await found("", teamToken)).names).toEqual(["alpha", "axb", "mini"]);
    expect((await found(`${createWorkspace}=1`, teamToken)).names).toEqual(["alpha", "axb"]);
    expect((await found(`${update}=1`, teamToken)).names).toEqual(["alpha"]);
  });

  it.each<[string, () => Promise<Caller>]>([
    ["an owner", async () => org.owner],
    ["a site admin", async () => api.admin],
    ["the organization's token", () => api.makeOrganizationToken(org.name)],
    ["a holder of manage-projects", () => api.makeHolder(org.name, "manage-projects")],
  ])("of %s: everything", async (_, make) => {
    expect((await found(`${update}=1${createWorkspace}=1`, await make())).counts).toEqual({ total: 7, matching: 7 });
  });

  it("with manage-workspaces: can create everywhere, and update where a grant allows it", async () => {
    const team = await api.makeTeam(org.name, { "organization-access": { "manage-workspaces": true } });
    await api.grantProject(ids["axb"] ?? "", team.id, "admin");
    const holder = await api.makeMember(org.name, [team.id]);
    expect((await found(`${createWorkspace}=1`, holder)).counts).toEqual({ total: 7, matching: 7 });
    expect((await found(`${update}=1`, holder)).names).toEqual(["axb"]);
    expect((await found(`${update}=1`, holder)).counts).toEqual({ total: 7, matching: 1 });
  });

  it("with read-projects: can't create or update anything", async () => {
    const holder = await api.makeHolder(org.name, "read-projects");
    expect((await found("", holder)).counts).toEqual({ total: 7, matching: 7 });
    expect((await found(`${createWorkspace}=1`, holder)).counts).toEqual({ total: 7, matching: 0 });
    expect((await found(`${update}=1`, holder)).counts).toEqual({ total: 7, matching: 0 });
  });
});

describe("listProjects: only projects that the caller can read", () => {
  it("shows and counts the projects of the caller's grants, with the permissions of each", async () => {
    const team = await api.makeTeam(org.name);
    await api.grantProject(ids["alpha"] ?? "", team.id, "maintain");
    await api.grantProject(ids["mini"] ?? "", team.id, "read");
    const member = await api.makeMember(org.name, [team.id]);
    const answer = await member.get(`/organizations/${org.name}/projects?sort=name`);
    expect(data(answer).map((project: Json) => [project.attributes.name, project.attributes.permissions])).toEqual([
      ["alpha", { "can-update": false, "can-destroy": false, "can-create-workspace": true }],
      ["mini", { "can-update": false, "can-destroy": false, "can-create-workspace": false }],
    ]);
    for (const project of data(answer)) expect(data(await member.get(`/projects/${project.id}`))).toEqual(project);
    expect(answer.body.meta).toMatchObject({
      pagination: { "total-count": 2, "total-pages": 1 },
      "status-counts": { total: 2, matching: 2 },
    });
    expect((await found("&q=MIN", member)).counts).toEqual({ total: 2, matching: 1 });
    expect((await found("&q=axb", member)).counts).toEqual({ total: 2, matching: 0 });
    const past = await member.get(`/organizations/${org.name}/projects?page[size]=1&page[number]=5`);
    expect(past.body.data).toEqual([]);
    expect(past.body.meta).toMatchObject({
      pagination: { "total-count": 2, "total-pages": 2, "prev-page": 2, "next-page": null },
      "status-counts": { total: 2, matching: 2 },
    });
  });

  it.each<[string, () => Promise<Caller>]>([
    ["a plain member", () => api.makeMember(org.name)],
    ["a holder of read-workspaces", () => api.makeHolder(org.name, "read-workspaces")],
  ])("is empty for %s", async (_, make) => {
    expect(await found("", await make())).toEqual({ names: [], counts: { total: 0, matching: 0 } });
  });

  it("is 404 for a stranger, also with a query that finds nothing", async () => {
    const person = await api.makeUser();
    expect((await person.get(`/organizations/${org.name}/projects`)).status).toBe(404);
    expect((await person.get(`/organizations/${org.name}/projects?q=zzz`)).status).toBe(404);
  });
});
