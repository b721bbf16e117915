/** Replacing a certificate while the service runs. */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as secureConnect } from "node:tls";
import { describe, expect, test } from "vitest";
import { dropRegistersAfterwards, fixture, newRegister, startService, stopService, useFolder } from "./support.ts";

dropRegistersAfterwards();
const folder = useFolder();
const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];

/** The name in the certificate of a new connection. */
async function shown(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = secureConnect({ host: hostname, port: Number(port), rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

function makePair(name: string): void {
  const made = ["-keyout", key, "-out", cert, "-subj", `/CN=${name}`];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  expect(spawnSync("openssl", ["req", "-x509", ...kind, ...made]).status).toBe(0);
}

const isWithoutOpenssl = spawnSync("openssl", ["version"]).error !== undefined;

describe.skipIf(isWithoutOpenssl)("TLS files", () => {
  test("are reloaded when they change or on SIGHUP; an invalid pair is logged, and the current one stays in use", async () => {
    makePair("first.example");
    const service = await startService({
      ...(await newRegister("sqlite", true)),
      CADASTRE_TLS_CERT: cert,
      CADASTRE_TLS_KEY: key,
    });
    expect(await shown(service.url)).toBe("first.example");
    makePair("second.example");
    service.process.kill("SIGHUP");
    while ((await shown(service.url)) !== "second.example") await sleep(10);
    copyFileSync(fixture("other-key.pem"), key);
    service.process.kill("SIGHUP");
    while (!service.out().includes("The TLS files can't be used")) await sleep(10);
    expect(await shown(service.url)).toBe("second.example");
    writeFileSync(cert, "nothing");
    makePair("third.example");
    // Without a signal: the change is detected.
    while ((await shown(service.url)) !== "third.example") await sleep(100);
    const { code, out } = await stopService(service);
    expect(code).toBe(0);
    expect(out).toMatch(/The TLS files can't be used \(.*\)\. Check CADASTRE_TLS_CERT .*TLS certificate not replaced/);
  });

  test("SIGHUP does not stop a service without TLS files", async () => {
    const service = await startService({ ...(await newRegister("sqlite", true)) });
    service.process.kill("SIGHUP");
    while (!service.out().includes("TLS reload skipped")) await sleep(10);
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
    expect((await stopService(service)).code).toBe(0);
  });
});
