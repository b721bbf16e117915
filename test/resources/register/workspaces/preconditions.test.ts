/** ETag and If-Match of workspaces, and the order in which a request is refused. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import {
  data,
  grantWorkspace,
  inProject,
  makeMember,
  makeOrganization,
  makeProject,
  makeTeam,
  makeUser,
  makeWorkspace,
  type Member,
  type Org,
  resource,
  unique,
} from "../../../support/builders.ts";
import { bothPaths, makeSshKey, pathById, setColumns } from "./support.ts";

const api = useApi();
let org: Org;
let readers: string;
let reader: Member;
let workspace: Json;
beforeAll(async () => {
  org = await makeOrganization(api);
  readers = (await makeTeam(api, org.name)).id;
  reader = await makeMember(api, org.name, [readers]);
});
beforeEach(async () => {
  workspace = await makeWorkspace(api, org.name);
});

const etag = async (): Promise<string> => (await org.owner.get(pathById(workspace))).headers.get("etag") ?? "none";
const change = (attributes: object, headers?: Record<string, string>) =>
  org.owner.patch(pathById(workspace), resource("workspaces", attributes), headers);

describe("ETag", () => {
  it("is strong, and the same from create, show by id, show by name and a change", async () => {
    const path = `/organizations/${org.name}/workspaces`;
    const made = await org.owner.post(path, resource("workspaces", { name: unique("tagged") }));
    const tag = made.headers.get("etag");
    expect(tag).toMatch(/^"[^"]+"$/);
    workspace = made.body.data;
    for (const [, pathOf] of bothPaths) expect((await org.owner.get(pathOf(workspace))).headers.get("etag")).toBe(tag);
    const changed = await change({ description: "x" });
    expect(changed.headers.get("etag")).not.toBe(tag);
    expect(await etag()).toBe(changed.headers.get("etag"));
  });

  it.each<[string, () => Promise<unknown>]>([
    ["an update", () => change({ description: "x" })],
    ["a lock", () => org.owner.post(`${pathById(workspace)}/actions/lock`)],
    [
      "an SSH key",
      async () =>
        org.owner.patch(
          `${pathById(workspace)}/relationships/ssh-key`,
          resource("workspaces", { id: await makeSshKey(api, org.name) }),
        ),
    ],
    [
      "a move",
      async () =>
        org.owner.patch(
          pathById(workspace),
          resource("workspaces", {}, inProject((await makeProject(api, org.name)).id)),
        ),
    ],
    [
      "a tag",
      () =>
        org.owner.post(`${pathById(workspace)}/relationships/tags`, {
          data: [{ type: "tags", attributes: { name: "added" } }],
        }),
    ],
  ])("is another after %s", async (_, work) => {
    const before = await etag();
    await work();
    expect(await etag()).not.toBe(before);
  });

  it("is another after an unlock and a force-unlock", async () => {
    const seen = new Set<string>();
    for (const action of ["lock", "unlock", "lock", "force-unlock"]) {
      data(await org.owner.post(`${pathById(workspace)}/actions/${action}`));
      seen.add(await etag());
    }
    expect(seen.size).toBe(4);
  });

  it("stays after what changes nothing", async () => {
    const before = await etag();
    await change({ name: workspace.attributes.name, "auto-apply": false });
    await org.owner.post(`${pathById(workspace)}/actions/unlock`);
    await change({ name: "" });
    expect(await etag()).toBe(before);
  });
});

describe.each(bothPaths)("If-Match %s", (_, pathOf) => {
  const update = (header: string) =>
    org.owner.patch(pathOf(workspace), resource("workspaces", { description: "matched" }), { "if-match": header });
  const remove = (header: string) => org.owner.delete(pathOf(workspace), undefined, { "if-match": header });

  it.each<[string, (tag: string) => string]>([
    ["the right one", (tag) => tag],
    ["any", () => "*"],
    ["a list with the right one", (tag) => `"nonsense", ${tag}`],
  ])("%s lets a change and a deletion through", async (_name, header) => {
    expect((await update(header(await etag()))).status).toBe(200);
    expect((await remove(header(await etag()))).status).toBe(204);
  });

  it.each<[string, (stale: string, fresh: string) => string]>([
    ["a stale one", (stale) => stale],
    ["a weak one", (_stale, fresh) => `W/${fresh}`],
    ["an unknown one", () => '"nonsense"'],
    ["one without quotes", (_stale, fresh) => fresh.replaceAll('"', "")],
  ])("%s is 412 for a change and a deletion, and nothing happens", async (_name, header) => {
    const stale = await etag();
    const current = data(await change({ description: "changed meanwhile" }));
    const value = header(stale, await etag());
    for (const answer of [await update(value), await remove(value)]) {
      expect(answer.status).toBe(412);
      expect(answer.body.errors).toEqual([{ status: "412", title: "precondition failed", detail: expect.any(String) }]);
    }
    expect(data(await org.owner.get(pathOf(workspace)))).toEqual(current);
  });

  it("lets one of many that read the same through", async () => {
    const tag = await etag();
    const answers = await Promise.all(
      ["one", "two", "three"].map((description) => change({ description }, { "if-match": tag })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
  });
});

describe("the order of refusals", () => {
  const stale = { "if-match": '"nonsense"' };
  const invalid = resource("workspaces", { name: "a b" });
  const taken = async () => resource("workspaces", { name: (await makeWorkspace(api, org.name)).attributes.name });

  it("401 comes before everything", async () => {
    expect((await api.nobody.patch(pathById(workspace), "{", { "content-type": "text/plain" })).status).toBe(401);
    expect((await api.nobody.get(`/organizations/${org.name}/workspaces?page[size]=0`)).status).toBe(401);
  });

  it("415 and 400 come before 422, 404 and 403", async () => {
    const stranger = await makeUser(api);
    for (const caller of [org.owner, stranger]) {
      const other = await caller.patch(pathById(workspace), JSON.stringify(invalid), { "content-type": "text/plain" });
      expect(other.status).toBe(415);
      expect((await caller.patch(pathById(workspace), '{"data":')).status).toBe(400);
      expect((await caller.post(`${pathById(workspace)}/actions/lock`, "{")).status).toBe(400);
      expect((await caller.get(`/organizations/${org.name}/workspaces?sort=x`)).status).toBe(400);
      expect((await caller.get(`${pathById(workspace)}?include=moon`)).status).toBe(400);
    }
  });

  it("422 for the body's shape comes before 404, 403 and 412", async () => {
    const stranger = await makeUser(api);
    expect((await org.owner.patch("/workspaces/ws-unknown", invalid, stale)).status).toBe(422);
    expect((await stranger.patch(pathById(workspace), invalid, stale)).status).toBe(422);
    await grantWorkspace(api, org.id, workspace.id, readers, "read");
    expect((await reader.patch(pathById(workspace), invalid, stale)).status).toBe(422);
    expect((await reader.post(`/organizations/${org.name}/workspaces`, invalid)).status).toBe(422);
    expect((await org.owner.patch(pathById(workspace), invalid, stale)).status).toBe(422);
    expect((await stranger.post(`${pathById(workspace)}/actions/lock`, { reason: 1 })).status).toBe(422);
  });

  it("404 and 403 come before 412", async () => {
    const valid = resource("workspaces", { description: "x" });
    expect((await reader.patch(pathById(workspace), valid, stale)).status).toBe(404);
    expect((await reader.delete(pathById(workspace), undefined, stale)).status).toBe(404);
    await grantWorkspace(api, org.id, workspace.id, readers, "read");
    expect((await reader.patch(pathById(workspace), valid, stale)).status).toBe(403);
    expect((await reader.delete(pathById(workspace), undefined, stale)).status).toBe(403);
  });

  it("403 comes before the 422 of a rule", async () => {
    await grantWorkspace(api, org.id, workspace.id, readers, "read");
    expect((await reader.patch(pathById(workspace), await taken())).status).toBe(403);
    expect((await reader.post(`/organizations/${org.name}/workspaces`, await taken())).status).toBe(403);
    const key = resource("workspaces", { id: "sshkey-unknown" });
    expect((await reader.patch(`${pathById(workspace)}/relationships/ssh-key`, key)).status).toBe(403);
  });

  it("412 comes before the 422 of a rule", async () => {
    expect((await org.owner.patch(pathById(workspace), await taken(), stale)).status).toBe(412);
    expect((await org.owner.patch(pathById(workspace), await taken())).status).toBe(422);
  });

  it("404 comes before 409", async () => {
    await setColumns(api, workspace.id, { lockedByType: "runs", lockedById: "run-1" });
    await grantWorkspace(api, org.id, workspace.id, readers, "read");
    for (const action of ["lock", "unlock", "force-unlock", "safe-delete"])
      expect((await reader.post(`${pathById(workspace)}/actions/${action}`)).status, action).toBe(404);
  });
});
