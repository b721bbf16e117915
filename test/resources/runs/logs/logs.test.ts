/** Writing and reading the logs of plans and applies. */
import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { AppError } from "../../../../src/kernel/errors.ts";
import { appendLog, endLog, type LoggedPhase, logReadBytesMax } from "../../../../src/resources/runs/phases/logs.ts";
import { useApi } from "../../../support/api.ts";
import { details, makeOrganization, makeWorkspace, type Org } from "../../../support/builders.ts";
import { deep } from "../../../support/depth.ts";
import { logUrlOf, type StoredRun, storeRun, testVault } from "../../../support/phases.ts";
import { itInGate } from "../../../support/engine-independent.ts";

const api = useApi();
let org: Org;

beforeAll(async () => {
  org = await makeOrganization(api);
});

const newRun = async (): Promise<StoredRun> => storeRun(api, await makeWorkspace(api, org.name), org.id);

/** Loads the phase and calls a function with it, in one transaction. */
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

/** Reads like the official client: by ranges from its own offset, until the end mark. */
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
  it("returns 200 with an empty body before the first byte, past the end, and for a limit of 0", async () => {
    const { plan } = await newRun();
    expect(await read(plan.id)).toEqual({ status: 200, bytes: Buffer.alloc(0) });
    await append(plan.id, 0, "one");
    expect(await read(plan.id, "?limit=10&offset=4")).toEqual({ status: 200, bytes: Buffer.alloc(0) });
    expect(await read(plan.id, "?limit=10&offset=999999999")).toEqual({ status: 200, bytes: Buffer.alloc(0) });
    expect(await read(plan.id, "?limit=0&offset=0")).toEqual({ status: 200, bytes: Buffer.alloc(0) });
  });

  it("starts with STX, ends with ETX, and has each once, whatever the engine writes", async () => {
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

  it("returns any range, also across chunks and within a character", async () => {
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

  itInGate("reads megabytes to the end, with a maximum per response", async () => {
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

  it("stores nothing readable in the database", async () => {
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

  it("404: an invalid signature, or one for another log", async () => {
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

  it("404: the run was deleted", async () => {
    const { plan, id } = await newRun();
    await api.database.write((tx) => tx.db.deleteFrom("runs").where("id", "=", id).execute());
    expect((await read(plan.id)).status).toBe(404);
  });

  it("403: the URL has expired, after more than two days", async () => {
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

  it("400: an offset that is not a number", async () => {
    const { plan } = await newRun();
    expect((await read(plan.id, "?offset=-1")).status).toBe(400);
    expect((await read(plan.id, "?limit=many")).status).toBe(400);
  });
});

describe("appendLog", () => {
  it("ignores bytes that were already sent, and appends the rest of an overlap", async () => {
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

  it("refuses a gap, with the current offset", async () => {
    const { plan } = await newRun();
    await append(plan.id, 0, "one ");
    const { code, message } = await refusal(append(plan.id, 5, "two"));
    expect(code).toBe("conflict");
    expect(message).toBe("The log ends at offset 4, and this part starts at 5. Send the missing bytes first.");
  });

  it("refuses more once the log has ended", async () => {
    const { plan } = await newRun();
    await append(plan.id, 0, "one ");
    await end(plan.id);
    const { code, message } = await refusal(append(plan.id, 5, "two"));
    expect([code, message]).toEqual(["conflict", "The log has ended: nothing can be added to it."]);
  });

  it("appends to the log of an earlier attempt, counting from 0", async () => {
    const { plan } = await newRun();
    await append(plan.id, 0, "the first attempt\n");
    await claimAgain(plan.id);
    await append(plan.id, 0, "the second, ");
    await append(plan.id, 0, "the second, ");
    await append(plan.id, 12, "to its end\n");
    expect((await read(plan.id)).bytes.toString()).toBe("\u0002the first attempt\nthe second, to its end\n");
    const { message } = await refusal(append(plan.id, 40, "!"));
    expect(message).toContain("The log ends at offset 23,");
  });

  it("starts with STX also if the earlier attempt wrote nothing", async () => {
    const { plan } = await newRun();
    await claimAgain(plan.id);
    await append(plan.id, 0, "one ");
    await append(plan.id, 4, "two");
    expect((await read(plan.id)).bytes.toString()).toBe("\u0002one two");
  });
});
