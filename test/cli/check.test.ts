/** `cadastre serve --check`: reports all faults together, one line each, and starts or changes nothing. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { useMailbox } from "../support/mailbox.ts";
import { cadastre, dropRegistersAfterwards, fixture, newRegister, useFolder } from "./support.ts";

dropRegistersAfterwards();
const folder = useFolder();
const mailbox = useMailbox();
const check = (environment: Record<string, string>) => cadastre(["serve", "--check"], environment);
const otherKey = "fedcba9876543210".repeat(4);

describe.each(["sqlite", "postgres"] as const)("serve --check on %s", (engine) => {
  test("passes if a start would succeed", async () => {
    const register = await newRegister(engine, true);
    const { code, out, err } = await check({
      ...register,
      CADASTRE_SMTP_URL: mailbox.url,
      CADASTRE_SMTP_FROM: "cadastre@acme.example",
      CADASTRE_TLS_CERT: fixture("localhost-cert.pem"),
      CADASTRE_TLS_KEY: fixture("localhost-key.pem"),
      CADASTRE_BACKUP_DIRECTORY: folder,
      CADASTRE_SANDBOX: "none",
    });
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out.split("\n")).toEqual([
      "settings: valid",
      "database: up to date",
      "key: in CADASTRE_ENCRYPTION_KEY",
      expect.stringMatching(/^certificate: valid until \d{4}-/),
      "mail: the mail server accepts mail from this server",
      "sandbox: none",
      `backups: in ${folder}`,
    ]);
    expect(mailbox.mails).toEqual([]);
  });

  test("says what the first start would do, and does not do it", async () => {
    const register = await newRegister(engine);
    const first = await check(register);
    expect(first).toMatchObject({
      code: 0,
      err: "",
      out: expect.stringMatching(/^database: .*the first start creates/m),
    });
    expect(await check(register)).toEqual(first);
    expect((await cadastre(["user", "list"], register)).err).toContain("has no Cadastre schema yet");
  });

  test("finds the wrong key", async () => {
    const register = await newRegister(engine, true);
    expect((await cadastre(["migrate"], register)).code).toBe(0);
    const { code, err } = await check({ ...register, CADASTRE_ENCRYPTION_KEY: otherKey });
    expect(code).toBe(1);
    expect(err).toMatch(/^The encryption key is not this database's key.*$/);
  });
});

test("uses the valid lines of a settings file, and no defaults in place of an unreadable file", async () => {
  const { CADASTRE_DATABASE, CADASTRE_ENCRYPTION_KEY } = await newRegister("sqlite", true);
  const config = join(folder, "server.conf");
  const lines = { CADASTRE_DATABASE, CADASTRE_ENCRYPTION_KEY, CADASTRE_LISTN: "127.0.0.1:0" };
  writeFileSync(
    config,
    Object.entries(lines)
      .map((line) => line.join("="))
      .join("\n"),
  );
  const wrongLine = await check({ CADASTRE_CONFIG: config });
  expect(wrongLine).toMatchObject({ code: 1, err: expect.stringMatching(/^Line 3 of .*CADASTRE_LISTEN\?$/) });
  expect(wrongLine.out.split("\n").slice(0, 2)).toEqual(["database: up to date", "key: in CADASTRE_ENCRYPTION_KEY"]);
  expect(await check({ CADASTRE_CONFIG: join(folder, "missing.conf") })).toMatchObject({
    code: 1,
    out: "",
    err: expect.stringMatching(/^The settings file .*missing\.conf can't be read\..*$/),
  });
});

test("reports all faults together, one line each", async () => {
  const certificate = join(folder, "certificate.pem");
  writeFileSync(certificate, "none");
  const { code, out, err } = await check({
    CADASTRE_TYPO: "x",
    CADASTRE_RATE_LIMIT: "many",
    CADASTRE_DATABASE: "postgres://cadastre:hush@127.0.0.1:1/cadastre",
    CADASTRE_TLS_CERT: certificate,
    CADASTRE_TLS_KEY: certificate,
    CADASTRE_SMTP_URL: "smtp://ada:hush@127.0.0.1:1",
    CADASTRE_SMTP_FROM: "cadastre@acme.example",
    CADASTRE_WORKERS: "1",
    CADASTRE_ENGINES: join(folder, "engines"),
    CADASTRE_ENGINE_MIRROR: "off",
    CADASTRE_BACKUP_DIRECTORY: join(folder, "backups"),
    CADASTRE_SANDBOX: "none",
  });
  expect(code).toBe(1);
  expect(err.split("\n")).toEqual([
    expect.stringMatching(/^CADASTRE_TYPO is not a setting/),
    expect.stringMatching(/^CADASTRE_RATE_LIMIT must be/),
    expect.stringMatching(/^The database postgres:\/\/cadastre:…@127\.0\.0\.1:1\/cadastre can't be reached/),
    expect.stringMatching(/^CADASTRE_ENCRYPTION_KEY is required with PostgreSQL/),
    expect.stringMatching(/^The TLS files can't be used/),
    expect.stringMatching(/^The mail server 127\.0\.0\.1:1 can't be used/),
    expect.stringMatching(/^CADASTRE_WORKERS is 1, but there is no engine/),
    expect.stringMatching(/^Backups can't be written \(.*: ENOENT\)/),
  ]);
  expect(out).toBe("sandbox: none");
  expect(err).not.toContain("hush");
});

test("reports problems of an embedded database", async () => {
  const path = join(folder, "cadastre.db");
  const settings = { CADASTRE_DATABASE: `sqlite:${path}` };
  expect((await check(settings)).out).toContain("key: the first start creates one");
  expect(existsSync(path)).toBe(false);
  expect((await cadastre(["migrate"], settings)).code).toBe(0);
  expect((await check(settings)).out).toContain("database: up to date");
  const kept = readFileSync(`${path}.key`);
  rmSync(`${path}.key`);
  expect(await check(settings)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^The encryption key of .* is missing/),
  });
  expect(existsSync(`${path}.key`)).toBe(false);
  writeFileSync(`${path}.key`, kept);
  const { code, err } = await check({ CADASTRE_DATABASE: `sqlite:${path}/inside/cadastre.db` });
  expect(code).toBe(1);
  expect(err).toMatch(/^The database .*\/inside\/cadastre\.db can't be created \(.*: EACCES\)/);
});

test("reports an expired certificate", async () => {
  const { code, err } = await check({
    CADASTRE_DATABASE: `sqlite:${join(folder, "new.db")}`,
    CADASTRE_TLS_CERT: fixture("expired-cert.pem"),
    CADASTRE_TLS_KEY: fixture("localhost-key.pem"),
  });
  expect(code).toBe(1);
  expect(err).toMatch(/^The certificate in .*expired-cert\.pem expired at 2020-01-02T00:00:00\.000Z\. Replace it\.$/);
});

test("reports a selected sandbox that does not work", async () => {
  const { code, err, out } = await check({
    CADASTRE_DATABASE: `sqlite:${join(folder, "new.db")}`,
    CADASTRE_SANDBOX: "user",
  });
  if (process.getuid?.() === 0)
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining("sandbox: user") });
  else expect(err).toMatch(/^No sandbox works here \(user: the agent was not started as root\)/);
});
