/** Answers of others that arrive whole, or are known not to. */

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
