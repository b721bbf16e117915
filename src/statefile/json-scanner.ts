/**
 * Reads JSON of any size as it arrives, in pieces cut anywhere, and refuses what is not exactly one JSON text in UTF-8.
 * It builds nothing: readers are told of the values that they asked for, and everything else is only checked.
 */
import { isUtf8 } from "node:buffer";
import {
  afterAll,
  afterElement,
  afterMember,
  beforeColon,
  beforeFirstElement,
  beforeFirstKey,
  beforeScalar,
  beforeValue,
  close,
  endLiteral,
  endNumber,
  endsNumber,
  endString,
  failed,
  firstAction,
  grammar,
  inString,
  openArray,
  openObject,
  plainInString,
  startKey,
  startScalar,
  startString,
} from "./json-grammar.ts";

/** More than any program writes, and little enough for those who read the same text by recursion. */
export const depthMax = 512;

/** A member whose key is longer (as written, without the quotes) is skipped: its reader is not asked. */
export const keyBytesMax = 1024;

/**
 * What is done with one value. Whatever is left out is not done: a reader without methods skips the value, one with `member`
 * or `element` looks into it. One reader may serve many values, one after the other.
 */
export interface JsonReader {
  begin?(): void;
  /** The value is an object: whose is the value under this key? Undefined skips it. Keys may repeat. */
  member?(key: string): JsonReader | undefined;
  /** The value is an array: whose is the next element? Undefined skips it. */
  element?(): JsonReader | undefined;
  /** The value's bytes as they stand in the text, piece by piece. Each is only lent for the call; the last may be empty. */
  raw?(piece: Buffer, isLast: boolean): void;
  end?(): void;
}

/** What is wrong with the text, as the second half of a sentence: "it …". */
export class JsonError extends Error {
  override readonly name = "JsonError";
}

export class JsonScanner {
  readonly #root: JsonReader;
  readonly #utf8 = new Utf8Check();
  #state: number = beforeValue;
  /** Bytes of all chunks before this one. */
  #offset = 0;
  #depth = 0;
  /** For each depth, the state in which a value there leaves us. */
  readonly #after = new Uint8Array(depthMax + 1).fill(afterAll);

  /** The readers of the open values, outermost first. Each is the direct parent of the next: their number is a depth too. */
  readonly #readers: JsonReader[] = [];
  /** Where in the chunk each one's value begins; 0 where that was in an earlier chunk. */
  readonly #starts: number[] = [];
  /** The depth of the values that somebody wants to be asked about. What is deeper is skipped. */
  #watched = 0;

  #chunk: Buffer = Buffer.alloc(0);
  #isKey = false;
  #key: string | undefined;
  /** Where in the chunk the key begins that somebody waits for; -1 where nobody does. */
  #keyStart = -1;
  readonly #keyBytes = Buffer.alloc(keyBytesMax);
  /** How much of the key came with earlier chunks. */
  #keyLength = 0;

  constructor(root: JsonReader) {
    this.#root = root;
  }

  /** Raises `JsonError`, and whatever the readers raise; after that, every call raises. */
  write(bytes: Uint8Array): void {
    const from = this.#state;
    // Until the chunk is read to its end: an error, whosever it is, leaves the scanner in this state.
    this.#state = failed;
    if (!this.#utf8.write(bytes)) throw new JsonError("is not UTF-8");
    this.#chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#state = this.#scan(bytes, from);
    this.#lendRest();
    this.#offset += bytes.length;
  }

  /** Raises `JsonError` where the text is not complete. */
  end(): void {
    const state = this.#state;
    this.#state = failed;
    if (endsNumber(state) && this.#depth === 0) {
      this.#chunk = Buffer.alloc(0);
      this.#endValue(0);
    } else if (state !== afterAll || this.#utf8.isInsideCharacter()) {
      throw new JsonError(`ends too early, after ${this.#offset} bytes`);
    }
  }

  #scan(bytes: Uint8Array, from: number): number {
    const length = bytes.length;
    let state = from;
    let at = 0;
    while (at < length) {
      if (state === inString) {
        while (at < length && plainInString[bytes[at]!] === 1) at++;
        if (at === length) break;
      }
      const next = grammar[(state << 8) | bytes[at]!]!;
      if (next < firstAction) {
        state = next;
        at++;
      } else if (next === endNumber) {
        state = this.#endValue(at);
      } else {
        state = this.#act(next, at);
        at++;
      }
    }
    return state;
  }

  /** Does what the byte at this place asks for. Returns the state after it. */
  #act(action: number, at: number): number {
    switch (action) {
      case startString:
        if (this.#depth === this.#watched) this.#startValue(at);
        this.#isKey = false;
        return inString;
      case startKey:
        if (this.#depth === this.#watched) this.#startKey(at + 1);
        this.#isKey = true;
        return inString;
      case endString:
        if (!this.#isKey) return this.#endValue(at + 1);
        if (this.#keyStart >= 0) this.#endKey(at);
        return beforeColon;
      case startScalar:
        if (this.#depth === this.#watched) this.#startValue(at);
        return grammar[(beforeScalar << 8) | this.#chunk[at]!]!;
      case openObject:
        this.#open(at, afterMember);
        return beforeFirstKey;
      case openArray:
        this.#open(at, afterElement);
        return beforeFirstElement;
      case close:
        this.#depth--;
        return this.#endValue(at + 1);
      case endLiteral:
        return this.#endValue(at + 1);
      default:
        throw new JsonError(`has something unexpected at byte ${this.#offset + at}`);
    }
  }

  #open(at: number, after: number): void {
    if (this.#depth === this.#watched) this.#startValue(at);
    if (this.#depth === depthMax) throw new JsonError(`is nested more than ${depthMax} levels deep`);
    this.#after[++this.#depth] = after;
  }

  #startValue(at: number): void {
    const reader = this.#readerOf();
    if (reader === undefined) return;
    this.#readers.push(reader);
    this.#starts.push(at);
    this.#watched++;
    reader.begin?.();
  }

  #readerOf(): JsonReader | undefined {
    if (this.#depth === 0) return this.#root;
    const parent = this.#readers[this.#depth - 1];
    if (this.#after[this.#depth] === afterElement) return parent?.element?.();
    return this.#key === undefined ? undefined : parent?.member?.(this.#key);
  }

  #endValue(end: number): number {
    if (this.#depth === this.#watched - 1) {
      const reader = this.#readers.pop()!;
      const start = this.#starts.pop()!;
      this.#watched--;
      reader.raw?.(this.#chunk.subarray(start, end), true);
      reader.end?.();
    }
    return this.#after[this.#depth]!;
  }

  #startKey(start: number): void {
    this.#key = undefined;
    this.#keyStart = this.#readers[this.#depth - 1]?.member === undefined ? -1 : start;
    this.#keyLength = 0;
  }

  #endKey(end: number): void {
    let text: string | undefined;
    if (this.#keyLength === 0) {
      if (end - this.#keyStart <= keyBytesMax) text = this.#chunk.toString("utf8", this.#keyStart, end);
    } else {
      this.#keepKey(end);
      if (this.#keyLength <= keyBytesMax) text = this.#keyBytes.toString("utf8", 0, this.#keyLength);
    }
    this.#key = text?.includes("\\") ? (JSON.parse(`"${text}"`) as string) : text;
    this.#keyStart = -1;
  }

  /** Of a key that is too long, only that it is so is kept. */
  #keepKey(end: number): void {
    const length = this.#keyLength + end - this.#keyStart;
    if (length <= keyBytesMax) this.#chunk.copy(this.#keyBytes, this.#keyLength, this.#keyStart, end);
    this.#keyLength = length;
  }

  /** Gives out what the chunk holds of values and keys that go on in the next one. */
  #lendRest(): void {
    for (const [place, reader] of this.#readers.entries()) {
      reader.raw?.(this.#chunk.subarray(this.#starts[place]), false);
      this.#starts[place] = 0;
    }
    if (this.#keyStart < 0) return;
    this.#keepKey(this.#chunk.length);
    this.#keyStart = 0;
  }
}

/** Keeps the text of one value at a time, up to a number of bytes. */
export class Capture implements JsonReader {
  readonly #bytesMax: number;
  #kept: Buffer = Buffer.alloc(0);
  /** How many bytes the value has, kept or not. */
  size = 0;
  /** The JSON text as it was written; undefined without a value, or where it is too large. */
  text: string | undefined;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get isTooLarge(): boolean {
    return this.size > this.#bytesMax;
  }

  /** Forgets the value, as if there had been none. */
  clear(): void {
    this.size = 0;
    this.text = undefined;
  }

  begin(): void {
    this.clear();
  }

  raw(piece: Buffer, isLast: boolean): void {
    const before = this.size;
    this.size += piece.length;
    if (this.isTooLarge) {
      this.#kept = Buffer.alloc(0);
    } else if (isLast && before === 0) {
      this.text = piece.toString("utf8");
    } else {
      this.#grow();
      this.#kept.set(piece, before);
      if (isLast) this.text = this.#kept.toString("utf8", 0, this.size);
    }
  }

  #grow(): void {
    if (this.#kept.length >= this.size) return;
    const larger = Buffer.alloc(Math.min(this.#bytesMax, Math.max(64, this.size * 2)));
    larger.set(this.#kept);
    this.#kept = larger;
  }
}

/** Checks chunk after chunk; a character that a cut divides is put together again. */
class Utf8Check {
  readonly #character = new Uint8Array(4);
  #held = 0;
  #needed = 0;

  isInsideCharacter(): boolean {
    return this.#held < this.#needed;
  }

  write(bytes: Uint8Array): boolean {
    let from = 0;
    while (this.#held < this.#needed && from < bytes.length) this.#character[this.#held++] = bytes[from++]!;
    if (this.#held < this.#needed) return true;
    if (!isUtf8(this.#character.subarray(0, this.#held))) return false;

    const to = cutCharacterStart(bytes, from);
    this.#held = bytes.length - to;
    this.#needed = this.#held === 0 ? 0 : characterLength(bytes[to]!);
    this.#character.set(bytes.subarray(to));
    return isUtf8(bytes.subarray(from, to));
  }
}

/** Where the character begins of which the chunk has only the first bytes; the chunk's end where there is none. */
function cutCharacterStart(bytes: Uint8Array, from: number): number {
  const length = bytes.length;
  for (let at = length - 1; at >= from && at >= length - 3; at--) {
    const byte = bytes[at]!;
    if (byte >= 0xc0) return characterLength(byte) > length - at ? at : length;
    if (byte < 0x80) return length;
  }
  return length;
}

function characterLength(first: number): number {
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}
