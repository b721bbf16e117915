/** ETag and If-Match of projects, and the order in which a request is refused. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, type Member, type Org, pointers, resource } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
let reader: Member;
let readers: string;
let project: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
  readers = (await api.makeTeam(org.name)).id;
  reader = await api.makeMember(org.name, [readers]);
});
beforeEach(async () => {
  project = await api.makeProject(org.name);
});

const at = () => `/projects/${project.id}`;
const etag = async (): Promise<string> => (await org.owner.get(at())).headers.get("etag") ?? "none";
const update = (attributes: object, ifMatch?: string) =>
  org.owner.patch(at(), resource("projects", attributes), ifMatch === undefined ? {} : { "if-match": ifMatch });
const remove = (ifMatch: string) => org.owner.delete(at(), undefined, { "if-match": ifMatch });

describe("ETag", () => {
  it("is strong, and the same from create, show and a change", async () => {
    const made = await org.owner.post(`/organizations/${org.name}/projects`, resource("projects", { name: "Tagged" }));
    const tag = made.headers.get("etag");
    expect(tag).toMatch(/^"[^"]+"$/);
    const shown = await org.owner.get(`/projects/${made.body.data.id}`);
    expect(shown.headers.get("etag")).toBe(tag);
    const changed = await org.owner.patch(`/projects/${made.body.data.id}`, resource("projects", { description: "x" }));
    expect(changed.headers.get("etag")).toMatch(/^"[^"]+"$/);
    expect(changed.headers.get("etag")).not.toBe(tag);
    const again = await org.owner.get(`/projects/${made.body.data.id}`);
    expect(again.headers.get("etag")).toBe(changed.headers.get("etag"));
  });

  it.each([{ name: "Another name" }, { description: "d" }, { "auto-destroy-activity-duration": "1d" }])(
    "is another after %j",
    async (attributes) => {
      const before = await etag();
      await update(attributes);
      const after = await etag();
      expect(after).not.toBe(before);
      await update(Object.fromEntries(Object.keys(attributes).map((name) => [name, project.attributes[name]])));
      expect([before, after]).not.toContain(await etag());
    },
  );

  it("changes when a team gets or loses access, as the document does", async () => {
    const before = await etag();
    const team = await api.makeTeam(org.name);
    await api.grantProject(project.id, team.id, "read");
    const granted = await etag();
    data(await org.owner.delete(`/teams/${team.id}`));
    expect(new Set([before, granted, await etag()]).size).toBe(3);
  });

  it("stays if nothing changes", async () => {
    const before = await etag();
    for (const attributes of [{}, { name: project.attributes.name }, { description: null }, { colour: "blue" }]) {
      const answer = await update(attributes);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("etag")).toBe(before);
    }
    expect((await update({ name: "no" })).status).toBe(422);
    expect(await etag()).toBe(before);
  });
});

describe("If-Match", () => {
  it.each<[string, (tag: string) => string]>([
    ["the right one", (tag) => tag],
    ["any", () => "*"],
    ["a list with the right one", (tag) => `"nonsense", ${tag}`],
    ["a list with the right one first", (tag) => `${tag},"nonsense"`],
    ["a list with a weak and the right one", (tag) => `W/"7", ${tag}`],
  ])("%s lets a change and a deletion through", async (_, header) => {
    const changed = await update({ description: "matched" }, header(await etag()));
    expect(changed.status).toBe(200);
    expect(changed.body.data.attributes.description).toBe("matched");
    expect((await remove(header(await etag()))).status).toBe(204);
  });

  it.each<[string, (stale: string, fresh: string) => string]>([
    ["a stale one", (stale) => stale],
    ["a weak one", (_, fresh) => `W/${fresh}`],
    ["an unknown one", () => '"nonsense"'],
    ["one without quotes", (_, fresh) => fresh.replaceAll('"', "")],
    ["a list without the right one", (stale) => `${stale}, "nonsense"`],
    ["an empty one", () => '""'],
  ])("%s is 412 for a change and a deletion, and nothing happens", async (_, header) => {
    const stale = await etag();
    const current = data(await update({ description: "changed meanwhile" }));
    const value = header(stale, await etag());
    for (const answer of [await update({ description: "too late" }, value), await remove(value)]) {
      expect(answer.status).toBe(412);
      expect(answer.body.errors).toEqual([{ status: "412", title: "precondition failed", detail: expect.any(String) }]);
    }
    expect(data(await org.owner.get(at()))).toEqual(current);
  });

  it("accepts one of two requests with the same ETag", async () => {
    const tag = await etag();
    const answers = await Promise.all(["one", "two"].map((description) => update({ description }, tag)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
  });

  it("also refuses a stale request that would change nothing", async () => {
    expect((await update({}, '"nonsense"')).status).toBe(412);
  });
});

describe("the order of refusals", () => {
  const stale = { "if-match": '"nonsense"' };
  const invalid = resource("projects", { name: "no" });

  it("401 comes before everything", async () => {
    expect((await api.nobody.patch(at(), "{", { "content-type": "text/plain" })).status).toBe(401);
    expect((await api.nobody.patch("/projects/prj-unknown", invalid, stale)).status).toBe(401);
    expect((await api.nobody.get(`/organizations/${org.name}/projects?page[size]=0`)).status).toBe(401);
  });

  it("415 and 400 come before 422, 404 and 403", async () => {
    const stranger = await api.makeUser();
    for (const caller of [org.owner, stranger]) {
      const other = await caller.patch(at(), JSON.stringify(invalid), { "content-type": "text/plain" });
      expect(other.status).toBe(415);
      expect(other.body.errors[0].title).toBe("unsupported media type");
      const broken = await caller.patch(at(), '{"data":');
      expect(broken.status).toBe(400);
      expect(broken.body.errors[0].title).toBe("bad request");
      expect((await caller.get(`/organizations/${org.name}/projects?page[number]=0`)).status).toBe(400);
      const query = await caller.post(`/organizations/${org.name}/projects?include=moon`, invalid);
      expect(query.status).toBe(400);
    }
  });

  it("422 for the body's shape comes before 404, 403 and 412", async () => {
    const stranger = await api.makeUser();
    expect((await org.owner.patch("/projects/prj-unknown", invalid, stale)).status).toBe(422);
    expect((await stranger.patch(at(), invalid, stale)).status).toBe(422);
    await api.grantProject(project.id, readers, "read");
    expect((await reader.patch(at(), invalid, stale)).status).toBe(422);
    expect((await reader.post(`/organizations/${org.name}/projects`, invalid)).status).toBe(422);
    expect((await org.owner.patch(at(), invalid, stale)).status).toBe(422);
  });

  it("404 and 403 come before 412", async () => {
    const valid = resource("projects", { description: "x" });
    expect((await reader.patch(at(), valid, stale)).status).toBe(404);
    expect((await reader.delete(at(), undefined, stale)).status).toBe(404);
    await api.grantProject(project.id, readers, "read");
    expect((await reader.patch(at(), valid, stale)).status).toBe(403);
    expect((await reader.delete(at(), undefined, stale)).status).toBe(403);
  });

  it("403 comes before the 422 of a name that is taken", async () => {
    const taken = resource("projects", { name: "Default Project" });
    const answer = await reader.post(`/organizations/${org.name}/projects`, taken);
    expect(answer.status).toBe(403);
    await api.grantProject(project.id, readers, "read");
    expect((await reader.patch(at(), taken)).status).toBe(403);
  });

  it("412 comes before the 422 of a rule and before 409", async () => {
    expect((await update({ name: "Default Project" }, '"nonsense"')).status).toBe(412);
    const taken = await update({ name: "Default Project" });
    expect(pointers(taken)).toEqual(["/data/attributes/name"]);
    const standard = `/projects/${org.defaultProjectId}`;
    expect((await org.owner.delete(standard, undefined, stale)).status).toBe(412);
    const conflict = await org.owner.delete(standard);
    expect(conflict.status).toBe(409);
    expect(details(conflict)).toHaveLength(1);
  });
});
