/** Succession of state versions by serial, lineage and MD5, and the effect of locking and unlocking on them. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, type Member } from "../../../support/builders.ts";
import { lineage, managed, md5, put, stateOf } from "../../../support/states.ts";
import { expectFault, expectRefused, expectSent, uploadUrlOf, useStage, versionRow } from "./support.ts";

const api = useApi();
const stage = useStage(api);

const other = "00000000-e579-fb7c-ffdd-f0c858a647a7";
/** The CLI shows this after a push with '-force', which it does not send with a 'cloud' block. */
const byForce =
  "and push it without '-force', or send 'force': true to the API. With a 'cloud' block the CLI never sends 'force'.";
const remedy = (latest: number) =>
  `Pull the latest state and start from it. To replace it, set 'serial' in your state above ${latest}, ${byForce}`;
const older = (serial: number, latest: number) =>
  `The state's serial ${serial} is older than the latest serial ${latest}: a newer state was written. ${remedy(latest)}`;
const twice = (serial: number) => `A different state with the serial ${serial} already exists. ${remedy(serial)}`;
const foreign = (latest = 1) =>
  `The state's lineage ${other} does not match the workspace's lineage ${lineage}, so it belongs to another workspace. Check that you are writing to the right workspace. To replace its state, set 'lineage' in your state to the workspace's and 'serial' above ${latest}, ${byForce}`;

describe("the serial", () => {
  it("can rise by any number", async () => {
    for (const serial of [1, 2, 10]) await stage.write(stateOf({ serial }));
    expect((await stage.current()).body.data.attributes.serial).toBe(10);
  });

  it("never falls: 409", async () => {
    const version = await stage.write(stateOf({ serial: 5 }));
    await stage.lock();
    expectRefused(await stage.send(stateOf({ serial: 4 })), 409, older(4, 5));
    expect(await stage.currentId()).toBe(version.id);
  });

  it("is not used twice by different states: 409", async () => {
    await stage.write(stateOf({ serial: 5 }));
    await stage.lock();
    expectRefused(
      await stage.send(stateOf({ serial: 5, outputs: { a: { value: 1, type: "number" } } })),
      409,
      twice(5),
    );
  });

  it("of the same state again is accepted as a retry", async () => {
    const first = await stage.write(stateOf({ serial: 5 }));
    const second = await stage.write(stateOf({ serial: 5 }));
    expect(second.id).not.toBe(first.id);
    expect(await stage.currentId()).toBe(second.id);
  });

  it("is compared with versions written under the same lock, and with pending ones", async () => {
    await stage.lock();
    await stage.sent(stateOf({ serial: 3 }));
    expectRefused(await stage.send(stateOf({ serial: 2 })), 409, older(2, 3));
    await stage.announce(stateOf({ serial: 8 }));
    expectRefused(await stage.send(stateOf({ serial: 7 })), 409, older(7, 8));
  });

  it("is not compared with discarded versions", async () => {
    await stage.lock();
    await stage.announce(stateOf({ serial: 8 }));
    await stage.forceUnlock();
    expect((await stage.write(stateOf({ serial: 2 }))).attributes.status).toBe("finalized");
  });

  it("of an announced version is checked like that of sent content", async () => {
    await stage.write(stateOf({ serial: 5 }));
    await stage.lock();
    expectRefused(await stage.send(stateOf({ serial: 4 }), { state: undefined }), 409, older(4, 5));
  });
});

describe("the lineage", () => {
  it("of another history: 409", async () => {
    await stage.write(stateOf());
    await stage.lock();
    expectRefused(await stage.send(stateOf({ serial: 2, lineage: other })), 409, foreign());
  });

  it("is read from the state if it is not sent", async () => {
    await stage.write(stateOf(), { lineage: undefined });
    await stage.lock();
    expectRefused(await stage.send(stateOf({ serial: 2, lineage: other }), { lineage: undefined }), 409, foreign());
    expect((await stage.send(stateOf({ serial: 2 }), { lineage: undefined })).status).toBe(201);
  });

  it("is read from the upload if it was not announced", async () => {
    await stage.write(stateOf());
    await stage.lock();
    const strange = stateOf({ serial: 2, lineage: other });
    const version = await stage.announce(strange, { lineage: undefined });
    const answer = await put(uploadUrlOf(version), strange);
    expectRefused(answer, 409, foreign());
    expect(await stage.status(version.id)).toBe("pending");
  });

  it("of a state without one matches any", async () => {
    await stage.write(JSON.stringify({ version: 4, serial: 1 }));
    await stage.write(stateOf({ serial: 2 }));
    await stage.write(JSON.stringify({ version: 4, serial: 3 }));
    await stage.write(stateOf({ serial: 4, lineage: other }));
  });
});

describe("force", () => {
  it("skips the checks of serial and lineage", async () => {
    await stage.write(stateOf({ serial: 5 }));
    const back = await stage.write(stateOf({ serial: 2, lineage: other }), { force: true });
    expect((await stage.current()).body.data.id).toBe(back.id);
    const same = stateOf({ serial: 2, lineage: other, outputs: { a: { value: 1, type: "number" } } });
    expect((await stage.write(same, { force: true })).attributes.serial).toBe(2);
  });

  it("skips both for uploads, whether the lineage was announced or not", async () => {
    for (const [serial, announcedLineage] of [
      [9, other],
      [4, undefined],
    ] as const) {
      await stage.write(stateOf({ serial: 10 }), { force: true });
      await stage.lock();
      const state = stateOf({ serial, lineage: other });
      const version = await stage.announce(state, { force: true, lineage: announcedLineage });
      expectSent(await put(uploadUrlOf(version), state));
      await stage.unlock();
      expect(await stage.currentId()).toBe(version.id);
    }
  });

  it("never skips the check of the MD5", async () => {
    await stage.lock();
    expectFault(await stage.send(stateOf(), { force: true, md5: md5("another") }), "md5", /^Md5 does not match/);
    const version = await stage.announce(stateOf(), { force: true });
    expectFault(await put(uploadUrlOf(version), stateOf({ serial: 2 })), "md5", /^Md5 does not match/);
  });

  it("false skips nothing", async () => {
    await stage.write(stateOf({ serial: 5 }));
    await stage.lock();
    expect((await stage.send(stateOf({ serial: 4 }), { force: false })).status).toBe(409);
  });
});

describe("only the holder of the lock writes", () => {
  let team: Json;
  let colleague: Member;
  let writer: Member;
  let token: Caller;
  beforeAll(async () => {
    team = await api.makeTeam(stage.org.name);
    [writer, colleague] = [
      await api.makeMember(stage.org.name, [team.id]),
      await api.makeMember(stage.org.name, [team.id]),
    ];
    token = await api.makeTeamToken(team.id);
  });
  const allow = () => api.grantWorkspace(stage.workspace.id, team.id, "write");
  const heldBy = (name: string) =>
    `Unable to write state. The workspace is locked by ${name}. Only the lock holder can write state until the workspace is unlocked.`;

  it.each<[string, () => Caller, () => Caller, () => string]>([
    ["a colleague", () => writer, () => colleague, () => `User ${writer.username}`],
    ["an owner", () => writer, () => stage.owner, () => `User ${writer.username}`],
    ["a site admin", () => writer, () => api.admin, () => `User ${writer.username}`],
    ["the holder's team", () => writer, () => token, () => `User ${writer.username}`],
    ["a member of the team that holds it", () => token, () => writer, () => `Team ${team.attributes.name}`],
  ])("not %s: 409 that names the holder", async (_, holder, caller, name) => {
    await allow();
    await stage.lock(holder());
    expectRefused(await stage.send(stateOf(), {}, caller()), 409, heldBy(name()));
    expectRefused(await stage.send(stateOf(), { state: undefined }, caller()), 409, heldBy(name()));
    expect((await stage.send(stateOf(), {}, holder())).status).toBe(201);
  });

  it("with any token", async () => {
    await allow();
    await stage.lock(writer);
    const again = data(await writer.post(`/users/${writer.id}/authentication-tokens`)).attributes.token;
    expect((await stage.send(stateOf(), {}, api.as(again))).status).toBe(201);
  });

  it("a team with its token, which is the version's creator", async () => {
    await allow();
    await stage.lock(token);
    const version = await stage.sent(stateOf(), {}, token);
    expect(version.relationships["created-by"].data).toEqual({ id: team.id, type: "teams" });
    const next = await stage.announce(stateOf({ serial: 2 }), {}, token);
    expectSent(await put(uploadUrlOf(next), stateOf({ serial: 2 })));
    await stage.unlock(token);
    const [, uploaded] = await stage.events(next.id);
    expect(uploaded).toMatchObject({ "actor-kind": "team", "actor-id": team.id, action: "state-versions.upload" });
    expect(await stage.currentId()).toBe(next.id);
  });

  it("never the organization's token", async () => {
    const organization = await api.makeOrganizationToken(stage.org.name);
    for (const attributes of [{}, { state: undefined }]) {
      await stage.lock();
      const answer = await stage.send(stateOf(), attributes, organization);
      expect(answer.status).toBe(403);
      await stage.unlock();
      expect((await stage.send(stateOf(), attributes, organization)).status).toBe(403);
    }
  });
});

const pendingSentence =
  "Unable to unlock workspace. The workspace's latest state version is still pending: its content has not been uploaded. Try again shortly, or force-unlock the workspace to discard it.";

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

  it("latest-change-at is when the latest one was created", async () => {
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
  it("makes the latest version current, and none is intermediate any more", async () => {
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

  it("without a new version changes nothing", async () => {
    const version = await stage.write(stateOf({ resources: [managed("a")] }));
    await stage.lock();
    expect((await stage.unlock()).attributes["resource-count"]).toBe(1);
    expect(await stage.currentId()).toBe(version.id);
  });

  it("503 while the latest is pending, and the lock stays", async () => {
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

  it("503 even if an older one has arrived meanwhile", async () => {
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

describe("finalizing a version discards older pending ones", () => {
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
  it("discards pending versions and makes the latest finalized one current", async () => {
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

  it("keeps the current version if nothing has arrived", async () => {
    const before = await stage.write(stateOf({ serial: 1, resources: [managed("a")] }));
    await stage.lock();
    await stage.announce(stateOf({ serial: 2 }));
    expect((await stage.forceUnlock()).attributes["resource-count"]).toBe(1);
    expect(await stage.currentId()).toBe(before.id);
  });
});

describe("the order of versions", () => {
  it("is that of their creation, whatever their serials", async () => {
    const made: Json[] = [];
    for (const serial of [5, 3, 4]) made.push(await stage.write(stateOf({ serial }), { force: true }));
    const rows = await Promise.all(made.map(({ id }) => versionRow(api, id)));
    expect(rows.map(({ position }) => position)).toEqual([1, 2, 3]);
    expect(await stage.currentId()).toBe(made[2].id);
    const listed = data(await stage.owner.get(`${stage.path}/state-versions`));
    expect(listed.map(({ attributes }: Json) => attributes.serial)).toEqual([4, 3, 5]);
  });
});
