/** Reads the text of single instances out of a state, by their fingerprints and in bounded memory. The state was checked when it was stored. */
import { type JsonReader, JsonScanner } from "./json-scanner.ts";
import { Fingerprint } from "./state-fingerprint.ts";

/** A larger instance is left out. */
const instanceBytesMax = 256 * 1024;
/** All texts of one state together. */
const keptBytesMax = 8 * 1024 * 1024;

export class InstanceTextReader {
  /** By fingerprint; without those that are too large. */
  readonly texts = new Map<string, string>();
  readonly #scanner: JsonScanner;
  #keptBytes = 0;

  constructor(wanted: ReadonlySet<string>) {
    const instance = new InstanceReader((fingerprint, bytes) => {
      if (!wanted.has(fingerprint) || this.texts.has(fingerprint)) return;
      this.#keptBytes += bytes.length;
      if (this.#keptBytes <= keptBytesMax) this.texts.set(fingerprint, bytes.toString("utf8"));
    });
    const below = (key: string, reader: JsonReader): JsonReader => ({
      member: (name) => (name === key ? reader : undefined),
    });
    const resource = below("instances", { element: () => instance });
    this.#scanner = new JsonScanner(below("resources", { element: () => resource }));
  }

  write(piece: Uint8Array): void {
    this.#scanner.write(piece);
  }
}

class InstanceReader implements JsonReader {
  readonly #done: (fingerprint: string, bytes: Buffer) => void;
  readonly #fingerprint = new Fingerprint();
  #pieces: Buffer[] = [];
  #size = 0;

  constructor(done: (fingerprint: string, bytes: Buffer) => void) {
    this.#done = done;
  }

  begin(): void {
    this.#fingerprint.begin();
    this.#pieces = [];
    this.#size = 0;
  }

  raw(piece: Buffer, isLast: boolean): void {
    this.#size += piece.length;
    const isKept = this.#size <= instanceBytesMax;
    if (!isKept) this.#pieces = [];
    const fingerprint = this.#fingerprint.add(piece, isLast);
    // Pieces are only lent: what goes on in the next one is copied.
    if (fingerprint === undefined) {
      if (isKept) this.#pieces.push(Buffer.from(piece));
    } else if (isKept) {
      this.#done(fingerprint, this.#pieces.length === 0 ? piece : Buffer.concat([...this.#pieces, piece]));
    }
  }
}
