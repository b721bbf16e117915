/** Parses a state's resources. It keeps the instances of a resource until its end, because members come in any order. */
import { JsonCapture, type JsonReader } from "./json-scanner.ts";
import { Fingerprint, type IndexKey, instanceAddress, modulePath, providerName } from "./state-instances.ts";
import { StateSummary } from "./state-summary.ts";

/** Resources with longer names are not listed. */
export const nameBytesMax = 1024;
/** Bounds the memory for one resource (about 80,000 instances); further instances are counted but not listed. */
const keptSizeMax = 8 * 1024 * 1024;
const keptInstanceSize = 100;

export interface StateInstance {
  address: string;
  name: string;
  nameIndex: string | null;
  type: string;
  module: string;
  provider: string;
  fingerprint: string;
}

interface KeptInstance {
  readonly key: IndexKey;
  readonly fingerprint: string;
}

/** Undefined if the value is not a string that a database can store. */
export function stringOf(capture: JsonCapture): string | undefined {
  if (!capture.text?.startsWith('"')) return undefined;
  // Only escapes can produce the characters refused below.
  if (!capture.text.includes("\\")) return capture.text.slice(1, -1);
  const text = JSON.parse(capture.text) as string;
  return text.isWellFormed() && !text.includes("\0") ? text : undefined;
}

/** Empty if absent or null. */
function optionalStringOf(capture: JsonCapture): string | undefined {
  return capture.size === 0 || capture.text === "null" ? "" : stringOf(capture);
}

export class ResourcesReader implements JsonReader {
  readonly summary = new StateSummary();
  readonly #resource: ResourceReader;
  #unread: StateInstance[] = [];
  instanceCount = 0;

  constructor() {
    this.#resource = new ResourceReader(this.summary, (instance) => {
      if (this.isListing) this.#unread.push(instance);
      this.instanceCount++;
    });
  }

  get isListing(): boolean {
    return this.#resource.isListing;
  }

  stopListing(): void {
    this.#resource.isListing = false;
    this.#unread = [];
  }

  element(): JsonReader {
    return this.#resource;
  }

  take(): StateInstance[] {
    const instances = this.#unread;
    this.#unread = [];
    return instances;
  }
}

class ResourceReader implements JsonReader {
  readonly #summary: StateSummary;
  readonly #emit: (instance: StateInstance) => void;
  readonly #module = new JsonCapture(nameBytesMax);
  readonly #mode = new JsonCapture(nameBytesMax);
  readonly #type = new JsonCapture(nameBytesMax);
  readonly #name = new JsonCapture(nameBytesMax);
  readonly #provider = new JsonCapture(nameBytesMax);
  readonly #instances = new InstancesReader();

  get isListing(): boolean {
    return this.#instances.isListing;
  }

  set isListing(isListing: boolean) {
    this.#instances.isListing = isListing;
  }

  constructor(summary: StateSummary, emit: (instance: StateInstance) => void) {
    this.#summary = summary;
    this.#emit = emit;
  }

  begin(): void {
    this.#module.clear();
    this.#mode.clear();
    this.#type.clear();
    this.#name.clear();
    this.#provider.clear();
    this.#instances.begin();
  }

  member(key: string): JsonReader | undefined {
    switch (key) {
      case "module":
        return this.#module;
      case "mode":
        return this.#mode;
      case "type":
        return this.#type;
      case "name":
        return this.#name;
      case "provider":
        return this.#provider;
      case "instances":
        return this.#instances;
      default:
        return undefined;
    }
  }

  end(): void {
    const { count, kept } = this.#instances;
    const mode = stringOf(this.#mode);
    const type = stringOf(this.#type);
    const name = stringOf(this.#name);
    const path = optionalStringOf(this.#module);
    // OpenTofu names the provider on the instances if they have different ones.
    const ownProvider = optionalStringOf(this.#provider);
    const provider = ownProvider === "" ? this.#instances.provider : ownProvider;
    if (mode !== "managed" && mode !== "data") return;
    if (!type || !name || path === undefined || provider === undefined) return;

    const module = modulePath(path);
    this.#summary.add({ name, type, mode, module, provider, count });
    if (mode === "data") return;
    if (!this.isListing) return;
    const shownProvider = providerName(provider);
    for (const { key, fingerprint } of kept) {
      const address = instanceAddress(module, type, name, key);
      const nameIndex = key === null ? null : String(key);
      this.#emit({ address, name, nameIndex, type, module, provider: shownProvider, fingerprint });
    }
  }
}

class InstancesReader implements JsonReader {
  readonly #instance = new InstanceReader((instance) => this.#keep(instance));
  kept: KeptInstance[] = [];
  #keptSize = 0;
  /** Includes instances that are not kept. */
  count = 0;
  isListing = true;
  provider = "";

  begin(): void {
    this.kept = [];
    this.#keptSize = 0;
    this.count = 0;
    this.provider = "";
  }

  element(): JsonReader {
    this.#instance.isListed = this.isListing && this.#keptSize + keptInstanceSize <= keptSizeMax;
    return this.#instance;
  }

  #keep(instance: InstanceReader): void {
    this.count++;
    this.provider ||= stringOf(instance.provider) ?? "";
    if (!instance.isListed) return;
    const key = instance.key();
    if (key === undefined) return;
    const size = keptInstanceSize + (typeof key === "string" ? key.length : 0);
    if (this.#keptSize + size > keptSizeMax) return;
    this.#keptSize += size;
    this.kept.push({ key, fingerprint: instance.fingerprint });
  }
}

class InstanceReader implements JsonReader {
  readonly #done: (instance: InstanceReader) => void;
  readonly #indexKey = new JsonCapture(nameBytesMax);
  readonly #deposed = new JsonCapture(nameBytesMax);
  readonly provider = new JsonCapture(nameBytesMax);
  readonly #fingerprint = new Fingerprint();
  #isObject: boolean | undefined;
  fingerprint = "";
  /** Counted instances need no fingerprint. */
  isListed = true;

  constructor(done: (instance: InstanceReader) => void) {
    this.#done = done;
  }

  begin(): void {
    this.#indexKey.clear();
    this.#deposed.clear();
    this.provider.clear();
    this.#fingerprint.begin();
    this.#isObject = undefined;
  }

  member(key: string): JsonReader | undefined {
    switch (key) {
      case "index_key":
        return this.#indexKey;
      case "deposed":
        return this.#deposed;
      case "provider":
        return this.provider;
      default:
        return undefined;
    }
  }

  raw(piece: Buffer, isLast: boolean): void {
    this.#isObject ??= piece[0] === 0x7b;
    if (!this.#isObject || !this.isListed) return;
    this.fingerprint = this.#fingerprint.add(piece, isLast) ?? "";
  }

  end(): void {
    const isDeposed = this.#deposed.size > 0 && this.#deposed.text !== "null" && this.#deposed.text !== '""';
    if (this.#isObject && !isDeposed) this.#done(this);
  }

  key(): IndexKey | undefined {
    const { size, text } = this.#indexKey;
    if (size === 0 || text === "null") return null;
    if (text !== undefined && /^\d{1,15}$/.test(text)) return Number(text);
    return stringOf(this.#indexKey);
  }
}
