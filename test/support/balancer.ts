/** A load balancer: polls /readyz, distributes requests to ready servers, and retries only a refused connection. */
import { once } from "node:events";
import { createServer, request as send, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { buffer } from "node:stream/consumers";
import { scaled } from "./waiting.ts";

export interface Balancer {
  readonly url: string;
  ready(): readonly string[];
  stop(): Promise<void>;
}

const checkEveryMs = 100;
const checkTimeoutMs = 10_000;
const failuresMax = 3;

export async function startBalancer(servers: readonly string[]): Promise<Balancer> {
  const ready = new Set<string>();
  const stopped = new AbortController();
  const check = async (server: string) => {
    let failures = 0;
    while (!stopped.signal.aborted) {
      const isReady = await fetch(`${server}/readyz`, {
        signal: AbortSignal.any([stopped.signal, AbortSignal.timeout(scaled(checkTimeoutMs))]),
      }).then(
        async (response) => {
          await response.arrayBuffer();
          return response.status === 200;
        },
        () => false,
      );
      failures = isReady ? 0 : failures + 1;
      if (isReady) ready.add(server);
      else if (failures >= failuresMax) ready.delete(server);
      await sleep(checkEveryMs);
    }
  };
  const checks = servers.map(check);
  let turn = 0;
  const balance = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(request);
    turn += 1;
    const from = turn % servers.length;
    const candidates = [...servers.slice(from), ...servers.slice(0, from)].filter((server) => ready.has(server));
    for (const server of candidates) if (await forward(server, { request, body, response })) return;
    response.writeHead(503, { "x-balancer": "no server is ready" }).end();
  };
  const proxy = createServer((request, response) => void balance(request, response));
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    ready: () => [...ready],
    stop: async () => {
      stopped.abort();
      await Promise.all(checks);
      proxy.closeAllConnections();
      await new Promise((done) => proxy.close(done));
    },
  };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly body: Buffer;
  readonly response: ServerResponse;
}

function forward(server: string, { request, body, response }: Exchange): Promise<boolean> {
  return new Promise((resolve) => {
    const { method, url = "/", headers } = request;
    const outgoing = send(new URL(url, server), { method, headers: { ...headers, connection: "close" }, agent: false });
    outgoing.on("response", (incoming) => {
      response.writeHead(incoming.statusCode ?? 502, { ...incoming.headers, connection: "close" });
      incoming.pipe(response);
      resolve(true);
    });
    outgoing.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED") return resolve(false);
      response.writeHead(502, { "x-balancer": `${server}: ${error.message}` }).end();
      resolve(true);
    });
    outgoing.end(body);
  });
}

export async function freePorts(count: number): Promise<number[]> {
  const holders = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(holders.map((holder) => once(holder, "listening")));
  const ports = holders.map((holder) => (holder.address() as AddressInfo).port);
  await Promise.all(holders.map((holder) => new Promise((done) => holder.close(done))));
  return ports;
}
