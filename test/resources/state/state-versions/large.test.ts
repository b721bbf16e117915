/** Large states: stored immediately, processed later by a job that can be interrupted at any step. */
import { describe, expect, it } from "vitest";
import {
  parseLargeStates,
  removeSupersededResources,
} from "../../../../src/resources/state/state-versions/maintenance/maintenance.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { data } from "../../../support/builders.ts";
import { managed, put, stateOf, jobContextOf } from "../../../support/states.ts";
import { expectRefused, expectSent, setVersion, uploadUrlOf, useStage, versionRow } from "./support.ts";
import type { JobContext } from "../../../../src/resources/shared/job-context.ts";

const woken: string[] = [];
const api = useApi({ wake: (job) => woken.push(job) });
const stage = useStage(api);

const outputs = { name: { value: "x", type: "string" }, other: { value: 2, type: "number" } };
const filler = "x".repeat(1_100_000);
/** Too large to be processed in the request, with this many resources in addition to its filler. */
const large = (serial: number, count: number) =>
  stateOf({ serial, outputs, resources: [managed("many", count), managed("filler", 1, { filler })] });

const read = (work: JobContext = jobContextOf(api)) => parseLargeStates(work);
const listed = async (query = ""): Promise<Json> => (await stage.owner.get(`${stage.path}/resources${query}`)).body;
const workspaceShows = async () => {
  const { attributes, relationships } = data(await stage.shown());
  return [attributes["resource-count"], relationships.outputs.data.length];
};

/** A job that is aborted after this many steps. */
function interruptedAfter(steps: number): JobContext {
  const stop = new AbortController();
  const work = jobContextOf(api, { signal: stop.signal });
  let left = steps;
  return {
    ...work,
    step: async (inner) => {
      if (left === 0) stop.abort();
      left -= 1;
      return work.step(inner);
    },
  };
}

describe.each(["in the request", "by upload"])("a large state %s", (how) => {
  const written = (state: string) => (how === "by upload" ? stage.upload(state) : stage.write(state));

  it("is stored immediately and processed later", async () => {
    const { id } = await written(large(1, 10));
    const before = await stage.show(id);
    expect(before.attributes).toMatchObject({
      status: "finalized",
      "resources-processed": false,
      "billable-rum-count": null,
      "engine-version": "1.9.5",
      modules: { root: { "null-resource": 11 } },
    });
    expect(await stage.currentId()).toBe(id);
    expect((await listed()).data).toEqual([]);
    // An engine asks for the outputs as soon as it has written them.
    expect(await workspaceShows()).toEqual([0, 2]);
    expect(before.relationships.outputs.data).toHaveLength(2);
    const early = data(await stage.owner.get(`${stage.path}/current-state-version-outputs`));
    expect(early).toHaveLength(2);
    expectRefused(
      await stage.owner.post(`${stage.path}/actions/safe-delete`),
      409,
      "Unable to delete workspace. Its latest state is still being processed. Try again shortly.",
    );

    expect(await read()).toBe(1);
    const after = await stage.show(id);
    expect(after.attributes).toEqual({
      ...before.attributes,
      "resources-processed": true,
      "billable-rum-count": 11,
    });
    expect(after.relationships).toEqual(before.relationships);
    expect(await workspaceShows()).toEqual([11, 2]);
    expect((await listed()).meta.pagination["total-count"]).toBe(11);
    expect(data(await stage.owner.get(`${stage.path}/current-state-version-outputs`))).toEqual(early);
    expect(await read()).toBe(0);
    expect(await stage.show(id)).toEqual(after);
  });
});

describe("what makes a state large", () => {
  it.each<[string, object]>([
    ["more than 1000 resources", { resources: [managed("many", 1001)] }],
    [
      "more than 1000 outputs",
      {
        outputs: Object.fromEntries(
          Array.from({ length: 1001 }, (_, index) => [`o${index}`, { value: 1, type: "number" }]),
        ),
      },
    ],
  ])("%s", async (_, facts) => {
    const { id } = await stage.write(stateOf(facts));
    expect((await stage.show(id)).attributes["resources-processed"]).toBe(false);
    expect(await workspaceShows()).toEqual([0, 0]);
    const early = await stage.owner.get(`${stage.path}/current-state-version-outputs`);
    expect(early.status).toBe(503);
    expect(early.headers.get("retry-after")).toBe("1");
    await read();
    expect((await stage.show(id)).attributes["resources-processed"]).toBe(true);
    const [resources, named] = await workspaceShows();
    expect([resources, named]).toEqual("resources" in facts ? [1001, 0] : [0, 1000]);
    if ("outputs" in facts) {
      const answer = await stage.owner.get(`${stage.path}/current-state-version-outputs`);
      expect(data(answer)).toHaveLength(1001);
    }
  });

  it("wakes the processing job; a small state does not", async () => {
    woken.length = 0;
    await stage.write(stateOf({ serial: 1, resources: [managed("few", 3)] }));
    await stage.upload(stateOf({ serial: 2 }));
    expect(woken).toEqual([]);
    await stage.write(large(3, 1));
    await stage.upload(large(4, 1));
    expect(woken).toEqual(["state-processing", "state-processing"]);
    await read();
  });

  it("not 1000 of each", async () => {
    const version = await stage.write(stateOf({ resources: [managed("many", 1000)] }));
    expect(version.attributes).toMatchObject({ "resources-processed": true, "billable-rum-count": 1000 });
  });
});

describe("when it is processed", () => {
  it("under the lock, before it is current: the unlock uses the result", async () => {
    await stage.lock();
    const state = large(1, 5);
    const version = await stage.announce(state);
    expectSent(await put(uploadUrlOf(version), state));
    await read();
    expect(await workspaceShows()).toEqual([0, 0]);
    expect((await stage.unlock()).attributes["resource-count"]).toBe(6);
    expect(await workspaceShows()).toEqual([6, 2]);
  });

  it("after it has become the current one, between two of its steps", async () => {
    await stage.lock();
    const version = await stage.sent(large(1, 700));
    const work = jobContextOf(api);
    let steps = 0;
    await read({
      ...work,
      step: async (inner) => {
        steps += 1;
        const done = await work.step(inner);
        if (steps === 1) {
          await stage.unlock();
          expect(await workspaceShows()).toEqual([0, 2]);
          expect((await listed()).data).toEqual([]);
        }
        return done;
      },
    });
    expect(steps).toBe(3);
    expect(await stage.currentId()).toBe(version.id);
    expect(await workspaceShows()).toEqual([701, 2]);
    expect((await listed("?page[size]=1")).meta.pagination["total-count"]).toBe(701);
  });

  it("after a newer one has replaced it: only its own document changes", async () => {
    const old = await stage.write(large(1, 3));
    await stage.write(stateOf({ serial: 2, resources: [managed("one")] }));
    await read();
    expect((await stage.show(old.id)).attributes["billable-rum-count"]).toBe(4);
    expect(await workspaceShows()).toEqual([1, 0]);
  });

  it.each([0, 1, 2])("interrupted after %i steps, and again from the start", async (steps) => {
    const { id } = await stage.write(large(1, 600));
    await read(interruptedAfter(steps));
    expect((await stage.show(id)).attributes["resources-processed"]).toBe(false);
    expect(await workspaceShows()).toEqual([0, 2]);
    expect((await listed()).data).toEqual([]);
    expect((await stage.owner.post(`${stage.path}/actions/safe-delete`)).status).toBe(409);
    await read();
    expect(await workspaceShows()).toEqual([601, 2]);
    const rows = await api.database.reader.db
      .selectFrom("stateResources")
      .select("address")
      .where("stateVersionId", "=", id)
      .execute();
    expect(rows).toHaveLength(601);
  });

  it("by two concurrent jobs: only once", async () => {
    const { id } = await stage.write(large(1, 600));
    await Promise.allSettled([read(), read()]);
    await read();
    expect(await workspaceShows()).toEqual([601, 2]);
    expect((await stage.show(id)).relationships.outputs.data).toHaveLength(2);
  });

  it("the next one keeps the ids of common resources, also when both are processed together", async () => {
    await stage.write(large(1, 30));
    await stage.write(large(2, 20));
    await read();
    const ids = (await listed("?page[size]=100")).data.map(({ id }: Json) => id);
    expect(ids).toHaveLength(21);
    await removeSupersededResources(jobContextOf(api));
    await stage.write(stateOf({ serial: 3, resources: [managed("many", 20)] }));
    const kept = (await listed("?page[size]=100")).data.map(({ id }: Json) => id);
    expect(kept).toHaveLength(20);
    for (const id of kept) expect(ids).toContain(id);
  });

  it("one that can't be processed does not delay the others, and is reported", async () => {
    const lost = await stage.write(large(1, 1));
    const good = await stage.write(large(2, 2));
    await setVersion(api, lost.id, { createdAt: "2020-01-01T00:00:00.000Z" });
    await api.database.write((tx) =>
      tx.db.updateTable("contents").set({ stateVersionId: null }).where("stateVersionId", "=", lost.id).execute(),
    );
    await expect(read()).rejects.toThrow(`the state version ${lost.id} has no content`);
    expect((await versionRow(api, good.id)).resourcesProcessed).toBe(1);
    await setVersion(api, lost.id, { resourcesProcessed: 1 });
  });
});

describe("safe delete of a workspace with a large state", () => {
  it("once it is processed: depends on what it manages", async () => {
    await stage.write(large(1, 3));
    const path = `${stage.path}/actions/safe-delete`;
    expectRefused(await stage.owner.post(path), 409, /being processed/);
    await read();
    expectRefused(await stage.owner.post(path), 409, /manages 4 resources/);
    await stage.write(stateOf({ serial: 2, outputs: { filler: { value: "x".repeat(1_100_000), type: "string" } } }));
    expectRefused(await stage.owner.post(path), 409, /being processed/);
    await read();
    expect((await stage.owner.post(path)).status).toBe(204);
  });
});
