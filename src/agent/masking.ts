/**
 * Hides secrets in a stream of bytes. Every byte that belongs to a secret is gone, wherever the stream is cut into chunks and
 * however secrets overlap; what is left is the same for every way of cutting. Held back is only what may yet become a secret.
 */
import { formsOf } from "../kernel/secret-forms.ts";

const mask = Buffer.from("***");
export class Masker {
  readonly #secrets: readonly Buffer[];
  #held: Buffer = Buffer.alloc(0);
  /** How many of the next bytes belong to a secret that began before them. */
  #hiddenAhead = 0;
  #lastWasHidden = false;

  constructor(secrets: Iterable<string>) {
    this.#secrets = formsOf(secrets);
  }

  /** What can be shown of what came so far, without what was shown before. */
  write(chunk: Uint8Array): Buffer {
    const bytes = this.#held.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#held, chunk]);
    const sure = bytes.length - Math.max(0, ...this.#secrets.map((secret) => openEnd(bytes, secret)));
    this.#held = bytes.subarray(sure);
    return this.#show(bytes, sure);
  }

  /** Nothing more comes: what was held back is no secret. */
  end(): Buffer {
    const bytes = this.#held;
    this.#held = Buffer.alloc(0);
    return this.#show(bytes, bytes.length);
  }

  /** The first `sure` bytes; no secret that begins among them ends beyond `bytes`. */
  #show(bytes: Buffer, sure: number): Buffer {
    const shown: Buffer[] = [];
    let at = 0;
    for (const [from, to] of this.#hidden(bytes, sure)) {
      if (from > at) {
        shown.push(bytes.subarray(at, from));
        this.#lastWasHidden = false;
      }
      if (!this.#lastWasHidden) shown.push(mask);
      this.#lastWasHidden = true;
      at = Math.min(to, sure);
      this.#hiddenAhead = to - at;
    }
    if (at < sure) {
      shown.push(bytes.subarray(at, sure));
      this.#lastWasHidden = false;
    }
    return Buffer.concat(shown);
  }

  /** Where secrets are that begin before `sure`, in order, each apart from the next. */
  #hidden(bytes: Buffer, sure: number): [number, number][] {
    const found: [number, number][] = [];
    if (this.#hiddenAhead > 0) found.push([0, this.#hiddenAhead]);
    this.#hiddenAhead = 0;
    for (const secret of this.#secrets) {
      for (let at = bytes.indexOf(secret); at !== -1 && at < sure; at = bytes.indexOf(secret, at + 1))
        found.push([at, at + secret.length]);
    }
    found.sort(([a], [b]) => a - b);
    const apart: [number, number][] = [];
    for (const [from, to] of found) {
      const last = apart.at(-1);
      if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
      else apart.push([from, to]);
    }
    return apart;
  }
}

/** A whole text at once. */
export function masked(secrets: Iterable<string>, text: string): string {
  const masker = new Masker(secrets);
  return Buffer.concat([masker.write(Buffer.from(text)), masker.end()]).toString("utf8");
}

/** How many of the last bytes may be the beginning of the secret: the longest end that begins it, short of all of it. */
function openEnd(bytes: Buffer, secret: Buffer): number {
  const from = Math.max(0, bytes.length - secret.length + 1);
  const first = secret[0] ?? 0;
  for (let at = bytes.indexOf(first, from); at !== -1; at = bytes.indexOf(first, at + 1)) {
    const length = bytes.length - at;
    if (bytes.compare(secret, 0, length, at) === 0) return length;
  }
  return 0;
}
