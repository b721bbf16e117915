/** Background jobs for states: retention, abandoned uploads, and resources of superseded states. */
import { beforeEach, describe, expect, it } from "vitest";
import { emptyClosedOrganizations } from "../../../../src/resources/identity/organizations/emptying.ts";
import { stateVersionOwner } from "../../../../src/resources/state/state-versions/kinds.ts";
import { appendChunk, beginContent } from "../../../../src/resources/shared/contents/store.ts";
import {
  enforceRetention,
  removeAbandonedUploads,
  removeSupersededResources,
} from "../../../../src/resources/state/state-versions/maintenance/maintenance.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { data, makeWorkspace } from "../../../support/builders.ts";
import {
  fetchState,
  managed,
  put,
  slowPut,
  stateOf,
  stateOfSize,
  jobContextOf,
  writeState,
} from "../../../support/states.ts";
import { chunksOf, contentsOf, expectSent, setVersion, uploadUrlOf, useStage, versionRow } from "./support.ts";
import { itInGate } from "../../../support/engine-independent.ts";

const api = useApi();
const stage = useStage(api);

const daysAgo = (days: number): string => new Date(Date.now() - days * 24 * 60 * 60 * 1000).toISOString();
const contents = () => api.database.reader.db.selectFrom("contents").selectAll().execute();
const chunks = () => api.database.reader.db.selectFrom("contentChunks").select("contentId").execute();

describe("enforceRetention", () => {
  const deleteOlder = (days: number) => ({
    data: { type: "data-retention-policy-delete-olders", attributes: { "delete-older-than-n-days": days } },
  });
  const dontDelete = { data: { type: "data-retention-policy-dont-deletes" } };
  const ofOrganization = () => `/organizations/${stage.org.name}/relationships/data-retention-policy`;
  const ofWorkspace = () => `${stage.path}/relationships/data-retention-policy`;

  beforeEach(async () => {
    await stage.owner.delete(ofOrganization());
    // Otherwise the rows of other tests would be counted.
    await api.database.write((tx) => tx.db.deleteFrom("stateVersions").execute());
  });

  /** Versions created this many days ago; the last is the current one. */
  async function versions(...ages: number[]): Promise<string[]> {
    const made: string[] = [];
    for (const [index, age] of ages.entries()) {
      const version = await stage.write(stateOf({ serial: index + 1 }));
      await setVersion(api, version.id, { createdAt: daysAgo(age) });
      made.push(version.id);
    }
    return made;
  }
  const left = async (): Promise<string[]> =>
    data(await stage.owner.get(`${stage.path}/state-versions`))
      .map(({ id }: Json) => id)
      .toReversed();
  const enforce = () => enforceRetention(jobContextOf(api));

  it("removes versions that are older than the organization's policy allows, and records an event", async () => {
    data(await stage.owner.post(ofOrganization(), deleteOlder(10)));
    const [old, young, current] = await versions(11, 9, 0);
    expect(await enforce()).toBe(1);
    expect(await left()).toEqual([young, current]);
    const events = await stage.events(old as string);
    expect(events.at(-1)).toMatchObject({
      action: "state-versions.delete",
      "actor-kind": "operator",
      before: { workspace: stage.workspace.id, serial: 1 },
      after: null,
    });
    expect(await enforce()).toBe(0);
  });

  it("never removes the current state, however old", async () => {
    data(await stage.owner.post(ofOrganization(), deleteOlder(1)));
    const [, , current] = await versions(30, 20, 10);
    expect(await enforce()).toBe(2);
    expect(await left()).toEqual([current]);
    expect((await fetchState(api, stage.owner, `/state-versions/${current}/download`)).status).toBe(200);
  });

  it("removes neither states written under a lock that is still held, nor pending ones", async () => {
    data(await stage.owner.post(ofOrganization(), deleteOlder(1)));
    const [current] = await versions(30);
    await stage.lock();
    const written = await stage.sent(stateOf({ serial: 2 }));
    const awaited = await stage.announce(stateOf({ serial: 3 }));
    for (const { id } of [written, awaited]) await setVersion(api, id, { createdAt: daysAgo(20) });
    expect(await enforce()).toBe(0);
    expect(await left()).toEqual([current, written.id, awaited.id]);
  });

  it.each<[string, number | null, number[]]>([
    ["a longer one", 100, [1, 2]],
    ["a shorter one", 3, []],
    ["one that deletes nothing", null, [0, 1, 2]],
  ])("the workspace's own policy is the one that counts: %s", async (_, days, kept) => {
    data(await stage.owner.post(ofOrganization(), deleteOlder(10)));
    data(await stage.owner.post(ofWorkspace(), days === null ? dontDelete : deleteOlder(days)));
    const made = await versions(101, 20, 5, 0);
    await enforce();
    expect(await left()).toEqual([...kept, 3].map((index) => made[index]));
  });

  it("a workspace's policy does not affect another workspace", async () => {
    data(await stage.owner.post(ofWorkspace(), deleteOlder(1)));
    const other = await makeWorkspace(api, stage.org.name);
    const [first] = [
      await writeState(stage.owner, other.id, stateOf()),
      await writeState(stage.owner, other.id, stateOf()),
    ];
    await setVersion(api, first.id, { createdAt: daysAgo(50) });
    await versions(20, 0);
    expect(await enforce()).toBe(1);
    expect(data(await stage.owner.get(`/workspaces/${other.id}/state-versions`))).toHaveLength(2);
  });

  it("an organization's policy that deletes nothing deletes nothing", async () => {
    data(await stage.owner.post(ofOrganization(), dontDelete));
    const made = await versions(900, 0);
    expect(await enforce()).toBe(0);
    expect(await left()).toEqual(made);
  });

  it("a policy with too many days does not prevent the enforcement of others", async () => {
    data(await stage.owner.post(ofOrganization(), deleteOlder(10)));
    const elsewhere = await makeWorkspace(api, stage.org.name);
    const policy = `/workspaces/${elsewhere.id}/relationships/data-retention-policy`;
    const { id } = data(await stage.owner.post(policy, deleteOlder(10)));
    // Possible before the limit existed.
    await api.database.write((tx) =>
      tx.db
        .updateTable("dataRetentionPolicies")
        .set({ deleteOlderThanNDays: 2_000_000_000 })
        .where("id", "=", id)
        .execute(),
    );
    const [, current] = await versions(11, 0);
    expect(await enforce()).toBe(1);
    expect(await left()).toEqual([current]);
  });

  it("without a policy, and in the hosted edition: nothing", async () => {
    const made = await versions(900, 0);
    expect(await enforce()).toBe(0);
    data(await stage.owner.post(ofOrganization(), deleteOlder(1)));
    expect(await enforceRetention(jobContextOf(api, { edition: "hosted" }))).toBe(0);
    expect(await left()).toEqual(made);
  });

  it("removes discarded and soft-deleted versions too, and their contents later", async () => {
    data(await stage.owner.post(ofOrganization(), deleteOlder(1)));
    const [hidden] = await versions(5, 0);
    data(await stage.owner.post(`/state-versions/${hidden}/actions/soft_delete_backing_data`));
    await stage.lock();
    const discarded = await stage.announce(stateOf({ serial: 9 }));
    await setVersion(api, discarded.id, { createdAt: daysAgo(5) });
    await stage.forceUnlock();
    expect(await enforce()).toBe(2);
    expect(await left()).toHaveLength(1);
    await removeAbandonedUploads(jobContextOf(api));
    expect((await contents()).every(({ stateVersionId }) => stateVersionId !== null)).toBe(true);
  });
});

describe("removeAbandonedUploads", () => {
  const clean = () => removeAbandonedUploads(jobContextOf(api));

  it("discards versions that were announced and never uploaded; then the unlock works again", async () => {
    await stage.lock();
    const there = await stage.sent(stateOf({ serial: 1 }));
    const never = await stage.announce(stateOf({ serial: 2 }));
    await clean();
    expect(await stage.status(never.id)).toBe("pending");
    expect((await stage.tryUnlock()).status).toBe(503);
    await setVersion(api, never.id, { uploadExpiresAt: daysAgo(0.01) });
    expect(await clean()).toBeGreaterThanOrEqual(1);
    expect(await stage.status(never.id)).toBe("discarded");
    expect((await stage.events(never.id)).at(-1)).toMatchObject({
      action: "state-versions.discard",
      "actor-kind": "operator",
    });
    await stage.unlock();
    expect(await stage.currentId()).toBe(there.id);
  });

  it("removes what a killed server left of an upload, once nothing has arrived for an hour", async () => {
    await stage.lock();
    const state = stateOfSize(700_000);
    const version = await stage.announce(state);
    const { organizationId } = await versionRow(api, version.id);
    const content = {
      id: "sc-left-by-a-killed-server",
      organizationId,
      owner: stateVersionOwner(version.id),
      kind: "state",
    };
    await api.database.write(async (tx) => {
      await beginContent(tx, content);
      await appendChunk(tx, { organizationId, contentId: content.id, position: 0, bytes: Buffer.from("half") });
    });
    await clean();
    const [half] = await contentsOf(api, version.id);
    expect(half?.complete).toBe(0);
    await api.database.write((tx) =>
      tx.db
        .updateTable("contents")
        .set({ touchedAt: daysAgo(0.05) })
        .where("id", "=", half?.id ?? "")
        .execute(),
    );
    expect(await clean()).toBe(1);
    expect(await contentsOf(api, version.id)).toEqual([]);
    expect(await chunksOf(api, half?.id ?? "")).toEqual([]);
    expectSent(await put(uploadUrlOf(version), state));
  });

  it("immediately removes interrupted and refused uploads", async () => {
    await stage.lock();
    const state = stateOfSize(700_000);
    const version = await stage.announce(state);
    expect((await put(uploadUrlOf(version), stateOfSize(600_000))).status).toBe(422);
    const sending = slowPut(uploadUrlOf(version));
    await sending.write(state.slice(0, 650_000));
    await expect.poll(() => contentsOf(api, version.id)).toHaveLength(1);
    sending.breakOff();
    await expect.poll(() => contentsOf(api, version.id)).toEqual([]);
    expect(await clean()).toBe(2);
    expectSent(await put(uploadUrlOf(version), state));
  });

  it("keeps complete contents, however old", async () => {
    const version = await stage.write(stateOf());
    await api.database.write((tx) =>
      tx.db
        .updateTable("contents")
        .set({ touchedAt: daysAgo(900) })
        .execute(),
    );
    await clean();
    expect((await fetchState(api, stage.owner, `/state-versions/${version.id}/download`)).text).toBe(stateOf());
  });

  itInGate("works in steps of a few chunks, which can be interrupted", async () => {
    const version = await stage.upload(stateOfSize(3 * 1024 * 1024));
    const [content] = await contentsOf(api, version.id);
    const rows = Array.from({ length: 70 }, (_, index) => ({
      organizationId: stage.org.id,
      contentId: content?.id ?? "",
      position: 100 + index,
      bytes: Buffer.of(index),
    }));
    await api.database.write((tx) => tx.db.insertInto("contentChunks").values(rows).execute());
    expect((await stage.owner.delete(stage.path)).status).toBe(204);
    const stop = new AbortController();
    const work = jobContextOf(api, { signal: stop.signal });
    let steps = 0;
    const interrupted = removeAbandonedUploads({
      ...work,
      step: async (inner) => {
        if (steps === 2) stop.abort();
        steps += 1;
        return work.step(inner);
      },
    });
    await expect(interrupted).rejects.toThrow();
    const remaining = (await chunksOf(api, content?.id ?? "")).length;
    expect(remaining).toBeGreaterThan(0);
    expect(remaining).toBeLessThan(70 + (content?.chunkCount ?? 0));
    expect(await clean()).toBe(1);
    expect(await chunksOf(api, content?.id ?? "")).toEqual([]);
  });
});

describe("removeSupersededResources", () => {
  const rowsOf = async (id: string) =>
    (
      await api.database.reader.db
        .selectFrom("stateResources")
        .select("address")
        .where("stateVersionId", "=", id)
        .execute()
    ).length;

  it("removes the resources of states that are no longer current; their summary stays", async () => {
    const first = await stage.write(stateOf({ serial: 1, resources: [managed("a", 700)] }));
    await stage.lock();
    const between = await stage.sent(stateOf({ serial: 2, resources: [managed("a", 3)] }));
    const last = await stage.sent(stateOf({ serial: 3, resources: [managed("a", 2)] }));
    await removeSupersededResources(jobContextOf(api));
    expect(await rowsOf(first.id)).toBe(700);
    expect(await rowsOf(between.id)).toBe(3);
    await stage.unlock();
    expect(await removeSupersededResources(jobContextOf(api))).toBe(2);
    expect([await rowsOf(first.id), await rowsOf(between.id), await rowsOf(last.id)]).toEqual([0, 0, 2]);
    expect((await stage.show(first.id)).attributes["billable-rum-count"]).toBe(700);
    expect(data(await stage.owner.get(`${stage.path}/resources`))).toHaveLength(2);
    expect(await removeSupersededResources(jobContextOf(api))).toBe(0);
  });

  it("keeps them until the current state is processed, because its ids come from them", async () => {
    const first = await stage.write(stateOf({ serial: 1, resources: [managed("a", 2)] }));
    const second = await stage.write(stateOfSize(1_100_000, { serial: 2 }));
    expect(await removeSupersededResources(jobContextOf(api))).toBe(0);
    expect(await rowsOf(first.id)).toBe(2);
    await setVersion(api, second.id, { resourcesProcessed: 1 });
    expect(await removeSupersededResources(jobContextOf(api))).toBe(1);
    expect((await versionRow(api, first.id)).superseded).toBe(0);
  });
});

describe("a workspace or an organization that is deleted", () => {
  it("leaves contents that nothing refers to, and a job removes them", async () => {
    await stage.write(stateOf(), { "json-state": Buffer.from("{}").toString("base64") });
    await stage.upload(stateOfSize(600_000, { serial: 2 }));
    expect((await stage.owner.delete(stage.path)).status).toBe(204);
    expect((await contents()).filter(({ stateVersionId }) => stateVersionId === null)).toHaveLength(3);
    expect(await removeAbandonedUploads(jobContextOf(api))).toBe(3);
    expect((await api.admin.delete(`/organizations/${stage.org.name}`)).status).toBe(204);
    await emptyClosedOrganizations(jobContextOf(api));
    await removeAbandonedUploads(jobContextOf(api));
    expect([await contents(), await chunks()]).toEqual([[], []]);
  });
});
