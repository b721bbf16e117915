/**
 * The console's files: those that a package carries, or, in a checkout, those that are built from its sources at the first start after
 * these have changed. The service answers while they are built; only the console's pages wait.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";

const root = fileURLToPath(new URL("../", import.meta.url));
const sources = join(root, "console");
const built = join(root, "dist/console");
const builder = join(root, "node_modules/vite/bin/vite.js");
const stampName = ".built-from";
/** Beside the sources: what they are typed by, and what they are built with. */
const others = ["test/goldens/openapi.json", "test/goldens/trail.txt", "package-lock.json"];

export class ConsoleFiles {
  readonly #logger: Logger;
  readonly #stopped = new AbortController();
  #files: ReadonlyMap<string, Buffer> | undefined;
  #failure: string | undefined;
  #building: Promise<void> | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The files by their path under the console's address; undefined until they are there. */
  files(): ReadonlyMap<string, Buffer> | undefined {
    return this.#files;
  }

  /** Why there are none, if there will be none. */
  failure(): string | undefined {
    return this.#failure;
  }

  /** Reads what is built, so that it is there when people are told where. What has to be built first comes later, by itself. */
  async open(): Promise<void> {
    await this.#orSayWhyNot(async () => {
      const stamp = existsSync(sources) ? await stampOfSources() : undefined;
      if (stamp === undefined || (await isBuiltFrom(stamp))) await this.#read();
      else this.#building = this.#orSayWhyNot(() => this.#build(stamp));
    });
  }

  /** As `open`, and waits also for what has to be built. */
  async load(): Promise<void> {
    await this.open();
    await this.#building;
  }

  async #build(stamp: string): Promise<void> {
    await build(stamp, this.#logger, this.#stopped.signal);
    await this.#read();
  }

  async #read(): Promise<void> {
    this.#files = await readAll(built);
  }

  async #orSayWhyNot(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      this.#failure = (error as Error).message;
      this.#logger.error({ err: error }, "there is no console");
    }
  }

  stop(): void {
    this.#stopped.abort();
  }
}

const isBuiltFrom = async (stamp: string): Promise<boolean> =>
  (await readFile(join(built, stampName), "utf8").catch(() => "")) === stamp;

async function build(stamp: string, logger: Logger, signal: AbortSignal): Promise<void> {
  if (!existsSync(builder))
    throw new Error(
      "The console is not built, and what builds it is not installed. Run `npm ci` without leaving out development packages, or use a release.",
    );
  logger.info("building the console, once, because its sources have changed; the API answers meanwhile");
  const begun = Date.now();
  // Several servers may start at once: each builds beside, and the last one to finish stays.
  await mkdir(dirname(built), { recursive: true });
  const beside = await mkdtemp(`${built}.`);
  const before = `${beside}.before`;
  try {
    await run(signal, join(sources, "api/generate.ts"));
    const config = join(sources, "vite.config.ts");
    await run(signal, builder, "build", "--config", config, "--outDir", beside, "--logLevel", "error");
    await writeFile(join(beside, stampName), stamp);
    // Out of the way in one step: removed in its place, another server's files would come in between.
    await rename(built, before).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
    await rename(beside, built).catch((error: NodeJS.ErrnoException) => {
      // Another server, from the same sources, was faster.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    for (const folder of [beside, before]) await rm(folder, { recursive: true, force: true });
  }
  logger.info(`the console is built (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
}

async function stampOfSources(): Promise<string> {
  const inside = (await readdir(sources, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".gen.ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const hash = createHash("sha256");
  for (const file of [...inside, ...others.map((name) => join(root, name))]) {
    hash.update(file.slice(root.length)).update("\0");
    hash.update(await readFile(file).catch(() => "")).update("\0");
  }
  return hash.digest("hex");
}

/** As a process of its own: a build takes seconds, in which requests must be answered. */
function run(signal: AbortSignal, ...words: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    // Whatever this process is run as: the files are for everybody who starts the service from here.
    const env = { ...process.env, NODE_ENV: "production" };
    const child = spawn(process.execPath, words, { cwd: root, env, signal, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (said += part));
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`The console could not be built: ${said.trim().slice(-2_000)}`)),
    );
  });
}

async function readAll(folder: string): Promise<ReadonlyMap<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = new Map<string, Buffer>();
  for (const entry of entries) {
    if (!entry.isFile() || entry.name === stampName) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(path.slice(folder.length + 1).replaceAll("\\", "/"), await readFile(path));
  }
  return files;
}
