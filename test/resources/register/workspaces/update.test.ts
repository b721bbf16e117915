/** PATCH of a workspace, by id and by organization and name: a value, null, absent, and what is refused. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeWorkspace, type Org, resource, unique } from "../../../support/builders.ts";
import { describeOnce } from "../../../support/engine-independent.ts";
import { namesAccepted, namesRefused, plainAttributes, refusedValues } from "./attributes.ts";
import { at, bothPaths, bound, faults, pathById, pathByName, tagged } from "./support.ts";

const api = useApi();
let org: Org;
let workspace: Json;
beforeAll(async () => {
  org = await makeOrganization(api);
});

const shown = async () => data(await org.owner.get(pathById(workspace)));
/** The document without the time of its last change. */
const still = (document: Json): Json => ({
  ...document,
  attributes: { ...document.attributes, "updated-at": undefined },
});

const triggerLists = ["trigger-prefixes", "trigger-patterns"];

describe.each(bothPaths)("updateWorkspace %s: a value, null, absent", (_, pathOf) => {
  beforeEach(async () => {
    const others = Object.fromEntries(plainAttributes.map(({ name, other }) => [name, other]));
    workspace = await makeWorkspace(
      api,
      org.name,
      { ...others, "source-name": "a client", "source-url": "https://a.example" },
      tagged("kept"),
    );
  });
  const update = (attributes: object | null | undefined): Promise<Answer> =>
    org.owner.patch(pathOf(workspace), { data: { type: "workspaces", attributes } });

  it.each(plainAttributes)("$name: a value is set, and the rest stays", async ({ name, initially, implies }) => {
    expect(workspace.attributes[name]).not.toEqual(initially);
    // One list of triggers that is sent alone empties the other: docs/api.md#workspaces.
    const beside = Object.fromEntries(triggerLists.map((list) => [list, workspace.attributes[list]]));
    const answer = await update({ ...(triggerLists.includes(name) && beside), [name]: initially });
    expect(answer.status).toBe(200);
    const implied = implies && { actions: { "is-destroyable": true } };
    expect(still(answer.body.data)).toEqual(
      still({ ...workspace, attributes: { ...workspace.attributes, ...implied, [name]: initially } }),
    );
    expect(await shown()).toEqual(answer.body.data);
    expect(answer.body.data.attributes["updated-at"] >= workspace.attributes["updated-at"]).toBe(true);
  });

  it.each(plainAttributes.filter(({ nullable }) => nullable))("$name: null clears it", async ({ name }) => {
    const answer = await update({ [name]: null });
    expect(answer.status).toBe(200);
    expect(still(answer.body.data)).toEqual(
      still({ ...workspace, attributes: { ...workspace.attributes, [name]: null } }),
    );
    expect(await shown()).toEqual(answer.body.data);
  });

  it.each(plainAttributes.filter(({ nullable }) => !nullable))("$name: null is refused", async ({ name }) => {
    const answer = await update({ [name]: null });
    expect(answer.status).toBe(422);
    expect(faults(answer).map(([pointer]) => pointer)).toEqual([`/data/attributes/${name}`]);
    expect(await shown()).toEqual(workspace);
  });

  it.each([{}, undefined, null])("attributes %j: everything stays, even updated-at", async (attributes) => {
    const answer = await update(attributes);
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual(workspace);
    expect(await shown()).toEqual(workspace);
  });

  it("unchanged values change nothing", async () => {
    const same = Object.fromEntries(plainAttributes.map(({ name, other }) => [name, other]));
    expect((await update({ ...same, name: workspace.attributes.name })).body.data).toEqual(workspace);
  });

  it("sets all attributes in one request", async () => {
    const all = Object.fromEntries(plainAttributes.map(({ name, initially }) => [name, initially]));
    expect(data(await update(all)).attributes).toMatchObject(all);
  });

  it("changes neither source-name and source-url nor read-only attributes", async () => {
    const answer = await update({
      "source-name": "another",
      "source-url": null,
      source: "tfe-ui",
      locked: true,
      "tag-names": [],
      "resource-count": 3,
      "created-at": "2001-01-01T00:00:00.000Z",
      permissions: {},
      colour: "blue",
    });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual(workspace);
  });

  it("needs the type", async () => {
    for (const type of [undefined, "projects", null]) {
      const answer = await org.owner.patch(pathOf(workspace), { data: { type, attributes: { description: "x" } } });
      expect(answer.status).toBe(422);
      expect(faults(answer)).toEqual([["/data/type", "Type must be 'workspaces'"]]);
    }
    expect(await shown()).toEqual(workspace);
  });

  it("works on a locked workspace", async () => {
    data(await org.owner.post(`${pathById(workspace)}/actions/lock`));
    expect(data(await update({ description: "while locked" })).attributes).toMatchObject({
      description: "while locked",
      locked: true,
    });
  });
});

describe("updateWorkspace: name", () => {
  beforeEach(async () => {
    workspace = await makeWorkspace(api, org.name);
  });
  const update = (attributes: object) => org.owner.patch(pathById(workspace), resource("workspaces", attributes));

  it.each(namesAccepted)("takes %j", async (name) => {
    expect(data(await update({ name })).attributes.name).toBe(name);
    expect((await org.owner.delete(pathById(workspace))).status).toBe(204);
  });

  it.each(namesRefused)("refuses %j", async (name, sentence) => {
    const answer = await update({ name });
    expect(answer.status).toBe(422);
    expect(faults(answer)).toEqual([at("name", sentence)]);
    expect(await shown()).toEqual(workspace);
  });

  it.each(bothPaths)("%s: renaming changes the path", async (_, pathOf) => {
    const old = pathByName(workspace);
    const name = unique("renamed");
    const renamed = data(await org.owner.patch(pathOf(workspace), resource("workspaces", { name })));
    expect(renamed.links).toEqual({
      self: `/api/v2/organizations/${org.name}/workspaces/${name}`,
      "self-html": `/app/${org.name}/workspaces/${name}`,
    });
    expect(renamed.id).toBe(workspace.id);
    expect((await org.owner.get(old)).status).toBe(404);
    expect(data(await org.owner.get(pathByName(renamed)))).toEqual(renamed);
    const found = data(await org.owner.get(`/organizations/${org.name}/workspaces?search[name]=${name}`));
    expect(found).toEqual([renamed]);
  });

  it("only its case can be changed, and the old name is free again", async () => {
    const name = workspace.attributes.name.toUpperCase();
    expect(data(await update({ name })).attributes.name).toBe(name);
    const again = await makeWorkspace(api, org.name, { name: workspace.attributes.name });
    expect(again.attributes.name).toBe(workspace.attributes.name);
  });

  it("a name that is taken is refused; one of another case or organization is not", async () => {
    const taken = await makeWorkspace(api, org.name, { name: unique("Taken") });
    expect(faults(await update({ name: taken.attributes.name }))).toEqual([at("name", "Name has already been taken")]);
    expect((await update({ name: taken.attributes.name.toLowerCase() })).status).toBe(200);
    const other = await makeOrganization(api);
    const elsewhere = await makeWorkspace(api, other.name);
    expect((await update({ name: elsewhere.attributes.name })).status).toBe(200);
  });

  it("its own name is not taken", async () => {
    expect((await update({ name: workspace.attributes.name, description: "x" })).status).toBe(200);
  });
});

describeOnce("updateWorkspace: refused values", () => {
  beforeAll(async () => {
    workspace = await makeWorkspace(api, org.name);
  });

  it.each(refusedValues)("%s: %j", async (name, value, pointer, sentence) => {
    const answer = await org.owner.patch(pathById(workspace), resource("workspaces", { [name]: value }));
    expect(answer.status).toBe(422);
    expect(faults(answer)).toEqual([at(pointer, sentence)]);
    expect(await shown()).toEqual(workspace);
  });
});

describe("updateWorkspace: refused", () => {
  beforeAll(async () => {
    workspace = await makeWorkspace(api, org.name);
  });

  it("with one fault, nothing changes", async () => {
    const change = resource("workspaces", { description: "x", "auto-apply": "no", "vcs-repo": {} }, bound({ a: "b" }));
    expect((await org.owner.patch(pathById(workspace), change)).status).toBe(422);
    const rule = resource("workspaces", { description: "x", "agent-pool-id": "apool-x" }, bound({ a: "b" }));
    expect((await org.owner.patch(pathById(workspace), rule)).status).toBe(422);
    expect(await shown()).toEqual(workspace);
    const query = `/organizations/${org.name}/workspaces?filter[tagged][0][key]=a`;
    expect(data(await org.owner.get(query))).toEqual([]);
  });

  it("reports all faults of the body in one response", async () => {
    const answer = await org.owner.patch(pathById(workspace), {
      data: {
        type: "x",
        attributes: { name: "", "queue-all-runs": "x", "trigger-patterns": [1, 2] },
        relationships: { project: { data: null } },
      },
    });
    expect(faults(answer)).toEqual([
      ["/data/type", "Type must be 'workspaces'"],
      at("name", "Name can't be blank"),
      at("trigger-patterns/0", "Trigger patterns must be a string"),
      at("trigger-patterns/1", "Trigger patterns must be a string"),
      at("queue-all-runs", "Queue all runs must be true or false"),
      ["/data/relationships/project/data", "Project can't be removed"],
    ]);
  });

  it("reports all conflicts with stored data in one response", async () => {
    const taken = await makeWorkspace(api, org.name);
    const answer = await org.owner.patch(
      pathById(workspace),
      resource(
        "workspaces",
        { name: taken.attributes.name, "execution-mode": "agent", "agent-pool-id": "apool-unknown" },
        { project: { data: { type: "projects", id: "prj-unknown" } } },
      ),
    );
    expect(answer.status).toBe(422);
    expect(faults(answer).sort()).toEqual([
      at("agent-pool-id", "Agent pool does not exist in this organization"),
      at("name", "Name has already been taken"),
      ["/data/relationships/project", "Project does not exist in this organization"],
    ]);
  });
});

describe("updateWorkspace: key-value tags", () => {
  const list = async (query: string) =>
    data(await org.owner.get(`/organizations/${org.name}/workspaces?${query}`)).map((found: Json) => found.id);

  it("relationships.tag-bindings replaces them, an empty list clears them, and absent keeps them", async () => {
    const key = unique("key");
    const made = await makeWorkspace(api, org.name, {}, bound({ [key]: "one" }));
    expect(await list(`filter[tagged][0][key]=${key}&filter[tagged][0][value]=one`)).toEqual([made.id]);
    data(await org.owner.patch(pathById(made), resource("workspaces", { description: "x" })));
    expect(await list(`filter[tagged][0][key]=${key}`)).toEqual([made.id]);
    data(await org.owner.patch(pathById(made), resource("workspaces", {}, bound({ [key]: "two" }))));
    expect(await list(`filter[tagged][0][key]=${key}&filter[tagged][0][value]=one`)).toEqual([]);
    expect(await list(`filter[tagged][0][key]=${key}&filter[tagged][0][value]=two`)).toEqual([made.id]);
    data(await org.owner.patch(pathById(made), resource("workspaces", {}, bound({}))));
    expect(await list(`filter[tagged][0][key]=${key}`)).toEqual([]);
  });

  it("more than 25 are refused, on creation and on update", async () => {
    const many = bound(Object.fromEntries(Array.from({ length: 26 }, (_, number) => [`key-${number}`, "v"])));
    const made = await makeWorkspace(api, org.name);
    expect((await org.owner.patch(pathById(made), resource("workspaces", {}, many))).status).toBe(422);
    const body = resource("workspaces", { name: unique("ws") }, many);
    expect((await org.owner.post(`/organizations/${org.name}/workspaces`, body)).status).toBe(422);
  });
});

describe("updateWorkspace: unknown", () => {
  it("an unknown workspace is 404, by id and by name", async () => {
    const body = resource("workspaces", { description: "x" });
    expect((await org.owner.patch("/workspaces/ws-unknown", body)).status).toBe(404);
    expect((await org.owner.patch(`/organizations/${org.name}/workspaces/unknown`, body)).status).toBe(404);
    expect((await org.owner.patch(`/organizations/${unique("no")}/workspaces/unknown`, body)).status).toBe(404);
  });
});
