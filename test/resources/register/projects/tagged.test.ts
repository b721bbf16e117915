/** GET /organizations/:organization_name/projects with filter[tagged]: by key-value tags. */
import { change } from "../../../support/database.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  grantProject,
  inProject,
  makeMember,
  makeOrganization,
  makeProject,
  makeTeam,
  makeWorkspace,
  type Org,
  resource,
} from "../../../support/builders.ts";
import { bound } from "../workspaces/support.ts";

const api = useApi();
let org: Org;
const ids: Record<string, string> = {};

const make = async (of: Org, name: string, bindings: Record<string, string>) =>
  data(await of.owner.post(`/organizations/${of.name}/projects`, resource("projects", { name }, bound(bindings)))).id;

beforeAll(async () => {
  org = await makeOrganization(api);
  ids["one"] = await make(org, "one", { env: "prod", owner: "net" });
  ids["two"] = await make(org, "two", { env: "dev", owner: "net", flag: "" });
  ids["three"] = await make(org, "three", { region: "prod" });
  ids["none"] = (await makeProject(api, org.name, { name: "none" })).id;
  await makeWorkspace(api, org.name, {}, { ...inProject(ids["none"] ?? ""), ...bound({ env: "prod" }) });
  await make(await makeOrganization(api), "elsewhere", { env: "prod" });
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

  it("counts what it leaves beside all that the caller reads, and cuts pages", async () => {
    const answer = await list(`${tag(0, "owner")}&page[size]=1&page[number]=2`);
    expect(data(answer).map((project: Json) => project.attributes.name)).toEqual(["two"]);
    expect(answer.body.meta["status-counts"]).toEqual({ total: 5, matching: 2 });
  });

  it("shows nobody more than they read", async () => {
    const team = await makeTeam(api, org.name);
    await grantProject(api, org.id, ids["two"] ?? "", team.id, "read");
    await grantProject(api, org.id, ids["three"] ?? "", team.id, "read");
    const member = await makeMember(api, org.name, [team.id]);
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

  it("needs no more statements, however many are asked for", async () => {
    const counts: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      await change(api.database);
      const before = api.database.statementCount();
      await list(`${tag(0, "env")}&${tag(1, "owner")}`);
      counts.push(api.database.statementCount() - before);
    }
    expect(Math.min(...counts)).toBe(3);
  });
});
