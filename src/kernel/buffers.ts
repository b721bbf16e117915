/** Keeps buffers from piling up: the engine of the language sees them late, and without a word they grow to some hundred megabytes. */

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
