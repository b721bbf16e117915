/**
 * Reads a state file of Terraform or OpenTofu as it arrives, in bounded memory, and refuses what is none. Of format 4 it tells
 * the outputs, the managed instances and a summary; of any other format, and of one that is encrypted, only the head.
 */
import { attributeFault, invalid } from "../kernel/errors.ts";
import { Capture, JsonError, type JsonReader, JsonScanner } from "./json-scanner.ts";
import { EncryptionReader } from "./state-encryption.ts";
import { OutputsReader, type StateOutput } from "./state-outputs.ts";
import { nameBytesMax, ResourcesReader, type StateInstance, stringOf } from "./state-resources.ts";
import { StateSummary } from "./state-summary.ts";

/** The one format whose outputs and resources are read; Terraform writes it since 0.12. */
const formatRead = 4;

export interface StateFile {
  /** By the engine, before it was sent: nothing but the head can be read. */
  encrypted: boolean;
  /** Null where it is encrypted. */
  format: number | null;
  engineVersion: string | null;
  serial: number | null;
  lineage: string | null;
  outputs: StateOutput[];
  /** Counts of instances: of each type, by module, by provider and by resource. */
  modules: object;
  providers: object;
  resources: object[];
  /** How many managed instances were told. */
  instanceCount: number;
}

export class StateFileReader {
  readonly #root = new RootReader();
  readonly #scanner = new JsonScanner(this.#root);

  /** Raises `invalid` as soon as it shows that this is no state. */
  write(bytes: Uint8Array): void {
    explaining(() => this.#scanner.write(bytes));
  }

  /** Raises `invalid` where what was written is no state. */
  end(): StateFile {
    explaining(() => this.#scanner.end());
    return this.#root.stateFile();
  }

  /** For whoever wants no instances: from now on they cost nothing. */
  stopListing(): void {
    this.#root.resources.stopListing();
  }

  /** The managed instances seen since the last call. Whoever never asks has them all in memory. */
  takeInstances(): StateInstance[] {
    return this.#root.resources.take();
  }
}

class RootReader implements JsonReader {
  readonly #version = new Capture(nameBytesMax);
  readonly #engineVersion = new Capture(nameBytesMax);
  readonly #serial = new Capture(nameBytesMax);
  readonly #lineage = new Capture(nameBytesMax);
  readonly #outputs = new OutputsReader();
  readonly #encryption = new EncryptionReader();
  readonly resources = new ResourcesReader();
  /** Those that are only found in the open, or at most once. */
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
        // Instances are told before the file ends, so what comes later can't take them back.
        return this.#isOtherFormat() ? undefined : this.#once(key, this.resources);
      case "modules":
        this.#seen.add(key);
        return undefined;
      default:
        return undefined;
    }
  }

  /** Raises `invalid` without a version, and where resources were told that turn out not to be any. */
  stateFile(): StateFile {
    const encrypted = this.#version.size === 0 && this.#encryption.isClaimed;
    const format = encrypted ? this.#sealedFormat() : this.#openFormat();
    const isRead = format === formatRead;
    return {
      encrypted,
      format,
      engineVersion: stringOf(this.#engineVersion) ?? null,
      serial: wholeNumberOf(this.#serial),
      lineage: stringOf(this.#lineage) ?? null,
      outputs: isRead ? this.#outputs.all() : [],
      ...(isRead ? this.resources.summary : new StateSummary()).toObjects(),
      instanceCount: this.resources.instanceCount,
    };
  }

  /** Raises `invalid` where it only resembles an encrypted state. */
  #sealedFormat(): null {
    const open = ["terraform_version", "outputs", "resources", "modules"].find((member) => this.#seen.has(member));
    const fault = this.#encryption.fault() ?? (open && `has the member "${open}" of one that is not`);
    if (fault !== undefined) throw invalidState(`The state looks encrypted, but ${fault}.`);
    return null;
  }

  #openFormat(): number {
    const format = wholeNumberOf(this.#version);
    if (format === null || format === 0)
      throw invalidState('The state must be a JSON object with a member "version", a whole number from 1 on.');
    if (format !== formatRead && this.resources.instanceCount > 0)
      throw invalidState(`The state has format ${format}, but resources of format ${formatRead}.`);
    return format;
  }

  readonly #isOtherFormat = () => this.#version.text !== undefined && wholeNumberOf(this.#version) !== formatRead;

  #once(key: string, reader: JsonReader): JsonReader {
    if (this.#seen.has(key)) throw invalidState(`The state has the member "${key}" twice.`);
    this.#seen.add(key);
    return reader;
  }
}

function wholeNumberOf(capture: Capture): number | null {
  if (capture.text === undefined || !/^\d{1,16}$/.test(capture.text)) return null;
  const number = Number(capture.text);
  return Number.isSafeInteger(number) ? number : null;
}

function explaining(act: () => void): void {
  try {
    act();
  } catch (error) {
    throw error instanceof JsonError ? invalidState(`The state is not JSON: it ${error.message}.`) : error;
  }
}

function invalidState(detail: string): Error {
  return invalid([attributeFault("state", detail)]);
}
