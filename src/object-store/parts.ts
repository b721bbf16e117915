/** Collects the pieces of an upload into parts, each with the digest that the store verifies. */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";

/** Stores want at least that for all parts but the last. */
const partBytesMin = 5 * 1024 * 1024;
const bufferBytes = partBytesMin + 512 * 1024;
const sliceBytes = 16 * 1024;

export interface ObjectPart {
  /** Only until the next part. */
  readonly bytes: Uint8Array;
  readonly md5: string;
  readonly isLast: boolean;
}

const part = (bytes: Uint8Array, isLast: boolean): ObjectPart => ({
  bytes,
  md5: createHash("md5").update(bytes).digest("base64"),
  isLast,
});

export const partOf = (bytes: Uint8Array): ObjectPart => part(bytes, true);

/** At least one part, which is empty if there are no pieces. */
export async function* inParts(source: AsyncIterable<Uint8Array>): AsyncGenerator<ObjectPart> {
  const collected = new PartBuffer();
  for await (const piece of source) {
    if (collected.length >= partBytesMin) yield part(collected.take(), false);
    collected.add(piece);
  }
  yield part(collected.take(), true);
}

/** Reused for all parts: what a part held on to would be freed only by a full garbage collection. */
class PartBuffer {
  #buffer = Buffer.alloc(0);
  length = 0;

  add(piece: Uint8Array): void {
    const needed = this.length + piece.length;
    if (needed > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(2 * this.#buffer.length, bufferBytes)));
      this.#buffer.copy(grown, 0, 0, this.length);
      this.#buffer = grown;
    }
    this.#buffer.set(piece, this.length);
    this.length = needed;
  }

  take(): Uint8Array {
    const taken = this.#buffer.subarray(0, this.length);
    this.length = 0;
    return taken;
  }
}

/** Small slices, so that `onProgress` follows what the store accepts. */
export function bodyOf({ bytes }: ObjectPart, onProgress: () => void): Readable {
  function* slices(): Generator<Uint8Array> {
    for (let start = 0; start < bytes.length; start += sliceBytes) {
      onProgress();
      yield bytes.subarray(start, start + sliceBytes);
    }
  }
  return Readable.from(slices(), { objectMode: false, highWaterMark: sliceBytes });
}
