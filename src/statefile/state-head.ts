/** Reads the serial and lineage of a state, or replaces its serial, as a stream in bounded memory. */
import { JsonCapture, JsonError, type JsonReader, JsonScanner } from "./json-scanner.ts";
import { nameBytesMax, stringOf } from "./state-resources.ts";

export interface StateHead {
  readonly serial: number;
  readonly lineage: string;
}

export class StateHeadReader {
  readonly #serial = new JsonCapture(nameBytesMax);
  readonly #lineage = new JsonCapture(nameBytesMax);
  readonly #members = new Map([
    ["serial", this.#serial],
    ["lineage", this.#lineage],
  ]);
  readonly #scanner = new JsonScanner({ member: (key) => this.#members.get(key) });
  #isBroken = false;

  write(bytes: Uint8Array): void {
    this.#scan(() => this.#scanner.write(bytes));
  }

  /** Undefined if the content is not a state. */
  end(): StateHead | undefined {
    this.#scan(() => this.#scanner.end());
    const [serial, lineage] = [Number(this.#serial.text), stringOf(this.#lineage)];
    return this.#isBroken || !Number.isSafeInteger(serial) || lineage === undefined ? undefined : { serial, lineage };
  }

  #scan(step: () => void): void {
    if (this.#isBroken) return;
    try {
      step();
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      this.#isBroken = true;
    }
  }
}

export class SerialRewriter {
  readonly #serial: Buffer;
  readonly #scanner: JsonScanner;
  #chunk: Uint8Array = Buffer.alloc(0);
  #isReplaced = false;
  #pieces: Uint8Array[] = [];
  #passed = 0;

  constructor(serial: number) {
    this.#serial = Buffer.from(String(serial));
    const number: JsonReader = {
      begin: () => (this.#isReplaced = false),
      raw: (piece) => this.#replace(piece),
    };
    this.#scanner = new JsonScanner({ member: (key) => (key === "serial" ? number : undefined) });
  }

  /** Throws `JsonError`. */
  write(bytes: Uint8Array): Uint8Array[] {
    this.#chunk = bytes;
    this.#pieces = [];
    this.#passed = 0;
    this.#scanner.write(bytes);
    this.#pieces.push(bytes.subarray(this.#passed));
    return this.#pieces.filter(({ length }) => length > 0);
  }

  /** `piece` shares the memory of the chunk. */
  #replace(piece: Buffer): void {
    if (piece.length === 0) return;
    const start = piece.byteOffset - this.#chunk.byteOffset;
    this.#pieces.push(this.#chunk.subarray(this.#passed, start));
    if (!this.#isReplaced) this.#pieces.push(this.#serial);
    this.#isReplaced = true;
    this.#passed = start + piece.length;
  }
}
