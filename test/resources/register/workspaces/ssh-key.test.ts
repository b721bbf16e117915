/** PATCH /workspaces/:workspace_id/relationships/ssh-key: a key of the organization, or none. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeWorkspace, type Org, resource } from "../../../support/builders.ts";
import { faults, makeSshKey, pathById } from "./support.ts";

const api = useApi();
let org: Org;
let key: string;
let otherKey: string;
let foreignKey: string;
let workspace: Json;
beforeAll(async () => {
  org = await makeOrganization(api);
  [key, otherKey] = [await makeSshKey(api, org.name), await makeSshKey(api, org.name)];
  foreignKey = await makeSshKey(api, (await makeOrganization(api)).name);
});
beforeEach(async () => {
  workspace = await makeWorkspace(api, org.name);
});

const path = () => `${pathById(workspace)}/relationships/ssh-key`;
const assign = (id: unknown, headers?: Record<string, string>) =>
  org.owner.patch(path(), resource("workspaces", { id } as object), headers);
const keyOf = ({ relationships }: Json) => relationships["ssh-key"].data;
const shown = async () => data(await org.owner.get(pathById(workspace)));

describe("assignSshKey: 200", () => {
  it("assigns, replaces and removes a key, and returns the whole document", async () => {
    for (const id of [key, otherKey]) {
      const answer = await assign(id);
      expect(answer.status).toBe(200);
      expect(keyOf(answer.body.data)).toEqual({ id, type: "ssh-keys" });
      expect(await shown()).toEqual(answer.body.data);
    }
    const none = await assign(null);
    expect(none.status).toBe(200);
    expect(keyOf(none.body.data)).toBeNull();
    expect(await shown()).toEqual(none.body.data);
  });

  it("the same key again, or null without a key, changes nothing", async () => {
    const bare = await shown();
    expect(data(await assign(null))).toEqual(bare);
    const assigned = await assign(key);
    const again = await assign(key);
    expect(again.body).toEqual(assigned.body);
    expect(again.headers.get("etag")).toBe(assigned.headers.get("etag"));
  });

  it("an update of the workspace keeps it", async () => {
    data(await assign(key));
    const changed = await org.owner.patch(pathById(workspace), resource("workspaces", { description: "x" }));
    expect(keyOf(data(changed))).toEqual({ id: key, type: "ssh-keys" });
  });
});

describe("assignSshKey: refusals", () => {
  it.each<[string, () => string]>([
    ["an unknown key", () => "sshkey-unknown"],
    ["another organization's", () => foreignKey],
  ])("a key that is %s: 422", async (_, id) => {
    const answer = await assign(id());
    expect(answer.status).toBe(422);
    expect(faults(answer)).toEqual([["/data/attributes/id", "Ssh key does not exist in this organization"]]);
    expect(await shown()).toEqual(workspace);
  });

  it.each<[string, unknown, string[]]>([
    ["no id", { data: { type: "workspaces", attributes: {} } }, ["/data/attributes/id"]],
    ["an id that is a number", { data: { type: "workspaces", attributes: { id: 5 } } }, ["/data/attributes/id"]],
    ["an empty id", { data: { type: "workspaces", attributes: { id: "" } } }, ["/data/attributes/id"]],
    ["no attributes", { data: { type: "workspaces" } }, ["/data/attributes"]],
    ["another type", { data: { type: "ssh-keys", attributes: { id: null } } }, ["/data/type"]],
    ["no type", { data: { attributes: { id: null } } }, ["/data/type"]],
    ["no data", {}, ["/data"]],
    ["both wrong", { data: { type: "x", attributes: { id: 1 } } }, ["/data/type", "/data/attributes/id"]],
  ])("%s: 422", async (_, body, expected) => {
    const answer = await org.owner.patch(path(), body);
    expect(answer.status).toBe(422);
    expect(faults(answer).map(([pointer]) => pointer)).toEqual(expected);
  });

  it("If-Match: 412 for a stale one, before an unknown key is reported", async () => {
    const stale = (await org.owner.get(pathById(workspace))).headers.get("etag") ?? "";
    data(await assign(key, { "if-match": stale }));
    expect((await assign(otherKey, { "if-match": stale })).status).toBe(412);
    expect((await assign("sshkey-unknown", { "if-match": stale })).status).toBe(412);
    expect(keyOf(await shown()).id).toBe(key);
  });
});
