/**
 * Reads a state file of Terraform or OpenTofu as it arrives, in bounded memory, and refuses what is none. Of format 4 it tells
 * the outputs, the managed instances and a summary; of any other format only the head.
 */
import { attributeFault, invalid } from "../kernel/errors.ts";
import { Capture, JsonError, type JsonReader, JsonScanner } from "./json-scanner.ts";
import { OutputsReader, type StateOutput } from "./state-outputs.ts";
import { nameBytesMax, ResourcesReader, type StateInstance, stringOf } from "./state-resources.ts";
import { StateSummary } from "./state-summary.ts";

export type { StateInstance, StateOutput };

/** The one format whose outputs and resources are read; Terraform writes it since 0.12. */
const formatRead = 4;

export interface StateFile {
  format: number;
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

  /** For who wants no instances: from now on they cost nothing. */
  stopListing(): void {
    this.#root.resources.stopListing();
  }

  /** The managed instances seen since the last call. Who never asks has them all in memory. */
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
  readonly resources = new ResourcesReader();
  #hasResources = false;

  member(key: string): JsonReader | undefined {
    switch (key) {
      case "version":
        return this.#version;
      case "terraform_version":
        return this.#engineVersion;
      case "serial":
        return this.#serial;
      case "lineage":
        return this.#lineage;
      case "outputs":
        return this.#outputs;
      case "resources":
        return this.#resourcesIfRead();
      default:
        return undefined;
    }
  }

  /** Raises `invalid` without a version, and where resources were told that turn out not to be any. */
  stateFile(): StateFile {
    const format = wholeNumberOf(this.#version);
    if (format === null || format === 0) {
      throw fault('The state must be a JSON object with a member "version", a whole number from 1 on.');
    }
    const isRead = format === formatRead;
    if (!isRead && this.resources.instanceCount > 0) {
      throw fault(`The state has format ${format}, but resources of format ${formatRead}.`);
    }
    return {
      format,
      engineVersion: stringOf(this.#engineVersion) ?? null,
      serial: wholeNumberOf(this.#serial),
      lineage: stringOf(this.#lineage) ?? null,
      outputs: isRead ? this.#outputs.all() : [],
      ...(isRead ? this.resources.summary : new StateSummary()).toObjects(),
      instanceCount: this.resources.instanceCount,
    };
  }

  /** Instances are told before the file ends, so what comes later can't take them back. */
  #resourcesIfRead(): JsonReader | undefined {
    if (this.#version.text !== undefined && wholeNumberOf(this.#version) !== formatRead) return undefined;
    if (this.#hasResources) throw fault('The state has the member "resources" twice.');
    this.#hasResources = true;
    return this.resources;
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
    throw error instanceof JsonError ? fault(`The state is not JSON: it ${error.message}.`) : error;
  }
}

function fault(detail: string): Error {
  return invalid([attributeFault("state", detail)]);
}
