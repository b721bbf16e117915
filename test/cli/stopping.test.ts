/** How the service stops as a process: what it finishes, and how long it waits. */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { mediaType } from "../support/api.ts";
import {
  account,
  connection,
  dropRegistersAfterwards,
  newRegister,
  start,
  startService,
  stopService,
} from "./support.ts";

dropRegistersAfterwards();
const adminToken = "chosen-by-the-operator-1";

const embedded = async () => ({
  ...(await newRegister("sqlite", true)),
  CADASTRE_ADMIN_TOKEN: adminToken,
  CADASTRE_LOG_LEVEL: "warn",
});

describe.concurrent("stopping", () => {
  test.each(["SIGTERM", "SIGINT"] as const)(
    "by %s finishes the request that runs and closes idle connections",
    async (signal) => {
      const service = await startService(await embedded(), ["--grace-seconds", "600"]);
      const idle = await connection(service.url);
      idle.write(request("GET", "/healthz"));
      expect(await firstLine(idle)).toBe("HTTP/1.1 200 OK");
      const running = await halfSent(service.url, "ada");
      service.process.kill(signal);
      await untilRefused(service.url);
      running.finish();
      expect(await firstLine(running.socket)).toBe("HTTP/1.1 201 Created");
      expect(await service.ended).toMatchObject({ code: 0, err: "" });
    },
  );

  test("is announced by /readyz first, while requests are still served with 'connection: close'", async () => {
    const service = await startService(await embedded(), ["--drain-seconds", "4", "--grace-seconds", "600"]);
    const running = await halfSent(service.url, "ada");
    service.process.kill("SIGTERM");
    let ready: Response;
    do ready = await fetch(`${service.url}/readyz`);
    while (ready.status === 200);
    expect([ready.status, ready.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await ready.text()).toContain("The service is stopping.");
    const served = await account(service.url, adminToken);
    expect([served.status, served.headers.get("connection")]).toEqual([200, "close"]);
    // The second time from the cache.
    expect((await account(service.url, adminToken)).headers.get("connection")).toBe("close");
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
    await untilRefused(service.url);
    running.finish();
    expect(await firstLine(running.socket)).toBe("HTTP/1.1 201 Created");
    expect(await service.ended).toMatchObject({ code: 0, err: "" });
  });

  test("works during the start as later", async () => {
    const settings = await newRegister("sqlite");
    const path = settings.CADASTRE_DATABASE.slice("sqlite:".length);
    const starting = start(["serve"], { ...settings, CADASTRE_LISTEN: "127.0.0.1:0", CADASTRE_CONSOLE: "off" });
    // From here on it creates the schema, the admin and the server.
    while (!existsSync(path)) await sleep(1);
    starting.process.kill("SIGTERM");
    expect(await starting.ended).toMatchObject({ code: 0, err: "" });
    const again = await startService({ ...settings, CADASTRE_LOG_LEVEL: "warn" });
    expect((await stopService(again)).code).toBe(0);
  });

  test("does not wait longer than the grace period", async () => {
    const service = await startService(await embedded(), ["--grace-seconds", "1"]);
    await halfSent(service.url, "ada");
    const { code, out } = await stopService(service);
    expect(code).toBe(0);
    expect(out).toContain("grace period exceeded");
  });

  test("a second signal stops it immediately", async () => {
    const service = await startService(await embedded(), ["--grace-seconds", "600"]);
    await halfSent(service.url, "ada");
    service.process.kill("SIGTERM");
    await untilRefused(service.url);
    // Two simultaneous signals count as one key press, so they are sent until one counts.
    while (service.process.exitCode === null) {
      service.process.kill("SIGINT");
      await sleep(20);
    }
    expect((await service.ended).code).toBe(1);
  });
});

function request(method: string, path: string, body = ""): string {
  const headers = [`Host: cadastre`, `Authorization: Bearer ${adminToken}`, `Content-Type: ${mediaType}`];
  return `${method} ${path} HTTP/1.1\r\n${headers.join("\r\n")}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** A request that the service has started to read and can't answer before it is complete. */
async function halfSent(url: string, username: string): Promise<{ socket: Socket; finish: () => void }> {
  const socket = await connection(url);
  const attributes = { username, email: `${username}@acme.example` };
  const text = request("POST", "/api/v2/admin/users", JSON.stringify({ data: { type: "users", attributes } }));
  socket.write(text.slice(0, -10));
  // Requests are read in the order of arrival, so the first half has arrived by now.
  await account(url, adminToken);
  await account(url, adminToken);
  return { socket, finish: () => socket.write(text.slice(-10)) };
}

async function firstLine(socket: Socket): Promise<string> {
  const [chunk] = await once(socket, "data");
  return String(chunk).split("\r\n", 1)[0] ?? "";
}

async function untilRefused(url: string): Promise<void> {
  for (;;) {
    try {
      (await connection(url)).destroy();
      await sleep(5);
    } catch {
      return;
    }
  }
}
