import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../../support/api.ts";
import { data, type Org, pointers } from "../../../../support/builders.ts";

const api = useApi();
let org: Org;
let project: Json;
/** Records of a visible team, of a secret one, and of the one that the caller of a test is in. */
let visible: Json;
let secret: Json;
let secretTeam: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
  project = await api.makeProject(org.name);
  secretTeam = await api.makeTeam(org.name, { visibility: "secret" });
  visible = await api.makeTeamProject(project.id, (await api.makeTeam(org.name)).id);
  secret = await api.makeTeamProject(project.id, secretTeam.id);
});

const list = (caller: Caller, query = "") => caller.get(`/team-projects?filter[project][id]=${project.id}${query}`);
const seen = async (caller: Caller): Promise<boolean[]> => {
  const ids = data(await list(caller, "&page[size]=100")).map((item: Json) => item.id);
  return [ids.includes(visible.id), ids.includes(secret.id)];
};
const member = async (attributes: object) => {
  const team = await api.makeTeam(org.name);
  await api.makeTeamProject(project.id, team.id, attributes);
  return api.makeMember(org.name, [team.id]);
};

describe("listTeamProjects", () => {
  it("400: without the filter, naming it", async () => {
    const answer = await org.owner.get("/team-projects");
    expect(answer.status).toBe(400);
    expect(pointers(answer)).toEqual(["filter[project][id]"]);
    expect((await org.owner.get("/team-projects?filter[workspace][id]=ws-1")).status).toBe(400);
  });

  it("404: unknown, empty, foreign, or not readable", async () => {
    const plain = await api.makeMember(org.name);
    const other = await api.makeOrganization();
    expect((await org.owner.get("/team-projects?filter[project][id]=prj-unknown")).status).toBe(404);
    expect((await org.owner.get("/team-projects?filter[project][id]=")).status).toBe(404);
    expect((await list(plain)).status).toBe(404);
    expect((await list(other.owner)).status).toBe(404);
  });

  it("is paged, oldest first", async () => {
    const fresh = await api.makeProject(org.name);
    const made: string[] = [];
    for (let count = 0; count < 5; count += 1)
      made.push((await api.makeTeamProject(fresh.id, (await api.makeTeam(org.name)).id)).id);
    const page = async (number: number) =>
      org.owner.get(`/team-projects?filter[project][id]=${fresh.id}&page[size]=2&page[number]=${number}`);
    const pages = await Promise.all([page(1), page(2), page(3), page(999)]);
    expect(pages.flatMap((answer) => data(answer).map((item: Json) => item.id)).toSorted()).toEqual(made.toSorted());
    expect(pages[3]?.body.meta.pagination).toMatchObject({ "current-page": 999, "total-count": 5, "total-pages": 3 });
    const whole = await org.owner.get(`/team-projects?filter[project][id]=${fresh.id}`);
    expect(whole.body.meta.pagination).toMatchObject({ "page-size": 20, "total-count": 5 });
  });
});

describe("who sees the records of which teams", () => {
  it.each<[string, () => Promise<Caller>, boolean[]]>([
    ["an owner", async () => org.owner, [true, true]],
    ["read on the project", () => member({ access: "read" }), [true, false]],
    ["maintain on the project", () => member({ access: "maintain" }), [true, false]],
    ["admin on the project", () => member({ access: "admin" }), [true, true]],
    ["teams: read", () => member({ access: "custom", "project-access": { teams: "read" } }), [true, true]],
    ["read-projects", () => api.makeHolder(org.name, "read-projects"), [true, false]],
    [
      "read-projects and access-secret-teams",
      () => api.makeHolder(org.name, "read-projects", "access-secret-teams"),
      [true, true],
    ],
    ["a member of the secret team", () => api.makeMember(org.name, [secretTeam.id]), [true, true]],
    ["the secret team's token", () => api.makeTeamToken(secretTeam.id), [true, true]],
  ])("%s", async (_, makeCaller, expected) => {
    const caller = await makeCaller();
    expect(await seen(caller)).toEqual(expected);
    const shown = await Promise.all([visible, secret].map(({ id }) => caller.get(`/team-projects/${id}`)));
    expect(shown.map(({ status }) => status === 200)).toEqual(expected);
    const answer = await list(caller, "&page[size]=1&page[number]=1");
    const total = data(await list(caller, "&page[size]=100")).length;
    expect(answer.body.meta.pagination["total-count"]).toBe(total);
  });

  it("404 for callers who can't read the project, although they can see the team", async () => {
    const plain = await api.makeMember(org.name);
    expect((await plain.get(`/team-projects/${visible.id}`)).status).toBe(404);
  });
});
