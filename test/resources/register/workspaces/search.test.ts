/** GET /organizations/:organization_name/workspaces: what each search and filter finds, and which is refused. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Org } from "../../../support/builders.ts";
import { bound, setColumns, tagged } from "./support.ts";

const api = useApi();
let org: Org;
let project: string;

beforeAll(async () => {
  org = await api.makeOrganization();
  project = (await api.makeProject(org.name)).id;
  const make = (name: string, relationships: object = {}) => api.makeWorkspace(org.name, { name }, relationships);
  await make("net-prod", { ...tagged("prod", "net", "a:b"), ...bound({ env: "prod", team: "net" }) });
  await make("Net-Dev", { ...tagged("dev", "net"), ...bound({ env: "dev" }) });
  await make("app_prod", { ...tagged("prod", "Prod"), ...bound({ env: "" }), ...inProject(project) });
  await make("appXprod", inProject(project));
  await make("solo", tagged("env"));
  data(
    await org.owner.patch(`/projects/${project}`, {
      data: { type: "projects", relationships: bound({ env: "shared", owner: "platform" }) },
    }),
  );
  const other = await api.makeOrganization();
  await api.makeWorkspace(other.name, { name: "net-elsewhere" }, { ...tagged("prod"), ...bound({ env: "prod" }) });
});

const list = (query: string) => org.owner.get(`/organizations/${org.name}/workspaces?${query}`);
const found = async (query: string): Promise<string[]> => {
  const answer = await list(query);
  const shown: string[] = data(answer).map((workspace: Json) => workspace.attributes.name);
  expect(answer.body.meta.pagination["total-count"]).toBe(shown.length);
  return shown;
};
const everything = ["Net-Dev", "appXprod", "app_prod", "net-prod", "solo"];

describe("listWorkspaces: search[name]", () => {
  it.each([
    ["prod", ["appXprod", "app_prod", "net-prod"]],
    ["PROD", ["appXprod", "app_prod", "net-prod"]],
    ["net", ["Net-Dev", "net-prod"]],
    ["-", ["Net-Dev", "net-prod"]],
    ["_", ["app_prod"]],
    ["%25", []],
    ["p_p", ["app_prod"]],
    ["*", []],
    ["'", []],
    ["%5C", []],
    ["net-elsewhere", []],
    ["", everything],
    ["%F0%9F%98%80", []],
  ])("%j", async (part, expected) => {
    expect(await found(`search[name]=${part}`)).toEqual(expected);
  });
});

describe("listWorkspaces: filter[id]", () => {
  it("returns only those, alone and with other filters, for an owner and for a member; omits others' and unknown ones", async () => {
    const all = data(await list("page[size]=100"));
    const idOf = (name: string) => all.find(({ attributes }: Json) => attributes.name === name).id;
    const ids = `filter[id]=${idOf("solo")},${idOf("net-prod")},ws-none,${idOf("appXprod")}`;
    expect(await found(ids)).toEqual(["appXprod", "net-prod", "solo"]);
    expect(await found(`${ids}&search[name]=prod`)).toEqual(["appXprod", "net-prod"]);
    expect(await found(`${ids}&filter[project][id]=${project}`)).toEqual(["appXprod"]);
    expect(await found(`${ids}&search[tags]=net`)).toEqual(["net-prod"]);
    expect(await found("filter[id]=ws-none")).toEqual([]);
    const team = (await api.makeTeam(org.name)).id;
    await api.makeTeamProject(project, team, { access: "read" });
    const member = await api.makeMember(org.name, [team]);
    const answer = await member.get(`/organizations/${org.name}/workspaces?${ids}`);
    expect(data(answer).map(({ attributes }: Json) => attributes.name)).toEqual(["appXprod"]);
  });

  it("400: more than 100", async () => {
    const answer = await list(`filter[id]=${Array.from({ length: 101 }, (_, at) => `ws-${at}`).join(",")}`);
    expect([answer.status, ...details(answer)]).toEqual([400, expect.stringContaining("at most 100 ids")]);
  });
});

describe("listWorkspaces: search[wildcard-name]", () => {
  it.each([
    ["net*", ["Net-Dev", "net-prod"]],
    ["NET*", ["Net-Dev", "net-prod"]],
    ["*prod", ["appXprod", "app_prod", "net-prod"]],
    ["*PROD", ["appXprod", "app_prod", "net-prod"]],
    ["*ro*", ["appXprod", "app_prod", "net-prod"]],
    ["solo", ["solo"]],
    ["SOLO", ["solo"]],
    ["sol", []],
    ["olo", []],
    ["*", everything],
    ["**", everything],
    ["a*d", ["appXprod", "app_prod"]],
    ["app_*", ["app_prod"]],
    ["*_prod", ["app_prod"]],
    ["app_prod", ["app_prod"]],
    ["app%25*", []],
    ["%25", []],
    ["*%5C*", []],
    ["app?prod", []],
    ["*net-elsewhere*", []],
    ["net-prod*", ["net-prod"]],
    ["*net-prod", ["net-prod"]],
    ["n*t*p*d", ["net-prod"]],
    ["prod*net", []],
    ["*********************", everything],
    ["", everything],
  ])("%j", async (pattern, expected) => {
    expect(await found(`search[wildcard-name]=${pattern}`)).toEqual(expected);
  });

  it("ten stars apart are taken, eleven are 400", async () => {
    expect(await found(`search[wildcard-name]=${"*x".repeat(10)}`)).toEqual([]);
    const answer = await list(`search[wildcard-name]=${"*x".repeat(11)}`);
    expect(answer.status).toBe(400);
    expect(answer.body.errors).toEqual([
      {
        status: "400",
        title: "bad request",
        detail: expect.stringContaining("at most 10 stars"),
        source: { parameter: "search[wildcard-name]" },
      },
    ]);
  });
});

describe("listWorkspaces: search[tags] and search[exclude-tags]", () => {
  it.each([
    ["search[tags]=prod", ["app_prod", "net-prod"]],
    ["search[tags]=Prod", ["app_prod"]],
    ["search[tags]=PROD", []],
    ["search[tags]=net,prod", ["net-prod"]],
    ["search[tags]=prod,net,prod", ["net-prod"]],
    ["search[tags]=%20net%20,%20prod", ["net-prod"]],
    ["search[tags]=net,unknown", []],
    ["search[tags]=a:b", ["net-prod"]],
    ["search[tags]=pro", []],
    ["search[tags]=", everything],
    ["search[tags]=,", everything],
    ["search[exclude-tags]=net", ["appXprod", "app_prod", "solo"]],
    ["search[exclude-tags]=net,prod", ["appXprod", "solo"]],
    ["search[exclude-tags]=NET", everything],
    ["search[exclude-tags]=unknown", everything],
    ["search[exclude-tags]=", everything],
    ["search[tags]=net&search[exclude-tags]=prod", ["Net-Dev"]],
    ["search[tags]=net&search[exclude-tags]=net", []],
    // Keys of bindings are tags, too: a workspace's own, and those of its project.
    ["search[tags]=env", everything],
    ["search[tags]=team", ["net-prod"]],
    ["search[tags]=owner", ["appXprod", "app_prod"]],
    ["search[tags]=env,owner", ["appXprod", "app_prod"]],
    ["search[tags]=env,team", ["net-prod"]],
    ["search[tags]=owner,prod", ["app_prod"]],
    ["search[tags]=team,owner", []],
    ["search[tags]=ENV", []],
    ["search[tags]=platform", []],
    ["search[exclude-tags]=team", ["Net-Dev", "appXprod", "app_prod", "solo"]],
    ["search[exclude-tags]=owner", ["Net-Dev", "net-prod", "solo"]],
    ["search[exclude-tags]=env", []],
    ["search[exclude-tags]=owner,net", ["solo"]],
    ["search[tags]=env&search[exclude-tags]=owner", ["Net-Dev", "net-prod", "solo"]],
    ["search[tags]=env&filter[tagged][0][key]=env&filter[tagged][0][value]=prod", ["net-prod"]],
  ])("%s", async (query, expected) => {
    expect(await found(query)).toEqual(expected);
  });

  it("all of many are required, wherever each comes from", async () => {
    const names = ["t1", "t2", "t3", "t4"];
    const full = await api.makeOrganization();
    const shared = (await api.makeProject(full.name)).id;
    const relationships = bound({ p1: "", p2: "x" });
    data(await full.owner.patch(`/projects/${shared}`, { data: { type: "projects", relationships } }));
    const all = { ...tagged(...names), ...bound({ b1: "v", b2: "" }), ...inProject(shared) };
    await api.makeWorkspace(full.name, { name: "all" }, all);
    await api.makeWorkspace(full.name, { name: "flat" }, { ...tagged(...names, "p1", "b1"), ...bound({ b2: "" }) });
    const having = async (...tags: string[]) =>
      data(await full.owner.get(`/organizations/${full.name}/workspaces?search[tags]=${tags.join(",")}`)).map(
        (workspace: Json) => workspace.attributes.name,
      );
    expect(await having(...names, "b1", "b2", "p1")).toEqual(["all", "flat"]);
    expect(await having("b1", "b2", "p1", ...names)).toEqual(["all", "flat"]);
    expect(await having(...names, "b1", "b2", "p1", "p2")).toEqual(["all"]);
    expect(await having("p2", "p1", "b2", "b1", ...names.toReversed())).toEqual(["all"]);
    expect(await having(...names, "b1", "b2", "p1", "p2", "unknown")).toEqual([]);
    expect(await having("unknown", ...names, "b1", "b2", "p1", "p2")).toEqual([]);
  });

  it.each(["tags", "exclude-tags"])("search[%s] takes as many as fit into a parameter", async (name) => {
    const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ";
    const many = [...letters].flatMap((one) => [...letters].map((two) => one + two)).slice(0, 1290);
    const answer = await list(`search[${name}]=${many.join(",")}`);
    expect(answer.status).toBe(200);
    expect(answer.body.data).toHaveLength(name === "tags" ? 0 : 5);
  });
});

describe("listWorkspaces: filter[tagged]", () => {
  const tag = (number: number, key?: string, value?: string) =>
    [
      ...(key === undefined ? [] : [`filter[tagged][${number}][key]=${key}`]),
      ...(value === undefined ? [] : [`filter[tagged][${number}][value]=${value}`]),
    ].join("&");

  it.each([
    ["a key, by its own, an inherited, or a flat tag", tag(0, "env"), everything],
    ["an empty value means any", tag(0, "env", ""), everything],
    ["a value", tag(0, "env", "prod"), ["net-prod"]],
    ["an inherited value", tag(0, "env", "shared"), ["appXprod"]],
    ["an inherited key", tag(0, "owner"), ["appXprod", "app_prod"]],
    ["an inherited key with its value", tag(0, "owner", "platform"), ["appXprod", "app_prod"]],
    ["another value", tag(0, "env", "Prod"), []],
    ["another case", tag(0, "ENV"), []],
    ["flat tags are keys", tag(0, "net"), ["Net-Dev", "net-prod"]],
    ["flat tags have no value", tag(0, "net", "net"), []],
    ["two", `${tag(0, "env", "prod")}&${tag(1, "team", "net")}`, ["net-prod"]],
    ["two of which one fails", `${tag(0, "env", "dev")}&${tag(1, "team", "net")}`, []],
    ["two, one a flat tag", `${tag(0, "env", "dev")}&${tag(1, "net")}`, ["Net-Dev"]],
    ["numbers with gaps, in any order", `${tag(7, "team", "net")}&${tag(3, "env", "prod")}`, ["net-prod"]],
    ["the same twice", `${tag(0, "team", "net")}&${tag(1, "team", "net")}`, ["net-prod"]],
    ["a value alone", tag(0, undefined, "prod"), ["net-prod"]],
    ["unknown", tag(0, "unknown"), []],
    ["brackets encoded", tag(0, "env", "prod").replaceAll("[", "%5B").replaceAll("]", "%5D"), ["net-prod"]],
  ])("%s", async (_, query, expected) => {
    expect(await found(query)).toEqual(expected);
  });

  it("25 are taken, 26 are 400", async () => {
    const many = (count: number) => Array.from({ length: count }, (_, number) => tag(number, "env")).join("&");
    expect(await found(many(25))).toEqual(everything);
    const answer = await list(many(26));
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0]).toMatchObject({
      detail: "At most 25 filter[tagged] filters can be sent in one request.",
      source: { parameter: "filter[tagged]" },
    });
  });

  it.each([
    "filter[tagged][key]=a",
    "filter[tagged][x][key]=a",
    "filter[tagged][0]=a",
    "filter[tagged][0][colour]=a",
    "filter[tagged][-1][key]=a",
    "filter[tagged][0][key][x]=a",
    "filter[tagged][99999][key]=a",
    "filter[tagged][]=a",
  ])("%s is 400", async (query) => {
    const answer = await list(query);
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0]).toMatchObject({ title: "bad request", source: { parameter: query.split("=")[0] } });
  });
});

describe("listWorkspaces: filter[current-run][status]", () => {
  beforeAll(async () => {
    const all = data(await list(""));
    const idOf = (name: string) => all.find((item: Json) => item.attributes.name === name).id;
    await setColumns(api, idOf("net-prod"), { currentRunStatus: "applied", currentRunId: "run-1" });
    await setColumns(api, idOf("Net-Dev"), { currentRunStatus: "errored", currentRunId: "run-2" });
    await setColumns(api, idOf("solo"), { currentRunStatus: "applied", currentRunId: "run-3" });
  });

  it.each([
    ["applied", ["net-prod", "solo"]],
    ["errored", ["Net-Dev"]],
    ["applied,errored", ["Net-Dev", "net-prod", "solo"]],
    ["planning", []],
    ["Applied", []],
    ["null", []],
    ["", everything],
  ])("%j", async (status, expected) => {
    expect(await found(`filter[current-run][status]=${status}`)).toEqual(expected);
  });

  it("the document shows its run, also under the deprecated name", async () => {
    const [workspace] = data(await list("filter[current-run][status]=errored"));
    const run = { id: "run-2", type: "runs" };
    expect(workspace.relationships["current-run"].data).toEqual(run);
    expect(workspace.relationships["latest-run"].data).toEqual(run);
  });
});

describe("listWorkspaces: in combination", () => {
  it.each([
    ["search[name]=prod&search[tags]=prod", ["app_prod", "net-prod"]],
    ["search[name]=prod&search[wildcard-name]=net*", ["net-prod"]],
    ["search[name]=app&search[tags]=net", []],
    ["search[wildcard-name]=*prod&search[exclude-tags]=net&sort=-name", ["app_prod", "appXprod"]],
    ["filter[tagged][0][key]=env&search[name]=app&search[tags]=prod", ["app_prod"]],
    ["unknown=1&search[colour]=blue&filter[x]=y&search[name]=solo", ["solo"]],
  ])("%s", async (query, expected) => {
    expect(await found(query)).toEqual(expected);
  });

  it("filter[project][id] with the others", async () => {
    expect(await found(`filter[project][id]=${project}`)).toEqual(["appXprod", "app_prod"]);
    expect(await found(`filter[project][id]=${project}&search[tags]=prod`)).toEqual(["app_prod"]);
    expect(await found(`filter[project][id]=${project}&search[name]=X`)).toEqual(["appXprod"]);
  });

  it("a parameter that is given twice is 400", async () => {
    const answer = await list("search[name]=a&search[name]=b");
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].source.parameter).toBe("search[name]");
  });
});
