/** The fingerprint of one instance of a state, from its bytes as they arrive: the same as long as not one of them changes. */
import { createHash, hash, type Hash } from "node:crypto";

/** 132 bits: enough to tell two versions of an instance apart. */
const fingerprintLength = 22;

export class Fingerprint {
  #hash: Hash | undefined;

  begin(): void {
    this.#hash = undefined;
  }

  /** Undefined until the last piece. */
  add(piece: Buffer, isLast: boolean): string | undefined {
    // Most instances lie within one chunk, and to hash those at once costs a fraction.
    if (isLast && this.#hash === undefined) return hash("sha256", piece, "base64url").slice(0, fingerprintLength);
    this.#hash ??= createHash("sha256");
    this.#hash.update(piece);
    return isLast ? this.#hash.digest("base64url").slice(0, fingerprintLength) : undefined;
  }
}
