/** All parameters of the list together, over random data, compared with a simple oracle. */
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Member, type Org } from "../../../support/builders.ts";
import { deep, seed } from "../../../support/depth.ts";
import { sampled } from "../../../support/engine-independent.ts";
import { bound, setColumns, tagged } from "./support.ts";

const api = useApi();
const size = 40;
const tagNames = ["a", "b", "A", "c:d"];
const keys = ["k1", "k2", "a"];
const values = ["", "v1", "v2"];
/** The values of `search[tags]`: flat tags and keys, of which one is both. */
const searched = [...new Set([...tagNames, ...keys])];
const statuses = ["applied", "errored", "planning"];

interface Item {
  readonly id: string;
  readonly name: string;
  readonly project: number;
  readonly tags: readonly string[];
  readonly bindings: Readonly<Record<string, string>>;
  readonly status: string | null;
  readonly runAt: string | null;
  readonly changeAt: string;
}

let org: Org;
let projects: { id: string; bindings: Record<string, string> }[];
let items: Item[];
interface Reader {
  readonly who: string;
  readonly caller: Member;
  readonly sees: (item: Item) => boolean;
}
let readers: Reader[];

/** Its own random generator, so that the data is the same for the same seed. */
function* numbers(start: number): Generator<number, never> {
  let state = start % 2_147_483_647 || 1;
  for (;;) {
    state = (state * 48_271) % 2_147_483_647;
    yield state;
  }
}

beforeAll(async () => {
  org = await api.makeOrganization();
  const random = numbers(seed);
  const upTo = (bound: number) => random.next().value % bound;
  const pick = <T>(list: readonly T[]): T => list[upTo(list.length)] as T;
  const some = <T>(list: readonly T[]) => list.filter(() => upTo(3) === 0);
  projects = [];
  const inherited: Record<string, string>[] = [{}, { k1: "v1" }, { k1: "v2", a: "" }];
  for (const bindings of inherited) {
    const { id } = await api.makeProject(org.name);
    data(await api.admin.patch(`/projects/${id}`, { data: { type: "projects", relationships: bound(bindings) } }));
    projects.push({ id, bindings });
  }
  items = [];
  const taken = new Set<string>();
  while (items.length < size) {
    const name = Array.from({ length: 1 + upTo(7) }, () => pick([..."abAB_-1"])).join("");
    if (taken.has(name)) continue;
    taken.add(name);
    const project = upTo(projects.length);
    const tags = some(tagNames);
    const bindings = Object.fromEntries(some(keys).map((key) => [key, pick(values)]));
    const relationships = { ...inProject(projects[project]?.id ?? ""), ...tagged(...tags), ...bound(bindings) };
    const { id } = await api.makeWorkspace(org.name, { name }, relationships);
    const day = () => `2027-01-0${1 + upTo(4)}T00:00:00.000Z`;
    const status = upTo(4) === 0 ? null : pick(statuses);
    const columns = { status, runAt: status && day(), changeAt: day() };
    await setColumns(api, id, {
      currentRunStatus: status,
      currentRunCreatedAt: columns.runAt,
      latestChangeAt: columns.changeAt,
    });
    items.push({ id, name, project, tags, bindings, ...columns });
  }
  readers = await makeReaders();
});

async function makeReaders(): Promise<Reader[]> {
  const [ofProject, ofSome, ofBoth] = [
    await api.makeTeam(org.name),
    await api.makeTeam(org.name),
    await api.makeTeam(org.name),
  ];
  const chosen = new Set(items.filter((_, number) => number % 3 === 0).map(({ id }) => id));
  for (const team of [ofProject, ofBoth]) await api.grantProject(projects[1]?.id ?? "", team.id, "read");
  for (const id of chosen) {
    for (const team of [ofSome, ofBoth]) await api.grantWorkspace(id, team.id, "read");
  }
  const memberOf = (...teams: Json[]) =>
    api.makeMember(
      org.name,
      teams.map(({ id }) => id),
    );
  return [
    { who: "reads all", caller: await api.makeHolder(org.name, "read-workspaces"), sees: () => true },
    { who: "a project", caller: await memberOf(ofProject), sees: ({ project }) => project === 1 },
    { who: "some", caller: await memberOf(ofSome), sees: ({ id }) => chosen.has(id) },
    { who: "both", caller: await memberOf(ofBoth), sees: ({ id, project }) => project === 1 || chosen.has(id) },
    {
      who: "both, by several teams",
      caller: await memberOf(ofBoth, ofSome, ofProject),
      sees: ({ id, project }) => project === 1 || chosen.has(id),
    },
    { who: "none", caller: await api.makeMember(org.name), sees: () => false },
  ];
}

interface Query {
  readonly part: string | undefined;
  readonly wildcard: string | undefined;
  readonly tags: readonly string[] | undefined;
  readonly excluded: readonly string[] | undefined;
  readonly project: number | undefined;
  readonly statuses: readonly string[] | undefined;
  readonly tagged: readonly { readonly key: string; readonly value: string | undefined }[];
  readonly sort: string | undefined;
  readonly size: number;
}

/** Mostly absent: with all filters together, hardly any query would find something. */
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 5 }, { arbitrary, weight: 2 });
const fragment = fc.string({ unit: fc.constantFrom("a", "b", "A", "_", "-", "1", "%"), maxLength: 3 });
const queries: fc.Arbitrary<Query> = fc.record({
  part: maybe(fc.array(fragment, { minLength: 1, maxLength: 3 }).map((words) => words.join(" "))),
  wildcard: maybe(fc.array(fragment, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("*"))),
  tags: maybe(fc.subarray(searched, { minLength: 1, maxLength: 2 })),
  excluded: maybe(fc.subarray(searched, { minLength: 1, maxLength: 2 })),
  project: maybe(fc.nat(2)),
  statuses: maybe(fc.subarray(statuses, { minLength: 1 })),
  tagged: maybe(
    fc.array(
      fc.record({ key: fc.constantFrom(...keys), value: fc.constantFrom<string | undefined>(undefined, ...values) }),
      { minLength: 1, maxLength: 2 },
    ),
  ).map((filters) => filters ?? []),
  sort: maybe(
    fc.constantFrom(...["name", "current-run.created-at", "latest-change-at"].flatMap((key) => [key, `-${key}`])),
  ),
  size: fc.integer({ min: 1, max: 50 }),
});

/** Matches one star with any text, letter by letter, without a pattern language. */
function fits(text: string, pattern: string): boolean {
  if (pattern === "") return text === "";
  if (pattern.startsWith("*")) return fits(text, pattern.slice(1)) || (text !== "" && fits(text.slice(1), pattern));
  return text !== "" && text[0] === pattern[0] && fits(text.slice(1), pattern.slice(1));
}

function hasTag(item: Item, key: string, value: string | undefined): boolean {
  const effective: Record<string, string> = { ...projects[item.project]?.bindings, ...item.bindings };
  if (value === undefined || value === "") return key in effective || item.tags.includes(key);
  return effective[key] === value;
}

function isFound(item: Item, query: Query): boolean {
  const name = item.name.toLowerCase();
  return (
    (query.part === undefined ||
      query.part
        .toLowerCase()
        .split(" ")
        .every((word) => name.includes(word))) &&
    (!query.wildcard || fits(name, query.wildcard.toLowerCase())) &&
    (query.tags ?? []).every((tag) => hasTag(item, tag, undefined)) &&
    !(query.excluded ?? []).some((tag) => hasTag(item, tag, undefined)) &&
    (query.project === undefined || item.project === query.project) &&
    (query.statuses === undefined || (item.status !== null && query.statuses.includes(item.status))) &&
    query.tagged.every(({ key, value }) => hasTag(item, key, value))
  );
}

function inOrder(found: readonly Item[], sort = "name"): string[] {
  const descending = sort.startsWith("-");
  const key = sort.replace("-", "").startsWith("name") ? "name" : sort.includes("current-run") ? "runAt" : "changeAt";
  return found
    .toSorted((left, right) => {
      const [one, two] = [left[key], right[key]];
      if (one !== two) {
        if (one === null) return 1;
        if (two === null) return -1;
        return (one < two ? -1 : 1) * (descending ? -1 : 1);
      }
      return left.id < right.id ? -1 : 1;
    })
    .map(({ name }) => name);
}

function toText(query: Query): string {
  const parameters = new URLSearchParams();
  const set = (name: string, value: string | undefined) => value !== undefined && parameters.set(name, value);
  set("search[name]", query.part);
  set("search[wildcard-name]", query.wildcard || undefined);
  set("search[tags]", query.tags?.join(","));
  set("search[exclude-tags]", query.excluded?.join(","));
  set("filter[project][id]", query.project === undefined ? undefined : projects[query.project]?.id);
  set("filter[current-run][status]", query.statuses?.join(","));
  query.tagged.forEach(({ key, value }, number) => {
    set(`filter[tagged][${number}][key]`, key);
    set(`filter[tagged][${number}][value]`, value);
  });
  set("sort", query.sort);
  return parameters.toString();
}

const unfiltered: Query = {
  part: undefined,
  wildcard: undefined,
  tags: undefined,
  excluded: undefined,
  project: undefined,
  statuses: undefined,
  tagged: [],
  sort: undefined,
  size: 20,
};

/** All pages of a list, one after another. */
async function expectLikeOracle(query: Query, { who, caller, sees }: Reader): Promise<void> {
  const expected = inOrder(
    items.filter((item) => sees(item) && isFound(item, query)),
    query.sort,
  );
  const seen: string[] = [];
  const pages = Math.max(1, Math.ceil(expected.length / query.size));
  for (let page = 1; page <= pages; page += 1) {
    const paging = `page[size]=${query.size}&page[number]=${page}`;
    const answer = await caller.get(`/organizations/${org.name}/workspaces?${toText(query)}&${paging}`);
    seen.push(...data(answer).map((item: Json) => item.attributes.name));
    expect(answer.body.meta.pagination).toMatchObject({
      "total-count": expected.length,
      "total-pages": pages,
      "next-page": page < pages ? page + 1 : null,
    });
  }
  expect(seen, who).toEqual(expected);
}

const patience = deep(120_000, 900_000);

describe("listWorkspaces", () => {
  it(
    "finds, orders, counts and pages like the oracle, for any caller",
    async () => {
      await fc.assert(
        fc.asyncProperty(queries, fc.nat(5), async (query, number) => {
          await expectLikeOracle(query, readers[number] as Reader);
        }),
        { seed, numRuns: sampled(deep(90, 3000)) },
      );
    },
    patience,
  );

  const sorts = ["name", "current-run.created-at", "latest-change-at"].flatMap((key) => [key, `-${key}`]);
  it.each(sorts)("without filters too, page by page: sort=%s", async (sort) => {
    for (const reader of readers) {
      for (const pageSize of [2, 7, 50]) await expectLikeOracle({ ...unfiltered, sort, size: pageSize }, reader);
    }
  });

  it("gets queries of every kind, many of which find something", () => {
    const asked = fc.sample(queries, { seed, numRuns: 150 });
    for (const name of ["part", "wildcard", "tags", "excluded", "project", "statuses", "sort"] as const) {
      const sent = asked.filter((query) => query[name] !== undefined);
      expect(sent.length, name).toBeGreaterThan(20);
      expect(sent.length, name).toBeLessThan(130);
    }
    const fruitful = asked.filter((query) => {
      const found = items.filter((item) => isFound(item, query)).length;
      return found > 0 && found < size;
    });
    expect(fruitful.length).toBeGreaterThan(50);
  });

  it("has a register in which the oracle's filters find something and leave something out", () => {
    for (const tag of tagNames) {
      const tagged = items.filter((item) => item.tags.includes(tag));
      expect(tagged.length).toBeGreaterThan(0);
      expect(tagged.length).toBeLessThan(size);
    }
    expect(new Set(items.map(({ project }) => project)).size).toBe(3);
    expect(items.some(({ runAt }) => runAt === null)).toBe(true);
  });
});
