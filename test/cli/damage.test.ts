/** Full disks and damaged files: clear errors, no partial change, and no silent loss. */
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { callerOn } from "../support/api.ts";
import { data, details, resource } from "../support/builders.ts";
import { cadastre, encryptionKey, start, startService, stopService, useFolder } from "./support.ts";

const folder = useFolder();
const token = "a-token-for-a-damaged-register";
let made = 0;

function newSettings() {
  made += 1;
  const path = join(folder, `register-${made}.db`);
  return {
    path,
    environment: {
      CADASTRE_DATABASE: `sqlite:${path}`,
      CADASTRE_ENCRYPTION_KEY: encryptionKey,
      CADASTRE_ADMIN_TOKEN: token,
    },
  };
}

const organization = (name: string) => resource("organizations", { name, email: "a@example.com" });

describe("a full disk", () => {
  it("is reported, leaves no partial change, and ends when there is space again", async () => {
    const { path, environment } = newSettings();
    const service = await startService(environment);
    const admin = callerOn(service.url, token);
    const limit = (bytes: number | string) =>
      execFileSync("prlimit", [`--pid=${service.process.pid}`, `--fsize=${bytes}:unlimited`]);
    data(await admin.post("/organizations", organization("acme")));
    const workspace = data(await admin.post("/organizations/acme/workspaces", resource("workspaces", { name: "one" })));
    // No file of the process can grow beyond this: neither the database nor its log.
    limit(Math.max(statSync(path).size, statSync(`${path}-wal`).size) + 64 * 1024);
    const kept: string[] = [];
    let refused;
    for (let turn = 0; turn < 60 && refused === undefined; turn += 1) {
      const key = `key-${turn}`;
      const body = resource("vars", { key, category: "terraform", value: "x".repeat(20_000) });
      const answer = await admin.post(`/workspaces/${workspace.id}/vars`, body);
      if (answer.status === 201) kept.push(key);
      else refused = answer;
    }
    expect(refused?.status).toBe(503);
    expect(details(refused!)[0]).toMatch(/^The disk of the database (is full|has failed)\. Nothing was changed\./);
    expect(Number(refused!.headers.get("retry-after"))).toBeGreaterThan(0);
    const keys = async (url: string) =>
      data(await callerOn(url, token).get(`/workspaces/${workspace.id}/vars`)).map(
        ({ attributes }: { attributes: { key: string } }) => attributes.key,
      );
    // Reads continue, and find exactly the acknowledged changes.
    expect((await keys(service.url)).toSorted()).toEqual(kept.toSorted());
    limit("unlimited");
    data(await admin.post(`/workspaces/${workspace.id}/vars`, resource("vars", { key: "room", category: "env" })));
    expect((await stopService(service)).code).toBe(0);
    const again = await startService(environment);
    expect((await keys(again.url)).toSorted()).toEqual([...kept, "room"].toSorted());
    await stopService(again);
    const file = new DatabaseSync(path);
    expect(file.prepare("pragma integrity_check").get()).toEqual({ integrity_check: "ok" });
    file.close();
  });
});

describe("a start with a damaged database", () => {
  const refusedStart = async (environment: Record<string, string>) => {
    const outcome = await start(["serve"], { CADASTRE_LISTEN: "127.0.0.1:0", CADASTRE_CONSOLE: "off", ...environment })
      .ended;
    expect(outcome.code).toBe(1);
    expect(outcome.err).not.toMatch(/ {4}at /);
    return outcome.err;
  };

  /** A closed register with data. */
  async function filled() {
    const settings = newSettings();
    expect((await cadastre(["migrate"], settings.environment)).code).toBe(0);
    return settings;
  }

  it("refuses a file that is not a database", async () => {
    const { path, environment } = newSettings();
    writeFileSync(path, "this is no database, and long enough to be looked at ".repeat(100));
    const before = readFileSync(path);
    expect(await refusedStart(environment)).toContain(`register-${made}.db is damaged, or is not a Cadastre database`);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("refuses a truncated file, and leaves it unchanged", async () => {
    const { path, environment } = await filled();
    truncateSync(path, Math.floor(statSync(path).size / 2));
    const size = statSync(path).size;
    expect(await refusedStart(environment)).toMatch(/is damaged, or is not a Cadastre database \(.*malformed.*\)/);
    expect(statSync(path).size).toBe(size);
  });

  it.each([
    ["its key in the settings", true],
    ["its key beside it", false],
  ])("refuses an empty file, with %s, and creates a new one once it is removed", async (_, isSet) => {
    const { path, environment } = newSettings();
    const settings = isSet ? environment : { ...environment, CADASTRE_ENCRYPTION_KEY: "" };
    expect((await cadastre(["migrate"], settings)).code).toBe(0);
    for (const name of [`${path}-wal`, `${path}-shm`]) rmSync(name, { force: true });
    truncateSync(path, 0);
    expect(await refusedStart(settings)).toMatch(/^The database .*\.db is empty: .* to start with a new one\.$/m);
    expect((await cadastre(["migrate"], settings)).code).toBe(1);
    expect(statSync(path).size).toBe(0);
    rmSync(path);
    expect((await cadastre(["migrate"], settings)).code).toBe(0);
  });

  it("refuses a log without its database, which SQLite would delete", async () => {
    const { path, environment } = await filled();
    copyFileSync(path, `${path}-wal`);
    rmSync(path);
    expect(await refusedStart(environment)).toContain("is missing, but its write-ahead log");
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
  });

  /** Transactions that are only in the log, as after a crash. */
  async function crashed() {
    const { path, environment } = await filled();
    const writer = new DatabaseSync(path);
    writer.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
    for (let turn = 0; turn < 6; turn += 1) writer.exec(`INSERT INTO meta (name, value) VALUES ('kept-${turn}', 'x')`);
    const log = readFileSync(`${path}-wal`);
    const database = readFileSync(path);
    writer.close();
    rmSync(`${path}-shm`, { force: true });
    writeFileSync(path, database);
    return { path, environment, log };
  }

  const keptIn = (path: string) => {
    const file = new DatabaseSync(path);
    const rows = file.prepare("select count(*) as n from meta where name like 'kept-%'").get() as { n: number };
    file.close();
    return rows.n;
  };

  it("refuses a log that is damaged in the middle, because committed transactions follow", async () => {
    const { path, environment, log } = await crashed();
    const broken = Buffer.from(log);
    broken[32 + 24 + 100]! ^= 0xff;
    writeFileSync(`${path}-wal`, broken);
    expect(await refusedStart(environment)).toMatch(/-wal is damaged: at least \d+ transactions in it can't be read/);
    expect(readFileSync(`${path}-wal`).equals(broken)).toBe(true);
  });

  it("accepts a log whose last transaction was truncated by a crash, and keeps the others", async () => {
    const { path, environment, log } = await crashed();
    writeFileSync(`${path}-wal`, log.subarray(0, log.length - 100));
    expect((await cadastre(["migrate"], environment)).code).toBe(0);
    expect(keptIn(path)).toBe(5);
  });

  it("accepts an intact log with all transactions", async () => {
    const { path, environment, log } = await crashed();
    writeFileSync(`${path}-wal`, log);
    expect((await cadastre(["migrate"], environment)).code).toBe(0);
    expect(keptIn(path)).toBe(6);
  });
});
