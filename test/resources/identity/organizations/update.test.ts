/** PATCH /organizations/:organization_name: a value, null or absent for each attribute; renaming; If-Match. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, type Org, pointers, resource, unique } from "../../../support/builders.ts";
import { describeOnce } from "../../../support/engine-independent.ts";

const api = useApi();
let org: Org;
let before: Json;
beforeEach(async () => {
  org = await api.makeOrganization({ "session-timeout": 30, "session-remember": 60, "owners-team-saml-role-id": "x" });
  before = data(await org.owner.get(`/organizations/${org.name}`));
});

const update = (attributes: object | undefined, headers: Record<string, string> = {}) =>
  org.owner.patch(`/organizations/${org.name}`, { data: { type: "organizations", attributes } }, headers);
const shown = async () => data(await org.owner.get(`/organizations/${org.name}`));

const values: readonly (readonly [string, unknown])[] = [
  ["email", "new@example.com"],
  ["default-execution-mode", "local"],
  ["allow-force-delete-workspaces", true],
  ["assessments-enforced", true],
  ["cost-estimation-enabled", true],
  ["session-remember", 1],
  ["session-timeout", 20160],
  ["session-remember", 2_147_483_647],
  ["owners-team-saml-role-id", "y".repeat(255)],
  ["send-passing-statuses-for-untriggered-speculative-plans", true],
  ["aggregated-commit-status-enabled", false],
  ["speculative-plan-management-enabled", false],
  ["max-ttl-enabled", true],
  ["stacks-enabled", true],
];
const nullable = new Set(["session-remember", "session-timeout", "owners-team-saml-role-id"]);

describe("updateOrganization: a value, null, absent", () => {
  it.each(values)("%s: sets the value and nothing else", async (attribute, value) => {
    expect(before.attributes[attribute]).not.toEqual(value);
    const answer = await update({ [attribute]: value });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({ ...before, attributes: { ...before.attributes, [attribute]: value } });
    expect(await shown()).toEqual(answer.body.data);
  });

  it.each(values.filter(([name]) => nullable.has(name)))("%s: null clears it", async (attribute) => {
    expect(before.attributes[attribute]).not.toBeNull();
    const answer = await update({ [attribute]: null });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({ ...before, attributes: { ...before.attributes, [attribute]: null } });
    expect(await shown()).toEqual(answer.body.data);
  });

  it.each(["name", ...values.map(([name]) => name).filter((name) => !nullable.has(name))])(
    "%s: null is refused",
    async (attribute) => {
      const answer = await update({ [attribute]: null });
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual([`/data/attributes/${attribute}`]);
      expect(await shown()).toEqual(before);
    },
  );

  it.each([{}, undefined, null])("attributes %j: everything stays", async (attributes) => {
    const answer = await update(attributes as never);
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual(before);
  });

  it("ignores unknown and read-only attributes", async () => {
    const answer = await update({ colour: "blue", "external-id": "org-x", "created-at": "2001-01-01T00:00:00.000Z" });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual(before);
  });
});

describeOnce("updateOrganization: 422", () => {
  it.each([
    ["name", "ab"],
    ["name", "a".repeat(41)],
    ["name", "a b c"],
    ["name", ""],
    ["email", "nobody"],
    ["default-execution-mode", "magic"],
    ["default-execution-mode", "agent"],
    ["collaborator-auth-policy", ""],
    ["collaborator-auth-policy", "two_factor_mandatory"],
    ["enforce-hyok", true],
    ["session-timeout", 0],
    ["session-timeout", -5],
    ["session-timeout", 2 ** 53],
    ["session-remember", "1"],
    ["owners-team-saml-role-id", "y".repeat(256)],
  ])("%s: %j", async (attribute, value) => {
    const answer = await update({ [attribute]: value, "assessments-enforced": true });
    expect(answer.status).toBe(422);
    expect(answer.body.errors[0].title).toBe("invalid attribute");
    expect(new Set(pointers(answer))).toEqual(new Set([`/data/attributes/${attribute}`]));
    expect(await shown()).toEqual(before);
  });

  it.each([
    ["no data", {}, "/data"],
    ["another type", resource("projects", {}), "/data/type"],
    ["attributes a string", { data: { type: "organizations", attributes: "x" } }, "/data/attributes"],
  ])("%s", async (_, body, pointer) => {
    const answer = await org.owner.patch(`/organizations/${org.name}`, body);
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual([pointer]);
  });

  it("reports all faults", async () => {
    const answer = await update({ name: "a b", email: "nobody", "session-timeout": "x" });
    expect(pointers(answer)).toEqual([
      "/data/attributes/name",
      "/data/attributes/email",
      "/data/attributes/session-timeout",
    ]);
  });
});

describe("updateOrganization: renaming", () => {
  it("changes the id and the path; the old path no longer works", async () => {
    const project = await api.makeProject(org.name);
    const name = unique("Renamed");
    const answer = await update({ name });
    expect(answer.status).toBe(200);
    expect(answer.body.data.id).toBe(name);
    expect(answer.body.data.links.self).toBe(`/api/v2/organizations/${name}`);
    expect(answer.body.data.attributes).toEqual({ ...before.attributes, name });
    expect((await org.owner.get(`/organizations/${org.name}`)).status).toBe(404);
    expect(data(await org.owner.get(`/organizations/${name}`))).toEqual(answer.body.data);
    const shownProject = data(await org.owner.get(`/projects/${project.id}`));
    expect(shownProject.relationships.organization).toEqual({
      data: { id: name, type: "organizations" },
      links: { related: `/api/v2/organizations/${name}` },
    });
  });

  it("frees the old name for another organization, which shares nothing", async () => {
    const project = await api.makeProject(org.name);
    data(await update({ name: unique("moved") }));
    const next = data(
      await api.admin.post("/organizations", resource("organizations", { name: org.name, email: "a@b.c" })),
    );
    expect(next.attributes["external-id"]).not.toBe(org.id);
    expect((await org.owner.get(`/organizations/${org.name}`)).status).toBe(404);
    const projects = data(await api.admin.get(`/organizations/${org.name}/projects`));
    expect(projects.map(({ id }: Json) => id)).not.toContain(project.id);
  });

  it("accepts its own name in another case, and paths ignore case", async () => {
    const name = org.name.toUpperCase();
    expect(data(await update({ name })).id).toBe(name);
    expect(data(await org.owner.get(`/organizations/${org.name.toLowerCase()}`)).id).toBe(name);
  });

  it("rejects a taken name, ignoring case", async () => {
    const other = await api.makeOrganization();
    for (const name of [other.name, other.name.toUpperCase()]) {
      const answer = await update({ name });
      expect(answer.status).toBe(422);
      expect(answer.body.errors).toEqual([
        expect.objectContaining({
          detail: "Name has already been taken",
          source: { pointer: "/data/attributes/name" },
        }),
      ]);
    }
    expect(await shown()).toEqual(before);
  });
});

describe("updateOrganization: ETag and If-Match", () => {
  const tagOf = async () => (await org.owner.get(`/organizations/${org.name}`)).headers.get("etag") ?? "none";

  it("has a strong ETag that changes with an update, but not with an empty one", async () => {
    const tag = await tagOf();
    expect(tag).toMatch(/^"[^"]+"$/);
    expect((await update({ email: before.attributes.email })).headers.get("etag")).toBe(tag);
    expect((await update(before.attributes)).headers.get("etag")).toBe(tag);
    const changed = (await update({ email: "other@example.com" })).headers.get("etag");
    expect(changed).not.toBe(tag);
    expect(await tagOf()).toBe(changed);
  });

  it("stays when a project is created", async () => {
    const tag = await tagOf();
    await api.makeProject(org.name);
    expect(await tagOf()).toBe(tag);
    expect(await shown()).toEqual(before);
  });

  it.each<[string, (tag: string) => string, number]>([
    ["the right one", (tag) => tag, 200],
    ["any", () => "*", 200],
    ["a list with the right one", (tag) => `"x", ${tag}`, 200],
    ["a wrong one", () => '"x"', 412],
    ["a weak one", (tag) => `W/${tag}`, 412],
  ])("If-Match with %s", async (_, header, status) => {
    const answer = await update({ email: "matched@example.com" }, { "if-match": header(await tagOf()) });
    expect(answer.status).toBe(status);
    expect((await shown()).attributes.email).toBe(status === 200 ? "matched@example.com" : before.attributes.email);
  });

  it("is checked after 404 and 403, and before the rules", async () => {
    const stale = { "if-match": '"x"' };
    const body = resource("organizations", { "default-execution-mode": "agent" });
    const path = `/organizations/${org.name}`;
    expect((await (await api.makeUser()).patch(path, body, stale)).status).toBe(404);
    expect((await (await api.makeMember(org.name)).patch(path, body, stale)).status).toBe(403);
    expect((await org.owner.patch(path, body, stale)).status).toBe(412);
    expect((await org.owner.patch(path, body)).status).toBe(422);
  });
});
