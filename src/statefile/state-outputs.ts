/** Parses a state's outputs. Values stay JSON text, because numbers can exceed JavaScript's precision. */
import { JsonCapture, type JsonReader } from "./json-scanner.ts";
import { nameBytesMax } from "./state-resources.ts";

const outputsMax = 10_000;
const valueBytesMax = 1024 * 1024;
const typeBytesMax = 64 * 1024;
const keptBytesMax = 16 * 1024 * 1024;

export interface StateOutput {
  name: string;
  sensitive: boolean;
  /** JSON text in the engines' notation: `["list", "string"]`; `null` if absent or too large. */
  type: string;
  /** JSON source text; undefined if it is too large. */
  value: string | undefined;
}

interface OutputEntry {
  readonly output: StateOutput;
  readonly bytes: number;
}

export class OutputsReader implements JsonReader {
  readonly #outputs = new Map<string, OutputEntry>();
  readonly #output = new StateOutputReader((output) => this.#keep(output));
  #name = "";
  #keptBytes = 0;

  /** If `outputs` repeats, the last one counts. */
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

  #keep({ value, type, sensitive }: StateOutputReader): void {
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
      type: typeText ?? "null",
      value: valueText,
    };
    this.#outputs.set(this.#name, { output, bytes });
  }
}

class StateOutputReader implements JsonReader {
  readonly #done: (output: StateOutputReader) => void;
  readonly value = new JsonCapture(valueBytesMax);
  readonly type = new JsonCapture(typeBytesMax);
  readonly sensitive = new JsonCapture(nameBytesMax);

  constructor(done: (output: StateOutputReader) => void) {
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
