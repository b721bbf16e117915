/** What is written under a lock, and what the lock's release makes of it. */
import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data } from "../../../support/builders.ts";
import { managed, put, stateOf } from "../../../support/states.ts";
import { expectSent, uploadUrlOf, useStage, versionRow } from "./support.ts";

const api = useApi();
const stage = useStage(api);

const pendingSentence =
  "Unable to unlock workspace. The workspace's latest state version is still pending: its content has not arrived. Try again shortly, or force the unlock to give it up.";

describe("while the lock is held", () => {
  it("the current version stays what it was", async () => {
    const before = await stage.write(stateOf({ serial: 1, resources: [managed("one")] }));
    await stage.lock();
    const made: Json[] = [];
    for (const serial of [2, 3]) {
      made.push(await stage.sent(stateOf({ serial, resources: [managed("one", serial)] })));
      expect(await stage.currentId()).toBe(before.id);
      expect(data(await stage.current()).id).toBe(before.id);
      expect(data(await stage.shown()).attributes["resource-count"]).toBe(1);
    }
    for (const { id } of made) expect((await stage.show(id)).attributes.intermediate).toBe(true);
    expect((await stage.show(before.id)).attributes.intermediate).toBe(false);
  });

  it("latest-change-at is when the latest one was made", async () => {
    expect(data(await stage.shown()).attributes["latest-change-at"]).toBe(stage.workspace.attributes["created-at"]);
    await stage.lock();
    const version = await stage.announce(stateOf());
    expect(data(await stage.shown()).attributes["latest-change-at"]).toBe(stage.workspace.attributes["created-at"]);
    expectSent(await put(uploadUrlOf(version), stateOf()));
    expect(data(await stage.shown()).attributes["latest-change-at"]).toBe(version.attributes["created-at"]);
    const next = await stage.sent(stateOf({ serial: 2 }));
    await stage.unlock();
    expect(data(await stage.shown()).attributes["latest-change-at"]).toBe(next.attributes["created-at"]);
  });
});

describe("unlock", () => {
  it("makes the latest the current one, and none is intermediate any more", async () => {
    await stage.lock();
    const [first, second] = [
      await stage.sent(stateOf({ serial: 1 })),
      await stage.sent(
        stateOf({ serial: 2, outputs: { a: { value: 1, type: "number" } }, resources: [managed("x", 3)] }),
      ),
    ];
    const workspace = await stage.unlock();
    expect(workspace.relationships["current-state-version"].data.id).toBe(second.id);
    expect(workspace.attributes["resource-count"]).toBe(3);
    expect(workspace.relationships.outputs.data.map(({ id }: Json) => id)).toEqual(
      second.relationships.outputs.data.map(({ id }: Json) => id),
    );
    expect(data(await stage.shown())).toEqual(workspace);
    for (const { id } of [first, second]) {
      const { attributes } = await stage.show(id);
      expect(attributes).toMatchObject({ intermediate: false, status: "finalized" });
    }
  });

  it("without anything written leaves everything as it was", async () => {
    const version = await stage.write(stateOf({ resources: [managed("a")] }));
    await stage.lock();
    expect((await stage.unlock()).attributes["resource-count"]).toBe(1);
    expect(await stage.currentId()).toBe(version.id);
  });

  it("503 while the latest is awaited, and the lock is still held", async () => {
    await stage.lock();
    await stage.sent(stateOf({ serial: 1 }));
    const version = await stage.announce(stateOf({ serial: 2 }));
    const answer = await stage.tryUnlock();
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(answer.body.errors).toEqual([{ status: "503", title: "service unavailable", detail: pendingSentence }]);
    const shown = data(await stage.shown());
    expect([shown.attributes.locked, shown.relationships["current-state-version"].data]).toEqual([true, null]);
    expectSent(await put(uploadUrlOf(version), stateOf({ serial: 2 })));
    await stage.unlock();
    expect(await stage.currentId()).toBe(version.id);
  });

  it("503 though an older one has arrived meanwhile", async () => {
    await stage.lock();
    const [older, newer] = [await stage.announce(stateOf({ serial: 1 })), await stage.announce(stateOf({ serial: 2 }))];
    expectSent(await put(uploadUrlOf(older), stateOf({ serial: 1 })));
    expect((await stage.tryUnlock()).status).toBe(503);
    expect(await stage.status(newer.id)).toBe("pending");
    expectSent(await put(uploadUrlOf(newer), stateOf({ serial: 2 })));
    await stage.unlock();
    expect(await stage.currentId()).toBe(newer.id);
  });
});

describe("a newer version that is finalized discards older ones that are awaited", () => {
  it.each(["in a request", "by upload"])("%s", async (how) => {
    await stage.lock();
    const older = await stage.announce(stateOf({ serial: 1 }));
    const newer = await stage.announce(stateOf({ serial: 2 }));
    const latest = stateOf({ serial: 3 });
    const version = how === "by upload" ? await stage.announce(latest) : await stage.sent(latest);
    if (how === "by upload") {
      expect(await stage.status(older.id)).toBe("pending");
      expectSent(await put(uploadUrlOf(version), latest));
    }
    for (const { id } of [older, newer]) {
      const { attributes } = await stage.show(id);
      expect(attributes).toMatchObject({
        status: "discarded",
        intermediate: false,
        "hosted-state-upload-url": null,
        "hosted-json-state-upload-url": null,
      });
      const events = await stage.events(id);
      expect(events.at(-1)).toMatchObject({
        action: "state-versions.discard",
        "actor-id": stage.org.owner.id,
        before: { status: "pending" },
        after: { status: "discarded" },
      });
    }
    await stage.unlock();
    expect(await stage.currentId()).toBe(version.id);
  });
});

describe("force-unlock", () => {
  it("discards what is awaited and settles the latest that is there", async () => {
    await stage.lock();
    const there = await stage.sent(stateOf({ serial: 1, resources: [managed("a", 2)] }));
    const awaited = await stage.announce(stateOf({ serial: 2 }));
    const workspace = await stage.forceUnlock();
    expect(workspace.relationships["current-state-version"].data.id).toBe(there.id);
    expect(workspace.attributes).toMatchObject({ locked: false, "resource-count": 2 });
    expect(await stage.status(awaited.id)).toBe("discarded");
    expect(await stage.status(there.id)).toBe("finalized");
    expect((await stage.events(awaited.id)).at(-1)).toMatchObject({ action: "state-versions.discard" });
  });

  it("leaves the current one where nothing has arrived", async () => {
    const before = await stage.write(stateOf({ serial: 1, resources: [managed("a")] }));
    await stage.lock();
    await stage.announce(stateOf({ serial: 2 }));
    expect((await stage.forceUnlock()).attributes["resource-count"]).toBe(1);
    expect(await stage.currentId()).toBe(before.id);
  });
});

describe("the order of versions", () => {
  it("is that in which they were made, whatever their serials", async () => {
    const made: Json[] = [];
    for (const serial of [5, 3, 4]) made.push(await stage.write(stateOf({ serial }), { force: true }));
    const rows = await Promise.all(made.map(({ id }) => versionRow(api, id)));
    expect(rows.map(({ position }) => position)).toEqual([1, 2, 3]);
    expect(await stage.currentId()).toBe(made[2].id);
    const listed = data(await stage.owner.get(`${stage.path}/state-versions`));
    expect(listed.map(({ attributes }: Json) => attributes.serial)).toEqual([4, 3, 5]);
  });
});
