/** The engines' directory: shared by jobs and processes, limited in size, and never emptied under a job. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { EngineCache, type EngineCacheSettings } from "../../../src/agent/fetching/cache.ts";
import { EngineRefusal, EngineUnavailable } from "../../../src/agent/fetching/faults.ts";
import { FileLocks } from "../../../src/agent/fetching/locks.ts";
import type { EngineName } from "../../../src/agent/products.ts";
import { archiveNameOf, EngineMirror, programPart } from "../../support/engine-mirror.ts";
import { addFakeEngine } from "../../support/engines.ts";
import { newFolder } from "../../support/folder.ts";
import { until } from "../../support/waiting.ts";
import { zipOf } from "../../support/zip.ts";

const never = new AbortController().signal;
const terraform = (version: string): EngineName => ({ product: "terraform", version });
const engine = terraform("1.9.5");
const archivePath = `/engines/terraform/1.9.5/${archiveNameOf(engine)}`;

let mirror: EngineMirror;
let folder: string;
let settings: EngineCacheSettings;
let cache: EngineCache;

beforeAll(async () => {
  mirror = await EngineMirror.start({ isPlain: true });
});
afterAll(() => mirror.close());
beforeEach(async () => {
  folder = newFolder("cadastre-cache-");
  settings = {
    engines: join(folder, "engines"),
    engineMirror: mirror.url,
    engineMirrorInsecure: true,
    engineKeys: mirror.writeKeys(join(folder, "keys.asc")),
    engineCacheMb: 4096,
  };
  cache = new EngineCache(settings);
  mirror.requests.length = 0;
  await mirror.publish(engine);
  return () => rmSync(folder, { recursive: true, force: true });
});

const downloads = () => mirror.requests.filter((path) => path === archivePath).length;
const versions = () => readdirSync(join(settings.engines, "terraform")).toSorted();
const inOtherProcess = (wanted: EngineName) =>
  spawn(
    process.execPath,
    [fileURLToPath(new URL("fetch-engine.ts", import.meta.url)), JSON.stringify({ settings, engine: wanted })],
    { stdio: ["ignore", "pipe", "inherit"] },
  );

/** A program of this many megabytes, which don't compress. */
async function publishLarge(wanted: EngineName, megabytes: number): Promise<void> {
  const random = new Uint8Array(megabytes * 2 ** 20);
  for (let at = 0; at < random.length; at += 65_536) crypto.getRandomValues(random.subarray(at, at + 65_536));
  await mirror.publish(wanted, { archive: zipOf([{ name: wanted.product, content: Buffer.from(random) }]) });
}

/** The mirror waits in the middle of the archive. */
function hold(): { readonly begun: () => boolean; readonly release: () => void } {
  const bytes = zipOf([programPart(engine)]);
  const waiting: ServerResponse[] = [];
  mirror.put(engine, archiveNameOf(engine), (_, response) => {
    response.writeHead(200, { "content-length": bytes.length }).write(bytes.subarray(0, 10));
    waiting.push(response);
  });
  return {
    begun: () => waiting.length > 0,
    release: () => {
      for (const response of waiting) response.end(bytes.subarray(10));
    },
  };
}

describe("use", () => {
  it("fetches a missing engine into today's layout, once", async () => {
    const first = await cache.use(engine, never);
    expect(first.fetched?.archive).toBe(`http://localhost:${mirror.port}${archivePath}`);
    expect(first.program).toBe(join(settings.engines, "terraform/1.9.5/terraform"));
    const again = await cache.use(engine, never);
    expect(again.fetched).toBeUndefined();
    expect(downloads()).toBe(1);
    for (const { release } of [first, again]) release();
    expect(await cache.list()).toMatchObject([{ ...engine, isFetched: true, usedAt: expect.any(Date) }]);
  });

  it("of jobs and processes that need it at once, one downloads it", async () => {
    await mirror.publish(engine, { archive: zipOf([programPart(engine)]) });
    const held = hold();
    const uses = [cache, new EngineCache(settings)].map((each) => each.use(engine, never));
    const others = [inOtherProcess(engine), inOtherProcess(engine)];
    const outputs = others.map(({ stdout }) => text(stdout));
    await until(held.begun, "the download begins");
    held.release();
    const used = await Promise.all(uses);
    const printed = await Promise.all(outputs);
    expect(downloads()).toBe(1);
    const fetched = [...used.map((each) => each.fetched !== undefined), ...printed.map((line) => line === "fetched\n")];
    expect(fetched.filter(Boolean)).toHaveLength(1);
    for (const { release } of used) release();
  });

  it("a killed process leaves nothing usable behind, and no lock", async () => {
    await mirror.publish(engine, { archive: zipOf([programPart(engine)]) });
    const held = hold();
    const killed = inOtherProcess(engine);
    await until(held.begun, "the download begins");
    expect(existsSync(join(settings.engines, "terraform"))).toBe(false);
    const closed = once(killed, "close");
    killed.kill("SIGKILL");
    await closed;
    await mirror.publish(engine, { archive: zipOf([programPart(engine)]) });
    (await cache.use(engine, never)).release();
    expect(versions()).toEqual(["1.9.5"]);
    expect(readdirSync(join(settings.engines, ".cache")).filter((name) => /partial|zip/.test(name))).toEqual([]);
  });

  it("what killed processes left is removed when another engine is fetched, except for what a live one writes", async () => {
    const cached = join(settings.engines, ".cache");
    await mirror.publish(engine, { archive: zipOf([programPart(engine)]) });
    const held = hold();
    const living = inOtherProcess(engine);
    await until(held.begun, "the download begins");
    const left = ["1.0.0.partial.zip", "1.0.1.removed/terraform", "1.0.2.partial/terraform", "1.0.3.json"];
    for (const name of left) {
      mkdirSync(dirname(join(cached, `terraform-${name}`)), { recursive: true });
      writeFileSync(join(cached, `terraform-${name}`), "left");
    }
    // As if it were another user's.
    mkdirSync(join(cached, "terraform-0.9.0.lock"));
    writeFileSync(join(cached, "terraform-0.9.0.partial.zip"), "not accessible");
    await mirror.publish(terraform("1.9.4"));
    (await cache.use(terraform("1.9.4"), never)).release();
    const others = () => readdirSync(cached).filter((name) => !name.includes(".lock"));
    const kept = ["terraform-0.9.0.partial.zip", "terraform-1.9.4.json"];
    expect(others().toSorted()).toEqual([...kept, "terraform-1.9.5.partial.zip"]);
    const closed = once(living, "close");
    held.release();
    await closed;
    expect(versions()).toEqual(["1.9.4", "1.9.5"]);
    expect(others().toSorted()).toEqual([...kept, "terraform-1.9.5.json"]);
  });

  it("a refused engine leaves nothing behind", async () => {
    mirror.put(engine, archiveNameOf(engine), Buffer.from("something else"));
    await expect(cache.use(engine, never)).rejects.toThrow(EngineRefusal);
    expect(existsSync(join(settings.engines, "terraform"))).toBe(false);
    expect(readdirSync(join(settings.engines, ".cache"))).toEqual(["terraform-1.9.5.lock"]);
  });

  it("a canceled job stops waiting for the mirror", async () => {
    await mirror.publish(engine, { archive: zipOf([programPart(engine)]) });
    const held = hold();
    const stop = new AbortController();
    const use = cache.use(engine, stop.signal);
    await until(held.begun, "the download begins");
    stop.abort();
    await expect(use).rejects.toThrow(/abort/i);
  });

  it("with fetching off, it uses what is installed, and says what is missing", async () => {
    const closed = new EngineCache({ ...settings, engineMirror: "off" });
    addFakeEngine(settings.engines, "terraform", "1.5.7");
    expect(closed.whyNotFetching()).toBe("CADASTRE_ENGINE_MIRROR is off");
    (await closed.use(terraform("1.5.7"), never)).release();
    await expect(closed.use(engine, never)).rejects.toThrow("it is not installed, and CADASTRE_ENGINE_MIRROR is off");
    expect(mirror.requests).toEqual([]);
  });

  it("a directory that can't be written is used as it is", async () => {
    writeFileSync(join(folder, "file"), "");
    const broken = new EngineCache({ ...settings, engines: join(folder, "file") });
    expect(broken.whyNotFetching()).toMatch(/file can't be written \(E\w+\)/);
    await expect(broken.use(engine, never)).rejects.toThrow(EngineUnavailable);
  });
});

describe("jobs", () => {
  it("see the engine's own folder, without locks, records or archives, and can't write it", async () => {
    const { program, release } = await cache.use(engine, never);
    const cached = join(settings.engines, ".cache");
    expect(statSync(cached).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(cached)) expect(statSync(join(cached, name)).mode & 0o077, name).toBe(0);
    expect(readdirSync(join(settings.engines, "terraform/1.9.5"))).toEqual(["terraform"]);
    for (const path of [settings.engines, join(settings.engines, "terraform"), join(program, ".."), program])
      expect(statSync(path).mode & 0o022, path).toBe(0);
    release();
  });

  it.runIf(process.getuid?.() === 0)("what root fetches belongs to the owner of the directory", async () => {
    mkdirSync(settings.engines);
    const { chownSync } = await import("node:fs");
    chownSync(settings.engines, 4711, 4711);
    (await cache.use(engine, never)).release();
    const inside = readdirSync(settings.engines, { recursive: true, encoding: "utf8" });
    expect(inside).toContain(".cache/terraform-1.9.5.lock");
    for (const name of inside) expect(statSync(join(settings.engines, name)).uid, name).toBe(4711);
  });
});

describe("the limit", () => {
  const old = (wanted: EngineName, minutes: number) => {
    const at = new Date(Date.now() - minutes * 60_000);
    utimesSync(new FileLocks(join(settings.engines, ".cache")).fileOf(`terraform-${wanted.version}`), at, at);
  };

  it("removes the least recently used, but not what is in use or was installed", async () => {
    const small = new EngineCache({ ...settings, engineCacheMb: 10 });
    addFakeEngine(settings.engines, "terraform", "1.5.7");
    const [a, b, c, d] = ["1.0.0", "1.0.1", "1.0.2", "1.0.3"].map(terraform) as [
      EngineName,
      EngineName,
      EngineName,
      EngineName,
    ];
    for (const wanted of [a, b, c, d]) await publishLarge(wanted, 4);
    const inUse = await small.use(a, never);
    (await small.use(b, never)).release();
    old(a, 60);
    old(b, 30);
    expect(versions()).toEqual(["1.0.0", "1.0.1", "1.5.7"]);
    // The oldest is in use, so the next one goes.
    (await small.use(c, never)).release();
    expect(versions()).toEqual(["1.0.0", "1.0.2", "1.5.7"]);
    inUse.release();
    (await small.use(d, never)).release();
    expect(versions()).toEqual(["1.0.2", "1.0.3", "1.5.7"]);
    expect(readdirSync(join(settings.engines, ".cache")).filter((name) => name.endsWith(".json"))).toHaveLength(2);
  });

  it("with everything in use, or with an engine above it, the job waits", async () => {
    const small = new EngineCache({ ...settings, engineCacheMb: 6 });
    await publishLarge(terraform("1.0.0"), 4);
    await publishLarge(terraform("1.0.1"), 4);
    await publishLarge(terraform("1.0.2"), 8);
    const inUse = await small.use(terraform("1.0.0"), never);
    await expect(small.use(terraform("1.0.1"), never)).rejects.toThrow(
      /are in use, .* exceed CADASTRE_ENGINE_CACHE_MB \(6\)/,
    );
    await expect(small.use(terraform("1.0.2"), never)).rejects.toThrow(
      /larger than CADASTRE_ENGINE_CACHE_MB \(6\): raise/,
    );
    expect(versions()).toEqual(["1.0.0"]);
    inUse.release();
  });

  it("remove refuses an engine in use, also by another process's job", async () => {
    const inUse = await cache.use(engine, never);
    expect(await new EngineCache(settings).remove(engine)).toBe(false);
    inUse.release();
    expect(await cache.remove(engine)).toBe(true);
    expect(versions()).toEqual([]);
  });
});
