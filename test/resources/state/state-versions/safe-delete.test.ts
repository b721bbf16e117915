/** Deleting a workspace that has state: safely, not while it manages anything; by force, at once. */
import { describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data } from "../../../support/builders.ts";
import { managed, put, stateOf } from "../../../support/states.ts";
import { expectRefused, expectSent, uploadUrlOf, useStage } from "./support.ts";

const api = useApi();
const stage = useStage(api);

const safeDelete = () => stage.owner.post(`${stage.path}/actions/safe-delete`);
const byName = () =>
  stage.owner.post(
    `/organizations/${stage.org.name}/workspaces/${stage.workspace.attributes.name}/actions/safe-delete`,
  );
const locked = "Unable to delete workspace. The workspace is locked; unlock it first.";
const manages = (count: number) =>
  `Unable to delete workspace. The workspace manages ${count} resource${count === 1 ? "" : "s"}; destroy what it manages first, or force the deletion.`;

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

  it("data sources are nothing that it manages", async () => {
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

  it("what was given up is in nobody's way", async () => {
    await stage.lock();
    await stage.announce(stateOf({ resources: [managed("one")] }));
    await stage.forceUnlock();
    expect((await safeDelete()).status).toBe(204);
  });
});

describe("force delete", () => {
  it("204 with resources, locked, and with a state that is awaited", async () => {
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
