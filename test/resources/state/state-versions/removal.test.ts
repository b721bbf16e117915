/** What a deleted workspace or version leaves behind is removed in steps, however much it managed. */
import { describe, expect, it } from "vitest";
import {
  enforceRetention,
  readLargeStates,
  removeAbandonedUploads,
} from "../../../../src/resources/state/state-versions/upkeep/upkeep.ts";
import { useApi } from "../../../support/api.ts";
import { makeOrganization, makeWorkspace } from "../../../support/builders.ts";
import { managed, stateOf, stateOfSize, upkeepOf, writeState } from "../../../support/states.ts";
import { setVersion, useStage } from "./support.ts";
import type { JobWork } from "../../../../src/resources/shared/job-work.ts";

const api = useApi();
const stage = useStage(api);

const rowsOf = async (id: string): Promise<number> =>
  (
    await api.database.reader.db
      .selectFrom("stateResources")
      .select("address")
      .where("stateVersionId", "=", id)
      .execute()
  ).length;

/** Work that notes what is left after each of its steps. */
function noting(id: string, left: number[], work: JobWork = upkeepOf(api)): JobWork {
  return {
    ...work,
    step: async (inner) => {
      const done = await work.step(inner);
      left.push(await rowsOf(id));
      return done;
    },
  };
}

const read = async (count: number) => {
  const version = await stage.write(stateOf({ resources: [managed("many", count)] }));
  await readLargeStates(upkeepOf(api));
  expect(await rowsOf(version.id)).toBe(count);
  return version.id as string;
};

describe("the resources of a deleted workspace", () => {
  it("stay until a job removes them, in steps; nothing shows them meanwhile", async () => {
    const id = await read(1200);
    const before = api.database.statementCount();
    expect((await stage.owner.delete(stage.path)).status).toBe(204);
    expect(api.database.statementCount() - before).toBeLessThanOrEqual(9);
    expect(await rowsOf(id)).toBe(1200);
    expect((await stage.owner.get(`${stage.path}/resources`)).status).toBe(404);
    const left: number[] = [];
    await removeAbandonedUploads(noting(id, left));
    // First it looks for uploads that have expired; the last step removes the content.
    expect(left).toEqual([1200, 700, 200, 0, 0]);
  });

  it("are removed after an interruption too", async () => {
    const id = await read(1100);
    await stage.owner.delete(stage.path);
    const stop = new AbortController();
    const work = upkeepOf(api, { signal: stop.signal });
    let steps = 0;
    const interrupted = removeAbandonedUploads({
      ...work,
      step: async (inner) => {
        const done = await work.step(inner);
        if (++steps === 2) stop.abort();
        return done;
      },
    });
    await expect(interrupted).rejects.toThrow();
    expect(await rowsOf(id)).toBe(600);
    await removeAbandonedUploads(upkeepOf(api));
    expect(await rowsOf(id)).toBe(0);
  });

  it("are removed with its organization", async () => {
    const org = await makeOrganization(api);
    const workspace = await makeWorkspace(api, org.name);
    const { id } = await writeState(org.owner, workspace.id, stateOf({ resources: [managed("a", 3)] }));
    expect((await api.admin.delete(`/organizations/${org.name}`)).status).toBe(204);
    await removeAbandonedUploads(upkeepOf(api));
    expect(await rowsOf(id)).toBe(0);
  });

  it("are not written any more by a job that reads its state", async () => {
    const { id } = await stage.write(stateOf({ resources: [managed("many", 1600)] }));
    const work = upkeepOf(api);
    let steps = 0;
    await readLargeStates({
      ...work,
      step: async (inner) => {
        const done = await work.step(inner);
        steps += 1;
        if (steps !== 1) return done;
        expect(await rowsOf(id)).toBe(500);
        await stage.owner.delete(stage.path);
        await removeAbandonedUploads(upkeepOf(api));
        expect(await rowsOf(id)).toBe(0);
        return done;
      },
    }).catch(() => {});
    expect(steps).toBeGreaterThan(1);
    expect(await rowsOf(id)).toBe(0);
  });
});

describe("the resources of a version", () => {
  it("are removed after retention has removed it", async () => {
    const policy = {
      data: { type: "data-retention-policy-delete-olders", attributes: { "delete-older-than-n-days": 1 } },
    };
    const old = await stage.write(stateOf({ serial: 1, resources: [managed("a", 3)] }));
    await stage.write(stateOf({ serial: 2, resources: [managed("a", 3)] }));
    await setVersion(api, old.id, { createdAt: "2020-01-01T00:00:00.000Z" });
    await stage.owner.post(`${stage.path}/relationships/data-retention-policy`, policy);
    expect(await enforceRetention(upkeepOf(api))).toBe(1);
    await removeAbandonedUploads(upkeepOf(api));
    expect(await rowsOf(old.id)).toBe(0);
  });

  it("stay while it is there, whatever uploads for it were given up", async () => {
    await stage.lock();
    const state = stateOf({ resources: [managed("a", 3)] });
    const version = await stage.announce(state);
    const url = version.attributes["hosted-state-upload-url"];
    expect((await fetch(url, { method: "PUT", body: stateOfSize(600_000) })).status).toBe(422);
    expect((await fetch(url, { method: "PUT", body: state })).status).toBe(204);
    expect(await removeAbandonedUploads(upkeepOf(api))).toBe(1);
    expect(await rowsOf(version.id)).toBe(3);
  });
});
