/** createVarset over HTTP: stored values, defaults and errors. */
import { describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeProject, makeWorkspace, pointers, unique } from "../../../support/builders.ts";
import { expectRefused, globalSentence, kinds, linkage, useStage } from "./support.ts";

const api = useApi();
const stage = useStage(api);

const parent = (type: string, id: string) => ({ parent: { data: { type, id } } });

describe("createVarset answers 201", () => {
  it("with the document that show and list give", async () => {
    const name = unique("Set");
    const answer = await stage.create(
      { name, description: "What for", priority: true },
      { workspaces: linkage("workspaces", stage.workspaces), projects: linkage("projects", stage.projects) },
    );
    expect(answer.status).toBe(201);
    const { id } = answer.body.data;
    expect(answer.body.data).toEqual({
      id: expect.stringMatching(/^varset-[a-zA-Z0-9]{16}$/),
      type: "varsets",
      attributes: {
        name,
        description: "What for",
        global: false,
        priority: true,
        "created-at": expect.stringMatching(/Z$/),
        "updated-at": expect.stringMatching(/Z$/),
        "var-count": 0,
        "workspace-count": 3,
        "project-count": 2,
        permissions: { "can-update": true },
      },
      relationships: {
        organization: {
          data: { id: stage.org.name, type: "organizations" },
          links: { related: `/api/v2/organizations/${stage.org.name}` },
        },
        parent: { data: { id: stage.org.name, type: "organizations" } },
        vars: { data: [] },
        workspaces: linkage("workspaces", stage.workspaces.toSorted()),
        projects: linkage("projects", stage.projects.toSorted()),
        stacks: { data: [] },
      },
      links: { self: `/api/v2/varsets/${id}` },
    });
    const shown = await stage.show(id);
    expect(data(shown)).toEqual(answer.body.data);
    expect(shown.headers.get("etag")).toBe(answer.headers.get("etag"));
    expect(data(await stage.org.owner.get(`${stage.path}?q=${name}`))).toEqual([answer.body.data]);
  });

  it("with defaults for absent attributes", async () => {
    for (const attributes of [{}, { description: null }])
      expect(data(await stage.create(attributes)).attributes).toMatchObject({
        description: "",
        global: false,
        priority: false,
      });
  });

  it("for duplicate ids, once", async () => {
    const [one] = stage.two("workspaces");
    const created = data(await stage.create({}, { workspaces: linkage("workspaces", [one, one]) }));
    expect(created.relationships.workspaces).toEqual(linkage("workspaces", [one]));
    expect(data(await stage.show(created.id))).toEqual(created);
  });

  it("for the organization as the parent, however it is written", async () => {
    for (const relationships of [parent("organizations", stage.org.name), { parent: { data: null } }]) {
      const created = data(await stage.create({}, relationships));
      expect(created.relationships.parent.data).toEqual({ type: "organizations", id: stage.org.name });
    }
  });

  it("for a project as the parent, with its workspaces", async () => {
    const [project, other] = stage.projects as [string, string];
    const relationships = {
      ...parent("projects", project),
      workspaces: linkage("workspaces", stage.workspaces.slice(0, 2)),
      projects: linkage("projects", [project]),
    };
    const created = data(await stage.create({}, relationships));
    expect(created.relationships.parent.data).toEqual({ type: "projects", id: project });
    expect(data(await stage.show(created.id))).toEqual(created);
    const beyond = await stage.create(
      {},
      {
        ...parent("projects", project),
        workspaces: linkage("workspaces", stage.workspaces),
        projects: linkage("projects", [other]),
      },
    );
    expect(beyond.status).toBe(422);
    expect(pointers(beyond)).toEqual([
      "/data/relationships/workspaces/data/2/id",
      "/data/relationships/projects/data/0/id",
    ]);
  });
});

describe("createVarset answers 422", () => {
  it.each([
    ["name", "", "Name can't be blank"],
    ["name", " ", "Name can't be blank"],
    ["name", null, "Name must be a string"],
    ["name", "x".repeat(91), "Name is too long (maximum is 90 characters)"],
    ["description", "x".repeat(513), "Description is too long (maximum is 512 characters)"],
    ["description", 5, "Description must be a string"],
    ["global", null, "Global must be true or false"],
    ["global", "yes", "Global must be true or false"],
    ["priority", 1, "Priority must be true or false"],
  ])("for the %s %#", async (attribute, value, detail) => {
    expectRefused(await stage.create({ [attribute]: value }), `/data/attributes/${attribute}`, detail);
  });

  it("without a name", async () => {
    expectRefused(await stage.create({ name: undefined }), "/data/attributes/name", "Name can't be blank");
  });

  it("for a name that is taken, ignoring case, but not in another organization", async () => {
    const name = unique("Set");
    data(await stage.create({ name }));
    expectRefused(
      await stage.create({ name: name.toUpperCase() }),
      "/data/attributes/name",
      "Name has already been taken",
    );
    const other = await makeOrganization(api);
    const body = { data: { type: "varsets", attributes: { name } } };
    expect((await other.owner.post(`/organizations/${other.name}/varsets`, body)).status).toBe(201);
  });

  it("for all but one of concurrent requests with the same name", async () => {
    const name = unique("set");
    const answers = await Promise.all(Array.from({ length: 6 }, () => stage.create({ name })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422, 422, 422]);
  });

  it.each(kinds)("for a global set with %s", async (kind) => {
    const answer = await stage.create({ global: true }, { [kind]: linkage(kind, stage.two(kind)) });
    expectRefused(answer, `/data/relationships/${kind}`, globalSentence(kind));
    expect((await stage.create({ global: true }, { [kind]: linkage(kind, []) })).status).toBe(201);
  });

  it("for a global set of a project", async () => {
    const answer = await stage.create({ global: true }, parent("projects", stage.projects[0] ?? ""));
    expectRefused(
      answer,
      "/data/attributes/global",
      "Global can't be true for a variable set that a project owns; apply the set to that project instead",
    );
  });

  it("for ids of another organization and unknown ids, with pointers", async () => {
    const other = await makeOrganization(api);
    const workspace = (await makeWorkspace(api, other.name)).id;
    const project = (await makeProject(api, other.name)).id;
    const answer = await stage.create(
      {},
      {
        workspaces: linkage("workspaces", [stage.workspaces[0] ?? "", workspace, "ws-0000000000000000"]),
        projects: linkage("projects", [project]),
      },
    );
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual([
      "/data/relationships/workspaces/data/1/id",
      "/data/relationships/workspaces/data/2/id",
      "/data/relationships/projects/data/0/id",
    ]);
    for (const id of [project, other.name, "prj-0000000000000000"])
      expect(pointers(await stage.create({}, parent("projects", id)))).toEqual(["/data/relationships/parent"]);
  });

  it("for more than 1000 in one list", async () => {
    const ids = Array.from({ length: 1001 }, (_, index) => `ws-${index}`);
    const answer = await stage.create({}, { workspaces: linkage("workspaces", ids) });
    expect(pointers(answer)).toEqual(["/data/relationships/workspaces/data"]);
  });
});
