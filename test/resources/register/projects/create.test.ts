/** POST /organizations/:organization_name/projects: the created document, and requests that are refused. */
import { beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource, unique } from "../../../support/builders.ts";
import { describeOnce } from "../../../support/engine-independent.ts";
import { accepted, expectRefused, refused } from "./limits.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await api.makeOrganization();
});

const path = (name = org.name) => `/organizations/${name}/projects`;
const create = (attributes: object) => org.owner.post(path(), resource("projects", attributes));
const createNamed = (attributes: object) => create({ name: unique("project"), ...attributes });

describe("createProject: created", () => {
  it("answers 201 with the whole document", async () => {
    const name = unique("project");
    const answer = await create({ name, description: "Shared networks", "auto-destroy-activity-duration": "14d" });
    expect(answer.status).toBe(201);
    expect(answer.headers.get("content-type")).toBe("application/vnd.api+json");
    const { id } = answer.body.data;
    expect(id).toMatch(/^prj-[1-9A-Za-z]{16}$/);
    expect(answer.body).toEqual({
      data: {
        id,
        type: "projects",
        attributes: {
          name,
          description: "Shared networks",
          "auto-destroy-activity-duration": "14d",
          "default-execution-mode": "remote",
          "setting-overwrites": { "default-execution-mode": false, "default-agent-pool": false },
          "workspace-count": 0,
          "team-count": 0,
          "is-unified": false,
          permissions: { "can-update": true, "can-destroy": true, "can-create-workspace": true },
          "created-at": expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        },
        relationships: {
          organization: {
            data: { id: org.name, type: "organizations" },
            links: { related: `/api/v2/organizations/${org.name}` },
          },
          "default-agent-pool": { data: null },
          "tag-bindings": { links: { related: `/api/v2/projects/${id}/tag-bindings` } },
        },
        links: { self: `/api/v2/projects/${id}` },
      },
    });
  });

  it("leaves what was not sent at null", async () => {
    expect(data(await createNamed({})).attributes).toMatchObject({
      description: null,
      "auto-destroy-activity-duration": null,
    });
  });

  it("returns the same document as show and list", async () => {
    const made = data(await createNamed({ description: "same", "auto-destroy-activity-duration": "3h" }));
    expect(data(await org.owner.get(`/projects/${made.id}`))).toEqual(made);
    expect(data(await org.owner.get(`${path()}?filter[names]=${made.attributes.name}`))).toEqual([made]);
  });

  it("ignores unknown and read-only attributes", async () => {
    const made = data(
      await createNamed({
        colour: "blue",
        "workspace-count": 99,
        "team-count": 7,
        "created-at": "2001-01-01T00:00:00Z",
      }),
    );
    expect(made.attributes).toMatchObject({ "workspace-count": 0, "team-count": 0 });
    expect(made.attributes["created-at"]).not.toContain("2001");
    expect(made.attributes).not.toHaveProperty("colour");
  });

  it("chooses the id itself", async () => {
    const body = { data: { id: "prj-mine", type: "projects", attributes: { name: unique("project") } } };
    expect(data(await org.owner.post(path(), body)).id).not.toBe("prj-mine");
  });

  it("finds the organization whatever the case of its name in the path", async () => {
    const answer = await org.owner.post(
      path(org.name.toUpperCase()),
      resource("projects", { name: unique("project") }),
    );
    expect(answer.status).toBe(201);
    expect(answer.body.data.relationships.organization.data.id).toBe(org.name);
  });

  it("accepts application/json as the media type", async () => {
    const body = resource("projects", { name: unique("project") });
    expect((await org.owner.post(path(), body, { "content-type": "application/json" })).status).toBe(201);
  });
});

describe("createProject: values", () => {
  it.each(accepted)("takes the %s", async (_, attribute, value) => {
    expect(data(await createNamed({ [attribute]: value })).attributes[attribute]).toBe(value);
  });

  it.each(refused)("refuses the %s", async (_, attribute, value, detail) => {
    expectRefused(await createNamed({ [attribute]: value }), `/data/attributes/${attribute}`, detail);
  });

  it("refuses a missing name", async () => {
    expectRefused(await create({}), "/data/attributes/name", "Name can't be blank");
  });

  it.each(["\\u0000", "\\ud800", "\\udc00\\ud800"])(
    "refuses a description with %s: can't be stored",
    async (escape) => {
      const body = `{"data":{"type":"projects","attributes":{"name":"${unique("project")}","description":"a${escape}b"}}}`;
      const answer = await org.owner.post(path(), body);
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual(["/data/attributes/description"]);
    },
  );
});

describeOnce("createProject: 422 for the shape of the body", () => {
  it.each([
    ["no body", undefined],
    ["null", "null"],
    ["an array", []],
    ["a string", '"projects"'],
    ["no data", {}],
    ["data null", { data: null }],
    ["data an array", { data: [{ type: "projects", attributes: { name: "abc" } }] }],
    ["data a string", { data: "projects" }],
  ])("%s", async (_, body) => {
    const answer = await org.owner.post(path(), body);
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(["/data"]);
  });

  it.each([[[]], ["name"], [5]])("attributes %j is not an object", async (attributes) => {
    const answer = await org.owner.post(path(), { data: { type: "projects", attributes } });
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toContainEqual(
      expect.objectContaining({ detail: "Attributes must be an object", source: { pointer: "/data/attributes" } }),
    );
  });

  it.each([undefined, null])("attributes %j means none: the name is missing", async (attributes) => {
    const answer = await org.owner.post(path(), { data: { type: "projects", attributes } });
    expectRefused(answer, "/data/attributes/name", "Name can't be blank");
  });

  it.each(["project", "Projects", "workspaces", "", null, undefined, 5])("type %j", async (type) => {
    const answer = await org.owner.post(path(), { data: { type, attributes: { name: unique("project") } } });
    expectRefused(answer, "/data/type", "Type must be 'projects'");
  });

  it("reports all faults in one response, each with its pointer", async () => {
    const answer = await org.owner.post(
      path(),
      resource("project", { name: "a.", description: "x".repeat(257), "auto-destroy-activity-duration": "soon" }),
    );
    expect(answer.status).toBe(422);
    expect(new Set(pointers(answer))).toEqual(
      new Set([
        "/data/type",
        "/data/attributes/name",
        "/data/attributes/description",
        "/data/attributes/auto-destroy-activity-duration",
      ]),
    );
    expect(pointers(answer).filter((pointer) => pointer === "/data/attributes/name")).toHaveLength(2);
  });

  it("creates nothing from a refused body", async () => {
    const before = (await org.owner.get(path())).body.meta["status-counts"].total;
    await create({ name: unique("project"), description: "x".repeat(257) });
    expect((await org.owner.get(path())).body.meta["status-counts"].total).toBe(before);
  });
});

describe("createProject: 422 where the name is taken", () => {
  const taken = "Name has already been taken";

  it("refuses the same name and the same in another case", async () => {
    const { name } = (await api.makeProject(org.name, { name: `Net ${unique("Work")}` })).attributes;
    for (const again of [name, name.toUpperCase(), name.toLowerCase()]) {
      expectRefused(await create({ name: again }), "/data/attributes/name", taken);
    }
  });

  it("refuses the name of the default project", async () => {
    expectRefused(await create({ name: "default PROJECT" }), "/data/attributes/name", taken);
  });

  it("reports it after the faults of the body", async () => {
    const answer = await create({ name: "Default Project", description: "x".repeat(257) });
    expect(pointers(answer)).toEqual(["/data/attributes/description"]);
  });

  it("allows the name in another organization, and again after a deletion", async () => {
    const { id, attributes } = await api.makeProject(org.name);
    const other = await api.makeOrganization();
    const elsewhere = await other.owner.post(path(other.name), resource("projects", { name: attributes.name }));
    expect(elsewhere.status).toBe(201);
    expect((await org.owner.delete(`/projects/${id}`)).status).toBe(204);
    expect((await create({ name: attributes.name })).status).toBe(201);
  });

  it("gives it to only one of many concurrent requests", async () => {
    const name = unique("Race");
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, number) => create({ name: number % 2 === 0 ? name : name.toUpperCase() })),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, ...Array<number>(11).fill(422)]);
    for (const answer of answers.filter(({ status }) => status === 422)) expect(details(answer)).toEqual([taken]);
  });
});
