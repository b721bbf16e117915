/** Requests that Node or the framework rejects: the response is a JSON:API error with our headers. */
import { METHODS } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { mediaType, useApi } from "../support/api.ts";
import { type RawAnswer, sendRaw } from "../support/raw-request.ts";

const api = useApi();
const hasty = useApi({ headersTimeoutMs: 400, bodyTimeoutMs: 400 });

const authorized = (on = api) => `Host: cadastre\r\nAuthorization: Bearer ${on.admin.token}\r\n`;
const large = "x".repeat(20_000);

function expectRefusal(answer: RawAnswer, status: number, title: string, detail: RegExp): void {
  expect(answer.status).toBe(status);
  expect(JSON.parse(answer.body).errors).toEqual([
    { status: String(status), title, detail: expect.stringMatching(detail) },
  ]);
  expect(answer.headers.get("content-type")).toBe(mediaType);
  expect(answer.headers.get("content-length")).toBe(String(Buffer.byteLength(answer.body)));
  expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  expect(answer.headers.get("tfp-api-version")).toBe("2.6");
  expect(answer.headers.get("x-ratelimit-limit")).toBe("0");
  expect(answer.headers.get("cache-control")).toBe("private, no-store");
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  expect(answer.headers.get("connection")).toBe("close");
}

describe("431", () => {
  it.each([
    ["headers", `GET /api/v2/ping HTTP/1.1\r\nHost: x\r\nX-Large: ${large}\r\n\r\n`],
    ["a path", `GET /api/v2/${large} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ["a query", `GET /api/v2/organizations?q=${large} HTTP/1.1\r\nHost: x\r\n\r\n`],
  ])("for %s of more than 16 KiB", async (_, sent) => {
    expectRefusal(await sendRaw(api.url, sent), 431, "request header fields too large", /larger than 16 KiB/);
  });

  it("reaches a client that keeps sending", async () => {
    const sent = `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${"x".repeat(2_000_000)}\r\n\r\n`;
    expect((await sendRaw(api.url, sent)).status).toBe(431);
  });
});

describe("408", () => {
  it("for headers that don't arrive", async () => {
    expectRefusal(
      await sendRaw(hasty.url, "GET /api/v2/ping HTTP/1.1\r\nHo"),
      408,
      "request timeout",
      /headers took too long/,
    );
  });

  it("for a body that doesn't arrive", async () => {
    const sent = `POST /api/v2/organizations HTTP/1.1\r\n${authorized(hasty)}Content-Type: ${mediaType}\r\nContent-Length: 500\r\n\r\n{"data"`;
    expectRefusal(await sendRaw(hasty.url, sent), 408, "request timeout", /body took too long/);
  });

  it("for a body that arrives byte by byte", async () => {
    const { hostname, port } = new URL(hasty.url);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    socket.write(
      `POST /api/v2/organizations HTTP/1.1\r\n${authorized(hasty)}Content-Type: ${mediaType}\r\nContent-Length: 500\r\n\r\n`,
    );
    let received = "";
    socket.on("data", (chunk) => (received += String(chunk)));
    while (!received.includes("\r\n\r\n")) {
      socket.write(" ");
      await sleep(50);
    }
    expect(received).toMatch(/^HTTP\/1\.1 408 /);
    socket.destroy();
  });
});

describe("400", () => {
  it.each([
    ["an unknown method", "FLY /api/v2/ping HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["another protocol", "GET /api/v2/ping FTP/1.1\r\nHost: x\r\n\r\n"],
    ["another version", "GET /api/v2/ping HTTP/3.7\r\nHost: x\r\n\r\n"],
    ["the beginning of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a broken header", "GET /api/v2/ping HTTP/1.1\r\nHost: x\r\nBad Header\r\n\r\n"],
    ["a header with a zero byte", "GET /api/v2/ping HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n"],
    ["two lengths", "POST /api/v2/ping HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"],
    ["a length and chunks", "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"],
    ["a length that is no number", "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n"],
    ["letters that are no request", "\x16\x03\x01 hello\r\n\r\n"],
  ])("for %s", async (_, sent) => {
    expectRefusal(await sendRaw(api.url, sent), 400, "bad request", /^This is not HTTP\/1\.1 \(/);
  });

  it("for invalid chunks in the middle of a request", async () => {
    const sent = `POST /api/v2/organizations HTTP/1.1\r\n${authorized()}Content-Type: ${mediaType}\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n`;
    expectRefusal(await sendRaw(api.url, sent), 400, "bad request", /^This is not HTTP\/1\.1 \(/);
  });

  it("for a request without a Host header", async () => {
    const answer = await sendRaw(api.url, "GET /api/v2/ping HTTP/1.1\r\nConnection: close\r\n\r\n");
    expectRefusal(answer, 400, "bad request", /no Host header/);
    expect((await sendRaw(api.url, "GET /api/v2/ping HTTP/1.0\r\n\r\n")).status).toBe(204);
  });

  it("for CONNECT", async () => {
    const answer = await sendRaw(api.url, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n");
    expectRefusal(answer, 400, "bad request", /does not support CONNECT/);
  });
});

it("417 for an expectation that can't be met", async () => {
  const sent = `POST /api/v2/organizations HTTP/1.1\r\n${authorized()}Expect: miracles\r\nContent-Length: 2\r\n\r\n{}`;
  expectRefusal(await sendRaw(api.url, sent), 417, "expectation failed", /100-continue/);
});

it("413 for chunk extensions that are too long", async () => {
  const sent = `POST /api/v2/organizations HTTP/1.1\r\n${authorized()}Content-Type: ${mediaType}\r\nTransfer-Encoding: chunked\r\n\r\n1;${large}\r\n`;
  expectRefusal(await sendRaw(api.url, sent), 413, "payload too large", /extensions/);
});

describe("requests that the framework rejects", () => {
  const close = "Connection: close\r\n";

  it.each(METHODS.filter((method) => !["CONNECT", "HEAD", "QUERY"].includes(method)))(
    "%s to no path is 404, and 401 without a token",
    async (method) => {
      const to = (path: string, headers: string) =>
        sendRaw(api.url, `${method} ${path} HTTP/1.1\r\n${headers}${close}Content-Length: 0\r\n\r\n`);
      expectRefusal(await to("/nowhere", "Host: x\r\n"), 404, "not found", /no such path/);
      expectRefusal(await to("/api/v2/nowhere", authorized()), 404, "not found", /no such path/);
      expectRefusal(await to("/api/v2/nowhere", "Host: x\r\n"), 401, "unauthorized", /valid token/);
    },
  );

  it.each([
    "POST /queries",
    "GET /queries/qry-1",
    "GET /workspaces/ws-1/queries?page=1",
    "POST /queries/qry-1/actions/cancel",
  ])("%s is 422, which clients print as it is, and 401 without a token", async (route) => {
    const [method, path] = route.split(" ");
    const body = '{"data":{"type":"queries"}}';
    const ask = (headers: string) =>
      sendRaw(
        api.url,
        `${method} /api/v2${path} HTTP/1.1\r\n${headers}${close}${method === "GET" ? "" : `Content-Type: ${mediaType}\r\nContent-Length: ${body.length}\r\n`}\r\n${method === "GET" ? "" : body}`,
      );
    expectRefusal(await ask(authorized()), 422, "not supported", /Queries .* are not supported yet/);
    expectRefusal(await ask("Host: x\r\n"), 401, "unauthorized", /valid token/);
  });

  it("QUERY without a body is 400", async () => {
    const answer = await sendRaw(api.url, `QUERY /nowhere HTTP/1.1\r\nHost: x\r\n${close}\r\n`);
    expectRefusal(answer, 400, "bad request", /./);
  });

  it("a path that can't be decoded is 400, and one that is too long 404", async () => {
    const get = (path: string) => sendRaw(api.url, `GET ${path} HTTP/1.1\r\n${authorized()}${close}\r\n`);
    expectRefusal(await get("/api/v2/organizations/%zz"), 400, "bad request", /percent-encoded/);
    expectRefusal(await get(`/api/v2/projects/${"x".repeat(4_000)}`), 404, "not found", /no such/);
  });

  it("an upgrade that is not supported is ignored", async () => {
    const sent = `GET /api/v2/ping HTTP/1.1\r\nHost: x\r\nConnection: close, upgrade\r\nUpgrade: websocket\r\n\r\n`;
    expect((await sendRaw(api.url, sent)).status).toBe(204);
  });
});

it("survives clients that disconnect before they read the error", async () => {
  const { hostname, port } = new URL(api.url);
  for (const sent of ["CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", "NOTHING\r\n\r\n", `GET /${large}`]) {
    for (let times = 0; times < 10; times += 1) {
      const socket = connect(Number(port), hostname);
      socket.on("error", () => {});
      await new Promise<void>((resolve) => socket.write(sent, () => resolve()));
      if (times % 2 === 0) await sleep(times);
      socket.resetAndDestroy();
    }
  }
  await sleep(100);
  expect((await fetch(`${api.url}/healthz`)).status).toBe(200);
});

it("answers a complete request before the invalid one that follows", async () => {
  const whole = "GET /.well-known/terraform.json HTTP/1.1\r\nHost: x\r\n\r\n";
  const { head, body } = await sendRaw(api.url, `${whole}${whole}NOTHING\r\n\r\n`);
  expect(head).toBe("HTTP/1.1 200 OK");
  expect(body.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
});
