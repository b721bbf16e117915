/**
 * Measures the memory that a large state needs: uploads 200 MiB, lets the job parse it, downloads it, and samples the server's memory.
 *
 *   npm run bench:state                   200 MiB, embedded database
 *   npm run bench:state -- 100 postgres   100 MiB, PostgreSQL
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startPostgres } from "../test/support/postgres.ts";
import { MemorySampler } from "./memory-sampler.ts";

const mebibyte = 1024 * 1024;
const [mebibytes = "200", engine = "sqlite"] = process.argv.slice(2);
const targetSize = Number(mebibytes) * mebibyte;
const token = "the-admin-of-a-large-state";
const launcher = fileURLToPath(new URL("../bin/cadastre.js", import.meta.url));

/** Generates the same state each time, for the digest and for the upload. */
function* state(): Generator<string> {
  yield '{"version":4,"terraform_version":"1.9.5","serial":1,"lineage":"a-large-one","outputs":{"last":{"value":"one","type":"string"}},"resources":[';
  let size = 0;
  for (let index = 0; size < targetSize; index += 1) {
    const filling = createHash("sha256").update(String(index)).digest("base64").repeat(40);
    const attributes = { id: `i-${index}`, filling };
    const resource = JSON.stringify({
      mode: "managed",
      type: "null_resource",
      name: `r${index}`,
      provider: 'provider["registry.terraform.io/hashicorp/null"]',
      instances: [{ schema_version: 0, attributes }],
    });
    size += resource.length + 1;
    yield index === 0 ? resource : `,${resource}`;
  }
  yield "]}";
}

function digest(): { md5: string; size: number } {
  const hash = createHash("md5");
  let size = 0;
  for (const piece of state()) {
    hash.update(piece);
    size += piece.length;
  }
  return { md5: hash.digest("hex"), size };
}

async function call(url: string, method: string, path: string, body?: object): Promise<any> {
  const response = await fetch(`${url}/api/v2${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/vnd.api+json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} got ${response.status}: ${text}`);
  return text === "" ? undefined : JSON.parse(text).data;
}

async function send(url: string): Promise<void> {
  const outgoing = request(url, { method: "PUT" });
  const answered = once(outgoing, "response");
  await pipeline(Readable.from(state()), outgoing);
  const [answer] = await answered;
  answer.resume();
  if (answer.statusCode !== 204) throw new Error(`the upload got ${answer.statusCode}`);
}

async function fetchDigest(url: string): Promise<string> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  const hash = createHash("md5");
  for await (const piece of response.body ?? []) hash.update(piece);
  return hash.digest("hex");
}

const warmUpRequests = 2000;

/** Warms the server up, so that its normal memory isn't counted. */
async function warmUp(url: string): Promise<string> {
  const organization = { name: "bench", email: "a@example.com" };
  await call(url, "POST", "/organizations", { data: { type: "organizations", attributes: organization } });
  const make = async (name: string): Promise<string> =>
    (
      await call(url, "POST", "/organizations/bench/workspaces", {
        data: { type: "workspaces", attributes: { name } },
      })
    ).id;
  for (let count = 0; count < 20; count += 1) await make(`small-${count}`);
  for (let count = 0; count < warmUpRequests; count += 1) await call(url, "GET", "/organizations/bench/workspaces");
  return make("large");
}

async function measure(url: string, pid: number): Promise<void> {
  const workspaceId = await warmUp(url);
  const { md5, size } = digest();
  const watch = new MemorySampler(() => [pid]);
  const before = watch.sample();
  const report = (what: string, startedAt: number) =>
    console.log(
      `${what.padEnd(10)} ${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s   memory at most +${((watch.max() - before) / mebibyte).toFixed(0)} MiB`,
    );
  console.log(
    `${engine}: a state of ${(size / mebibyte).toFixed(0)} MiB; the server uses ${(before / mebibyte).toFixed(0)} MiB before`,
  );
  await call(url, "POST", `/workspaces/${workspaceId}/actions/lock`);
  const version = await call(url, "POST", `/workspaces/${workspaceId}/state-versions`, {
    data: { type: "state-versions", attributes: { serial: 1, md5, lineage: "a-large-one" } },
  });
  let startedAt = performance.now();
  await send(version.attributes["hosted-state-upload-url"]);
  report("up", startedAt);
  startedAt = performance.now();
  while (!(await call(url, "GET", `/state-versions/${version.id}`)).attributes["resources-processed"]) await sleep(100);
  report("read", startedAt);
  startedAt = performance.now();
  const arrived = await fetchDigest(`${url}/api/v2/state-versions/${version.id}/download`);
  report("down", startedAt);
  await call(url, "POST", `/workspaces/${workspaceId}/actions/unlock`);
  const { attributes } = await call(url, "GET", `/workspaces/${workspaceId}`);
  console.log(`${arrived === md5 ? "all bytes match" : "THE BYTES DIFFER"}; ${attributes["resource-count"]} resources`);
  watch.stop();
  if (arrived !== md5 || watch.max() - before >= 64 * mebibyte) process.exitCode = 1;
}

const folder = mkdtempSync(join(tmpdir(), "cadastre-large-"));
const postgres = engine === "postgres" ? await startPostgres({ durable: true }) : undefined;
const child = spawn(process.execPath, [launcher, "serve"], {
  env: {
    PATH: process.env["PATH"] ?? "",
    CADASTRE_LISTEN: "127.0.0.1:0",
    CADASTRE_CONSOLE: "off",
    CADASTRE_DATABASE: postgres?.url("postgres") ?? `sqlite:${join(folder, "cadastre.db")}`,
    CADASTRE_ENCRYPTION_KEY: "0123456789abcdef".repeat(4),
    CADASTRE_ADMIN_TOKEN: token,
    CADASTRE_LOG_LEVEL: "warn",
  },
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  let out = "";
  while (!/Ctrl\+C/.test(out)) out += String((await once(child.stdout, "data"))[0]);
  await measure(/Address +(\S+)/.exec(out)?.[1] ?? "", child.pid ?? 0);
} finally {
  child.kill("SIGKILL");
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
}
