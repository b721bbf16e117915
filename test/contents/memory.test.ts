/** Contents of 256 MiB pass through a server in bounded memory, in both directions. */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MemorySampler } from "../../bench/memory-sampler.ts";
import { type Caller, callerOn } from "../support/api.ts";
import { header, tarEnd } from "../support/archives.ts";
import { data, resource } from "../support/builders.ts";
import { type ObjectServer, startObjectServer, storeCredentials } from "../support/object-store.ts";
import { lock, post, unlock } from "../support/states.ts";
import { until } from "../support/waiting.ts";
import { dropRegistersAfterwards, newRegister, type Service, startService, stopService } from "../cli/support.ts";

dropRegistersAfterwards();
const mebibyte = 2 ** 20;
const adminToken = "the-admin-of-large-contents";
let store: ObjectServer;
let service: Service;
let admin: Caller;
let workspaceId: string;
let watch: MemorySampler;

beforeAll(async () => {
  store = await startObjectServer();
  service = await startService({
    ...(await newRegister("sqlite")),
    ...storeCredentials,
    CADASTRE_CONTENTS: store.address("large"),
    CADASTRE_ADMIN_TOKEN: adminToken,
  });
  admin = callerOn(service.url, adminToken);
  await admin.post("/organizations", resource("organizations", { name: "large", email: "a@example.com" }));
  workspaceId = data(await admin.post("/organizations/large/workspaces", resource("workspaces", { name: "a" }))).id;
  // Loads the code that the measured requests need.
  await passState(2, 16 * mebibyte);
  for (let count = 0; count < 500; count += 1) await admin.get("/organizations/large/workspaces");
  watch = new MemorySampler(() => [service.process.pid ?? 0]);
});
afterAll(async () => {
  watch.stop();
  await stopService(service);
  await store.stop();
});

/** Farther apart than the compression looks back. */
const noise = randomBytes(6 * mebibyte).toString("base64");

function* state(serial: number, size: number): Generator<string> {
  const head = `{"version":4,"terraform_version":"1.9.5","serial":${serial},"lineage":"large","outputs":{},"resources":[`;
  yield head;
  let left = size - head.length - 2;
  for (let index = 0; left > 200_000; index += 1) {
    const at = (index * 65_536) % (noise.length - 65_536);
    const instances = [{ schema_version: 0, attributes: { bulk: noise.slice(at, at + 65_536) } }];
    const provider = 'provider["registry.terraform.io/hashicorp/null"]';
    const one = { mode: "managed", type: "null_resource", name: `r${index}`, provider, instances };
    const text = `${index === 0 ? "" : ","}${JSON.stringify(one)}`;
    left -= text.length;
    yield text;
  }
  yield `]}${" ".repeat(left)}`;
}

function* archive(size: number): Generator<Buffer> {
  yield header({ name: "bulk", size });
  const bytes = Buffer.from(noise, "base64");
  for (let sent = 0; sent < size; sent += mebibyte)
    yield bytes.subarray(sent % bytes.length, (sent % bytes.length) + mebibyte);
  yield tarEnd;
}

async function send(url: string, source: Readable): Promise<number | undefined> {
  const outgoing = request(url, { method: "PUT" });
  const answered = once(outgoing, "response");
  await pipeline(source, outgoing);
  const [answer] = await answered;
  answer.resume();
  return answer.statusCode;
}

async function digestOf(source: AsyncIterable<Uint8Array | string>): Promise<string> {
  const hash = createHash("md5");
  for await (const piece of source) hash.update(piece);
  return hash.digest("hex");
}

async function download(path: string): Promise<string> {
  const answer = await fetch(`${service.url}/api/v2${path}`, { headers: { authorization: `Bearer ${adminToken}` } });
  return digestOf(answer.body ?? Readable.from([]));
}

/** MiB above `before`, since the last call. */
const growth = (before: number) => Math.round((watch.max() - before) / mebibyte);

/** Up and down. The server processes it in between. */
async function passState(serial: number, size: number, report: (step: string) => void = () => {}): Promise<void> {
  const md5 = await digestOf(Readable.from(state(serial, size)));
  await lock(admin, workspaceId);
  const version = data(await post(admin, workspaceId, { serial, lineage: "large", md5 }));
  expect(await send(version.attributes["hosted-state-upload-url"], Readable.from(state(serial, size)))).toBe(204);
  report("state up");
  const path = `/state-versions/${version.id}`;
  await until(async () => data(await admin.get(path)).attributes["resources-processed"], "the state is processed");
  report("state processed");
  expect(await download(`${path}/download`)).toBe(md5);
  report("state down");
  await unlock(admin, workspaceId);
}

test("a state of 256 MiB and a configuration of 100 MiB need at most 64 MiB more than at rest", async () => {
  const before = watch.sample();
  const grown: Record<string, number> = {};
  await passState(3, 256 * mebibyte, (step) => (grown[step] = growth(before)));

  const made = resource("configuration-versions", { "auto-queue-runs": false });
  const configuration = data(await admin.post(`/workspaces/${workspaceId}/configuration-versions`, made));
  const packed = () => Readable.from(archive(95 * mebibyte)).pipe(createGzip({ level: 0 }));
  const packedDigest = await digestOf(packed());
  expect(await send(configuration.attributes["upload-url"], packed())).toBe(200);
  grown["configuration up"] = growth(before);
  expect(await download(`/configuration-versions/${configuration.id}/download`)).toBe(packedDigest);
  grown["configuration down"] = growth(before);
  for (const mebibytes of Object.values(grown)) expect(mebibytes, JSON.stringify(grown)).toBeLessThanOrEqual(64);
});
