/** ETag and If-Match of workspaces, and the order in which a request is refused. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Member, type Org, resource, unique } from "../../../support/builders.ts";
import { bothPaths, makeSshKey, pathById, setColumns } from "./support.ts";

const api = useApi();
let org: Org;
let readers: string;
let reader: Member;
let workspace: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
  readers = (await api.makeTeam(org.name)).id;
  reader = await api.makeMember(org.name, [readers]);
});
beforeEach(async () => {
  workspace = await api.makeWorkspace(org.name);
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
          resource("workspaces", {}, inProject((await api.makeProject(org.name)).id)),
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

  it("changes with an unlock and a force-unlock", async () => {
    const seen = new Set<string>();
    for (const action of ["lock", "unlock", "lock", "force-unlock"]) {
      data(await org.owner.post(`${pathById(workspace)}/actions/${action}`));
      seen.add(await etag());
    }
    expect(seen.size).toBe(4);
  });

  it("stays after a request that changes nothing", async () => {
    const before = await etag();
    await change({ name: workspace.attributes.name, "auto-apply": false });
    await org.owner.post(`${pathById(workspace)}/actions/unlock`);
    await change({ name: "" });
    expect(await etag()).toBe(before);
  });
});

describe("the order of refusals", () => {
  const stale = { "if-match": '"nonsense"' };
  const taken = async () => resource("workspaces", { name: (await api.makeWorkspace(org.name)).attributes.name });

  it("404 and 403 come before 412", async () => {
    const valid = resource("workspaces", { description: "x" });
    expect((await reader.patch(pathById(workspace), valid, stale)).status).toBe(404);
    expect((await reader.delete(pathById(workspace), undefined, stale)).status).toBe(404);
    await api.grantWorkspace(workspace.id, readers, "read");
    expect((await reader.patch(pathById(workspace), valid, stale)).status).toBe(403);
    expect((await reader.delete(pathById(workspace), undefined, stale)).status).toBe(403);
  });

  it("403 comes before the 422 of a rule", async () => {
    await api.grantWorkspace(workspace.id, readers, "read");
    expect((await reader.patch(pathById(workspace), await taken())).status).toBe(403);
    expect((await reader.post(`/organizations/${org.name}/workspaces`, await taken())).status).toBe(403);
    const key = resource("workspaces", { id: "sshkey-unknown" });
    expect((await reader.patch(`${pathById(workspace)}/relationships/ssh-key`, key)).status).toBe(403);
  });

  it("404 comes before 409", async () => {
    await setColumns(api, workspace.id, { lockedByType: "runs", lockedById: "run-1" });
    await api.grantWorkspace(workspace.id, readers, "read");
    for (const action of ["lock", "unlock", "force-unlock", "safe-delete"])
      expect((await reader.post(`${pathById(workspace)}/actions/${action}`)).status, action).toBe(404);
  });
});
