/** The log contains no secret, wherever a client puts it and however it is encoded. */
import { connect } from "node:net";
import { Writable } from "node:stream";
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { newLogger } from "../../src/http/log.ts";
import { useApi } from "../support/api.ts";
import { resource } from "../support/builders.ts";
import { sendRaw } from "../support/raw-request.ts";

let log = "";
const sink = new Writable({
  write(chunk, _encoding, done) {
    log += String(chunk);
    done();
  },
});
const logger = newLogger("trace", sink);
const api = useApi({ logger });

const secret = "s3cr3t-that-nobody-logs";
/** Every character as `%xx`. */
const encoded = [...secret].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join("");
const twice = encoded.replaceAll("%", "%25");

const requests = () => lines().flatMap((line) => (JSON.parse(line).msg === "request" ? [JSON.parse(line)] : []));
const lines = () => log.split("\n").filter((line) => line !== "");

function expectNoSecret(): void {
  for (const spelled of [secret, encoded, encoded.toUpperCase(), twice, Buffer.from(secret).toString("base64")])
    expect(log).not.toContain(spelled);
  // As bytes, as JSON shows a buffer.
  expect(log).not.toContain([...Buffer.from(secret)].join(","));
}

async function send(target: string, headers: Record<string, string> = {}): Promise<string> {
  const named = Object.entries({ Host: "cadastre", Connection: "close", ...headers }).map((pair) => pair.join(": "));
  return (await sendRaw(api.url, `GET ${target} HTTP/1.1\r\n${named.join("\r\n")}\r\n\r\n`)).head;
}

describe("the log", () => {
  it("has the path without the query", async () => {
    log = "";
    await api.admin.get(`/organizations?token=${secret}&page[size]=1`);
    expect(requests()).toMatchObject([{ method: "GET", url: "/api/v2/organizations?…" }]);
    expectNoSecret();
  });

  it("has one line for a request with method, path, caller, status and duration", async () => {
    log = "";
    const answer = await api.admin.get("/account/details");
    await api.nobody.get("/account/details");
    const [known, unknown] = requests();
    expect(known).toMatchObject({
      level: 30,
      reqId: answer.headers.get("x-request-id"),
      method: "GET",
      url: "/api/v2/account/details",
      route: "/api/v2/account/details",
      status: 200,
      actor: answer.body.data.id,
    });
    expect(known.token).toMatch(/^at-/);
    expect(known.ms).toBeGreaterThan(0);
    expect(unknown).toMatchObject({ status: 401 });
    expect(unknown.actor).toBeUndefined();
    expect(lines()).toHaveLength(2);
  });

  it("has one line for a cached response", async () => {
    await api.admin.get("/account/details");
    log = "";
    await api.admin.get("/account/details");
    expect(requests()).toMatchObject([{ status: 200, route: "/api/v2/account/details" }]);
  });

  it("has a JSON line for a request that the caller aborts", async () => {
    log = "";
    for (let time = 0; time < 5; time += 1) {
      const socket = connect(Number(new URL(api.url).port), "127.0.0.1");
      const head = `GET /api/v2/account/details HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.admin.token}\r\n\r\n`;
      await new Promise<void>((done) => socket.write(head, () => done()));
      socket.destroy();
    }
    await expect.poll(() => lines().length).toBe(5);
    expect(requests()).toHaveLength(5);
    for (const request of requests()) expect(request).toHaveProperty("remoteAddress");
  });

  it("has no token from a path", async () => {
    log = "";
    await send(`/api/v2/cadastre-${"a".repeat(43)}`);
    expect(log).not.toContain("a".repeat(43));
  });

  it("has no signature from a path, also where the query was removed", async () => {
    log = "";
    await send(`/api/v2/logs/plan-1234567890abcdef.1800000000000.${secret}`);
    await send(`/api/v2/logs/plan-1234567890abcdef.1800000000000.${secret}?limit=65536&offset=0`);
    expect(requests()).toMatchObject([
      { url: "/api/v2/logs/plan-1234567890abcdef.…" },
      { url: "/api/v2/logs/plan-1234567890abcdef.…?…" },
    ]);
    expectNoSecret();
  });

  it("has probes only at debug level", async () => {
    log = "";
    for (const path of ["/healthz", "/readyz"]) await send(path);
    expect(requests().map(({ level }) => level)).toEqual([20, 20]);
  });

  it("has paths without a query unchanged", async () => {
    log = "";
    await api.admin.get("/organizations/acme_1.2~x-y");
    expect(log).toContain('"url":"/api/v2/organizations/acme_1.2~x-y"');
  });

  it.each([
    ["a query", `/api/v2/organizations?token=${secret}`],
    ["an encoded query", `/api/v2/organizations?%74oken=${encoded}`],
    ["an encoded question mark", `/api/v2/organizations%3Ftoken=${secret}`],
    ["one that is encoded twice", `/api/v2/organizations%253ftoken=${twice}`],
    ["a semicolon", `/api/v2/organizations;token=${secret}`],
    ["an encoded semicolon", `/api/v2/organizations%3Btoken=${secret}`],
    ["a fragment", `/api/v2/organizations%23token=${secret}`],
    ["an ampersand", `/api/v2/organizations&token=${secret}`],
    ["a query that can't be decoded", `/api/v2/organizations?q=%zz&token=${secret}`],
    ["a path that can't be decoded", `/api/v2/organizations/%zz?token=${secret}`],
    ["a path that can't be decoded, with an encoded query", `/api/v2/organizations/%zz%3Ftoken=${secret}`],
    ["a path that is too long", `/api/v2/organizations/${"x".repeat(600)}?token=${secret}`],
    ["no route", `/nowhere?token=${secret}`],
    ["no route in the API", `/api/v2/nowhere?token=${secret}`],
    ["the front page", `/?token=${secret}`],
    ["a whole URL", `http://someone:${secret}@cadastre/api/v2/ping?token=${secret}`],
    ["a query that is too long", `/api/v2/organizations?token=${secret}${"x".repeat(9_000)}`],
    ["more than a request may have", `/api/v2/organizations?token=${secret}${"x".repeat(20_000)}`],
    ["a signed URL", `/api/v2/state-versions/sv-1/upload?%73ignature=${encoded}`],
  ])("has no secret of %s", async (_, target) => {
    log = "";
    expect(await send(target, { Authorization: `Bearer ${api.admin.token}` })).toMatch(/^HTTP\/1\.1 \d/);
    await send(target);
    expectNoSecret();
    expect(log).not.toContain(api.admin.token);
  });

  it("has nothing from bytes that are not HTTP", async () => {
    log = "";
    for (const text of [
      `GET /x?token=${secret} FTP/9\r\n\r\n`,
      `NOTHING ${secret}\r\n\r\n`,
      `GET / HTTP/1.1\r\nAuthorization: Bearer ${secret}\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
      `POST /api/v2/organizations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nTransfer-Encoding: chunked\r\n\r\n${secret}\r\n`,
    ])
      expect((await sendRaw(api.url, text)).head).toMatch(/^HTTP\/1\.1 4\d\d/);
    expectNoSecret();
  });

  it("has nothing from a body", async () => {
    log = "";
    await api.admin.post("/organizations", `{"data": ${secret}`);
    await api.admin.post("/organizations", resource("organizations", { name: secret, email: secret }));
    await api.admin.post("/organizations", secret, { "content-type": `text/${secret}` });
    expectNoSecret();
  });
});

describe("an error in the log", () => {
  const logged = (error: unknown) => {
    log = "";
    logger.error({ err: error }, "request failed");
    return JSON.parse(log).err;
  };

  it("has no values from statements", async () => {
    const insert = (value: string) =>
      sql`insert into meta (name, value) values (${secret}, ${value})`.execute(api.database.reader.db);
    const errors = [
      await sql`select cast(${secret} as bigint) from meta where json_extract(${secret}, '$') = 1`
        .execute(api.database.reader.db)
        .catch((error: unknown) => error),
      await sql`select cast(${secret} as bigint)`.execute(api.database.reader.db).catch((error: unknown) => error),
      await insert("1")
        .then(() => insert("2"))
        .catch((error: unknown) => error),
    ];
    for (const error of errors) {
      logged(error);
      expectNoSecret();
    }
  });

  it("has the message, the stack and the causes, but no other properties", () => {
    const cause = Object.assign(new Error(`Route GET:/x?token=${secret} failed`), { code: "E1" });
    const error = Object.assign(new TypeError(`it broke with Bearer ${secret}`, { cause }), {
      code: "22P02",
      detail: `Failing row contains (${secret})`,
      rawPacket: Buffer.from(secret),
      request: { headers: { authorization: secret } },
    });
    const seen = logged(error);
    expect(seen).toMatchObject({
      type: "TypeError",
      code: "22P02",
      cause: { code: "E1", message: "Route GET:/x?… failed" },
    });
    expect(seen.stack).toContain("logs.test.ts");
    expectNoSecret();
  });

  it("is sanitized if it is logged without a message, and in text", () => {
    log = "";
    logger.error(new Error(`no route for /x?token=${secret}`));
    logger.warn(`Reply was already sent in "/x%3Ftoken=${secret}" (GET)`);
    logger.info({ some: "thing" }, `cadastre-${"a".repeat(43)} and Bearer ${secret}`);
    expectNoSecret();
    expect(log).not.toContain("a".repeat(43));
    expect(lines().map((line) => JSON.parse(line).msg)).toEqual([
      "no route for /x?…",
      'Reply was already sent in "/x?…" (GET)',
      "cadastre-… and Bearer …",
    ]);
  });
});
