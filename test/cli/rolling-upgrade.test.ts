/** Two servers behind a load balancer are replaced by the next version, one after the other, while callers read and write. */
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { migrate, migrations } from "../../src/database/migrate.ts";
import type { Migration } from "../../src/database/migrations/migration.ts";
import { callerOn } from "../support/api.ts";
import { data, resource, unique } from "../support/builders.ts";
import { freePorts, startBalancer } from "../support/balancer.ts";
import { deep } from "../support/depth.ts";
import {
  dropRegistersAfterwards,
  fixture,
  newRegister,
  type Running,
  start,
  startNode,
  startService,
  stopService,
} from "./support.ts";
import { scaled } from "../support/waiting.ts";

dropRegistersAfterwards();
const token = "the-token-of-the-upgrade";
const next: Migration = {
  name: "9998-next",
  kind: "adds",
  statements: [
    "CREATE TABLE colours (id TEXT PRIMARY KEY)",
    "ALTER TABLE projects ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue'",
    "CREATE INDEX projects_colour ON projects (organization_id, colour)",
  ],
};
const compatible: Migration = { ...next, writersKnow: migrations.at(-1)?.name ?? "" };

/** A deep run also keeps every core busy with other work. */
const burners = Array.from({ length: deep(0, 2 * availableParallelism()) }, () =>
  spawn(process.execPath, ["-e", "for (;;) Math.sqrt(Math.random())"], { stdio: "ignore" }),
);
afterAll(() => {
  for (const burner of burners) burner.kill("SIGKILL");
});

interface Call {
  readonly kind: "read" | "write";
  readonly status: number;
  readonly sentence: string;
  readonly retryAfter: string | null;
}

/** Sends requests until the end, and records each response. */
async function keepCalling(url: string, path: string, calls: Call[], ending: AbortSignal): Promise<void> {
  const caller = callerOn(url, token);
  const loop = async () => {
    while (!ending.aborted) {
      for (const kind of ["write", "read"] as const) {
        const answer = await (kind === "read"
          ? caller.get(path)
          : caller.post(path, resource("projects", { name: unique("p") })));
        const sentence = answer.headers.get("x-balancer") ?? answer.body?.errors?.[0]?.detail ?? "";
        calls.push({ kind, status: answer.status, sentence, retryAfter: answer.headers.get("retry-after") });
      }
      await sleep(5);
    }
  };
  await Promise.all(Array.from({ length: 4 }, loop));
}

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  );
}

/** Replaces both servers. Returns the responses meanwhile and the log of the new servers. */
async function upgrade(migration: Migration): Promise<{ readonly calls: Call[]; readonly logs: string[] }> {
  const environment = {
    ...(await newRegister("postgres")),
    CADASTRE_CONSOLE: "off",
    CADASTRE_ADMIN_TOKEN: token,
    CADASTRE_DRAIN_SECONDS: "10",
    CADASTRE_LOG_FORMAT: "json",
    NEXT_MIGRATION: JSON.stringify(migration),
  };
  const ports = await freePorts(2);
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const at = (port: number) => ({ ...environment, CADASTRE_LISTEN: `127.0.0.1:${port}` });
  const until = async (condition: () => Promise<boolean> | boolean, server?: Running) => {
    while (!(await condition())) {
      if (server?.process.exitCode != null) throw new Error(`a server ended: ${(await server.ended).err}`);
      await sleep(50);
    }
  };
  const older: Running[] = [];
  for (const [index, port] of ports.entries()) {
    const server = start(["serve"], at(port));
    older.push(server);
    await until(() => isReady(urls[index] ?? ""), server);
  }
  const balancer = await startBalancer(urls);
  await until(() => balancer.ready().length === 2);
  const admin = callerOn(balancer.url, token);
  const organization = data(
    await admin.post("/organizations", resource("organizations", { name: unique("org"), email: "ops@acme.example" })),
  );
  const ending = new AbortController();
  const calls: Call[] = [];
  const calling = keepCalling(balancer.url, `/organizations/${organization.id}/projects`, calls, ending.signal);
  const untilCalled = async () => {
    const before = calls.length;
    await until(() => calls.length > before + 40);
  };
  const newer: Running[] = [];
  for (const [index, server] of older.entries()) {
    await untilCalled();
    server.process.kill("SIGTERM");
    await server.ended;
    await until(() => !balancer.ready().includes(urls[index] ?? ""));
    const replacement = startNode(fixture("serve-next.ts"), at(ports[index] ?? 0));
    newer.push(replacement);
    await until(() => balancer.ready().includes(urls[index] ?? ""), replacement);
  }
  await untilCalled();
  ending.abort();
  await calling;
  await balancer.stop();
  for (const server of newer) server.process.kill("SIGTERM");
  return { calls, logs: (await Promise.all(newer.map(({ ended }) => ended))).map(({ out }) => out) };
}

test("no request fails if the migration is compatible with older servers", { timeout: scaled(600_000) }, async () => {
  const { calls, logs } = await upgrade(compatible);
  expect(calls.length).toBeGreaterThan(100);
  expect(calls.filter(({ status }) => status !== 200 && status !== 201)).toEqual([]);
  expect(logs[0]).toContain("applying migration 9998-next (1 of 1)");
  expect(logs[1]).not.toContain("applying migration");
});

test("otherwise reads succeed, and writes get 503 with Retry-After", { timeout: scaled(600_000) }, async () => {
  const { calls } = await upgrade(next);
  const failed = calls.filter(({ status }) => status !== 200 && status !== 201);
  expect(calls.filter(({ kind }) => kind === "read").length).toBeGreaterThan(50);
  expect(failed.filter(({ kind }) => kind === "read")).toEqual([]);
  for (const { status, sentence, retryAfter } of failed)
    expect({ status, sentence, retryAfter }).toEqual({
      status: 503,
      sentence: expect.stringMatching(
        /^The database was migrated to another version of Cadastre, .* Nothing was changed/,
      ),
      retryAfter: "5",
    });
});

test.each(["sqlite", "postgres"] as const)("a server logs each migration that it applies, on %s", async (engine) => {
  const register = await newRegister(engine);
  const database = openDatabase(register.CADASTRE_DATABASE);
  await migrate(database, migrations.slice(0, -2));
  await database.close();
  const service = await startService({ ...register, CADASTRE_ADMIN_TOKEN: token });
  const { out } = await stopService(service);
  const names = migrations.slice(-2).map(({ name }) => name);
  expect(out).toContain(`applying migration ${names[0]} (1 of 2)`);
  expect(out).toContain(`applying migration ${names[1]} (2 of 2)`);
  const again = await stopService(await startService({ ...register, CADASTRE_ADMIN_TOKEN: token }));
  expect(again.out).not.toContain("applying migration");
});
