/** Concurrent requests on two servers with one database: nothing is lost or partial, and exactly one wins. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabase } from "../../../../src/database/engines/open.ts";
import { removeAbandonedUploads } from "../../../../src/resources/state/state-versions/maintenance/maintenance.ts";
import { type Answer, type Api, type Caller, type Json, startApiOn, useApi } from "../../../support/api.ts";
import { data, inProject } from "../../../support/builders.ts";
import { deep } from "../../../support/depth.ts";
import {
  pendingStateAttributes,
  fetchState,
  stateAttributes,
  managed,
  post,
  put,
  stateOf,
  stateOfSize,
  jobContextOf,
} from "../../../support/states.ts";
import { contentsOf, expectSent, jsonUploadUrlOf, setVersion, uploadUrlOf, useStage, versionRow } from "./support.ts";

const api = useApi();
const stage = useStage(api);
let second: Api;
beforeAll(async () => {
  const database = openDatabase(api.address);
  second = await startApiOn({ address: api.address, database, drop: () => database.close() });
});
afterAll(async () => {
  await second.stop();
});

/** The same URL at the other server. */
const elsewhere = (url: string): string => url.replace(api.url, second.url);
const statuses = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status).sort();
const complete = async (id: string) => (await contentsOf(api, id)).filter((content) => content.complete === 1);

/**
 * Starts the requests while another transaction holds the workspace's row, so that all have begun before any continues.
 */
async function together<T>(...work: (() => Promise<T>)[]): Promise<T[]> {
  let release!: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  let begun!: () => void;
  const isHeld = new Promise<void>((resolve) => (begun = resolve));
  const holding = api.database.write(async (tx) => {
    await tx.db
      .selectFrom("workspaces")
      .select("id")
      .where("id", "=", stage.workspace.id)
      .modifyEnd(tx.dialect.lockRows("workspaces"))
      .execute();
    begun();
    await released;
  });
  await isHeld;
  const all = Promise.all(work.map((start) => start()));
  await sleep(60);
  release();
  await holding;
  return all;
}

describe("lock, write, unlock, by four concurrent callers on three workspaces", () => {
  const rounds = deep(2, 30);

  async function until(expected: number, act: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      const answer = await act();
      if (answer.status === expected) return answer;
      if (![409, 503].includes(answer.status)) throw new Error(JSON.stringify([answer.status, answer.body]));
      await sleep(Math.random() * 20);
    }
  }

  /** What an engine does, with a state that follows the current one. */
  async function writeNext(caller: Caller, workspaceId: string, marker: string, uploads: boolean): Promise<void> {
    const path = `/workspaces/${workspaceId}`;
    await until(200, () => caller.post(`${path}/actions/lock`));
    const current = await caller.get(`${path}/current-state-version`);
    const serial = current.status === 404 ? 1 : data(current).attributes.serial + 1;
    const state = stateOf({
      serial,
      outputs: { marker: { value: marker, type: "string" } },
      resources: [managed("a", serial)],
    });
    if (uploads) {
      const made = await until(201, () => post(caller, workspaceId, pendingStateAttributes(state)));
      expectSent(await put(uploadUrlOf(data(made)), state));
    } else await until(201, () => post(caller, workspaceId, stateAttributes(state)));
    await until(200, () => caller.post(`${path}/actions/unlock`));
  }

  it(
    "never loses a version, and the last one is in force",
    async () => {
      const team = await api.makeTeam(stage.org.name);
      const project = await api.makeProject(stage.org.name);
      await api.grantProject(project.id, team.id, "write");
      const workspaces: Json[] = [];
      for (let count = 0; count < 3; count += 1)
        workspaces.push(await api.makeWorkspace(stage.org.name, {}, inProject(project.id)));
      const people: Caller[] = [];
      for (let count = 0; count < 4; count += 1) {
        const member = await api.makeMember(stage.org.name, [team.id]);
        people.push(count % 2 === 0 ? member : second.as(member.token));
      }
      const markers: string[] = [];
      await Promise.all(
        people.map(async (caller, who) => {
          for (let round = 0; round < rounds; round += 1) {
            for (const offset of [0, 1, 2]) {
              const place = (who + offset) % 3;
              const marker = `${place}-${who}-${round}`;
              markers.push(marker);
              await writeNext(caller, workspaces[place].id, marker, (round + who) % 2 === 0);
            }
          }
        }),
      );
      for (const [place, { id }] of workspaces.entries()) {
        const rows = await api.database.reader.db
          .selectFrom("stateVersions")
          .selectAll()
          .where("workspaceId", "=", id)
          .orderBy("position")
          .execute();
        const counted = rows.map((_, index) => index + 1);
        expect(rows).toHaveLength(4 * rounds);
        expect(rows.map(({ position }) => position)).toEqual(counted);
        expect(rows.map(({ serial }) => serial)).toEqual(counted);
        expect(rows.every(({ status, intermediate }) => status === "finalized" && intermediate === 0)).toBe(true);
        const { attributes, relationships } = data(await stage.owner.get(`/workspaces/${id}`));
        expect(relationships["current-state-version"].data.id).toBe(rows.at(-1)?.id);
        expect(attributes["resource-count"]).toBe(4 * rounds);
        expect(data(await stage.owner.get(`/workspaces/${id}/resources?page[size]=100`))).toHaveLength(
          Math.min(100, 4 * rounds),
        );
        const written: string[] = [];
        for (const version of rows) {
          const { text } = await fetchState(api, stage.owner, `/state-versions/${version.id}/download`);
          written.push(JSON.parse(text).outputs.marker.value);
        }
        expect(written.toSorted()).toEqual(markers.filter((marker) => marker.startsWith(`${place}-`)).toSorted());
      }
    },
    deep(120_000, 300_000),
  );
});

describe("two concurrent uploads to one URL", () => {
  it("of the same bytes: both succeed, and the content is stored once", async () => {
    const state = stateOfSize(600_000);
    await stage.lock();
    const version = await stage.announce(state);
    const url = uploadUrlOf(version);
    const answers = await together(
      () => put(url, state),
      () => put(elsewhere(url), state),
      () => put(url, state),
    );
    expect(statuses(answers)).toEqual([204, 204, 204]);
    expect(await complete(version.id)).toHaveLength(1);
    expect((await fetchState(api, stage.owner, `/state-versions/${version.id}/download`)).text).toBe(state);
    const events = await stage.events(version.id);
    expect(events.filter(({ action }) => action === "state-versions.upload")).toHaveLength(1);
    expect((await stage.unlock()).attributes["resource-count"]).toBe(1);
  });

  it("of different bytes: only the announced ones are stored", async () => {
    await stage.lock();
    const version = await stage.announce(stateOf());
    const [right, wrong] = await together(
      () => put(uploadUrlOf(version), stateOf()),
      () => put(elsewhere(uploadUrlOf(version)), stateOf({ serial: 2 })),
    );
    expect(right?.status).toBe(204);
    expect([409, 422]).toContain(wrong?.status);
    expect((await fetchState(api, stage.owner, `/state-versions/${version.id}/download`)).text).toBe(stateOf());
  });

  it("of the JSON form: equal ones both succeed, and of two different ones one wins", async () => {
    await stage.lock();
    const [one, two] = [await stage.announce(stateOf()), await stage.announce(stateOf({ serial: 2 }))];
    const same = await together(
      () => put(jsonUploadUrlOf(one), "{}"),
      () => put(elsewhere(jsonUploadUrlOf(one)), "{}"),
    );
    expect(statuses(same)).toEqual([204, 204]);
    const different = await together(
      () => put(jsonUploadUrlOf(two), "[1]"),
      () => put(elsewhere(jsonUploadUrlOf(two)), "[2]"),
    );
    expect(statuses(different)).toEqual([204, 409]);
    for (const { id } of [one, two]) expect(await complete(id)).toHaveLength(1);
  });
});

describe("an upload, and at the same time", () => {
  it("an unlock: either it is too early, or it makes the state current", async () => {
    for (let serial = 1; serial <= 3; serial += 1) {
      await stage.lock();
      const state = stateOf({ serial });
      const version = await stage.announce(state);
      const [sent, unlocked] = await together(
        () => put(uploadUrlOf(version), state),
        () => second.as(stage.owner.token).post(`${stage.path}/actions/unlock`),
      );
      expect(sent?.status).toBe(204);
      expect([200, 503]).toContain(unlocked?.status);
      if (unlocked?.status === 503) await stage.unlock();
      expect(await stage.currentId()).toBe(version.id);
      expect((await stage.show(version.id)).attributes).toMatchObject({ status: "finalized", intermediate: false });
    }
  });

  it("a force-unlock: either the state is current, or it is discarded and the upload fails", async () => {
    for (let serial = 1; serial <= 3; serial += 1) {
      await stage.lock();
      const state = stateOf({ serial });
      const version = await stage.announce(state);
      const before = await stage.currentId();
      const [sent, forced] = await together(
        () => put(uploadUrlOf(version), state),
        () => second.as(stage.owner.token).post(`${stage.path}/actions/force-unlock`),
      );
      expect(forced?.status).toBe(200);
      const row = await versionRow(api, version.id);
      if (sent?.status === 204) expect([row.status, await stage.currentId()]).toEqual(["finalized", version.id]);
      else {
        expect([sent?.status, row.status, await stage.currentId()]).toEqual([409, "discarded", before]);
        expect(await complete(version.id)).toEqual([]);
      }
      expect(row.intermediate).toBe(0);
    }
  });

  it("the end of its time: never both there and discarded", async () => {
    for (let serial = 1; serial <= 3; serial += 1) {
      await stage.lock();
      const state = stateOf({ serial });
      const version = await stage.announce(state);
      await setVersion(api, version.id, { uploadExpiresAt: "2020-01-01T00:00:00.000Z" });
      const [sent] = await together<unknown>(
        () => put(uploadUrlOf(version), state),
        () => removeAbandonedUploads(jobContextOf(second)),
      );
      const arrived = (sent as Answer).status === 204;
      expect(await stage.status(version.id)).toBe(arrived ? "finalized" : "discarded");
      expect(await complete(version.id)).toHaveLength(arrived ? 1 : 0);
      const before = await stage.currentId();
      await stage.unlock();
      expect(await stage.currentId()).toBe(arrived ? version.id : before);
    }
  });
});

describe("two concurrent requests about one content", () => {
  const act = (caller: Caller, id: string, action: string) =>
    caller.post(`/state-versions/${id}/actions/${action}_backing_data`);

  it("restored and removed for good: one of them, and what is restored is there", async () => {
    for (let serial = 1; serial <= 2; serial += 1) {
      const version = await stage.write(stateOf({ serial: serial * 2 }));
      await stage.write(stateOf({ serial: serial * 2 + 1 }));
      data(await act(stage.owner, version.id, "soft_delete"));
      const answers = await together(
        () => act(stage.owner, version.id, "permanently_delete"),
        () => act(second.as(stage.owner.token), version.id, "restore"),
      );
      expect(statuses(answers)).toEqual([204, 409]);
      const { status } = await fetchState(api, stage.owner, `/state-versions/${version.id}/download`);
      expect(status).toBe((await stage.status(version.id)) === "finalized" ? 200 : 404);
    }
  });

  it("hidden twice: once", async () => {
    const version = await stage.write(stateOf());
    await stage.write(stateOf({ serial: 2 }));
    const answers = await together(
      () => act(stage.owner, version.id, "soft_delete"),
      () => act(second.as(stage.owner.token), version.id, "soft_delete"),
    );
    expect(statuses(answers)).toEqual([204, 409]);
  });
});

describe("many concurrent creations under one lock", () => {
  it("each has its own place, and the serials go up", async () => {
    await stage.lock();
    const callers = [stage.owner, second.as(stage.owner.token)];
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        post(callers[index % 2] as Caller, stage.workspace.id, stateAttributes(stateOf({ serial: index + 1 }))),
      ),
    );
    for (const { status } of answers) expect([201, 409]).toContain(status);
    await stage.unlock();
    const rows = await api.database.reader.db
      .selectFrom("stateVersions")
      .select(["id", "position", "serial"])
      .where("workspaceId", "=", stage.workspace.id)
      .orderBy("position")
      .execute();
    expect(rows).toHaveLength(answers.filter(({ status }) => status === 201).length);
    expect(rows.map(({ serial }) => serial)).toEqual(rows.map(({ serial }) => serial).toSorted((a, b) => a - b));
    expect(await stage.currentId()).toBe(rows.at(-1)?.id);
  });
});
