/**
 * Deleting workspaces that have state, safely or by force; cleaning up after deleted workspaces and versions in steps;
 * soft-deleting, restoring and permanently deleting the content of old versions.
 */
import { describe, expect, it } from "vitest";
import { emptyClosedOrganizations } from "../../../../src/resources/identity/organizations/emptying.ts";
import {
  enforceRetention,
  parseLargeStates,
  removeAbandonedUploads,
} from "../../../../src/resources/state/state-versions/maintenance/maintenance.ts";
import type { JobContext } from "../../../../src/resources/shared/job-context.ts";
import { type Answer, type Caller, type Json, startApi, useApi } from "../../../support/api.ts";
import { data } from "../../../support/builders.ts";
import {
  base64,
  fetchState,
  managed,
  put,
  stateOf,
  stateOfSize,
  jobContextOf,
  writeState,
} from "../../../support/states.ts";
import { contentsOf, expectRefused, expectSent, setVersion, uploadUrlOf, useStage } from "./support.ts";

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

/** A job that records what is left after each step. */
function noting(id: string, left: number[], work: JobContext = jobContextOf(api)): JobContext {
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
  await parseLargeStates(jobContextOf(api));
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
    const work = jobContextOf(api, { signal: stop.signal });
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
    await removeAbandonedUploads(jobContextOf(api));
    expect(await rowsOf(id)).toBe(0);
  });

  it("are removed with its organization", async () => {
    const org = await api.makeOrganization();
    const workspace = await api.makeWorkspace(org.name);
    const { id } = await writeState(org.owner, workspace.id, stateOf({ resources: [managed("a", 3)] }));
    expect((await api.admin.delete(`/organizations/${org.name}`)).status).toBe(204);
    await emptyClosedOrganizations(jobContextOf(api));
    await removeAbandonedUploads(jobContextOf(api));
    expect(await rowsOf(id)).toBe(0);
  });

  it("are not written any more by a job that reads its state", async () => {
    const { id } = await stage.write(stateOf({ resources: [managed("many", 1600)] }));
    const work = jobContextOf(api);
    let steps = 0;
    await parseLargeStates({
      ...work,
      step: async (inner) => {
        const done = await work.step(inner);
        steps += 1;
        if (steps !== 1) return done;
        expect(await rowsOf(id)).toBe(500);
        await stage.owner.delete(stage.path);
        await removeAbandonedUploads(jobContextOf(api));
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
    expect(await enforceRetention(jobContextOf(api))).toBe(1);
    await removeAbandonedUploads(jobContextOf(api));
    expect(await rowsOf(old.id)).toBe(0);
  });

  it("stay while the version exists, even if other uploads were discarded", async () => {
    await stage.lock();
    const state = stateOf({ resources: [managed("a", 3)] });
    const version = await stage.announce(state);
    const url = version.attributes["hosted-state-upload-url"];
    expect((await fetch(url, { method: "PUT", body: stateOfSize(600_000) })).status).toBe(422);
    expect((await fetch(url, { method: "PUT", body: state })).status).toBe(204);
    expect(await removeAbandonedUploads(jobContextOf(api))).toBe(1);
    expect(await rowsOf(version.id)).toBe(3);
  });
});

const safeDelete = () => stage.owner.post(`${stage.path}/actions/safe-delete`);
const byName = () =>
  stage.owner.post(
    `/organizations/${stage.org.name}/workspaces/${stage.workspace.attributes.name}/actions/safe-delete`,
  );
const locked = "Unable to delete workspace. The workspace is locked. Unlock it first.";
const manages = (count: number) =>
  `Unable to delete workspace. The workspace manages ${count} resource${count === 1 ? "" : "s"}. Destroy them first, or force-delete the workspace.`;

describe("safe delete", () => {
  it.each([
    ["by id", safeDelete],
    ["by name", byName],
  ])("409 while it manages resources, and 204 once they are destroyed: %s", async (_, remove) => {
    await stage.write(stateOf({ serial: 1, resources: [managed("one", 3)] }));
    expectRefused(await remove(), 409, manages(3));
    await stage.write(stateOf({ serial: 2 }));
    expect((await remove()).status).toBe(204);
    expect((await stage.shown()).status).toBe(404);
  });

  it("data sources are not managed resources", async () => {
    await stage.write(stateOf({ resources: [{ ...managed("read"), mode: "data" }] }));
    expect((await safeDelete()).status).toBe(204);
  });

  it("409 while it is locked, whatever its state", async () => {
    await stage.lock();
    expectRefused(await safeDelete(), 409, locked);
    const version = await stage.announce(stateOf());
    expectRefused(await safeDelete(), 409, locked);
    expectSent(await put(uploadUrlOf(version), stateOf()));
    await stage.unlock();
    expect((await safeDelete()).status).toBe(204);
  });

  it("discarded versions block nothing", async () => {
    await stage.lock();
    await stage.announce(stateOf({ resources: [managed("one")] }));
    await stage.forceUnlock();
    expect((await safeDelete()).status).toBe(204);
  });
});

describe("force delete", () => {
  it("204 with resources, locked, and with a pending state", async () => {
    const version = await stage.write(stateOf({ serial: 1, resources: [managed("one")] }));
    await stage.lock();
    const awaited = await stage.announce(stateOf({ serial: 2 }));
    expect((await stage.owner.delete(stage.path)).status).toBe(204);
    for (const { id } of [version, awaited]) {
      expect((await stage.owner.get(`/state-versions/${id}`)).status).toBe(404);
      expect((await stage.owner.get(`/state-versions/${id}/download`)).status).toBe(404);
    }
    const rows = await api.database.reader.db
      .selectFrom("stateVersions")
      .select("id")
      .where("workspaceId", "=", stage.workspace.id)
      .execute();
    expect(rows).toEqual([]);
    expect(data(await stage.owner.get(`/organizations/${stage.org.name}/workspaces`))).not.toContainEqual(
      expect.objectContaining({ id: stage.workspace.id }),
    );
  });
});

const act = (id: string, action: string, caller: Caller = stage.owner): Promise<Answer> =>
  caller.post(`/state-versions/${id}/actions/${action}_backing_data`);
const download = (id: string) => fetchState(api, stage.owner, `/state-versions/${id}/download`);

const state = stateOf({ outputs: { a: { value: "x", type: "string" } } });
/** A superseded version. */
async function old(): Promise<Json> {
  const version = await stage.write(state, { "json-state": base64("{}") });
  await stage.write(stateOf({ serial: 2 }));
  return version;
}
const outputsOf = async (id: string): Promise<Json[]> => data(await stage.owner.get(`/state-versions/${id}/outputs`));

describe("soft delete", () => {
  it("204: the content and the outputs are not shown any more", async () => {
    const version = await old();
    const outputId = version.relationships.outputs.data[0].id;
    expect((await act(version.id, "soft_delete")).status).toBe(204);
    expect(await stage.status(version.id)).toBe("backing_data_soft_deleted");
    expect((await download(version.id)).status).toBe(404);
    expect((await stage.owner.get(`/state-versions/${version.id}/json-download`)).status).toBe(404);
    expect(await outputsOf(version.id)).toEqual([]);
    expect((await stage.owner.get(`/state-version-outputs/${outputId}`)).status).toBe(404);
  });

  it("restore: 204, and everything is as before", async () => {
    const version = await old();
    const before = await stage.show(version.id);
    const outputs = await outputsOf(version.id);
    await act(version.id, "soft_delete");
    expect((await act(version.id, "restore")).status).toBe(204);
    expect(await stage.show(version.id)).toEqual(before);
    expect(await download(version.id)).toEqual({ status: 200, text: state });
    expect(await outputsOf(version.id)).toEqual(outputs);
  });
});

describe("permanent deletion", () => {
  it("204: nothing refers to the content, and a job removes it", async () => {
    const version = await old();
    await act(version.id, "soft_delete");
    expect((await act(version.id, "permanently_delete")).status).toBe(204);
    const shown = await stage.show(version.id);
    expect(shown.attributes).toMatchObject({ status: "backing_data_permanently_deleted", serial: 1 });
    expect(shown.relationships.outputs.data).toEqual([]);
    expect((await download(version.id)).status).toBe(404);
    expect(await contentsOf(api, version.id)).toEqual([]);
    const rows = () =>
      api.database.reader.db.selectFrom("contents").select("id").where("stateVersionId", "is", null).execute();
    expect((await rows()).length).toBeGreaterThanOrEqual(2);
    await removeAbandonedUploads(jobContextOf(api));
    expect(await rows()).toEqual([]);
  });

  it("can't be undone, even before a job has removed the content", async () => {
    const version = await old();
    for (const action of ["soft_delete", "permanently_delete"]) await act(version.id, action);
    expect((await act(version.id, "restore")).status).toBe(409);
  });
});

describe("the transitions", () => {
  const statuses = [
    "pending",
    "finalized",
    "discarded",
    "backing_data_soft_deleted",
    "backing_data_permanently_deleted",
  ];
  const allowed: Record<string, [from: string, to: string]> = {
    soft_delete: ["finalized", "backing_data_soft_deleted"],
    restore: ["backing_data_soft_deleted", "finalized"],
    permanently_delete: ["backing_data_soft_deleted", "backing_data_permanently_deleted"],
  };

  it.each(Object.keys(allowed))("%s is allowed from one status only", async (action) => {
    const version = await old();
    const [from, to] = allowed[action] as [string, string];
    for (const status of statuses) {
      await setVersion(api, version.id, { status });
      const answer = await act(version.id, action);
      if (status === from) {
        expect(answer.status).toBe(204);
        expect(await stage.status(version.id)).toBe(to);
      } else {
        expectRefused(
          answer,
          409,
          `Status transition not allowed: the state version is ${status}, and only one that is ${from} can become ${to}.`,
        );
        expect(await stage.status(version.id)).toBe(status);
      }
    }
  });

  it("409: the current state, and one that becomes current with the unlock", async () => {
    const current = await stage.write(state);
    await stage.lock();
    const next = await stage.sent(stateOf({ serial: 2 }));
    const sentence =
      "The content of the current state version, or of one that becomes current with the unlock, can't be deleted. Write a newer state first.";
    for (const { id } of [current, next]) expectRefused(await act(id, "soft_delete"), 409, sentence);
    expect(await stage.status(current.id)).toBe("finalized");
  });

  it("record events", async () => {
    const version = await old();
    for (const action of ["soft_delete", "restore", "soft_delete", "permanently_delete"]) {
      expect((await act(version.id, action)).status).toBe(204);
      // Events of the same millisecond have no order.
      const actedAt = Date.now();
      while (Date.now() <= actedAt) await new Promise(setImmediate);
    }
    const { serial } = version.attributes;
    const events = await stage.events(version.id);
    expect(events.slice(1).map(({ action, after }) => [action, after])).toEqual([
      ["state-versions.soft-delete-backing-data", { serial, status: "backing_data_soft_deleted" }],
      ["state-versions.restore-backing-data", { serial, status: "finalized" }],
      ["state-versions.soft-delete-backing-data", { serial, status: "backing_data_soft_deleted" }],
      ["state-versions.permanently-delete-backing-data", { serial, status: "backing_data_permanently_deleted" }],
    ]);
  });
});

describe("permissions", () => {
  it("an admin of the workspace: 204; a writer: 403; a member who can't read the state: 403; strangers: 404", async () => {
    const version = await old();
    const callers: [number, Caller][] = [];
    for (const [access, status] of [
      ["admin", 204],
      ["write", 403],
      ["read", 403],
    ] as const) {
      const team = await api.makeTeam(stage.org.name);
      await api.grantWorkspace(stage.workspace.id, team.id, access);
      callers.push([status, await api.makeMember(stage.org.name, [team.id])]);
    }
    const blind = await api.makeTeam(stage.org.name);
    await api.makeTeamWorkspace(stage.workspace.id, blind.id, { access: "custom", "state-versions": "read-outputs" });
    callers.push([403, await api.makeMember(stage.org.name, [blind.id])], [404, await api.makeMember(stage.org.name)]);
    for (const [status, caller] of callers.toReversed()) {
      for (const action of ["soft_delete", "restore", "soft_delete", "permanently_delete"])
        expect((await act(version.id, action, caller)).status, action).toBe(status);
    }
  });
});

it("the hosted edition has none of these: 404, to everybody", async () => {
  const hosted = await startApi({ options: { edition: "hosted" } });
  try {
    const org = await hosted.makeOrganization();
    const workspace = await hosted.makeWorkspace(org.name);
    const first = await writeState(org.owner, workspace.id, state);
    await writeState(org.owner, workspace.id, stateOf({ serial: 2 }));
    for (const action of ["soft_delete", "restore", "permanently_delete"]) {
      for (const caller of [org.owner, hosted.admin])
        expectRefused(await act(first.id, action, caller), 404, /^There is no such path/);
    }
    expect(data(await org.owner.get(`/state-versions/${first.id}`)).attributes.status).toBe("finalized");
  } finally {
    await hosted.stop();
  }
});
