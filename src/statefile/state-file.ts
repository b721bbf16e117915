/** Parses a state file in bounded memory. Format 4 yields outputs and instances; other formats and encrypted states only the head. */
import { attributeFault, invalid } from "../kernel/errors.ts";
import { JsonCapture, JsonError, type JsonReader, JsonScanner } from "./json-scanner.ts";
import { EncryptionReader } from "./state-encryption.ts";
import { OutputsReader, type StateOutput } from "./state-outputs.ts";
import { nameBytesMax, ResourcesReader, type StateInstance, stringOf } from "./state-resources.ts";
import { StateSummary } from "./state-summary.ts";

/** The only format whose resources are parsed. Terraform has written it since 0.12. */
const parsedFormat = 4;

export interface StateFile {
  encrypted: boolean;
  /** Null for an encrypted state. */
  format: number | null;
  engineVersion: string | null;
  serial: number | null;
  lineage: string | null;
  outputs: StateOutput[];
  modules: object;
  providers: object;
  resources: object[];
  instanceCount: number;
}

export class StateFileReader {
  readonly #root = new RootReader();
  readonly #scanner = new JsonScanner(this.#root);

  /** Throws `invalid` as soon as the content can't be a state. */
  write(bytes: Uint8Array): void {
    withStateErrors(() => this.#scanner.write(bytes));
  }

  /** Throws `invalid` if the content is not a state. */
  end(): StateFile {
    withStateErrors(() => this.#scanner.end());
    return this.#root.stateFile();
  }

  stopListing(): void {
    this.#root.resources.stopListing();
  }

  /** Returns the instances since the last call; until then they stay in memory. */
  takeInstances(): StateInstance[] {
    return this.#root.resources.take();
  }
}

class RootReader implements JsonReader {
  readonly #version = new JsonCapture(nameBytesMax);
  readonly #engineVersion = new JsonCapture(nameBytesMax);
  readonly #serial = new JsonCapture(nameBytesMax);
  readonly #lineage = new JsonCapture(nameBytesMax);
  readonly #outputs = new OutputsReader();
  readonly #encryption = new EncryptionReader();
  readonly resources = new ResourcesReader();
  readonly #seen = new Set<string>();

  member(key: string): JsonReader | undefined {
    const encryption = this.#encryption.member(key);
    if (encryption !== undefined) return this.#once(key, encryption);
    switch (key) {
      case "version":
        return this.#version;
      case "terraform_version":
        this.#seen.add(key);
        return this.#engineVersion;
      case "serial":
        return this.#serial;
      case "lineage":
        return this.#lineage;
      case "outputs":
        this.#seen.add(key);
        return this.#outputs;
      case "resources":
        // A later duplicate could not replace instances that were already taken.
        return this.#isOtherFormat() ? undefined : this.#once(key, this.resources);
      case "modules":
        this.#seen.add(key);
        return undefined;
      default:
        return undefined;
    }
  }

  stateFile(): StateFile {
    const encrypted = this.#version.size === 0 && this.#encryption.hasEncryptedData;
    const format = encrypted ? this.#encryptedFormat() : this.#plainFormat();
    const isParsed = format === parsedFormat;
    return {
      encrypted,
      format,
      engineVersion: stringOf(this.#engineVersion) ?? null,
      serial: wholeNumberOf(this.#serial),
      lineage: stringOf(this.#lineage) ?? null,
      outputs: isParsed ? this.#outputs.all() : [],
      ...(isParsed ? this.resources.summary : new StateSummary()).toObjects(),
      instanceCount: this.resources.instanceCount,
    };
  }

  #encryptedFormat(): null {
    const plain = ["terraform_version", "outputs", "resources", "modules"].find((member) => this.#seen.has(member));
    const fault = this.#encryption.fault() ?? (plain && `it has the member "${plain}" of a plain state`);
    if (fault !== undefined) throw invalidState(`The state looks encrypted, but ${fault}.`);
    return null;
  }

  #plainFormat(): number {
    const format = wholeNumberOf(this.#version);
    if (format === null || format === 0)
      throw invalidState('The state must be a JSON object with a member "version" that is a positive whole number.');
    if (format !== parsedFormat && this.resources.instanceCount > 0)
      throw invalidState(`The state has format ${format}, but resources in format ${parsedFormat}.`);
    return format;
  }

  readonly #isOtherFormat = () => this.#version.text !== undefined && wholeNumberOf(this.#version) !== parsedFormat;

  #once(key: string, reader: JsonReader): JsonReader {
    if (this.#seen.has(key)) throw invalidState(`The state has the member "${key}" more than once.`);
    this.#seen.add(key);
    return reader;
  }
}

function wholeNumberOf(capture: JsonCapture): number | null {
  if (capture.text === undefined || !/^\d{1,16}$/.test(capture.text)) return null;
  const number = Number(capture.text);
  return Number.isSafeInteger(number) ? number : null;
}

function withStateErrors(act: () => void): void {
  try {
    act();
  } catch (error) {
    throw error instanceof JsonError ? invalidState(`The state is not valid JSON: it ${error.message}.`) : error;
  }
}

function invalidState(detail: string): Error {
  return invalid([attributeFault("state", detail)]);
}
