/** Reads complete response bodies, and frees buffers early. */

const freeEveryBytes = 8 * 1024 * 1024;
let passedBytes = 0;

export function freeBuffersAfter(bytes: number): void {
  passedBytes += bytes;
  if (passedBytes < freeEveryBytes) return;
  passedBytes = 0;
  // Collects only the young generation, which takes about a millisecond; the launcher exposes `gc`.
  globalThis.gc?.({ type: "minor" });
}

/** Holds the response until the end, because `fetch` cancels a garbage-collected one's body. Throws an Error for a truncated body. */
export async function* wholeBody(response: Response): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    yield piece;
  }
  const { headers } = response;
  const length = headers.get("content-encoding") === null ? headers.get("content-length") : null;
  if (length !== null && Number(length) !== bytes)
    throw new Error(`the response ended after ${bytes} of ${length} bytes`);
}

export async function* singleChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}
