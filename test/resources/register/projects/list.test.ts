/** GET /organizations/:organization_name/projects: pages, order, and which query is refused. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { details, makeOrganization, makeProject, type Org, pointers } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
/** Created in this order, a day apart, after the default project. */
const names = ["beta", "Alpha", "gamma 1", "gamma_2", "Delta"];

beforeAll(async () => {
  org = await makeOrganization(api);
  await setCreatedAt(org.defaultProjectId, "2020-01-01T00:00:00.000Z");
  for (const [number, name] of names.entries()) {
    const { id } = await makeProject(api, org.name, { name });
    await setCreatedAt(id, `2020-01-0${number + 2}T00:00:00.000Z`);
  }
});

const setCreatedAt = (id: string, createdAt: string) =>
  api.database.write((tx) => tx.db.updateTable("projects").set({ createdAt }).where("id", "=", id).execute());
const path = () => `/organizations/${org.name}/projects`;
const list = (query = "") => org.owner.get(`${path()}${query}`);
const namesOf = (body: Json): string[] => body.data.map((project: Json) => project.attributes.name);

const newestFirst = names.toReversed().concat("Default Project");

describe("listProjects: order", () => {
  it("is newest first by default", async () => {
    const answer = await list();
    expect(answer.status).toBe(200);
    expect(namesOf(answer.body)).toEqual(newestFirst);
  });

  it.each([
    ["name", ["Alpha", "Default Project", "Delta", "beta", "gamma 1", "gamma_2"]],
    ["-name", ["gamma_2", "gamma 1", "beta", "Delta", "Default Project", "Alpha"]],
  ])("sort=%s", async (sort, expected) => {
    expect(namesOf((await list(`?sort=${sort}`)).body)).toEqual(expected);
  });

  it("an empty sort is none", async () => {
    expect(namesOf((await list("?sort=")).body)).toEqual(newestFirst);
  });

  it("is the same for projects of one instant, page by page", async () => {
    const own = await makeOrganization(api);
    const made = [own.defaultProjectId];
    for (let number = 0; number < 6; number += 1) made.push((await makeProject(api, own.name)).id);
    for (const id of made) await setCreatedAt(id, "2021-01-01T00:00:00.000Z");
    const seen: string[] = [];
    for (let number = 1; number <= 4; number += 1) {
      const answer = await own.owner.get(`/organizations/${own.name}/projects?page[size]=2&page[number]=${number}`);
      seen.push(...answer.body.data.map((project: Json) => project.id));
    }
    expect(seen).toEqual(made.toSorted().toReversed());
  });

  it.each(["created-at", "names", "name,-name", "--name", "Name", "+name", "id"])("sort=%s is 400", async (sort) => {
    const answer = await list(`?sort=${sort}`);
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0]).toMatchObject({ status: "400", title: "bad request", source: { parameter: "sort" } });
  });
});

describe("listProjects: pages", () => {
  it("shows the first page of 20 by default, with links and counts", async () => {
    const { body } = await list();
    const page = (number: number) => `/api/v2${path()}?page%5Bnumber%5D=${number}&page%5Bsize%5D=20`;
    expect(Object.keys(body).sort()).toEqual(["data", "links", "meta"]);
    expect(body.links).toEqual({ self: page(1), first: page(1), prev: null, next: null, last: page(1) });
    expect(body.meta).toEqual({
      pagination: {
        "current-page": 1,
        "page-size": 20,
        "prev-page": null,
        "next-page": null,
        "total-pages": 1,
        "total-count": 6,
      },
      "status-counts": { total: 6, matching: 6 },
    });
  });

  it("shows one in the middle, and keeps the rest of the query in its links", async () => {
    const { body } = await list("?sort=name&q=a&page[size]=2&page[number]=2");
    expect(namesOf(body)).toEqual(["Delta", "beta"]);
    const link = (number: number) => `/api/v2${path()}?sort=name&q=a&page%5Bsize%5D=2&page%5Bnumber%5D=${number}`;
    expect(body.links).toEqual({ self: link(2), first: link(1), prev: link(1), next: link(3), last: link(3) });
    expect(body.meta.pagination).toEqual({
      "current-page": 2,
      "page-size": 2,
      "prev-page": 1,
      "next-page": 3,
      "total-pages": 3,
      "total-count": 6,
    });
  });

  it("has no next at the end, and no previous at the start", async () => {
    const last = (await list("?page[size]=4&page[number]=2")).body;
    expect(namesOf(last)).toEqual(["beta", "Default Project"]);
    expect(last.links.next).toBeNull();
    expect(last.meta.pagination).toMatchObject({ "next-page": null, "prev-page": 1, "total-pages": 2 });
    const first = (await list("?page[size]=4")).body;
    expect(first.links.prev).toBeNull();
    expect(first.meta.pagination).toMatchObject({ "next-page": 2, "prev-page": null });
  });

  it("returns every project once by following 'next'", async () => {
    const seen: string[] = [];
    let next: string | null = `/api/v2${path()}?page[size]=1`;
    while (next !== null) {
      const { body }: { body: Json } = await org.owner.get(next);
      seen.push(...namesOf(body));
      next = body.links.next;
    }
    expect(seen).toEqual(newestFirst);
  });

  it.each([2, 7, 999_999_999_999, "99999999999999999999999999"])("page %s, past the end, is empty", async (number) => {
    const answer = await list(`?page[number]=${number}`);
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual([]);
    expect(answer.body.meta).toMatchObject({
      pagination: { "prev-page": 1, "next-page": null, "total-pages": 1, "total-count": 6 },
      "status-counts": { total: 6, matching: 6 },
    });
  });

  it.each([
    ["100", 100],
    ["101", 100],
    ["99999999999999999999", 100],
    ["1", 1],
    ["007", 7],
  ])("page[size]=%s is taken as %i", async (size, taken) => {
    const answer = await list(`?page[size]=${size}`);
    expect(answer.status).toBe(200);
    expect(answer.body.meta.pagination["page-size"]).toBe(taken);
    expect(answer.body.data).toHaveLength(Math.min(taken, 6));
  });

  it("understands percent-encoded brackets", async () => {
    const { body } = await list("?page%5Bsize%5D=2&page%5Bnumber%5D=3&filter%5Bnames%5D=alpha,beta,gamma_2,delta,x");
    expect(body.meta.pagination).toMatchObject({ "current-page": 3, "page-size": 2, "total-count": 4 });
  });

  it("shows more than 100 projects in two pages", async () => {
    const own = await makeOrganization(api);
    await Promise.all(Array.from({ length: 100 }, () => makeProject(api, own.name)));
    const get = (number: number) =>
      own.owner.get(`/organizations/${own.name}/projects?page[size]=1000&page[number]=${number}`);
    const [first, second] = [(await get(1)).body, (await get(2)).body];
    expect([first.data.length, second.data.length]).toEqual([100, 1]);
    expect(first.meta["status-counts"]).toEqual({ total: 101, matching: 101 });
    expect(new Set([...first.data, ...second.data].map((project: Json) => project.id)).size).toBe(101);
  });
});

describe("listProjects: 400", () => {
  const unusable = ["0", "-1", "1.5", "abc", "", "1e3", "0x10", " 1", "%2B1", "1%00"];

  it.each(unusable)("page[number]=%s", async (value) => {
    const answer = await list(`?page[number]=${value}`);
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0]).toMatchObject({ title: "bad request", source: { parameter: "page[number]" } });
  });

  it.each(unusable)("page[size]=%s", async (value) => {
    const answer = await list(`?page%5Bsize%5D=${value}`);
    expect(answer.status).toBe(400);
    expect(pointers(answer)).toEqual(["page[size]"]);
  });

  it.each(["organization", "nonsense", "organization,nonsense"])("include=%s", async (include) => {
    const answer = await list(`?include=${include}`);
    expect(answer.status).toBe(400);
    expect(new Set(pointers(answer))).toEqual(new Set(["include"]));
    for (const detail of details(answer)) expect(detail).toContain("include parameter");
  });

  it("reports all invalid parameters in one response", async () => {
    const answer = await list("?page[number]=0&page[size]=x&sort=colour&include=moon");
    expect(answer.status).toBe(400);
    expect(pointers(answer).sort()).toEqual(["include", "page[number]", "page[size]", "sort"]);
  });

  it.each(["q=a&q=b", "page[size]=1&page%5Bsize%5D=2", "sort=name&sort=-name"])(
    "a parameter twice: %s",
    async (query) => {
      expect((await list(`?${query}`)).status).toBe(400);
    },
  );

  it.each(["q=%00", "q=%ff", "filter[names]=%"])("text that is none: %s", async (query) => {
    expect((await list(`?${query}`)).status).toBe(400);
  });

  it("a query of more than 8 KiB", async () => {
    expect((await list(`?q=${"a".repeat(9000)}`)).status).toBe(400);
  });

  it("unknown parameters are ignored", async () => {
    expect(namesOf((await list("?colour=blue&filter[colour]=x")).body)).toEqual(newestFirst);
  });
});
