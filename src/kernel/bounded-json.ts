/** Parses JSON from outside. Counts members first, because millions of them would block the main thread for minutes. Pure. */

const membersMax = 100_000;

export class TooManyMembers extends Error {
  override readonly name = "TooManyMembers";

  constructor() {
    super(`The body has more than ${membersMax} members and items.`);
  }
}

const lenient = new TextDecoder();

/** Throws TooManyMembers, and what `JSON.parse` and the decoder raise. */
export function parseBounded(json: Uint8Array, decoder: TextDecoder = lenient): unknown {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength);
  if (hasTooMany(bytes)) throw new TooManyMembers();
  return JSON.parse(decoder.decode(bytes)) as unknown;
}

const [quote, backslash] = [0x22, 0x5c];
const [comma, array, object] = [0x2c, 0x5b, 0x7b];

function hasTooMany(json: Buffer): boolean {
  let members = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte === quote) at = endOfString(json, at);
    else if ((byte === comma || byte === array || byte === object) && (members += 1) > membersMax) return true;
  }
  return false;
}

function endOfString(json: Buffer, start: number): number {
  for (let end = json.indexOf(quote, start + 1); end !== -1; end = json.indexOf(quote, end + 1)) {
    let escapes = 0;
    while (json[end - 1 - escapes] === backslash) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return json.length;
}
