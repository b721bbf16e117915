/** The engines in `CADASTRE_ENGINES`: finds, fetches and removes them. All agents on a machine can share one directory. */
import { accessSync, chmodSync, constants, existsSync, lchownSync, mkdirSync, statSync, utimesSync } from "node:fs";
import { readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isRoot } from "../../sandbox/choose.ts";
import { findEngines, isProgram, programOf } from "../engines.ts";
import { removeTree, sizeOf } from "../files.ts";
import { type EngineName, type Product, products } from "../products.ts";
import { EngineUnavailable } from "./faults.ts";
import { FileLocks, type ReleaseLock } from "./locks.ts";
import { type FetchedRelease, fetchRelease } from "./release.ts";
import { type EngineFetchSettings, fetchingOff } from "./settings.ts";

export interface EngineCacheSettings extends EngineFetchSettings {
  readonly engines: string;
}

export interface EngineInUse {
  readonly program: string;
  /** If it was not there before. */
  readonly fetched: FetchedRelease | undefined;
  readonly release: ReleaseLock;
}

export interface CachedEngine extends EngineName {
  readonly bytes: number;
  /** False if somebody installed it; then it is never removed to make room. */
  readonly isFetched: boolean;
  readonly usedAt: Date | undefined;
}

const nothingToRelease: ReleaseLock = () => undefined;
/** Held while room is made and the engine renamed, so that the limit holds for all processes together. */
const roomLock = "room";
const removalsMax = 3;
const leftover = new RegExp(`^(${products.join("|")})-(.+?)\\.(partial|partial\\.zip|removed|json)$`);
const diskFaults = ["ENOSPC", "EDQUOT", "EACCES", "EPERM", "EROFS", "ENOENT", "ENOTEMPTY", "ENOTDIR"];

const keyOf = ({ product, version }: EngineName): string => `${product}-${version}`;

export class EngineCache {
  readonly #settings: EngineCacheSettings;
  readonly #locks: FileLocks;

  constructor(settings: EngineCacheSettings) {
    this.#settings = settings;
    this.#locks = new FileLocks(this.#privateFolder, (file) => {
      chmodSync(file, 0o600);
      this.#giveToOwner(file);
    });
  }

  /** Whether missing engines can be fetched, and if not, why. */
  whyNotFetching(): string | undefined {
    if (this.#settings.engineMirror === fetchingOff) return "CADASTRE_ENGINE_MIRROR is off";
    const fault = this.#prepare();
    return fault && `${this.#settings.engines} can't be written (${fault})`;
  }

  /** Nobody removes it until `release`. Fetches it if it is missing. Throws EngineRefusal, EngineUnavailable. */
  async use(engine: EngineName, signal: AbortSignal): Promise<EngineInUse> {
    const program = this.#programOf(engine);
    if (this.#prepare() !== undefined) {
      if (await isProgram(program)) return { program, fetched: undefined, release: nothingToRelease };
      throw new EngineUnavailable(`it is not installed, and ${this.#settings.engines} can't be written`);
    }
    await this.#removeLeftovers();
    let fetched: FetchedRelease | undefined;
    for (let removals = 0; removals < removalsMax; removals += 1) {
      const release = await this.#locks.lock(keyOf(engine), "shared", signal);
      if (await isProgram(program)) {
        this.#recordUse(engine);
        return { program, fetched, release };
      }
      release();
      fetched = await this.fetch(engine, signal);
    }
    throw new EngineUnavailable("it was removed again and again");
  }

  /** Undefined if it is already there, also if another process has fetched it meanwhile. Throws EngineRefusal, EngineUnavailable. */
  async fetch(engine: EngineName, signal: AbortSignal): Promise<FetchedRelease | undefined> {
    const reason = this.whyNotFetching();
    const program = this.#programOf(engine);
    if (reason !== undefined) {
      if (await isProgram(program)) return undefined;
      throw new EngineUnavailable(`it is not installed, and ${reason}`);
    }
    await this.#removeLeftovers();
    // Not until the jobs of the process that fetched it meanwhile have ended.
    const release = await this.#locks.lockUnless(() => isProgram(program), keyOf(engine), "exclusive", signal);
    if (release === undefined) return undefined;
    try {
      return (await isProgram(program)) ? undefined : await this.#fetchLocked(engine, signal);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (!diskFaults.includes(code ?? "")) throw error;
      throw new EngineUnavailable(`it can't be stored in ${this.#settings.engines} (${message})`);
    } finally {
      release();
    }
  }

  async #fetchLocked(engine: EngineName, signal: AbortSignal): Promise<FetchedRelease> {
    const partial = join(this.#privateFolder, `${keyOf(engine)}.partial`);
    try {
      await removeTree(partial);
      const fetched = await fetchRelease(engine, this.#settings, partial, signal);
      const room = await this.#locks.lock(roomLock, "exclusive", signal);
      try {
        await this.#makeRoom(await sizeOf(partial));
        await this.#install(engine, partial, fetched);
      } finally {
        room();
      }
      return fetched;
    } finally {
      await removeTree(partial);
    }
  }

  /** Removes what killed processes were writing or removing. With the lock, no live process does so. */
  async #removeLeftovers(): Promise<void> {
    for (const name of await readdir(this.#privateFolder)) {
      const [, product, version, suffix] = leftover.exec(name) ?? [];
      if (version === undefined) continue;
      const engine = { product: product as Product, version };
      // A record belongs to its engine.
      const isLeft = async () => suffix !== "json" || !(await this.has(engine));
      let release: ReleaseLock | undefined;
      try {
        release = (await isLeft()) ? this.#locks.tryLock(keyOf(engine), "exclusive") : undefined;
        if (release !== undefined && (await isLeft())) await removeTree(join(this.#privateFolder, name));
      } catch {
        // It belongs to another user, whose agents remove it.
      }
      release?.();
    }
  }

  async #install(engine: EngineName, partial: string, fetched: FetchedRelease): Promise<void> {
    const folder = this.#folderOf(engine);
    mkdirSync(dirname(folder), { recursive: true, mode: 0o755 });
    for (const path of [dirname(folder), partial, join(partial, engine.product)]) this.#giveToOwner(path);
    const record = this.#recordOf(engine);
    await writeFile(record, `${JSON.stringify({ ...fetched, fetchedAt: new Date().toISOString() })}\n`, {
      mode: 0o600,
    });
    this.#giveToOwner(record);
    // An empty folder can be replaced, one with something else in it can't.
    await rename(partial, folder);
    this.#recordUse(engine);
  }

  /** Least recently used first. Throws EngineUnavailable if the rest is in use. */
  async #makeRoom(bytes: number): Promise<void> {
    const bytesMax = this.#settings.engineCacheMb * 2 ** 20;
    const fetched = (await this.list()).filter(({ isFetched }) => isFetched);
    let total = bytes + fetched.reduce((sum, each) => sum + each.bytes, 0);
    const oldestFirst = fetched.toSorted((one, other) => (one.usedAt?.getTime() ?? 0) - (other.usedAt?.getTime() ?? 0));
    for (const engine of oldestFirst) {
      if (total <= bytesMax) return;
      if (await this.remove(engine)) total -= engine.bytes;
    }
    if (total <= bytesMax) return;
    const limit = `CADASTRE_ENGINE_CACHE_MB (${this.#settings.engineCacheMb})`;
    throw new EngineUnavailable(
      bytes > bytesMax
        ? `it is larger than ${limit}: raise the limit`
        : `the others in ${this.#settings.engines} are in use, and together they would exceed ${limit}`,
    );
  }

  /** False if it is in use. */
  async remove(engine: EngineName): Promise<boolean> {
    const fault = this.#prepare();
    if (fault !== undefined) throw new EngineUnavailable(`${this.#settings.engines} can't be written (${fault})`);
    const release = this.#locks.tryLock(keyOf(engine), "exclusive");
    if (release === undefined) return false;
    try {
      const removed = join(this.#privateFolder, `${keyOf(engine)}.removed`);
      await removeTree(removed);
      await rename(this.#folderOf(engine), removed);
      await rm(this.#recordOf(engine), { force: true });
      await removeTree(removed);
      return true;
    } finally {
      release();
    }
  }

  async has(engine: EngineName): Promise<boolean> {
    return isProgram(this.#programOf(engine));
  }

  async list(): Promise<CachedEngine[]> {
    const { engines } = this.#settings;
    const found = await findEngines(engines);
    const names = products.flatMap((product) => found[product].map((version) => ({ product, version })));
    return Promise.all(
      names.map(async (engine) => ({
        ...engine,
        bytes: await sizeOf(this.#folderOf(engine)),
        isFetched: existsSync(this.#recordOf(engine)),
        usedAt: statSync(this.#locks.fileOf(keyOf(engine)), { throwIfNoEntry: false })?.mtime,
      })),
    );
  }

  get #privateFolder(): string {
    return join(this.#settings.engines, ".cache");
  }

  #programOf({ product, version }: EngineName): string {
    return programOf(this.#settings.engines, product, version);
  }

  #folderOf(engine: EngineName): string {
    return dirname(this.#programOf(engine));
  }

  /** Beside the engine's folder, which jobs see. */
  #recordOf(engine: EngineName): string {
    return join(this.#privateFolder, `${keyOf(engine)}.json`);
  }

  #recordUse(engine: EngineName): void {
    const file = this.#locks.fileOf(keyOf(engine));
    const now = new Date();
    utimesSync(file, now, now);
  }

  /** Returns the error if the directory can't be written. */
  #prepare(): string | undefined {
    const { engines } = this.#settings;
    try {
      mkdirSync(engines, { recursive: true, mode: 0o755 });
      mkdirSync(this.#privateFolder, { recursive: true, mode: 0o700 });
      // No job may reach the locks and the archives that are not verified yet.
      chmodSync(this.#privateFolder, 0o700);
      for (const path of [engines, this.#privateFolder]) accessSync(path, constants.W_OK);
      this.#giveToOwner(this.#privateFolder);
      return undefined;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    }
  }

  /** What root creates must stay usable for the user whose directory it is. */
  #giveToOwner(path: string): void {
    if (!isRoot()) return;
    const { uid, gid } = statSync(this.#settings.engines);
    lchownSync(path, uid, gid);
  }
}
