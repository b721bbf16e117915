/** PATCH /workspaces/:workspace_id/state-versions: rolling back to an earlier state. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Member, type Org, pointers } from "../../../support/builders.ts";
import {
  pendingStateAttributes,
  base64,
  encryptedStateOf,
  stateAttributes,
  lineage,
  lock,
  managed,
  md5,
  post,
  stateOf,
  unlock,
  writeState,
} from "../../../support/states.ts";

const api = useApi();
let org: Org;
let writer: Member;
let teamId: string;

beforeAll(async () => {
  org = await api.makeOrganization();
  teamId = (await api.makeTeam(org.name)).id;
  writer = await api.makeMember(org.name, [teamId]);
});

async function makeStateful(): Promise<string> {
  const { id } = await api.makeWorkspace(org.name);
  await api.grantWorkspace(id, teamId, "write");
  return id;
}
const body = (id: string) => ({
  data: {
    type: "state-versions",
    relationships: { "rollback-state-version": { data: { type: "state-versions", id } } },
  },
});
const rollBack = (caller: Caller, workspaceId: string, versionId: string): Promise<Answer> =>
  caller.patch(`/workspaces/${workspaceId}/state-versions`, body(versionId));
const contentOf = async (version: Json): Promise<string> => {
  const url = version.attributes["hosted-state-download-url"];
  const answer = await fetch(url, { headers: { authorization: `Bearer ${writer.token}` } });
  expect(answer.status).toBe(200);
  return answer.text();
};

describe("rollBackState: 201", () => {
  it("a new version with the next serial, the same lineage and the same content, current with the unlock", async () => {
    const id = await makeStateful();
    const outputs = { size: { value: 1, type: "number" } };
    const json = base64('{"format_version":"1.0"}');
    const old = await writeState(writer, id, stateOf({ serial: 3, outputs, resources: [managed("one", 2)] }), {
      "json-state": json,
    });
    const newer = await writeState(writer, id, stateOf({ serial: 8 }));
    await lock(writer, id);
    const answer = await rollBack(writer, id, old.id);
    expect(answer.status).toBe(201);
    const version = data(answer);
    expect(version.attributes).toMatchObject({
      serial: 9,
      status: "finalized",
      intermediate: true,
      "resources-processed": true,
      "billable-rum-count": 2,
      resources: old.attributes.resources,
      modules: old.attributes.modules,
    });
    const content = await contentOf(version);
    expect(content).toBe((await contentOf(old)).replace('"serial":3', '"serial":9'));
    expect(JSON.parse(content).lineage).toBe(lineage);
    const jsonUrl = version.attributes["hosted-json-state-download-url"];
    const jsonForm = await fetch(jsonUrl, { headers: { authorization: `Bearer ${writer.token}` } });
    expect(await jsonForm.text()).toBe('{"format_version":"1.0"}');
    const current = async () => data(await writer.get(`/workspaces/${id}/current-state-version`)).id;
    expect(await current()).toBe(newer.id);
    const free = await unlock(writer, id);
    expect(await current()).toBe(version.id);
    expect(free.attributes["resource-count"]).toBe(2);
    const listed = (await writer.get(`/workspaces/${id}/current-state-version-outputs`)).body.data;
    expect(listed[0].attributes).toMatchObject({ name: "size", value: 1 });
    // What an engine writes next follows it.
    const next = stateOf({ serial: 10 });
    await lock(writer, id);
    expect((await post(writer, id, stateAttributes(next))).status).toBe(201);
  });

  it("records in the audit log which version it rolls back to", async () => {
    const id = await makeStateful();
    const old = await writeState(writer, id, stateOf());
    await lock(writer, id);
    const version = data(await rollBack(writer, id, old.id));
    const events = await api.database.reader.db
      .selectFrom("auditEvents")
      .select(["action", "actorId", "after"])
      .where("subjectId", "=", version.id)
      .orderBy("createdAt")
      .orderBy("action")
      .execute();
    expect(events.map(({ action }) => action)).toEqual(["state-versions.create", "state-versions.upload"]);
    expect(events.map(({ actorId }) => actorId)).toEqual([writer.id, writer.id]);
    expect(JSON.parse(events[0]?.after ?? "")).toMatchObject({ workspace: id, "rollback-state-version": old.id });
  });

  it("discards pending versions of the same lock", async () => {
    const id = await makeStateful();
    const old = await writeState(writer, id, stateOf());
    await lock(writer, id);
    const pending = data(await post(writer, id, pendingStateAttributes(stateOf({ serial: 5 }))));
    expect(data(await rollBack(writer, id, old.id)).attributes.serial).toBe(6);
    expect(data(await writer.get(`/state-versions/${pending.id}`)).attributes.status).toBe("discarded");
    expect((await writer.post(`/workspaces/${id}/actions/unlock`)).status).toBe(200);
  });

  it("copies a state of many chunks, which the job then processes", async () => {
    const id = await makeStateful();
    const resources = Array.from({ length: 1100 }, (_, index) =>
      managed(`r${index}`, 1, { blob: md5(String(index)).repeat(20) }),
    );
    const old = await writeState(writer, id, stateOf({ serial: 1, resources }));
    await lock(writer, id);
    const version = data(await rollBack(writer, id, old.id));
    expect(version.attributes).toMatchObject({ status: "finalized", "resources-processed": false });
    expect(await contentOf(version)).toBe((await contentOf(old)).replace('"serial":1', '"serial":2'));
  });
});

describe("rollBackState: refused", () => {
  it("409: without the lock, and under another caller's lock", async () => {
    const id = await makeStateful();
    const old = await writeState(writer, id, stateOf());
    const free = await rollBack(writer, id, old.id);
    expect([free.status, ...details(free)]).toEqual([409, expect.stringContaining("not locked. Lock it first")]);
    await lock(org.owner, id);
    const underOtherLock = await rollBack(writer, id, old.id);
    expect([underOtherLock.status, ...details(underOtherLock)]).toEqual([
      409,
      expect.stringContaining("is locked by User"),
    ]);
    const { body: list } = await writer.get(`/workspaces/${id}/state-versions`);
    expect(list.data).toHaveLength(1);
  });

  it("422: the same for a version of another workspace and an unknown one", async () => {
    const [id, other] = [await makeStateful(), await makeStateful()];
    const theirs = await writeState(writer, other, stateOf());
    await lock(writer, id);
    for (const versionId of [theirs.id, "sv-none"]) {
      const answer = await rollBack(writer, id, versionId);
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual(["/data/relationships/rollback-state-version"]);
      expect(details(answer)).toEqual(["Rollback state version does not exist in this workspace"]);
    }
  });

  it("422: a version that is pending, discarded or soft-deleted, and one that the engine encrypted", async () => {
    const id = await makeStateful();
    const old = await writeState(writer, id, stateOf());
    const sealed = await writeState(writer, id, encryptedStateOf({ serial: 2 }));
    await writeState(writer, id, stateOf({ serial: 3 }));
    expect((await org.owner.post(`/state-versions/${old.id}/actions/soft_delete_backing_data`)).status).toBe(204);
    await lock(writer, id);
    const pending = data(await post(writer, id, pendingStateAttributes(stateOf({ serial: 4 }))));
    const refused = async (versionId: string) => {
      const answer = await rollBack(writer, id, versionId);
      expect(answer.status).toBe(422);
      return details(answer)[0];
    };
    expect(await refused(old.id)).toContain("its status is backing_data_soft_deleted");
    expect(await refused(pending.id)).toContain("its status is pending");
    expect(await refused(sealed.id)).toContain("was encrypted by the engine");
  });

  it("422: a body without a version", async () => {
    const id = await makeStateful();
    await lock(writer, id);
    const answer = await writer.patch(`/workspaces/${id}/state-versions`, { data: { type: "state-versions" } });
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(["/data/relationships"]);
  });

  it("403: for callers who can only read states, and with an organization's token; 404 for others", async () => {
    const id = await makeStateful();
    const old = await writeState(writer, id, stateOf());
    const readers = (await api.makeTeam(org.name)).id;
    await api.grantWorkspace(id, readers, "read");
    expect((await rollBack(await api.makeMember(org.name, [readers]), id, old.id)).status).toBe(403);
    expect((await rollBack(await api.makeOrganizationToken(org.name), id, old.id)).status).toBe(403);
    expect((await rollBack(await api.makeMember(org.name), id, old.id)).status).toBe(404);
  });
});
