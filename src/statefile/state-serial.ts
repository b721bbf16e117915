/** Gives a state another serial while it passes, in bounded memory; every other byte stays as it is. */
import { type JsonReader, JsonScanner } from "./json-scanner.ts";

export class Renumbering {
  readonly #serial: Buffer;
  readonly #scanner: JsonScanner;
  #chunk: Uint8Array = Buffer.alloc(0);
  #isBegun = false;
  /** What of the chunk is to be passed on, and the new number in its place. */
  #pieces: Uint8Array[] = [];
  #passed = 0;

  constructor(serial: number) {
    this.#serial = Buffer.from(String(serial));
    const number: JsonReader = {
      begin: () => (this.#isBegun = false),
      raw: (piece) => this.#replace(piece),
    };
    this.#scanner = new JsonScanner({ member: (key) => (key === "serial" ? number : undefined) });
  }

  /** What the bytes become. Raises `JsonError` for what is no JSON. */
  write(bytes: Uint8Array): Uint8Array[] {
    this.#chunk = bytes;
    this.#pieces = [];
    this.#passed = 0;
    this.#scanner.write(bytes);
    this.#pieces.push(bytes.subarray(this.#passed));
    return this.#pieces.filter(({ length }) => length > 0);
  }

  /** The value, or as much of it as this chunk has: a part of the chunk itself. */
  #replace(piece: Buffer): void {
    if (piece.length === 0) return;
    const start = piece.byteOffset - this.#chunk.byteOffset;
    this.#pieces.push(this.#chunk.subarray(this.#passed, start));
    if (!this.#isBegun) this.#pieces.push(this.#serial);
    this.#isBegun = true;
    this.#passed = start + piece.length;
  }
}
