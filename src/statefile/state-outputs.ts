/** The reader of a state's outputs. It keeps their values as text: numbers may be larger than ours can be. */
import { Capture, type JsonReader } from "./json-scanner.ts";
import { nameBytesMax } from "./state-resources.ts";

const outputsMax = 10_000;
const valueBytesMax = 1024 * 1024;
const typeBytesMax = 64 * 1024;
/** The values and types of all outputs together. */
const keptBytesMax = 16 * 1024 * 1024;

export interface StateOutput {
  name: string;
  sensitive: boolean;
  /** The JSON text, as the engines write types: `"string"`, `["list", "string"]`; `null` where it is absent or too large. */
  type: string;
  /** The JSON text, as it stands in the state; undefined where it is larger than is kept. */
  value: string | undefined;
}

interface Kept {
  readonly output: StateOutput;
  readonly bytes: number;
}

export class OutputsReader implements JsonReader {
  readonly #outputs = new Map<string, Kept>();
  readonly #output = new OutputReader((output) => this.#keep(output));
  #name = "";
  #keptBytes = 0;

  /** As with names below: of several `outputs`, the last counts. */
  begin(): void {
    this.#outputs.clear();
    this.#keptBytes = 0;
  }

  member(name: string): JsonReader | undefined {
    this.#keptBytes -= this.#outputs.get(name)?.bytes ?? 0;
    this.#outputs.delete(name);
    if (this.#outputs.size >= outputsMax || !name.isWellFormed() || name.includes("\0")) return undefined;
    this.#name = name;
    return this.#output;
  }

  all(): StateOutput[] {
    return [...this.#outputs.values()].map(({ output }) => output);
  }

  #keep({ value, type, sensitive }: OutputReader): void {
    // What is no object, or has no value, is no output.
    if (value.size === 0) return;
    const left = keptBytesMax - this.#keptBytes;
    const typeText = type.size <= left ? type.text : undefined;
    const typeBytes = typeText === undefined ? 0 : type.size;
    const valueText = value.size <= left - typeBytes ? value.text : undefined;
    const bytes = typeBytes + (valueText === undefined ? 0 : value.size);
    this.#keptBytes += bytes;
    const output = {
      name: this.#name,
      sensitive: sensitive.text === "true",
      // As text: what is parsed takes many times the memory, and many are kept at once.
      type: typeText ?? "null",
      value: valueText,
    };
    this.#outputs.set(this.#name, { output, bytes });
  }
}

class OutputReader implements JsonReader {
  readonly #done: (output: OutputReader) => void;
  readonly value = new Capture(valueBytesMax);
  readonly type = new Capture(typeBytesMax);
  readonly sensitive = new Capture(nameBytesMax);

  constructor(done: (output: OutputReader) => void) {
    this.#done = done;
  }

  begin(): void {
    this.value.clear();
    this.type.clear();
    this.sensitive.clear();
  }

  member(key: string): JsonReader | undefined {
    switch (key) {
      case "value":
        return this.value;
      case "type":
        return this.type;
      case "sensitive":
        return this.sensitive;
      default:
        return undefined;
    }
  }

  end(): void {
    this.#done(this);
  }
}
