import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { addressRules } from "../../src/outgoing/addresses.ts";
import { fetchJson, OutgoingFault } from "../../src/outgoing/request.ts";

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
    "fe80::1",
    "fd00::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "not an address",
  ])("%s is inside", (address) => {
    expect(addressRules([])(address)).toBe("refused");
  });

  it("others are public, and those that the operator names are named", () => {
    expect(addressRules([])("93.184.215.14")).toBe("public");
    expect(addressRules([])("2606:2800:21f:cb07:6820:80da:af6b:8b2c")).toBe("public");
    const rules = addressRules(["10.0.0.0/8", "::1"]);
    expect([rules("10.1.2.3"), rules("::ffff:10.1.2.3"), rules("::1"), rules("192.168.0.1")]).toEqual([
      "named",
      "named",
      "named",
      "refused",
    ]);
  });
});

describe("fetchJson", () => {
  it("gives the document", async () => {
    expect(await fetchJson(await served((_, response) => response.end('{"keys":[]}')), { allowed })).toEqual({
      keys: [],
    });
  });

  it("calls no private address, by number or by name, and says who can allow it", async () => {
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

  it("follows no redirect, takes nothing endless, slow or broken", async () => {
    const answers: RequestListener[] = [
      (_, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
      (_, response) => response.end("x".repeat(2000)),
      () => {},
      (_, response) => response.end("<html>"),
      (_, response) => response.destroy(),
    ];
    for (const answer of answers) {
      const url = await served(answer);
      await expect(fetchJson(url, { allowed, timeoutMs: 300, bytesMax: 1000 })).rejects.toThrow(OutgoingFault);
      http?.closeAllConnections();
      http?.close();
    }
  });

  it.each(["ftp://example.com/x", "file:///etc/passwd", "nothing", "https://user:secret@example.com/"])(
    "does not call %s",
    async (url) => {
      await expect(fetchJson(url, { allowed })).rejects.toThrow(OutgoingFault);
    },
  );
});
