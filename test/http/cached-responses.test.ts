/** A cached response has the same headers, log line, metrics and limits as a computed one. */
import { once } from "node:events";
import { connect } from "node:net";
import { Writable } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { createVault } from "../../src/database/vault.ts";
import { newLogger } from "../../src/http/log.ts";
import { createServer, type ServerOptions } from "../../src/http/server.ts";
import { callerOn, type Caller, useApi } from "../support/api.ts";
import { change } from "../support/database.ts";
import { sendRaw } from "../support/raw-request.ts";
import { until } from "../support/waiting.ts";

const api = useApi();
const path = "/api/v2/account/details";

interface ObservedServer {
  readonly url: string;
  readonly caller: Caller;
  /** How many requests the framework has answered. */
  readonly seen: () => number;
  /** The log lines of requests. */
  readonly requestLines: () => Record<string, unknown>[];
  readonly stop: () => Promise<void>;
}

/** Another server on the same register, with its log. */
async function startObserved(more: Partial<ServerOptions> = {}): Promise<ObservedServer> {
  let log = "";
  let seen = 0;
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      log += String(chunk);
      done();
    },
  });
  const database = openDatabase(api.address);
  const server = createServer({
    database,
    vault: createVault(Buffer.alloc(32, 7)),
    options: { organizationCreation: "site-admins", edition: "self-hosted", globalRemoteStateDefault: false },
    version: "0.0.0-test",
    logger: newLogger("info", sink),
    rateLimit: 0,
    flushEveryMs: 3_600_000,
    metricsToken: "for-metrics",
    ...more,
  });
  server.addHook("onResponse", (_request, _reply, done) => {
    seen += 1;
    done();
  });
  const url = await server.listen({ host: "127.0.0.1", port: 0 });
  let stopped: Promise<void> | undefined;
  return {
    url,
    caller: callerOn(url, api.admin.token),
    seen: () => seen,
    requestLines: () => {
      const lines = log.split("\n").filter((line) => line !== "");
      return lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === "request");
    },
    stop: () => (stopped ??= server.close().then(() => database.close())),
  };
}

let service: ObservedServer;

beforeAll(async () => {
  service = await startObserved();
});
afterAll(() => service.stop());

const head = (...more: string[]) =>
  [`GET ${path} HTTP/1.1`, "Host: x", `Authorization: Bearer ${api.admin.token}`, ...more, "", ""].join("\r\n");
const ask = (...more: string[]) => sendRaw(service.url, head("Connection: close", ...more));

it("has the same headers and the same body", async () => {
  await change(api.database);
  const [first, second] = [await ask(), await ask()];
  const rest = ({ headers }: typeof first) =>
    [...headers].filter(([name]) => name !== "date" && name !== "x-request-id");
  expect(rest(second)).toEqual(rest(first));
  expect(second.body).toBe(first.body);
  expect(second.headers.get("x-request-id")).toMatch(/^[\da-f-]{36}$/);
  expect(second.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"));
  expect(second.headers.has("date")).toBe(true);
});

it("has the same log line", async () => {
  const before = service.requestLines().length;
  await service.caller.get(`${path}?x=1`);
  const answer = await service.caller.get(`${path}?x=1`);
  await expect.poll(() => service.requestLines().length).toBe(before + 2);
  const [first, second] = service.requestLines().slice(-2);
  expect(Object.keys(second!)).toEqual(Object.keys(first!));
  const same = { reqId: "", time: 0, ms: 0 };
  expect({ ...second, ...same }).toEqual({ ...first, ...same });
  expect(second).toMatchObject({ url: `${path}?…`, route: path, reqId: answer.headers.get("x-request-id") });
  expect(second!["ms"]).toBeGreaterThan(0);
});

it("is counted by route and status, with its duration", async () => {
  const figures = async () => {
    const text = await sendRaw(
      service.url,
      "GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer for-metrics\r\nConnection: close\r\n\r\n",
    );
    return ["requests_total", "request_duration_seconds_count"].map((name) =>
      Number(new RegExp(`^cadastre_http_${name}{method="GET",route="${path}"[^}]*} (\\d+)$`, "m").exec(text.body)?.[1]),
    );
  };
  await service.caller.get(path);
  const before = await figures();
  await service.caller.get(path);
  await expect.poll(figures).toEqual(before.map((figure) => figure + 1));
});

it("closes the connection after the response while the service is stopping", async () => {
  const stopping = await startObserved();
  await stopping.caller.get(path);
  const socket = connect(Number(new URL(stopping.url).port), "127.0.0.1");
  const [begin, end] = [head().slice(0, -2), head().slice(-2)];
  let received = "";
  socket.setEncoding("latin1").on("data", (text: string) => (received += text));
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await once(socket, "connect");
  socket.write(begin);
  // Requests are read in the order of arrival, so the first part has arrived by then.
  for (let times = 0; times < 2; times += 1) await stopping.caller.get(path);
  const stopped = stopping.stop();
  await until(() =>
    fetch(stopping.url).then(
      () => false,
      () => true,
    ),
  );
  socket.write(end);
  await closed;
  expect(received).toMatch(/^HTTP\/1\.1 200 /);
  expect(received).toMatch(/^connection: close\r$/im);
  await stopped;
});

it("logs the client's address behind a proxy", async () => {
  const proxied = await startObserved({ trustedProxies: ["127.0.0.0/8", "10.0.0.1"] });
  const forwarded = { "x-forwarded-for": "192.0.2.7, 10.0.0.1" };
  for (const headers of [forwarded, forwarded, { "x-forwarded-for": '"<odd>' }, { "x-forwarded-for": '"<odd>' }, {}])
    await proxied.caller.get(path, headers as Record<string, string>);
  await expect.poll(() => proxied.requestLines().length).toBe(5);
  const addresses = proxied.requestLines().map(({ remoteAddress }) => remoteAddress);
  expect(addresses.slice(0, 2)).toEqual(["192.0.2.7", "192.0.2.7"]);
  expect(addresses[2]).toBe(addresses[3]);
  expect(addresses[4]).toBe("127.0.0.1");
  await proxied.stop();
});

it("logs a response that the caller aborts", async () => {
  const aborted = await startObserved();
  await aborted.caller.get(path);
  for (let time = 0; time < 5; time += 1) {
    const socket = connect(Number(new URL(aborted.url).port), "127.0.0.1");
    await new Promise<void>((done) => socket.write(head(), () => done()));
    socket.destroy();
  }
  await expect.poll(() => aborted.requestLines().length).toBe(6);
  for (const line of aborted.requestLines()) expect(line).toHaveProperty("remoteAddress");
  await aborted.stop();
});

describe.runIf(inject("engine") === "sqlite")("the fast path", () => {
  /** Sends two equal requests after a commit. Returns how often the framework sees the second. */
  async function seenAgain(request: () => Promise<unknown>): Promise<number> {
    await change(api.database);
    await request();
    const before = service.seen();
    await request();
    return service.seen() - before;
  }

  beforeEach(async () => {
    expect(await seenAgain(() => service.caller.get(path))).toBe(0);
  });

  it("is not used after a commit", async () => {
    await change(api.database);
    const before = service.seen();
    expect((await service.caller.get(path)).status).toBe(200);
    expect(service.seen() - before).toBe(1);
  });

  it("answers pipelined requests in order", async () => {
    const ping = head().replace(path, "/api/v2/ping");
    const answer = await sendRaw(service.url, head() + ping + head() + head("Connection: close"));
    const statuses = `HTTP/1.1 200 OK${answer.body}`.match(/HTTP\/1\.1 \d+/g);
    expect(statuses).toEqual(["HTTP/1.1 200", "HTTP/1.1 204", "HTTP/1.1 200", "HTTP/1.1 200"]);
  });

  it.each([
    ["without a host", () => sendRaw(service.url, head("Connection: close").replace("Host: x\r\n", "")), 400],
    [
      "without a token",
      () => sendRaw(service.url, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
      401,
    ],
    ["with an unknown token", () => callerOn(service.url, "unknown").get(path), 401],
    ["with a body", () => sendRaw(service.url, `${head("Connection: close", "Content-Length: 2")}{}`), 200],
    [
      "with chunks",
      () => sendRaw(service.url, `${head("Connection: close", "Transfer-Encoding: chunked")}0\r\n\r\n`),
      200,
    ],
    ["for a HEAD", () => sendRaw(service.url, head("Connection: close").replace("GET", "HEAD")), 200],
    ["for another media type", () => ask("Accept: text/plain"), 200],
  ])("leaves a request %s to the framework", async (_, request, status) => {
    const before = service.seen();
    expect((await request()).status).toBe(status);
    expect(service.seen() - before).toBe(1);
  });

  it("does not serve a revoked token", async () => {
    const user = (await service.caller.get(path)).body.data.id;
    const created = await api.admin.post(`/users/${user}/authentication-tokens`);
    const caller = callerOn(service.url, created.body.data.attributes.token);
    expect(await seenAgain(() => caller.get(path))).toBe(0);
    expect((await api.admin.delete(`/authentication-tokens/${created.body.data.id}`)).status).toBe(204);
    expect((await caller.get(path)).status).toBe(401);
  });

  it("counts its requests toward the rate limit", async () => {
    const limited = await startObserved({ rateLimit: 3 });
    const statuses: number[] = [];
    for (let time = 0; time < 5; time += 1) statuses.push((await limited.caller.get(path)).status);
    expect(statuses.slice(0, 3)).toEqual([200, 200, 200]);
    expect(statuses).toContain(429);
    expect(limited.seen()).toBeLessThan(5);
    await limited.stop();
  });
});
