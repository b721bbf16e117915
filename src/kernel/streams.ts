/** Bytes on their way: responses that arrive whole, or are known not to, and buffers that must not pile up. */

const freeEveryBytes = 8 * 1024 * 1024;
let passedBytes = 0;

/** To be called by whoever has passed so many bytes on and needs them no more. */
export function freeBuffersAfter(bytes: number): void {
  passedBytes += bytes;
  if (passedBytes < freeEveryBytes) return;
  passedBytes = 0;
  // Only the young ones, which takes about a millisecond; the launcher makes it possible.
  globalThis.gc?.({ type: "minor" });
}

/**
 * An answer's bytes. Holds on to the response until the last of them: the body of one that nobody holds any more is cancelled by `fetch` when
 * memory is tidied, and reads as empty. And counts, so that nothing short is ever taken for the whole. Raises an Error.
 */
export async function* wholeBody(response: Response): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.length;
    yield piece;
  }
  const { headers } = response;
  const length = headers.get("content-encoding") === null ? headers.get("content-length") : null;
  if (length !== null && Number(length) !== bytes) throw new Error(`it broke off after ${bytes} of ${length} bytes`);
}
