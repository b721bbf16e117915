/** The service as a process: the output of the first start, and the errors that prevent a start. */
import { spawn, spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { connect as secureConnect } from "node:tls";
import { describe, expect, test } from "vitest";
import {
  account,
  cadastre,
  connection,
  dropRegistersAfterwards,
  fixture,
  newRegister,
  start,
  startService,
  stopService,
  tokenIn,
  useFolder,
} from "./support.ts";

/** The tests need only Node and npm; the printed commands need curl. */
const isWithoutCurl = spawnSync("curl", ["--version"]).error !== undefined;

dropRegistersAfterwards();
const folder = useFolder();
const adminToken = "chosen-by-the-operator-1";

let registers = 0;
/** A separate embedded database, with a known admin token. */
const embedded = () => ({
  CADASTRE_DATABASE: `sqlite:${join(folder, `${(registers += 1)}.db`)}`,
  CADASTRE_ADMIN_TOKEN: adminToken,
  CADASTRE_LOG_LEVEL: "warn",
});

const signIn = (url: string, password: string) =>
  fetch(`${url}/api/v2/sessions`, {
    method: "POST",
    headers: { "content-type": "application/vnd.api+json" },
    body: JSON.stringify({ data: { type: "sessions", attributes: { username: "admin", password } } }),
  });

describe("the first start", () => {
  test("prints a working admin token and working next commands; the second start prints no token", async () => {
    const settings = { CADASTRE_DATABASE: `sqlite:${join(folder, "first", "cadastre.db")}` };
    const first = await startService(settings);
    const token = tokenIn(first.out()) ?? "";
    expect((await account(first.url, token)).status).toBe(200);
    const [, password = ""] =
      /^ +Sign in +as admin, with the password (\S+) \(shown this once\)$/m.exec(first.out()) ?? [];
    expect((await signIn(first.url, password)).status).toBe(201);
    const pasted = commandsIn(first.out());
    expect(pasted).toHaveLength(2);
    if (!isWithoutCurl) {
      const { code, out } = await shell(pasted);
      expect({ code, username: JSON.parse(out).data.attributes.username }).toEqual({ code: 0, username: "admin" });
      expect((await shell(["export TOKEN=cadastre-wrong", pasted[1] ?? ""])).code).not.toBe(0);
    }
    expect(await stopService(first)).toMatchObject({ code: 0, err: "" });
    const second = await startService(settings);
    expect(tokenIn(second.out())).toBeUndefined();
    expect((await account(second.url, token)).status).toBe(200);
    const { out } = await stopService(second);
    expect(out).not.toContain(token);
    expect(out).not.toContain("Sign in ");
  });

  test("uses CADASTRE_ADMIN_TOKEN and CADASTRE_ADMIN_PASSWORD and does not print them", async () => {
    const adminPassword = "chosen by the operator";
    const service = await startService({
      ...(await newRegister("postgres")),
      CADASTRE_ADMIN_TOKEN: adminToken,
      CADASTRE_ADMIN_PASSWORD: adminPassword,
    });
    expect((await account(service.url, adminToken)).status).toBe(200);
    expect((await signIn(service.url, adminPassword)).status).toBe(201);
    const { code, out, err } = await stopService(service);
    expect(code).toBe(0);
    expect(out).toContain("The admin's token is the one in CADASTRE_ADMIN_TOKEN.");
    expect(out + err).not.toContain(adminToken);
    expect(out + err).not.toContain(adminPassword);
  });
});

test("serves over TLS, and prints commands that work over it", async () => {
  const certificate = readFileSync(fixture("localhost-cert.pem"));
  const service = await startService({
    ...embedded(),
    CADASTRE_TLS_CERT: fixture("localhost-cert.pem"),
    CADASTRE_TLS_KEY: fixture("localhost-key.pem"),
  });
  expect(service.url).toMatch(/^https:/);
  if (!isWithoutCurl) {
    const { code, out } = await shell([`export TOKEN=${adminToken}`, ...commandsIn(service.out())]);
    expect({ code, username: JSON.parse(out).data.attributes.username }).toEqual({ code: 0, username: "admin" });
  }
  const request = httpsRequest(`${service.url}/readyz`, { ca: certificate }).end();
  const [response] = await once(request, "response");
  expect(response.statusCode).toBe(200);
  response.resume();
  const { hostname, port } = new URL(service.url);
  const broken = secureConnect({ host: hostname, port: Number(port), ca: certificate });
  broken.write("NOTHING\r\n\r\n");
  expect(await textOf(broken)).toMatch(/^HTTP\/1\.1 400 .*"errors"/s);
  // Requests without TLS get no response; the service continues.
  const plain = await connection(service.url);
  plain.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await once(plain.resume(), "close");
  expect((await stopService(service)).code).toBe(0);
});

describe("exits with one line and no stack for", () => {
  const refused = async (settings: Record<string, string>, sentence: RegExp) => {
    const { code, out, err } = await cadastre(["serve"], {
      CADASTRE_LISTEN: "127.0.0.1:0",
      ...embedded(),
      ...settings,
    });
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(sentence);
    expect(err).not.toContain("\n");
  };

  test("a port in use, also as a real process", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const listen = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    const ended = await start(["serve", "--listen", listen], embedded()).ended;
    expect(ended).toEqual({
      code: 1,
      out: "",
      err: `The address ${listen} is in use by another program. Stop that program, or set another address with CADASTRE_LISTEN.\n`,
    });
    other.close();
  });

  test("a wrong command, as a real process", async () => {
    expect(await start(["fly"], {}).ended).toEqual({
      code: 2,
      out: "",
      err: "Unknown command 'fly'. Run 'cadastre help' for a list of commands.\n",
    });
  });

  test("an address of another machine", () =>
    refused({ CADASTRE_LISTEN: "192.0.2.1:8080" }, /^The address 192\.0\.2\.1:8080 can't be used on this machine/));

  test("an invalid setting", () => refused({ CADASTRE_GRACE_SECONDS: "long" }, /^CADASTRE_GRACE_SECONDS must be/));

  test("a missing settings file", () =>
    refused({ CADASTRE_CONFIG: join(folder, "none") }, /^The settings file .*none can't be read\./));

  test("TLS files that are missing, not PEM, or don't match", async () => {
    const text = join(folder, "text.pem");
    writeFileSync(text, "no certificate");
    // Another key type than the certificate's, which is EC.
    const rsa = join(folder, "rsa.pem");
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    writeFileSync(rsa, privateKey.export({ type: "pkcs8", format: "pem" }));
    const [cert, key] = [fixture("localhost-cert.pem"), fixture("localhost-key.pem")];
    for (const [CADASTRE_TLS_CERT, CADASTRE_TLS_KEY] of [
      [join(folder, "none.pem"), key],
      [text, key],
      [cert, fixture("other-key.pem")],
      [cert, rsa],
    ] as const) {
      await refused(
        { CADASTRE_TLS_CERT, CADASTRE_TLS_KEY },
        /^The TLS files can't be used \(.*\)\. Check CADASTRE_TLS_CERT/,
      );
    }
  });

  test("an unreachable PostgreSQL", () =>
    refused(
      { CADASTRE_DATABASE: "postgres://127.0.0.1:1/nothing", CADASTRE_ENCRYPTION_KEY: "a".repeat(64) },
      /^The database postgres:.* can't be reached/,
    ));

  test("a directory that can't be created", () =>
    refused(
      { CADASTRE_DATABASE: `sqlite:${fixture("localhost-cert.pem")}/cadastre.db` },
      /^The key file of the database .*, or its folder, can't be used/,
    ));
});

/** The commands that a start prints. */
const commandsIn = (said: string) =>
  [...said.matchAll(/^ {4}((?:export|curl) .*)$/gm)].map(([, command = ""]) => command);

/** Pastes lines into a shell. */
async function shell(lines: readonly string[]): Promise<{ code: number | null; out: string }> {
  const child = spawn("sh", ["-c", lines.join("\n")], { stdio: ["ignore", "pipe", "ignore"] });
  const [out, [code]] = await Promise.all([textOf(child.stdout), once(child, "close")]);
  return { code: code as number | null, out };
}
