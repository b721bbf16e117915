/** Downloads of the agent are complete or fail: half a plan, or a missing state, must never reach an engine. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { createServer, type RequestListener, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, afterEach, expect, test } from "vitest";
import { ServerConnection, ServerUnreachable } from "../../src/agent/server.ts";
import { newFolder } from "../support/folder.ts";
import { scaled } from "../support/waiting.ts";
import { itInGate } from "../support/engine-independent.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const folder = newFolder("cadastre-downloads-");
const file = join(folder, "plan");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let http: HttpServer | undefined;
afterEach(() => {
  http?.close();
  rmSync(file, { force: true });
});

async function served(answer: RequestListener): Promise<ServerConnection> {
  http = createServer(answer);
  await new Promise<void>((resolve) => http?.listen(0, "127.0.0.1", resolve));
  return new ServerConnection(`http://127.0.0.1:${(http.address() as AddressInfo).port}`);
}

const call = { method: "GET", path: "/plan", token: null, timeoutMs: 60_000 } as const;
const patient = { ...call, retryMs: scaled(60_000) } as const;

/** A response that is cut in the middle, as if the server were killed. */
const cut: RequestListener = (_, response) => {
  response.writeHead(200, { "content-length": "100" });
  response.write("the p");
  setTimeout(() => response.destroy(), 20);
};

itInGate("a slow response arrives complete, even if memory is garbage-collected meanwhile", async () => {
  const server = await served((_, response) => {
    response.write("the ");
    setTimeout(() => response.end("plan"), 100);
  });
  // Collecting a large heap takes time, in which nothing arrives.
  const saving = server.save(call, file);
  for (let round = 0; round < 5; round += 1) {
    collectGarbage();
    await turn();
  }
  expect(await saving).toBe(true);
  expect(readFileSync(file, "utf8")).toBe("the plan");
});

test("a truncated response is an error, not a short file", async () => {
  const server = await served(cut);
  await expect(server.save(call, file)).rejects.toThrow(ServerUnreachable);
});

test("a download with retries starts again from its beginning, also after the server was down", async () => {
  let requests = 0;
  const server = await served((request, response) => {
    requests += 1;
    if (requests === 1) cut(request, response);
    else if (requests === 2) request.socket.destroy();
    else if (requests === 3) response.writeHead(503).end();
    else response.end("the plan");
  });
  expect(await server.save(patient, file)).toBe(true);
  expect([requests, readFileSync(file, "utf8")]).toEqual([4, "the plan"]);
});

test("a truncated document is requested again too", async () => {
  let requests = 0;
  const server = await served((_, response) => {
    requests += 1;
    response.writeHead(200, { "content-length": "12" });
    if (requests > 1) return response.end('{"found": 1}');
    response.write('{"fo');
    return setTimeout(() => response.destroy(), 20);
  });
  expect(await server.json(patient)).toEqual({ found: 1 });
});

test("a rejected request is not retried", async () => {
  let requests = 0;
  const server = await served((_, response) => {
    requests += 1;
    response.writeHead(404).end();
  });
  await expect(server.save(patient, file)).rejects.toThrow("404");
  expect(requests).toBe(1);
});

test("an empty response creates no file", async () => {
  const server = await served((_, response) => response.writeHead(204).end());
  expect(await server.save(call, file)).toBe(false);
  expect(existsSync(file)).toBe(false);
});
