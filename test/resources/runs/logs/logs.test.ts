/** Logs of plans and applies: how they are written, and how readers find them. */
import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { AppError } from "../../../../src/kernel/errors.ts";
import { appendLog, endLog, type LoggedPhase, logReadBytesMax } from "../../../../src/resources/runs/phases/logs.ts";
import { useApi } from "../../../support/api.ts";
import { details, makeOrganization, makeWorkspace, type Org } from "../../../support/builders.ts";
import { deep } from "../../../support/depth.ts";
import { logUrlOf, type StoredRun, storeRun, testVault } from "../../../support/phases.ts";

const api = useApi();
let org: Org;

beforeAll(async () => {
  org = await makeOrganization(api);
});

const newRun = async (): Promise<StoredRun> => storeRun(api, await makeWorkspace(api, org.name), org.id);

/** The phase as it is, and then what is to be done with it, in one transaction. */
async function within<T>(id: string, work: (tx: never, phase: LoggedPhase) => Promise<T>): Promise<T> {
  return api.database.write(async (tx) => {
    const phase = await tx.db.selectFrom("runPhases").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
    return work(tx as never, phase);
  });
}
const append = (id: string, offset: number, bytes: string | Uint8Array) =>
  within(id, (tx, phase) => appendLog(tx, testVault, phase, offset, Buffer.from(bytes)));
const end = (id: string) => within(id, (tx, phase) => endLog(tx, testVault, phase));
const claimAgain = (id: string) =>
  api.database.write((tx) => tx.db.updateTable("runPhases").set({ attempt: 2 }).where("id", "=", id).execute());

async function read(id: string, query = ""): Promise<{ status: number; bytes: Buffer }> {
  const answer = await fetch((await logUrlOf(api, id)) + query);
  return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
}

/** As the official client reads: by ranges, at its own offset, until the last byte says that it was the last. */
async function readAll(id: string, limit: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let offset = 0; ;) {
    const { status, bytes } = await read(id, `?limit=${limit}&offset=${offset}`);
    expect(status).toBe(200);
    if (bytes.length === 0) throw new Error(`nothing at ${offset}, and no end`);
    pieces.push(bytes);
    offset += bytes.length;
    if (bytes.at(-1) === 3) return Buffer.concat(pieces);
  }
}

async function refusal(work: Promise<unknown>): Promise<AppError> {
  const outcome = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(outcome instanceof AppError)) throw new Error(`it was not refused: ${String(outcome)}`);
  return outcome;
}

describe("readLog", () => {
  it("answers 200 with nothing before the first byte, past the end, and for no bytes", async () => {
    const { plan } = await newRun();
    expect(await read(plan.id)).toEqual({ status: 200, bytes: Buffer.alloc(0) });
    await append(plan.id, 0, "one");
    expect(await read(plan.id, "?limit=10&offset=4")).toEqual({ status: 200, bytes: Buffer.alloc(0) });
    expect(await read(plan.id, "?limit=10&offset=999999999")).toEqual({ status: 200, bytes: Buffer.alloc(0) });
    expect(await read(plan.id, "?limit=0&offset=0")).toEqual({ status: 200, bytes: Buffer.alloc(0) });
  });

  it("begins with STX, ends with ETX, and has each once, whatever the engine says", async () => {
    const { plan } = await newRun();
    await append(plan.id, 0, "a\u0002b\u0003");
    await append(plan.id, 4, "last\n");
    expect((await read(plan.id)).bytes.toString("latin1")).toBe("\u0002a b last\n");
    await end(plan.id);
    await end(plan.id);
    expect((await read(plan.id)).bytes.toString("latin1")).toBe("\u0002a b last\n\u0003");
  });

  it("has both marks for a phase that never ran", async () => {
    const { apply } = await newRun();
    await end(apply.id);
    expect((await read(apply.id)).bytes).toEqual(Buffer.from([2, 3]));
  });

  it("gives any range, also across pieces and in the middle of a character", async () => {
    const { plan } = await newRun();
    const text = Buffer.from("Zeile für Zeile — ✓ fertig\n".repeat(40));
    for (let at = 0; at < text.length; at += 7) await append(plan.id, at, text.subarray(at, at + 7));
    await end(plan.id);
    const whole = Buffer.concat([Buffer.from([2]), text, Buffer.from([3])]);
    for (const [offset, limit] of [
      [0, 1],
      [1, 6],
      [5, 20],
      [8, 7],
      [400, 333],
      [whole.length - 1, 50],
    ] as const)
      expect((await read(plan.id, `?limit=${limit}&offset=${offset}`)).bytes).toEqual(
        whole.subarray(offset, offset + limit),
      );
    expect(await readAll(plan.id, 11)).toEqual(whole);
  });

  it("reads megabytes to the end, and gives no more at once than it says", async () => {
    const { plan } = await newRun();
    const line = Buffer.concat([randomBytes(3000), Buffer.from("x".repeat(5000))]).map((byte) => byte | 0x20);
    const piece = Buffer.concat(Array.from({ length: 128 }, () => line));
    let sent = 0;
    for (const size = deep(5_000_000, 20_000_000); sent < size; sent += piece.length)
      await append(plan.id, sent, piece);
    await end(plan.id);
    expect((await read(plan.id, "?limit=99999999")).bytes).toHaveLength(logReadBytesMax);
    const whole = await readAll(plan.id, 65_536);
    expect(whole).toHaveLength(sent + 2);
    for (let at = 1; at < sent; at += piece.length)
      expect(whole.subarray(at, at + piece.length).equals(piece), `at ${at}`).toBe(true);
  });

  it("keeps nothing that can be read in the database", async () => {
    const { plan } = await newRun();
    await append(plan.id, 0, "a line that nobody finds");
    const rows = await api.database.reader.db
      .selectFrom("runLogChunks")
      .select("bytes")
      .where("phaseId", "=", plan.id)
      .execute();
    expect(rows).toHaveLength(1);
    expect(Buffer.from(rows[0]?.bytes ?? []).includes("nobody")).toBe(false);
  });

  it("404: a path that we did not sign, or that we signed for another log", async () => {
    const [{ plan }, other] = [await newRun(), await newRun()];
    const path = new URL(await logUrlOf(api, plan.id)).pathname;
    const forged = [
      path.replace(plan.id, other.plan.id),
      path.slice(0, -1),
      `${path}x`,
      path.replace(/\.\d+\./, ".9."),
    ];
    for (const each of forged) expect((await api.nobody.get(each)).status, each).toBe(404);
    expect((await api.nobody.get(path)).status).toBe(200);
  });

  it("404: the run is gone", async () => {
    const { plan, id } = await newRun();
    await api.database.write((tx) => tx.db.deleteFrom("runs").where("id", "=", id).execute());
    expect((await read(plan.id)).status).toBe(404);
  });

  it("403: the URL has expired, which takes more than two days", async () => {
    const { plan } = await newRun();
    const [, tokenId = "", expires = ""] = (await logUrlOf(api, plan.id)).split("/logs/")[1]?.split(".") ?? [];
    expect(Number(expires)).toBeGreaterThanOrEqual(Date.now() + 48 * 3_600_000);
    const signature = testVault.sign(["GET", "logs", plan.id, tokenId, "1000"].join("\n"));
    const answer = await api.nobody.get(`/logs/${plan.id}.${tokenId}.1000.${signature}`);
    expect(answer.status).toBe(403);
    expect(details(answer)).toEqual([
      "This log's URL has expired. Read the plan or apply again, and use its new log-read-url.",
    ]);
  });

  it("400: an offset that is no number", async () => {
    const { plan } = await newRun();
    expect((await read(plan.id, "?offset=-1")).status).toBe(400);
    expect((await read(plan.id, "?limit=many")).status).toBe(400);
  });
});

describe("appendLog", () => {
  it("lets what was sent before pass, and takes the rest of what overlaps", async () => {
    const { plan } = await newRun();
    await append(plan.id, 0, "one ");
    await append(plan.id, 4, "two ");
    await append(plan.id, 0, "one ");
    await append(plan.id, 4, "two ");
    await append(plan.id, 4, "two three");
    expect((await read(plan.id)).bytes.toString()).toBe("\u0002one two three");
    await end(plan.id);
    await append(plan.id, 4, "two three");
    expect((await read(plan.id)).bytes.toString()).toBe("\u0002one two three\u0003");
  });

  it("refuses a gap, and says where the log is", async () => {
    const { plan } = await newRun();
    await append(plan.id, 0, "one ");
    const { code, message } = await refusal(append(plan.id, 5, "two"));
    expect(code).toBe("conflict");
    expect(message).toBe("The log is at offset 4, and this piece begins at 5. Send what is missing first.");
  });

  it("refuses more once the log has ended", async () => {
    const { plan } = await newRun();
    await append(plan.id, 0, "one ");
    await end(plan.id);
    const { code, message } = await refusal(append(plan.id, 5, "two"));
    expect([code, message]).toEqual(["conflict", "The log has ended: nothing can be added to it."]);
  });

  it("goes on behind what an earlier attempt said, counting from 0", async () => {
    const { plan } = await newRun();
    await append(plan.id, 0, "the first attempt\n");
    await claimAgain(plan.id);
    await append(plan.id, 0, "the second, ");
    await append(plan.id, 0, "the second, ");
    await append(plan.id, 12, "to its end\n");
    expect((await read(plan.id)).bytes.toString()).toBe("\u0002the first attempt\nthe second, to its end\n");
    const { message } = await refusal(append(plan.id, 40, "!"));
    expect(message).toContain("The log is at offset 23,");
  });

  it("begins with the mark also where the earlier attempt said nothing", async () => {
    const { plan } = await newRun();
    await claimAgain(plan.id);
    await append(plan.id, 0, "one ");
    await append(plan.id, 4, "two");
    expect((await read(plan.id)).bytes.toString()).toBe("\u0002one two");
  });
});
