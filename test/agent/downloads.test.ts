/** What an agent fetches arrives whole, or not at all: half a plan, or no state where there is one, must never reach an engine. */
import { createServer, type RequestListener, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, expect, test } from "vitest";
import { Server, Unreachable } from "../../src/agent/server.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

let http: HttpServer | undefined;
afterEach(() => http?.close());

async function served(answer: RequestListener): Promise<Server> {
  http = createServer(answer);
  await new Promise<void>((resolve) => http?.listen(0, "127.0.0.1", resolve));
  return new Server(`http://127.0.0.1:${(http.address() as AddressInfo).port}`);
}

const call = { method: "GET", path: "/plan", token: null, timeoutMs: 5000 } as const;

async function gathered(source: AsyncIterable<Uint8Array> | undefined): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of source ?? []) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test("whoever takes time before reading gets everything, although memory is tidied meanwhile", async () => {
  const server = await served((_, response) => response.end("the plan"));
  const bytes = await server.bytes(call);
  for (let round = 0; round < 20; round += 1) {
    collectGarbage();
    await turn();
  }
  expect(await gathered(bytes)).toBe("the plan");
});

test("an answer that ends early is a failure, not a short file", async () => {
  const server = await served((_, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write("the p");
    setTimeout(() => response.destroy(), 20);
  });
  await expect(server.bytes(call).then(gathered)).rejects.toThrow(Unreachable);
});

test("nothing is undefined", async () => {
  const server = await served((_, response) => response.writeHead(204).end());
  expect(await server.bytes(call)).toBeUndefined();
});
