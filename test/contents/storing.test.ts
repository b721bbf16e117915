/** States in an object store: stored, read, damaged, deleted. */
import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { newId } from "../../src/kernel/ids.ts";
import {
  discardUpload,
  findContent,
  insertContents,
  storeContents,
} from "../../src/resources/shared/contents/contents.ts";
import { data, details, resource, unique } from "../support/builders.ts";
import { newObjectName } from "../../src/resources/shared/contents/content-place.ts";
import { discardObject } from "../../src/resources/shared/contents/unattached-objects.ts";
import {
  fetchState,
  jobContextOf,
  lock,
  managed,
  post,
  put,
  slowPut,
  stateAttributes,
  stateOf,
  unlock,
  vault,
} from "../support/states.ts";
import { uploadUrlOf, useStage } from "../resources/state/state-versions/support.ts";
import { until } from "../support/waiting.ts";
import { useStore } from "./support.ts";

const stage = useStore({ keepDays: 0 });
const { api } = stage;
const states = useStage(api);

const download = (id: string) => fetchState(api, states.owner, `/state-versions/${id}/download`);
const random = (bytes: number) =>
  stateOf({ resources: [managed("a", 1, { bulk: randomBytes(bytes / 2).toString("hex") })] });

/** The object of a version's state, as a path in the bucket. */
async function objectOf(versionId: string): Promise<string> {
  const row = await api.database.reader.db
    .selectFrom("contents")
    .selectAll()
    .where("stateVersionId", "=", versionId)
    .where("kind", "=", "state")
    .executeTakeFirstOrThrow();
  expect(row).toMatchObject({ complete: 1, place: "s3://contents/register" });
  return `register/objects/${row.object?.slice(0, 2)}/${row.object}`;
}

describe("a state", () => {
  it("sent in the request is one encrypted object with a random name, and nothing is in the database", async () => {
    const text = stateOf({ resources: [managed("recognizable-resource")] });
    const version = await states.write(text);
    const path = await objectOf(version.id);
    expect((await stage.store.read(path)).includes("recognizable")).toBe(false);
    expect(path).toMatch(/^register\/objects\/[0-9a-f]{2}\/[0-9a-f]{32}$/);
    expect(await download(version.id)).toEqual({ status: 200, text });
    const chunks = await api.database.reader.db.selectFrom("contentChunks").selectAll().execute();
    expect(chunks).toEqual([]);
    expect(await stage.unattached()).toEqual([]);
  });

  it("uploaded in several parts arrives as it was", async () => {
    const text = random(9_000_000);
    const version = await states.upload(text);
    await objectOf(version.id);
    const received = await download(version.id);
    expect(received.status).toBe(200);
    expect(received.text === text).toBe(true);
  });
});

describe("a damaged object", () => {
  type Damage = (bytes: Buffer, other: Buffer) => Buffer;
  const damages: readonly (readonly [string, Damage])[] = [
    ["one changed bit", (bytes) => ((bytes[40]! ^= 1), bytes)],
    ["truncated", (bytes) => bytes.subarray(0, -1)],
    ["longer", (bytes) => Buffer.concat([bytes, bytes.subarray(0, 1)])],
    ["empty", () => Buffer.alloc(0)],
    ["of another content", (_, other) => other],
  ];
  it.each(damages)("%s: 500 with the reason, nothing of it sent", async (_, damage) => {
    const version = await states.write(stateOf());
    const other = await states.write(stateOf({ serial: 2 }));
    const path = await objectOf(version.id);
    await stage.store.write(
      path,
      damage(await stage.store.read(path), await stage.store.read(await objectOf(other.id))),
    );
    const { status, text } = await download(version.id);
    expect(status).toBe(500);
    expect(details({ body: JSON.parse(text) } as never).join()).toMatch(
      /The stored content sc-\w+ is damaged: .+ restore it from a backup/,
    );
  });

  it("missing: 500 with the reason", async () => {
    const version = await states.write(stateOf());
    await stage.store.remove(await objectOf(version.id));
    const { status, text } = await download(version.id);
    expect(status).toBe(500);
    expect(text).toMatch(/its object is missing/);
  });

  it("a late chunk that was changed closes the connection after verified ones", async () => {
    const version = await states.upload(random(3_000_000));
    const path = await objectOf(version.id);
    const bytes = await stage.store.read(path);
    bytes[bytes.length - 50]! ^= 1;
    await stage.store.write(path, bytes);
    const url = data(await states.owner.get(`/state-versions/${version.id}`)).attributes["hosted-state-download-url"];
    await expect(
      fetch(url, { headers: { authorization: `Bearer ${states.owner.token}` } }).then((answer) => answer.arrayBuffer()),
    ).rejects.toThrow();
  });
});

it("a content whose object the clean-up has taken never becomes visible", async () => {
  await states.lock();
  const version = await states.announce(stateOf({ serial: 2 }));
  const { keyId } = vault;
  const owner = { column: "stateVersionId", id: version.id } as const;
  const object = { place: "s3://contents/register", object: "0".repeat(32), objectBytes: 1, keyId, chunkSizes: null };
  const content = { id: newId("contents"), owner, kind: "state", size: 1, md5: "", chunkCount: 1, ...object };
  const attached = api.database.write(async (tx) => {
    await insertContents(tx, { organizationId: states.org.id }, [{ ...content, chunks: [] }]);
  });
  await expect(attached).rejects.toThrow("its content was removed. Send it again.");
  expect(await findContent(api.database.reader, owner, "state")).toBeUndefined();
});

it("an upload whose commit is still under way when it is discarded keeps its object", async () => {
  await states.lock();
  const version = await states.announce(stateOf({ serial: 2 }));
  const context = { ...jobContextOf(api).context, options: { contentPlace: api.contentPlace } as never };
  const contents = await storeContents(context, { column: "stateVersionId", id: version.id }, [
    { kind: "state", bytes: Buffer.from("kept") },
  ]);
  const [content] = contents;
  if (content === undefined) throw new Error("nothing was stored");
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const committed = api.database.write(async (tx) => {
    await insertContents(tx, { organizationId: states.org.id }, contents);
    begun.resolve();
    await end.promise;
  });
  await begun.promise;
  const discarded = discardUpload(context, content);
  // Long enough for it to wait in the database.
  await setTimeout(500);
  end.resolve();
  await Promise.all([committed, discarded]);
  expect(await stage.unattached()).toEqual([]);
  await stage.runJob();
  expect(stage.store.objects()).toContain(await objectOf(version.id));
});

describe("deleting", () => {
  it("deletes the object of a deleted workspace at the next clean-up, and no other", async () => {
    const kept = await states.write(stateOf());
    const keptPath = await objectOf(kept.id);
    const doomed = data(
      await states.owner.post(
        `/organizations/${states.org.name}/workspaces`,
        resource("workspaces", { name: unique("ws") }),
      ),
    );
    await lock(states.owner, doomed.id);
    const version = data(await post(states.owner, doomed.id, stateAttributes(stateOf())));
    await unlock(states.owner, doomed.id);
    const path = await objectOf(version.id);
    await states.owner.delete(`/workspaces/${doomed.id}`);
    expect(stage.store.objects()).toContain(path);
    await stage.runJob();
    expect(stage.store.objects()).not.toContain(path);
    expect(stage.store.objects()).toContain(keptPath);
    expect(await stage.unattached()).toEqual([]);
  });

  it("an object that the store refuses to delete does not keep others", async () => {
    const names = Array.from({ length: 3 }, () => newObjectName());
    const [refused = ""] = names.toSorted();
    const place = api.contentPlace?.name ?? "";
    for (const name of names) {
      await api.contentPlace?.store.replace(api.contentPlace.keyOf(name), Buffer.from("left"));
      await api.database.write((tx) => discardObject(tx, { place, name }));
    }
    Object.assign(stage.proxy, { fault: 403, methods: ["DELETE"], path: refused });
    await expect(stage.runJob()).rejects.toThrow("AccessDenied");
    expect(await stage.unattached()).toEqual([{ name: refused, status: "deleting" }]);
    stage.proxy.heal();
    await until(
      async () => (await (await fetch(`${api.url}/readyz`)).text()).includes('"available"'),
      "it is available",
    );
    await stage.runJob();
    expect(await stage.unattached()).toEqual([]);
  });

  it("removes what an upload leaves that stops, and only then", async () => {
    await states.lock();
    const text = random(9_000_000);
    const version = await states.announce(text);
    const before = stage.store.objects();
    const sent = slowPut(uploadUrlOf(version));
    await sent.write(text.slice(0, -100));
    await until(async () => (await stage.unattached()).length > 0, "the upload has begun");
    await stage.runJob();
    expect(await stage.unattached()).toMatchObject([{ status: "writing" }]);
    sent.breakOff();
    await until(async () => {
      await stage.runJob();
      return (await stage.unattached()).length === 0;
    }, "the upload is cleaned up");
    expect(stage.store.objects()).toEqual(before);
    expect(await states.status(version.id)).toBe("pending");
    expect((await put(uploadUrlOf(version), text)).status).toBe(204);
    expect((await download(version.id)).text === text).toBe(true);
  });

  it("refuses an upload whose row was removed meanwhile, and leaves no object", async () => {
    await states.lock();
    const text = stateOf();
    const version = await states.announce(text);
    const before = stage.store.objects();
    const sent = slowPut(uploadUrlOf(version));
    await sent.write(text.slice(0, -10));
    await until(async () => (await stage.unattached()).length > 0, "the upload has begun");
    // Not by moving the clock, by which requests to the store are signed.
    const old = new Date(Date.now() - 25 * 3_600_000).toISOString();
    await api.database.write(async ({ db }) => {
      await db.updateTable("unattachedObjects").set({ since: old }).execute();
      await db.updateTable("contents").set({ touchedAt: old }).where("complete", "=", 0).execute();
    });
    await stage.runJob();
    expect(await stage.unattached()).toEqual([]);
    const answer = await sent.end(text.slice(-10));
    expect(answer.status).toBeGreaterThanOrEqual(400);
    await until(async () => {
      await stage.runJob();
      return (await stage.unattached()).length === 0;
    }, "the late object is deleted");
    expect(stage.store.objects()).toEqual(before);
  });
});
