/** What an agent fetches arrives whole, or not at all: half a plan, or no state where there is one, must never reach an engine. */
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

/** An answer that is cut in the middle, as by a server that is killed. */
const cut: RequestListener = (_, response) => {
  response.writeHead(200, { "content-length": "100" });
  response.write("the p");
  setTimeout(() => response.destroy(), 20);
};

test("an answer that comes slowly arrives whole, although memory is tidied meanwhile", async () => {
  const server = await served((_, response) => {
    response.write("the ");
    setTimeout(() => response.end("plan"), 100);
  });
  // To tidy a large heap takes its time, in which nothing arrives.
  const saving = server.save(call, file);
  for (let round = 0; round < 5; round += 1) {
    collectGarbage();
    await turn();
  }
  expect(await saving).toBe(true);
  expect(readFileSync(file, "utf8")).toBe("the plan");
});

test("an answer that ends early is a failure, not a short file", async () => {
  const server = await served(cut);
  await expect(server.save(call, file)).rejects.toThrow(ServerUnreachable);
});

test("whoever is patient fetches it again from its beginning, also from a server that was gone meanwhile", async () => {
  let asked = 0;
  const server = await served((request, response) => {
    asked += 1;
    if (asked === 1) cut(request, response);
    else if (asked === 2) request.socket.destroy();
    else if (asked === 3) response.writeHead(503).end();
    else response.end("the plan");
  });
  expect(await server.save(patient, file)).toBe(true);
  expect([asked, readFileSync(file, "utf8")]).toEqual([4, "the plan"]);
});

test("a document that breaks off is asked for again too", async () => {
  let asked = 0;
  const server = await served((_, response) => {
    asked += 1;
    response.writeHead(200, { "content-length": "12" });
    if (asked > 1) return response.end('{"found": 1}');
    response.write('{"fo');
    return setTimeout(() => response.destroy(), 20);
  });
  expect(await server.json(patient)).toEqual({ found: 1 });
});

test("what was refused is not asked for again", async () => {
  let asked = 0;
  const server = await served((_, response) => {
    asked += 1;
    response.writeHead(404).end();
  });
  await expect(server.save(patient, file)).rejects.toThrow("404");
  expect(asked).toBe(1);
});

test("nothing makes no file", async () => {
  const server = await served((_, response) => response.writeHead(204).end());
  expect(await server.save(call, file)).toBe(false);
  expect(existsSync(file)).toBe(false);
});
