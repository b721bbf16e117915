/** Provides the console's files: from the package or, in a checkout, from a background build of changed sources. */
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
const otherSources = ["test/goldens/openapi.json", "test/goldens/audit-events.txt", "package-lock.json"];

export class ConsoleFiles {
  readonly #logger: Logger;
  readonly #stopped = new AbortController();
  #files: ReadonlyMap<string, Buffer> | undefined;
  #failure: string | undefined;
  #building: Promise<void> | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  files(): ReadonlyMap<string, Buffer> | undefined {
    return this.#files;
  }

  failure(): string | undefined {
    return this.#failure;
  }

  async open(): Promise<void> {
    await this.#orRecordFailure(async () => {
      const stamp = existsSync(sources) ? await stampOfSources() : undefined;
      if (stamp === undefined || (await isBuiltFrom(stamp))) await this.#read();
      else this.#building = this.#orRecordFailure(() => this.#build(stamp));
    });
  }

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

  async #orRecordFailure(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      this.#failure = (error as Error).message;
      this.#logger.error({ err: error }, "console unavailable");
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
      "The console is not built, and its build tools are not installed. Run `npm ci` with development packages, or use a release.",
    );
  logger.info("building console");
  const startedAt = Date.now();
  // Several servers may build concurrently: each uses its own folder, and the last one wins.
  await mkdir(dirname(built), { recursive: true });
  const temporary = await mkdtemp(`${built}.`);
  const previous = `${temporary}.previous`;
  try {
    await run(signal, join(sources, "api/generate.ts"));
    const config = join(sources, "vite.config.ts");
    await run(signal, builder, "build", "--config", config, "--outDir", temporary, "--logLevel", "error");
    await writeFile(join(temporary, stampName), stamp);
    // Deleting in place could mix files of two builds.
    await rename(built, previous).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
    await rename(temporary, built).catch((error: NodeJS.ErrnoException) => {
      // Another server with the same sources was faster.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    for (const folder of [temporary, previous]) await rm(folder, { recursive: true, force: true });
  }
  logger.info({ seconds: (Date.now() - startedAt) / 1000 }, "console built");
}

async function stampOfSources(): Promise<string> {
  const consoleSources = (await readdir(sources, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".gen.ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const hash = createHash("sha256");
  for (const file of [...consoleSources, ...otherSources.map((name) => join(root, name))]) {
    hash.update(file.slice(root.length)).update("\0");
    hash.update(await readFile(file).catch(() => "")).update("\0");
  }
  return hash.digest("hex");
}

/** A build would block this process for seconds. */
function run(signal: AbortSignal, ...words: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, NODE_ENV: "production" };
    const child = spawn(process.execPath, words, { cwd: root, env, signal, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (output += part));
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`The console could not be built: ${output.trim().slice(-2_000)}`)),
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
