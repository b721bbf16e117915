/** Validates JSON (UTF-8) of any size as a stream, and passes selected parts to readers. It builds no values. */
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

/** Bounds the recursion of other parsers of the same text. */
export const depthMax = 512;

/** Members with a longer key (as written, without quotes) are skipped. */
export const keyBytesMax = 1024;

/** A reader without methods skips its value; one with `member` or `element` descends into it. A reader can serve several values. */
export interface JsonReader {
  begin?(): void;
  /** Returns undefined to skip the member. Keys can repeat. */
  member?(key: string): JsonReader | undefined;
  element?(): JsonReader | undefined;
  /** Source bytes, valid only during the call. The last piece can be empty. */
  raw?(piece: Buffer, isLast: boolean): void;
  end?(): void;
}

/** The message completes the sentence "it …". */
export class JsonError extends Error {
  override readonly name = "JsonError";
}

export class JsonScanner {
  readonly #root: JsonReader;
  readonly #utf8 = new Utf8Check();
  #state: number = beforeValue;
  #offset = 0;
  #depth = 0;
  readonly #after = new Uint8Array(depthMax + 1).fill(afterAll);

  /** Outermost first. Each is the direct parent of the next, so their number is a depth. */
  readonly #readers: JsonReader[] = [];
  /** 0 if the value started in an earlier chunk. */
  readonly #starts: number[] = [];
  /** Values at this depth get a reader; the scanner skips deeper ones. */
  #readerDepth = 0;

  #chunk: Buffer = Buffer.alloc(0);
  #isKey = false;
  #key: string | undefined;
  /** -1 if no reader needs the key. */
  #keyStart = -1;
  readonly #keyBytes = Buffer.alloc(keyBytesMax);
  #keyLength = 0;

  constructor(root: JsonReader) {
    this.#root = root;
  }

  /** Throws `JsonError`, and any error of a reader; after that, every call raises. */
  write(bytes: Uint8Array): void {
    const from = this.#state;
    // Stays failed if an error interrupts the scan of this chunk.
    this.#state = failed;
    if (!this.#utf8.write(bytes)) throw new JsonError("is not UTF-8");
    this.#chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#state = this.#scan(bytes, from);
    this.#flushChunk();
    this.#offset += bytes.length;
  }

  end(): void {
    const state = this.#state;
    this.#state = failed;
    if (endsNumber(state) && this.#depth === 0) {
      this.#chunk = Buffer.alloc(0);
      this.#endValue(0);
    } else if (state !== afterAll || this.#utf8.isInsideCharacter()) {
      throw new JsonError(`ends unexpectedly after ${this.#offset} bytes`);
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

  #act(action: number, at: number): number {
    switch (action) {
      case startString:
        if (this.#depth === this.#readerDepth) this.#startValue(at);
        this.#isKey = false;
        return inString;
      case startKey:
        if (this.#depth === this.#readerDepth) this.#startKey(at + 1);
        this.#isKey = true;
        return inString;
      case endString:
        if (!this.#isKey) return this.#endValue(at + 1);
        if (this.#keyStart >= 0) this.#endKey(at);
        return beforeColon;
      case startScalar:
        if (this.#depth === this.#readerDepth) this.#startValue(at);
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
        throw new JsonError(`has an unexpected character at byte ${this.#offset + at}`);
    }
  }

  #open(at: number, after: number): void {
    if (this.#depth === this.#readerDepth) this.#startValue(at);
    if (this.#depth === depthMax) throw new JsonError(`is nested more than ${depthMax} levels deep`);
    this.#after[++this.#depth] = after;
  }

  #startValue(at: number): void {
    const reader = this.#readerOf();
    if (reader === undefined) return;
    this.#readers.push(reader);
    this.#starts.push(at);
    this.#readerDepth++;
    reader.begin?.();
  }

  #readerOf(): JsonReader | undefined {
    if (this.#depth === 0) return this.#root;
    const parent = this.#readers[this.#depth - 1];
    if (this.#after[this.#depth] === afterElement) return parent?.element?.();
    return this.#key === undefined ? undefined : parent?.member?.(this.#key);
  }

  #endValue(end: number): number {
    if (this.#depth === this.#readerDepth - 1) {
      const reader = this.#readers.pop()!;
      const start = this.#starts.pop()!;
      this.#readerDepth--;
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
      this.#appendKey(end);
      if (this.#keyLength <= keyBytesMax) text = this.#keyBytes.toString("utf8", 0, this.#keyLength);
    }
    this.#key = text?.includes("\\") ? (JSON.parse(`"${text}"`) as string) : text;
    this.#keyStart = -1;
  }

  #appendKey(end: number): void {
    const length = this.#keyLength + end - this.#keyStart;
    if (length <= keyBytesMax) this.#chunk.copy(this.#keyBytes, this.#keyLength, this.#keyStart, end);
    this.#keyLength = length;
  }

  #flushChunk(): void {
    for (const [index, reader] of this.#readers.entries()) {
      reader.raw?.(this.#chunk.subarray(this.#starts[index]), false);
      this.#starts[index] = 0;
    }
    if (this.#keyStart < 0) return;
    this.#appendKey(this.#chunk.length);
    this.#keyStart = 0;
  }
}

export class JsonCapture implements JsonReader {
  readonly #bytesMax: number;
  #captured: Buffer = Buffer.alloc(0);
  /** Includes bytes that are not captured. */
  size = 0;
  /** JSON source text; undefined without a value, or if it is too large. */
  text: string | undefined;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get isTooLarge(): boolean {
    return this.size > this.#bytesMax;
  }

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
      this.#captured = Buffer.alloc(0);
    } else if (isLast && before === 0) {
      this.text = piece.toString("utf8");
    } else {
      this.#grow();
      this.#captured.set(piece, before);
      if (isLast) this.text = this.#captured.toString("utf8", 0, this.size);
    }
  }

  #grow(): void {
    if (this.#captured.length >= this.size) return;
    const larger = Buffer.alloc(Math.min(this.#bytesMax, Math.max(64, this.size * 2)));
    larger.set(this.#captured);
    this.#captured = larger;
  }
}

class Utf8Check {
  readonly #character = new Uint8Array(4);
  #filled = 0;
  #needed = 0;

  isInsideCharacter(): boolean {
    return this.#filled < this.#needed;
  }

  write(bytes: Uint8Array): boolean {
    let from = 0;
    while (this.#filled < this.#needed && from < bytes.length) this.#character[this.#filled++] = bytes[from++]!;
    if (this.#filled < this.#needed) return true;
    if (!isUtf8(this.#character.subarray(0, this.#filled))) return false;

    const to = cutCharacterStart(bytes, from);
    this.#filled = bytes.length - to;
    this.#needed = this.#filled === 0 ? 0 : characterLength(bytes[to]!);
    this.#character.set(bytes.subarray(to));
    return isUtf8(bytes.subarray(from, to));
  }
}

/** The chunk's length if its last character is complete. */
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
