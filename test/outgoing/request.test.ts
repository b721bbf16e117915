/** Outgoing requests: private addresses, redirects, limits on responses, and certificates. */
import { readFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { addressClassifier } from "../../src/outgoing/addresses.ts";
import { sendRequest, fetchJson, OutgoingError } from "../../src/outgoing/request.ts";

let http: Server | undefined;
afterEach(() => {
  http?.closeAllConnections();
  http?.close();
});

async function served(answer: RequestListener): Promise<string> {
  http = createServer(answer);
  await new Promise<void>((resolve) => http?.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/keys`;
}

const allowed = ["127.0.0.1"];

describe("addresses", () => {
  it.each([
    "127.0.0.1",
    "10.1.2.3",
    "172.31.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "255.255.255.255",
    "::1",
    "::",
    "::127.0.0.1",
    "fe80::1",
    "fec0::1",
    "fd00::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "not an address",
  ])("%s is private", (address) => {
    expect(addressClassifier([])(address)).toBe("private");
  });

  it("others are public, and those on the operator's list are allowed", () => {
    expect(addressClassifier([])("93.184.215.14")).toBe("public");
    expect(addressClassifier([])("2606:2800:21f:cb07:6820:80da:af6b:8b2c")).toBe("public");
    const rules = addressClassifier(["10.0.0.0/8", "::1"]);
    expect([rules("10.1.2.3"), rules("::ffff:10.1.2.3"), rules("::1"), rules("192.168.0.1")]).toEqual([
      "allowed",
      "allowed",
      "allowed",
      "private",
    ]);
  });
});

describe("fetchJson", () => {
  it("returns the document", async () => {
    expect(await fetchJson(await served((_, response) => response.end('{"keys":[]}')), { allowed })).toEqual({
      keys: [],
    });
  });

  it("refuses private addresses, by number or by name, and says who can allow them", async () => {
    let calls = 0;
    const url = await served((_, response) => {
      calls += 1;
      response.end("{}");
    });
    for (const each of [
      url,
      url.replace("127.0.0.1", "localhost"),
      url.replace("127.0.0.1", "[::ffff:127.0.0.1]"),
      url.replace("127.0.0.1", "2130706433"),
    ])
      await expect(fetchJson(each, { allowed: [] })).rejects.toThrow("CADASTRE_ALLOW_PRIVATE_ADDRESSES");
    expect(calls).toBe(0);
  });

  it("follows no redirect, and refuses endless, slow and malformed responses", async () => {
    const answers: RequestListener[] = [
      (_, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
      (_, response) => response.end("x".repeat(2000)),
      () => {},
      (_, response) => response.end("<html>"),
      (_, response) => response.destroy(),
    ];
    for (const answer of answers) {
      const url = await served(answer);
      await expect(fetchJson(url, { allowed, timeoutMs: 300, bytesMax: 1000 })).rejects.toThrow(OutgoingError);
      http?.closeAllConnections();
      http?.close();
    }
  });

  it.each(["ftp://example.com/x", "file:///etc/passwd", "nothing", "https://user:secret@example.com/"])(
    "does not call %s",
    async (url) => {
      await expect(fetchJson(url, { allowed })).rejects.toThrow(OutgoingError);
    },
  );
});

describe("sendRequest", () => {
  it("sends method, headers and body, and returns status, headers and body, whatever the status", async () => {
    let received = "";
    const url = await served((request, response) => {
      request.on("data", (piece: Buffer) => {
        received += `${request.method} ${request.headers["x-word"]} ${piece.toString()}`;
      });
      request.on("end", () => response.writeHead(418, { "x-one": "1", "set-cookie": ["a", "b"] }).end("short"));
    });
    const sent = { method: "POST", headers: { "x-word": "word" }, body: '{"a":1}' } as const;
    const answer = await sendRequest(url, sent, { allowed });
    expect(received).toBe('POST word {"a":1}');
    expect(answer).toMatchObject({ status: 418, body: "short", isCut: false });
    expect(answer.headers).toMatchObject({ "x-one": ["1"], "set-cookie": ["a", "b"] });
  });

  it("returns a redirect without following it", async () => {
    let calls = 0;
    const url = await served((_, response) => {
      calls += 1;
      response.writeHead(307, { location: "http://169.254.169.254/latest/meta-data" }).end();
    });
    const answer = await sendRequest(url, { method: "POST", body: "{}" }, { allowed });
    expect([answer.status, calls]).toEqual([307, 1]);
  });

  it("truncates an endless response, and closes the connection", async () => {
    let closed: Promise<unknown> | undefined;
    const url = await served((_, response) => {
      closed = new Promise((resolve) => response.on("close", resolve));
      const more = () => {
        while (response.write("x".repeat(10_000)));
        response.once("drain", more);
      };
      more();
    });
    const answer = await sendRequest(url, { method: "POST" }, { allowed, bytesMax: 1000 });
    expect([answer.body.length, answer.isCut]).toEqual([1000, true]);
    await closed;
  });

  it("times out if the server does not respond, or responds too slowly", async () => {
    for (const answer of [
      () => {},
      (_, response) => {
        response.writeHead(200).write("x");
      },
    ] satisfies RequestListener[]) {
      const url = await served(answer);
      await expect(sendRequest(url, { method: "POST" }, { allowed, timeoutMs: 100 })).rejects.toThrow("took too long");
      http?.closeAllConnections();
      http?.close();
    }
  });

  it("refuses an untrusted certificate", async () => {
    const fixture = (name: string) => readFileSync(new URL(`../cli/fixtures/${name}`, import.meta.url));
    let calls = 0;
    const server = createTlsServer(
      { cert: fixture("localhost-cert.pem"), key: fixture("localhost-key.pem") },
      (_, response) => {
        calls += 1;
        response.end("{}");
      },
    );
    http = server;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    await expect(sendRequest(url, { method: "POST" }, { allowed })).rejects.toThrow(/can't be reached \(.*certificate/);
    expect(calls).toBe(0);
  });
});
