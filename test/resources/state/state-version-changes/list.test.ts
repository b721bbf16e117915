/** GET /state-versions/:state_version_id/changes: the differences between two states. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, resource } from "../../../support/builders.ts";
import {
  pendingStateAttributes,
  encryptedStateOf,
  lock,
  managed,
  post,
  stateOf,
  writeState,
} from "../../../support/states.ts";

const api = useApi();
let org: Org;
let workspaceId: string;
/** Three states, one after the other. */
let first: Json;
let second: Json;
let third: Json;

const output = (value: unknown, sensitive = false) => ({ value, type: "string", ...(sensitive && { sensitive }) });

beforeAll(async () => {
  org = await api.makeOrganization();
  workspaceId = (await api.makeWorkspace(org.name)).id;
  const write = (serial: number, facts: object) => writeState(org.owner, workspaceId, stateOf({ serial, ...facts }));
  first = await write(1, {
    resources: [managed("kept"), managed("changed"), managed("gone", 2)],
    outputs: { same: output("1"), other: output("old"), secret: output("hush", true), gone: output("bye") },
  });
  second = await write(2, {
    resources: [managed("new"), managed("changed", 1, { size: "large" }), managed("kept")],
    outputs: { same: output("1"), other: output("new"), secret: output("psst", true), opened: output("x") },
  });
  third = await write(3, {
    resources: [managed("new"), managed("changed", 1, { size: "large" }), managed("kept")],
    outputs: { same: output("1"), other: output("new"), secret: output("psst"), opened: output("x") },
  });
});

const path = (version: Json) => `/state-versions/${version.id}/changes`;
async function changesOf(version: Json, query = "", caller: Caller = org.owner): Promise<Json[]> {
  return data(await caller.get(`${path(version)}${query}`));
}
const summariesOf = (changes: readonly Json[]): string[] =>
  changes.map(({ attributes: { kind, address, change } }) => `${change} ${kind} ${address}`);

describe("listStateVersionChanges: 200", () => {
  it("since the version before, resources by address and then outputs by name", async () => {
    const changes = await changesOf(second);
    expect(summariesOf(changes)).toEqual([
      "changed resource null_resource.changed",
      "removed resource null_resource.gone[0]",
      "removed resource null_resource.gone[1]",
      "added resource null_resource.new",
      "removed output gone",
      "added output opened",
      "changed output other",
      "changed output secret",
    ]);
    expect(changes[0].type).toBe("state-version-changes");
    expect(changes[0].attributes).toMatchObject({
      "provider-type": "null_resource",
      module: "root",
      provider: "hashicorp/null",
      "attribute-changes": [{ path: "size", change: "added", before: null, after: "large" }],
      "attribute-change-count": 1,
      sensitive: null,
      before: null,
      after: null,
    });
    const outputs = Object.fromEntries(changes.slice(4).map(({ attributes }) => [attributes.address, attributes]));
    expect(outputs["other"]).toMatchObject({ sensitive: false, before: "old", after: "new" });
    expect(outputs["gone"]).toMatchObject({ before: "bye", after: null });
    expect(outputs["opened"]).toMatchObject({ before: null, after: "x" });
  });

  it("a sensitive value is never shown, also if it is sensitive in only one state", async () => {
    for (const version of [second, third]) {
      const answer = await org.owner.get(path(version));
      expect(JSON.stringify(answer.body)).not.toMatch(/hush|psst/);
    }
    const [only, ...more] = await changesOf(third);
    expect(more).toEqual([]);
    expect(only.attributes).toMatchObject({ address: "secret", change: "changed", sensitive: true, after: null });
  });

  it("since any other version, also a later one; nothing since itself, and everything is new in the first", async () => {
    expect(summariesOf(await changesOf(third, `?since=${first.id}`)).slice(0, 4)).toEqual(
      summariesOf(await changesOf(second)).slice(0, 4),
    );
    expect(summariesOf(await changesOf(first, `?since=${second.id}`))[3]).toBe("removed resource null_resource.new");
    expect(await changesOf(first, `?since=${first.id}`)).toEqual([]);
    const all = await changesOf(first);
    expect(all).toHaveLength(8);
    expect(all.every(({ attributes }) => attributes.change === "added")).toBe(true);
  });

  it("by pages, and by kind and change", async () => {
    const { body } = await org.owner.get(`${path(second)}?page[size]=3&page[number]=2`);
    expect(summariesOf(body.data)).toEqual(summariesOf(await changesOf(second)).slice(3, 6));
    expect(body.meta.pagination["total-count"]).toBe(8);
    const some = await changesOf(second, "?filter[kind]=resource&filter[change]=removed");
    expect(summariesOf(some)).toEqual([
      "removed resource null_resource.gone[0]",
      "removed resource null_resource.gone[1]",
    ]);
    expect((await org.owner.get(`${path(second)}?filter[kind]=moon`)).status).toBe(400);
  });
});

describe("listStateVersionChanges: refused", () => {
  it("400: the same for a version of another workspace and an unknown one", async () => {
    const other = (await api.makeWorkspace(org.name)).id;
    const theirs = await writeState(org.owner, other, stateOf());
    for (const id of [theirs.id, "sv-none"]) {
      const answer = await org.owner.get(`${path(second)}?since=${id}`);
      expect([answer.status, ...details(answer)]).toEqual([400, expect.stringContaining("of the same workspace")]);
      expect(answer.body.errors[0].source.parameter).toBe("since");
    }
  });

  it("409: states that the engine encrypted, and versions without content", async () => {
    const id = (await api.makeWorkspace(org.name)).id;
    const open = await writeState(org.owner, id, stateOf());
    const sealed = await writeState(org.owner, id, encryptedStateOf({ serial: 2 }));
    for (const answer of [await org.owner.get(path(sealed)), await org.owner.get(`${path(open)}?since=${sealed.id}`)])
      expect([answer.status, ...details(answer)]).toEqual([
        409,
        expect.stringContaining("The engine encrypted the state version"),
      ]);
    await lock(org.owner, id);
    const pending = data(await post(org.owner, id, pendingStateAttributes(stateOf({ serial: 3 }))));
    const answer = await org.owner.get(path(pending));
    expect([answer.status, ...details(answer)]).toEqual([409, expect.stringContaining("it is pending")]);
  });

  it("403: for callers who can only read outputs; 404 for others", async () => {
    const team = await api.makeTeam(org.name);
    const relationships = {
      team: { data: { type: "teams", id: team.id } },
      workspace: { data: { type: "workspaces", id: workspaceId } },
    };
    const attributes = { access: "custom", runs: "read", "state-versions": "read-outputs" };
    data(await org.owner.post("/team-workspaces", resource("team-workspaces", attributes, relationships)));
    const reader = await api.makeMember(org.name, [team.id]);
    expect((await reader.get(path(second))).status).toBe(403);
    expect((await (await api.makeMember(org.name)).get(path(second))).status).toBe(404);
    const plain = (await api.makeTeam(org.name)).id;
    await api.grantWorkspace(workspaceId, plain, "read");
    expect((await changesOf(second, "", await api.makeMember(org.name, [plain]))).length).toBe(8);
  });
});
