/** GET /organizations/:organization_name/projects with filter[tagged]: by key-value tags. */
import { beforeAll, describe, expect, it } from "vitest";
import { change } from "../../../support/database.ts";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Org, resource } from "../../../support/builders.ts";
import { itInGate } from "../../../support/engine-independent.ts";
import { bound } from "../workspaces/support.ts";

const api = useApi();
let org: Org;
const ids: Record<string, string> = {};

const make = async (of: Org, name: string, bindings: Record<string, string>) =>
  data(await of.owner.post(`/organizations/${of.name}/projects`, resource("projects", { name }, bound(bindings)))).id;

beforeAll(async () => {
  org = await api.makeOrganization();
  ids["one"] = await make(org, "one", { env: "prod", owner: "net" });
  ids["two"] = await make(org, "two", { env: "dev", owner: "net", flag: "" });
  ids["three"] = await make(org, "three", { region: "prod" });
  ids["none"] = (await api.makeProject(org.name, { name: "none" })).id;
  await api.makeWorkspace(org.name, {}, { ...inProject(ids["none"] ?? ""), ...bound({ env: "prod" }) });
  await make(await api.makeOrganization(), "elsewhere", { env: "prod" });
});

const tag = (number: number, key?: string, value?: string) =>
  [
    ...(key === undefined ? [] : [`filter[tagged][${number}][key]=${key}`]),
    ...(value === undefined ? [] : [`filter[tagged][${number}][value]=${value}`]),
  ].join("&");
const list = (query: string, caller: Caller = org.owner) =>
  caller.get(`/organizations/${org.name}/projects?sort=name&${query}`);
const found = async (query: string, caller?: Caller) => {
  const answer = await list(query, caller);
  const names: string[] = data(answer).map((project: Json) => project.attributes.name);
  expect(answer.body.meta.pagination["total-count"]).toBe(names.length);
  return names;
};

describe("listProjects: filter[tagged]", () => {
  it.each([
    ["a key", tag(0, "env"), ["one", "two"]],
    ["an empty value means any", tag(0, "env", ""), ["one", "two"]],
    ["a value", tag(0, "env", "prod"), ["one"]],
    ["another case", tag(0, "ENV"), []],
    ["another value", tag(0, "env", "Prod"), []],
    ["a key whose value is empty", tag(0, "flag"), ["two"]],
    ["a value alone", tag(0, undefined, "prod"), ["one", "three"]],
    ["an empty key means any", tag(0, "", "prod"), ["one", "three"]],
    ["any at all", tag(0, "", ""), ["one", "three", "two"]],
    ["two", `${tag(0, "env", "dev")}&${tag(1, "owner", "net")}`, ["two"]],
    ["two of which one fails", `${tag(0, "env", "dev")}&${tag(1, "region")}`, []],
    ["numbers with gaps", `${tag(9, "owner")}&${tag(3, "env", "prod")}`, ["one"]],
    ["unknown", tag(0, "unknown"), []],
    ["what would be SQL", tag(0, "'", "' or 1=1"), []],
    ["brackets encoded", tag(0, "env", "dev").replaceAll("[", "%5B").replaceAll("]", "%5D"), ["two"]],
    ["with a part of the name", `${tag(0, "env")}&q=tw`, ["two"]],
    ["with whole names", `${tag(0, "env")}&filter[names]=ONE,three`, ["one"]],
  ])("%s", async (_, query, expected) => {
    expect(await found(query)).toEqual(expected);
  });

  it("counts matching and readable projects, and pages the result", async () => {
    const answer = await list(`${tag(0, "owner")}&page[size]=1&page[number]=2`);
    expect(data(answer).map((project: Json) => project.attributes.name)).toEqual(["two"]);
    expect(answer.body.meta["status-counts"]).toEqual({ total: 5, matching: 2 });
  });

  it("shows only projects that the caller can read", async () => {
    const team = await api.makeTeam(org.name);
    await api.grantProject(ids["two"] ?? "", team.id, "read");
    await api.grantProject(ids["three"] ?? "", team.id, "read");
    const member = await api.makeMember(org.name, [team.id]);
    expect(await found(tag(0, "env"), member)).toEqual(["two"]);
    const answer = await list(tag(0, "env"), member);
    expect(answer.body.meta["status-counts"]).toEqual({ total: 2, matching: 1 });
  });

  it("takes 25, and no more", async () => {
    const many = (count: number) => Array.from({ length: count }, (_, number) => tag(number, "env")).join("&");
    expect(await found(many(25))).toEqual(["one", "two"]);
    expect((await list(many(26))).status).toBe(400);
  });

  it.each(["filter[tagged][key]=a", "filter[tagged][0]=a", "filter[tagged][0][colour]=a"])(
    "%s is 400",
    async (query) => {
      expect((await list(query)).status).toBe(400);
    },
  );

  it("needs the same number of statements for any number of filters", async () => {
    const counts: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      await change(api.database);
      const before = api.database.statementCount();
      // Never the same request, which could be cached.
      await list(`${tag(0, "env")}&${tag(1, "owner")}&page[size]=${round + 10}`);
      counts.push(api.database.statementCount() - before);
    }
    expect(Math.min(...counts)).toBe(3);
  });
});

describe("listProjects: filter[tagged] where many projects have the key", () => {
  const names = Array.from(
    { length: 230 },
    (_, number) => `many-${String((number * 7919) % 1000).padStart(3, "0")}-${number}`,
  );
  const isFew = (number: number) => number % 50 === 7;
  let large: Org;

  beforeAll(async () => {
    large = await api.makeOrganization();
    const { id: template } = await api.makeProject(large.name, { name: "template" });
    const db = api.database.reader.db;
    const row = await db.selectFrom("projects").selectAll().where("id", "=", template).executeTakeFirstOrThrow();
    const copies = names.map((name, number) => ({
      ...row,
      id: `prj-${large.name.slice(-8)}${number}`,
      name,
      nameKey: name,
      createdAt: `2026-01-${String(1 + (number % 28)).padStart(2, "0")}T00:00:00.000Z`,
    }));
    const bindings = copies.flatMap(({ id: projectId, organizationId, createdAt }, number) =>
      [
        { key: "all", value: String(number % 2) },
        { key: "some", value: "s" },
      ]
        .slice(0, isFew(number) ? 2 : 1)
        .map((binding) => ({
          id: `tb-${binding.key}${projectId}`,
          organizationId,
          workspaceId: null,
          projectId,
          createdAt,
          ...binding,
        })),
    );
    await api.database.write(async (tx) => {
      for (let from = 0; from < copies.length; from += 100)
        await tx.db
          .insertInto("projects")
          .values(copies.slice(from, from + 100))
          .execute();
      for (let from = 0; from < bindings.length; from += 100)
        await tx.db
          .insertInto("tagBindings")
          .values(bindings.slice(from, from + 100))
          .execute();
    });
  });

  const pageOf = async (query: string, page: number) => {
    const answer = await large.owner.get(
      `/organizations/${large.name}/projects?${query}&page[size]=30&page[number]=${page}`,
    );
    const found: string[] = data(answer).map((project: Json) => project.attributes.name);
    return { found, matching: answer.body.meta["status-counts"].matching };
  };

  itInGate.each([
    ["all", tag(0, "all"), () => true],
    ["half", tag(0, "all", "1"), (number: number) => number % 2 === 1],
    ["few", tag(0, "some"), isFew],
  ] as const)("finds %s of them, page by page in either order, and counts them", async (_, query, fits) => {
    const expected = names.filter((__, number) => fits(number));
    const sorted = expected.toSorted();
    for (const page of [1, 2, 8, 9]) {
      const cut = (all: string[]) => ({ found: all.slice((page - 1) * 30, page * 30), matching: expected.length });
      expect(await pageOf(`sort=name&${query}`, page)).toEqual(cut(sorted));
      expect(await pageOf(`sort=-name&${query}`, page)).toEqual(cut(sorted.toReversed()));
    }
    const newest: string[] = [];
    for (let page = 1; page <= 8; page += 1) newest.push(...(await pageOf(query, page)).found);
    expect(newest.toSorted()).toEqual(sorted);
    const day = (name: string) => names.indexOf(name) % 28;
    expect(newest.map(day)).toEqual(newest.map(day).toSorted((one, two) => two - one));
  });
});
