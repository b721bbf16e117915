/**
 * Stored contents: compressed, encrypted and in chunks; damage is always detected. Processing a huge state does not
 * delay smaller ones.
 */
import { describe, expect, it } from "vitest";
import { streamDigest } from "../../../../src/resources/shared/contents/contents.ts";
import { stateLimit } from "../../../../src/resources/state/state-versions/kinds.ts";
import { parseLargeStates } from "../../../../src/resources/state/state-versions/maintenance/maintenance.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { data, makeWorkspace } from "../../../support/builders.ts";
import { base64, managed, stateOf, stateOfSize, jobContextOf, writeState } from "../../../support/states.ts";
import { chunksOf, contentsOf, useStage, versionRow } from "./support.ts";
import { itInGate } from "../../../support/engine-independent.ts";

const api = useApi();
const stage = useStage(api);

const chunkBytes = 256 * 1024;
/** Format, key id, nonce and tag. */
const overhead = 1 + 8 + 12 + 16;

type How = "in the request" | "by upload";
const ways: How[] = ["in the request", "by upload"];
const written = (how: How, state: string): Promise<Json> =>
  how === "by upload" ? stage.upload(state) : stage.write(state);

async function contentId(versionId: string): Promise<string> {
  const [content] = (await contentsOf(api, versionId)).filter(({ complete }) => complete === 1);
  return content?.id ?? "";
}

describe("at rest", () => {
  it.each(ways)("in encrypted chunks of at most 256 KiB, without readable text: %s", async (how) => {
    const state = stateOfSize(1_400_000, { outputs: { a: { value: "a-value-to-find", type: "string" } } });
    const version = await written(how, state);
    const chunks = await chunksOf(api, await contentId(version.id));
    expect(chunks.length).toBeGreaterThan(1);
    expect(chunks.map(({ position }) => position)).toEqual(chunks.map((_, index) => index));
    for (const { bytes, organizationId } of chunks) {
      expect(bytes.length).toBeLessThanOrEqual(chunkBytes + overhead);
      expect(organizationId).toBe(stage.org.id);
      const text = Buffer.from(bytes).toString("latin1");
      for (const plain of ["terraform_version", "a-value-to-find", "filler", "lineage"])
        expect(text).not.toContain(plain);
    }
    const stored = chunks.reduce((sum, { bytes }) => sum + bytes.length, 0);
    expect(stored).toBeLessThan(state.length * 0.7);
    expect(chunks.slice(0, -1).every(({ bytes }) => bytes.length === chunkBytes + overhead)).toBe(true);
  });

  it("repetitive content takes little space", async () => {
    const resources = Array.from({ length: 500 }, (_, index) =>
      managed(`name-${index}`, 1, { text: "the same ".repeat(50) }),
    );
    const state = stateOf({ resources });
    const version = await stage.write(state);
    const [chunk] = await chunksOf(api, await contentId(version.id));
    expect(state.length).toBeGreaterThan(300_000);
    expect(chunk?.bytes.length).toBeLessThan(state.length / 20);
  });

  it("the same content stored twice has different bytes", async () => {
    const [first, second] = [await stage.write(stateOf()), await stage.write(stateOf())];
    const [one, two] = [
      await chunksOf(api, await contentId(first.id)),
      await chunksOf(api, await contentId(second.id)),
    ];
    expect(Buffer.from(one[0]?.bytes ?? []).equals(Buffer.from(two[0]?.bytes ?? []))).toBe(false);
  });

  it("outputs are encrypted, sensitive or not", async () => {
    const outputs = {
      open: { value: "open-value", type: "string" },
      hidden: { value: "hidden-value", type: "string", sensitive: true },
    };
    const version = await stage.write(stateOf({ outputs }));
    const rows = await api.database.reader.db
      .selectFrom("stateVersionOutputs")
      .selectAll()
      .where("stateVersionId", "=", version.id)
      .execute();
    expect(rows).toHaveLength(2);
    for (const { value } of rows) expect(Buffer.from(value).toString("latin1")).not.toMatch(/open|hidden/);
  });
});

describe("on read, damaged content never arrives complete", () => {
  const changeChunks = (id: string, change: (chunks: { position: number; bytes: Uint8Array }[]) => typeof chunks) =>
    api.database.write(async (tx) => {
      const rows = await tx.db
        .selectFrom("contentChunks")
        .selectAll()
        .where("contentId", "=", id)
        .orderBy("position")
        .execute();
      await tx.db.deleteFrom("contentChunks").where("contentId", "=", id).execute();
      const changed = change(rows.map(({ position, bytes }) => ({ position, bytes })));
      for (const row of changed)
        await tx.db
          .insertInto("contentChunks")
          .values({ ...row, contentId: id, organizationId: stage.org.id })
          .execute();
    });
  type Chunks = { position: number; bytes: Uint8Array }[];
  const flip = (bytes: Uint8Array, at: number) => {
    const copy = Buffer.from(bytes);
    copy[at] = (copy[at] ?? 0) ^ 1;
    return copy;
  };
  const damages: [string, (chunks: Chunks) => Chunks][] = [
    [
      "a bit of the first chunk",
      ([first, ...rest]) => [{ position: 0, bytes: flip(first?.bytes ?? Buffer.of(), 100) }, ...rest],
    ],
    [
      "a bit of the last chunk",
      (chunks) =>
        chunks.map((chunk, index) =>
          index === chunks.length - 1 ? { ...chunk, bytes: flip(chunk.bytes, chunk.bytes.length - 1) } : chunk,
        ),
    ],
    [
      "two chunks swapped",
      ([first, second, ...rest]) => [
        { position: 0, bytes: second?.bytes ?? Buffer.of() },
        { position: 1, bytes: first?.bytes ?? Buffer.of() },
        ...rest,
      ],
    ],
    [
      "the first chunk twice",
      ([first, , ...rest]) => [
        { position: 0, bytes: first?.bytes ?? Buffer.of() },
        { position: 1, bytes: first?.bytes ?? Buffer.of() },
        ...rest,
      ],
    ],
    ["the first chunk gone", ([, ...rest]) => rest],
    ["the last chunk gone", (chunks) => chunks.slice(0, -1)],
    ["all chunks gone", () => []],
    [
      "a chunk cut short",
      ([first, ...rest]) => [{ position: 0, bytes: (first?.bytes ?? Buffer.of()).slice(0, 20) }, ...rest],
    ],
  ];
  /** What a client has received in the end: the status and the text, or a broken connection. */
  async function received(id: string): Promise<{ status: number; text: string } | "broken"> {
    const url = `${api.url}/api/v2/state-versions/${id}/download`;
    try {
      const response = await fetch(url, { headers: { authorization: `Bearer ${stage.owner.token}` } });
      return { status: response.status, text: await response.text() };
    } catch {
      return "broken";
    }
  }

  it("of many chunks: the response breaks off, or is an error", async () => {
    const state = stateOfSize(1_200_000);
    const version = await stage.write(state);
    const id = await contentId(version.id);
    const whole = await chunksOf(api, id);
    expect(whole.length).toBeGreaterThan(2);
    for (const [name, damage] of damages) {
      await changeChunks(id, () => damage(whole.map(({ position, bytes }) => ({ position, bytes }))));
      const answer = await received(version.id);
      if (answer !== "broken") expect([name, answer.status]).toEqual([name, 500]);
      // Only this content is damaged.
      expect((await stage.owner.get(`/state-versions/${version.id}`)).status, name).toBe(200);
    }
    await changeChunks(id, () => whole.map(({ position, bytes }) => ({ position, bytes })));
    expect(await received(version.id)).toEqual({ status: 200, text: state });
  });

  it("a small one: an error that reveals no details", async () => {
    const version = await stage.write(stateOf());
    await changeChunks(await contentId(version.id), () => []);
    const answer = await received(version.id);
    if (answer !== "broken") {
      expect(answer.status).toBe(500);
      expect(answer.text).not.toContain("chunk");
    }
  });

  it("the content of another version in its place", async () => {
    const [first, second] = [await stage.write(stateOf()), await stage.write(stateOf({ serial: 2 }))];
    const [one, two] = [await contentId(first.id), await contentId(second.id)];
    const foreign = await chunksOf(api, two);
    await changeChunks(one, () => foreign);
    const answer = await received(first.id);
    expect(answer === "broken" || answer.status === 500).toBe(true);
    expect(await received(second.id)).toEqual({ status: 200, text: stateOf({ serial: 2 }) });
  });

  it("a digest other than the stored one", async () => {
    const version = await stage.write(stateOf());
    const id = await contentId(version.id);
    await api.database.write((tx) =>
      tx.db
        .updateTable("contents")
        .set({ md5: "0".repeat(32) })
        .where("id", "=", id)
        .execute(),
    );
    const answer = await received(version.id);
    expect(answer === "broken" || answer.status === 500).toBe(true);
  });
});

describe("limits", () => {
  itInGate("not more than 256 MiB are taken", async () => {
    const piece = Buffer.alloc(64 * 1024 * 1024);
    async function* pieces(count: number): AsyncGenerator<Uint8Array> {
      for (let index = 0; index < count; index += 1) yield piece;
      yield Buffer.of(0);
    }
    await expect(streamDigest(pieces(4), stateLimit)).rejects.toMatchObject({
      code: "too-large",
      message: "A state can have at most 268435456 bytes; this one has more.",
    });
  });

  it("the empty JSON form is a content too", async () => {
    const version = await stage.write(stateOf(), { "json-state": base64("") });
    const response = await fetch(`${api.url}/api/v2/state-versions/${version.id}/json-download`, {
      headers: { authorization: `Bearer ${stage.owner.token}` },
    });
    expect([response.status, await response.text()]).toEqual([200, ""]);
    expect(data(await stage.current()).attributes["hosted-json-state-download-url"]).not.toBeNull();
  });
});

const filler = "x".repeat(1_100_000);
const small = (serial: number) => stateOf({ serial, resources: [managed("few", 3), managed("filler", 1, { filler })] });
const huge = (serial: number) => stateOf({ serial, resources: [managed("many", 15_000, { filler: "x".repeat(100) })] });

const isRead = async (id: string) => (await versionRow(api, id)).resourcesProcessed === 1;

/** Processes waiting states. Returns the versions in the order of processing; `meanwhile` runs between two steps. */
async function readInOrder(
  ids: () => readonly string[],
  meanwhile?: (step: number) => Promise<void>,
): Promise<string[]> {
  const order: string[] = [];
  const work = jobContextOf(api);
  let steps = 0;
  await parseLargeStates({
    ...work,
    step: async (inner) => {
      const done = await work.step(inner);
      for (const id of ids()) if (!order.includes(id) && (await isRead(id))) order.push(id);
      await meanwhile?.(++steps);
      return done;
    },
  });
  return order;
}

describe("a huge state", () => {
  itInGate("lets smaller ones pass that came after it, also while it is read", async () => {
    const other = await makeWorkspace(api, stage.org.name);
    const third = await makeWorkspace(api, stage.org.name);
    const first = await stage.write(huge(1));
    const later = await writeState(stage.owner, other.id, small(1));
    const ids = [first.id, later.id];
    const order = await readInOrder(
      () => ids,
      async (step) => {
        if (step === 12) ids.push((await writeState(stage.owner, third.id, small(1))).id);
      },
    );
    expect(order).toEqual([later.id, ids[2], first.id]);
    expect(data(await stage.shown()).attributes["resource-count"]).toBe(15_000);
    expect(data(await stage.owner.get(`/workspaces/${third.id}`)).attributes["resource-count"]).toBe(4);
  });

  itInGate("does not let those of its own workspace pass: they are compared with it", async () => {
    const first = await stage.write(huge(1));
    const next = await stage.write(small(2));
    expect(await readInOrder(() => [first.id, next.id])).toEqual([first.id, next.id]);
  });

  itInGate("waits for none that fails more than once", async () => {
    const other = await makeWorkspace(api, stage.org.name);
    const first = await stage.write(huge(1));
    const lost = await writeState(stage.owner, other.id, small(1));
    await api.database.write((tx) =>
      tx.db.updateTable("contents").set({ stateVersionId: null }).where("stateVersionId", "=", lost.id).execute(),
    );
    await expect(readInOrder(() => [first.id])).rejects.toThrow(`the state version ${lost.id} has no content`);
    expect(await isRead(first.id)).toBe(true);
    expect(await isRead(lost.id)).toBe(false);
  });
});
