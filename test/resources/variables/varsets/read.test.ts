/** Showing and listing variable sets over HTTP, with included resources. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import { data, inProject, makeOrganization, makeVarset, makeWorkspace, pointers } from "../../../support/builders.ts";
import { insertRows } from "../vars/support.ts";
import { addVar, linkage, useStage } from "./support.ts";
import { itInGate } from "../../../support/engine-independent.ts";

const api = useApi();
const stage = useStage(api);

const namesIn = (answer: Answer): string[] => data(answer).map((set: Json) => set.attributes.name);

describe("showVarset", () => {
  it("lists its variables by key, and counts them", async () => {
    const ids: Record<string, string> = {};
    for (const key of ["b", "a"]) ids[key] = await addVar(stage.org, `${stage.at}/relationships/vars`, { key });
    const { attributes, relationships } = data(await stage.show());
    expect(attributes["var-count"]).toBe(2);
    expect(relationships.vars.data).toEqual([
      { type: "vars", id: ids["a"] },
      { type: "vars", id: ids["b"] },
    ]);
    expect(attributes["updated-at"] >= stage.set.attributes["updated-at"]).toBe(true);
  });
});

describe("include", () => {
  it("includes only the requested types", async () => {
    await addVar(stage.org, `${stage.at}/relationships/vars`, { key: "open", value: "a value" });
    await addVar(stage.org, `${stage.at}/relationships/vars`, { key: "shut", value: "secret", sensitive: true });
    await stage.add("workspaces", stage.workspaces);
    await stage.add("projects", stage.projects);
    const included = async (names: string): Promise<string[]> => {
      const answer = await stage.org.owner.get(`${stage.at}?include=${names}`);
      return (answer.body.included ?? []).map((item: Json) => item.attributes.key ?? item.id);
    };
    expect(await included("vars")).toEqual(["open", "shut"]);
    expect((await included("workspaces")).toSorted()).toEqual(stage.workspaces.toSorted());
    expect(await included("projects")).toEqual(stage.projects.toSorted());
    expect(await included("vars,workspaces,projects")).toHaveLength(7);
    expect(await included("")).toEqual([]);
    const shown = await stage.org.owner.get(`${stage.at}?include=vars`);
    expect(shown.body.included.map((item: Json) => item.attributes.value)).toEqual(["a value", null]);
    expect(await included("stacks")).toEqual([]);
    expect(await included("workspaces,stacks")).toHaveLength(3);
    expect(pointers(await stage.org.owner.get(`${stage.at}?include=colours`))).toEqual(["include"]);
  });

  itInGate("includes all variables of the largest set, and no more than that for many sets", async () => {
    const org = await makeOrganization(api);
    const [one, two] = [await makeVarset(api, org.name), await makeVarset(api, org.name)];
    await insertRows(api, org, one, 1000);
    await insertRows(api, org, two, 5);
    const counted = async (path: string) => (await org.owner.get(`${path}?include=vars`)).body.included.length;
    expect(await counted(`/varsets/${one.id}`)).toBe(1000);
    expect(await counted(`/organizations/${org.name}/varsets`)).toBe(1000);
    const three = await makeVarset(api, org.name);
    await insertRows(api, org, three, 32, Buffer.alloc(256 * 1024, "x"));
    expect(await counted(`/varsets/${three.id}`)).toBe(32);
  });
});

describe("listVarsets", () => {
  it("shows a page with the total, by name ignoring case, also past the end", async () => {
    const org = await makeOrganization(api);
    for (const name of ["beta", "Gamma", "ALPHA", "delta"]) await makeVarset(api, org.name, { name });
    const path = `/organizations/${org.name}/varsets`;
    const all = await org.owner.get(path);
    expect(namesIn(all)).toEqual(["ALPHA", "beta", "delta", "Gamma"]);
    expect(all.body.meta.pagination).toMatchObject({ "total-count": 4, "total-pages": 1 });
    const second = await org.owner.get(`${path}?page[size]=3&page[number]=2`);
    expect(namesIn(second)).toEqual(["Gamma"]);
    const past = await org.owner.get(`${path}?page[number]=999&include=workspaces,projects,vars`);
    expect(past.body).toMatchObject({ data: [], included: [], meta: { pagination: { "total-count": 4 } } });
    const found = await org.owner.get(`${path}?q=LPH`);
    expect(namesIn(found)).toEqual(["ALPHA"]);
    expect(found.body.meta.pagination["total-count"]).toBe(1);
  });
});

describe("the sets of a workspace and of a project", () => {
  let sets: Record<"global" | "ofProject" | "ofWorkspace" | "owned" | "idle" | "ofOther", Json>;
  let elsewhere: string;
  beforeAll(async () => {
    const { name } = stage.org;
    const [project, other] = stage.projects as [string, string];
    const [workspace] = stage.workspaces as [string];
    const parent = { data: { type: "projects", id: project } };
    const make = (attributes: object, relationships?: object) => makeVarset(api, name, attributes, relationships);
    sets = {
      global: await make({ name: "sets a", global: true }),
      ofProject: await make({ name: "sets b" }, { projects: linkage("projects", [project]) }),
      ofWorkspace: await make({ name: "sets c" }, { workspaces: linkage("workspaces", [workspace]) }),
      owned: await make({ name: "sets d" }, { parent, workspaces: linkage("workspaces", [workspace]) }),
      idle: await make({ name: "sets e" }, { parent }),
      ofOther: await make({ name: "sets f" }, { projects: linkage("projects", [other]) }),
    };
    elsewhere = (await makeWorkspace(api, name, {}, inProject(other))).id;
  });

  it("are those that apply to the workspace", async () => {
    const of = async (id: string) => {
      const [list, other] = await Promise.all(
        ["varsets", "applicable-varsets"].map((name) => stage.org.owner.get(`/workspaces/${id}/${name}?q=sets`)),
      );
      expect(data(other as Answer)).toEqual(data(list as Answer));
      return namesIn(list as Answer);
    };
    expect(await of(stage.workspaces[0] ?? "")).toEqual(["sets a", "sets b", "sets c", "sets d"]);
    expect(await of(stage.workspaces[1] ?? "")).toEqual(["sets a", "sets b"]);
    expect(await of(elsewhere)).toEqual(["sets a", "sets f"]);
  });

  it("are those that apply to the project, or that it owns", async () => {
    const of = async (id: string) => namesIn(await stage.org.owner.get(`/projects/${id}/varsets?q=sets`));
    expect(await of(stage.projects[0] ?? "")).toEqual(["sets a", "sets b", "sets d", "sets e"]);
    expect(await of(stage.projects[1] ?? "")).toEqual(["sets a", "sets f"]);
  });

  it("have the same documents, pages and included resources", async () => {
    const path = `/workspaces/${stage.workspaces[0]}/varsets?q=sets&page[size]=2&page[number]=2&include=workspaces`;
    const answer = await stage.org.owner.get(path);
    expect(data(answer)).toEqual([data(await stage.show(sets.ofWorkspace.id)), data(await stage.show(sets.owned.id))]);
    expect(answer.body.meta.pagination["total-count"]).toBe(4);
    expect(answer.body.included.map(({ id }: Json) => id)).toEqual([stage.workspaces[0]]);
  });
});
