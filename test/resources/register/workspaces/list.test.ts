/** GET /organizations/:organization_name/workspaces: order, pages, and counts of only the readable workspaces. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Org } from "../../../support/builders.ts";
import { setColumns, tagged } from "./support.ts";

const api = useApi();
let org: Org;
const names = ["beta", "Beta", "alpha", "_x", "-y", "a1", "A", "zeta", "B9"];
const bytewise = ["-y", "A", "B9", "Beta", "_x", "a1", "alpha", "beta", "zeta"];

beforeAll(async () => {
  org = await api.makeOrganization();
  for (const name of names) await api.makeWorkspace(org.name, { name });
  const other = await api.makeOrganization();
  await api.makeWorkspace(other.name, { name: "elsewhere" });
});

const path = () => `/organizations/${org.name}/workspaces`;
const list = (query = "", caller: Caller = org.owner) => caller.get(`${path()}${query}`);
const namesOf = (body: Json): string[] => body.data.map((workspace: Json) => workspace.attributes.name);

describe("listWorkspaces: order", () => {
  it.each([
    ["by default", "", bytewise],
    ["an empty sort", "?sort=", bytewise],
    ["name", "?sort=name", bytewise],
    ["-name", "?sort=-name", bytewise.toReversed()],
  ])("%s: by name, bytewise", async (_, query, expected) => {
    expect(namesOf((await list(query)).body)).toEqual(expected);
  });

  it.each(["latest-change-at", "current-run.created-at"])("%s, both ways; ties by id, none last", async (key) => {
    const own = await api.makeOrganization();
    const made: { id: string; at: string | null }[] = [];
    const instants = ["2027-01-02", "2027-01-01", "2027-01-02", null, "2027-01-03", null, "2027-01-01", "2027-01-02"];
    for (const day of instants) {
      const { id } = await api.makeWorkspace(own.name);
      const at =
        day === null && key === "latest-change-at" ? "2026-01-01T00:00:00.000Z" : day && `${day}T00:00:00.000Z`;
      await setColumns(
        api,
        id,
        key === "latest-change-at" ? { latestChangeAt: at ?? "" } : { currentRunCreatedAt: at },
      );
      made.push({ id, at });
    }
    const sorted = (direction: 1 | -1) =>
      made.toSorted((left, right) => {
        if (left.at === null || right.at === null) {
          if (left.at !== right.at) return left.at === null ? 1 : -1;
        } else if (left.at !== right.at) return (left.at < right.at ? -1 : 1) * direction;
        return left.id < right.id ? -1 : 1;
      });
    for (const [prefix, direction] of [
      ["", 1],
      ["-", -1],
    ] as const) {
      const expected = sorted(direction).map(({ id }) => id);
      const whole = await own.owner.get(`/organizations/${own.name}/workspaces?sort=${prefix}${key}`);
      expect(data(whole).map((item: Json) => item.id)).toEqual(expected);
      const seen: string[] = [];
      for (let number = 1; number <= 3; number += 1) {
        const page = `sort=${prefix}${key}&page[size]=3&page[number]=${number}`;
        const answer = await own.owner.get(`/organizations/${own.name}/workspaces?${page}`);
        seen.push(...data(answer).map((item: Json) => item.id));
      }
      expect(seen).toEqual(expected);
    }
  });

  it.each(["created-at", "Name", "name,-name", "--name", "current-run", "latest-change-at "])(
    "sort=%s is 400",
    async (sort) => {
      const answer = await list(`?sort=${encodeURIComponent(sort)}`);
      expect(answer.status).toBe(400);
      expect(answer.body.errors[0]).toMatchObject({ title: "bad request", source: { parameter: "sort" } });
    },
  );
});

describe("listWorkspaces: pages", () => {
  it("has links and counts", async () => {
    const { body } = await list("?page[size]=4&page[number]=2&search[name]=");
    expect(namesOf(body)).toEqual(bytewise.slice(4, 8));
    const link = (number: number) => `/api/v2${path()}?page%5Bsize%5D=4&page%5Bnumber%5D=${number}&search%5Bname%5D=`;
    expect(body.links).toEqual({ self: link(2), first: link(1), prev: link(1), next: link(3), last: link(3) });
    expect(body.meta).toEqual({
      pagination: {
        "current-page": 2,
        "page-size": 4,
        "prev-page": 1,
        "next-page": 3,
        "total-pages": 3,
        "total-count": 9,
      },
    });
  });

  it("shows 20 by default, at most 100", async () => {
    expect((await list()).body.meta.pagination["page-size"]).toBe(20);
    expect((await list("?page[size]=100000")).body.meta.pagination["page-size"]).toBe(100);
    const own = await api.makeOrganization();
    for (let number = 0; number < 22; number += 1) await api.makeWorkspace(own.name);
    const answer = await own.owner.get(`/organizations/${own.name}/workspaces`);
    expect(data(answer)).toHaveLength(20);
    expect(answer.body.meta.pagination).toMatchObject({ "total-count": 22, "total-pages": 2, "next-page": 2 });
  });

  it.each([1, 2, 3, 4, 9, 10])("returns every workspace once, %i at a time", async (size) => {
    const seen: string[] = [];
    let next: string | null = `${path()}?page[size]=${size}`;
    while (next !== null) {
      const { body }: { body: Json } = await org.owner.get(next);
      seen.push(...namesOf(body));
      next = body.links.next;
    }
    expect(seen).toEqual(bytewise);
  });

  it("is empty past the end, and still counted; also filtered", async () => {
    for (const [query, total] of [
      ["", 9],
      ["&search[name]=eta", 3],
    ] as const) {
      const { status, body } = await list(`?page[number]=50&page[size]=5${query}`);
      expect(status).toBe(200);
      expect(body.data).toEqual([]);
      expect(body.meta.pagination).toMatchObject({ "current-page": 50, "next-page": null, "total-count": total });
    }
  });

  it.each(["page[number]=0", "page[number]=-1", "page[size]=0", "page[size]=x", "page[number]=1.5", "page[size]="])(
    "%s is 400",
    async (query) => {
      const answer = await list(`?${query}`);
      expect(answer.status).toBe(400);
      expect(answer.body.errors[0].source.parameter).toBe(query.split("=")[0]);
    },
  );
});

describe("listWorkspaces: shows and counts only workspaces that the caller can read", () => {
  let own: Org;
  let projects: string[];
  /** Eight workspaces, four in each of two projects. */
  const ids: Record<string, string> = {};
  beforeAll(async () => {
    own = await api.makeOrganization();
    projects = [(await api.makeProject(own.name)).id, (await api.makeProject(own.name)).id];
    for (const [number, project] of projects.entries()) {
      for (const letter of ["a", "b", "c", "d"]) {
        const name = `${letter}${number}`;
        const relationships = { ...inProject(project), ...(letter < "c" && tagged("even")) };
        ids[name] = (await api.makeWorkspace(own.name, { name }, relationships)).id;
      }
    }
  });
  const all = ["a0", "a1", "b0", "b1", "c0", "c1", "d0", "d1"];
  const first = ["a0", "b0", "c0", "d0"];

  const teamWith = async (projectIds: readonly string[], workspaceNames: readonly string[]) => {
    const team = await api.makeTeam(own.name);
    for (const id of projectIds) await api.grantProject(id, team.id, "read");
    for (const name of workspaceNames) await api.grantWorkspace(ids[name] ?? "", team.id, "read");
    return team.id;
  };
  const memberWith = (projectNumbers: readonly number[], workspaceNames: readonly string[]) => async () => {
    const projectIds = projectNumbers.map((number) => projects[number] ?? "");
    return api.makeMember(own.name, [await teamWith(projectIds, workspaceNames)]);
  };
  const twoTeams = async () =>
    api.makeMember(own.name, [await teamWith([projects[0] ?? ""], ["a0", "a1"]), await teamWith([], ["a1", "d1"])]);

  it.each<[string, () => Promise<Caller>, string[]]>([
    ["an owner", async () => own.owner, all],
    ["a site admin", async () => api.admin, all],
    ["the organization's token", () => api.makeOrganizationToken(own.name), all],
    ["a holder of manage-workspaces", () => api.makeHolder(own.name, "manage-workspaces"), all],
    ["a holder of read-workspaces", () => api.makeHolder(own.name, "read-workspaces"), all],
    ["a holder of read-projects", () => api.makeHolder(own.name, "read-projects"), all],
    ["a grant on a project", memberWith([0], []), first],
    ["grants on both projects", memberWith([0, 1], []), all],
    ["grants on single workspaces", memberWith([], ["b0", "d1"]), ["b0", "d1"]],
    ["both, not overlapping", memberWith([0], ["c1"]), ["a0", "b0", "c0", "c1", "d0"]],
    ["both, overlapping", memberWith([0], ["a0", "c1", "d0"]), ["a0", "b0", "c0", "c1", "d0"]],
    ["two teams, overlapping", twoTeams, ["a0", "a1", "b0", "c0", "d0", "d1"]],
    ["a team's token", async () => api.makeTeamToken(await teamWith([], ["a1"])), ["a1"]],
    ["a plain member", () => api.makeMember(own.name), []],
  ])("%s", async (_, make, expected) => {
    const caller = await make();
    const read = async (query: string) => {
      const { status, body } = await caller.get(`/organizations/${own.name}/workspaces?${query}`);
      expect(status).toBe(200);
      return { names: namesOf(body), total: body.meta.pagination["total-count"] };
    };
    const counted = (wanted: string[]) => ({ names: wanted, total: wanted.length });
    expect(await read("")).toEqual(counted(expected));
    const inFirst = expected.filter((name) => name.endsWith("0"));
    expect(await read(`filter[project][id]=${projects[0]}`)).toEqual(counted(inFirst));
    expect(await read("search[name]=1")).toEqual(counted(expected.filter((name) => name.endsWith("1"))));
    expect(await read("search[tags]=even")).toEqual(counted(expected.filter((name) => name < "c")));
    expect((await read("page[size]=2&page[number]=2")).total).toBe(expected.length);
    expect((await read("page[size]=2&page[number]=2")).names).toEqual(expected.slice(2, 4));
    for (const item of data(await caller.get(`/organizations/${own.name}/workspaces`)))
      expect(data(await caller.get(`/workspaces/${item.id}`))).toEqual(item);
  });

  it("filter[project][id] of a hidden or unknown project returns an empty list", async () => {
    const caller = await memberWith([0], [])();
    for (const id of [projects[1], "prj-unknown", org.defaultProjectId]) {
      const { body } = await caller.get(`/organizations/${own.name}/workspaces?filter[project][id]=${id}`);
      expect(body.data).toEqual([]);
      expect(body.meta.pagination["total-count"]).toBe(0);
    }
  });

  it("filter[project][id] of another organization's project is empty for a site admin too", async () => {
    const query = `/organizations/${own.name}/workspaces?filter[project][id]=${org.defaultProjectId}`;
    const { body } = await api.admin.get(query);
    expect(body.data).toEqual([]);
    expect(body.meta.pagination["total-count"]).toBe(0);
  });

  it("stays correct when workspaces are created, moved and deleted", async () => {
    const caller = await memberWith([0], ["d1"])();
    const total = async () =>
      (await caller.get(`/organizations/${own.name}/workspaces`)).body.meta.pagination["total-count"];
    const before = await total();
    const extra = await api.makeWorkspace(own.name, {}, inProject(projects[0] ?? ""));
    expect(await total()).toBe(before + 1);
    const move = { data: { type: "workspaces", relationships: inProject(projects[1] ?? "") } };
    data(await own.owner.patch(`/workspaces/${extra.id}`, move));
    expect(await total()).toBe(before);
    data(await own.owner.delete(`/workspaces/${extra.id}`));
    expect(await total()).toBe(before);
  });
});
