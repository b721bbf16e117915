/** Recognizes a state that OpenTofu encrypted, and reports what is wrong with one that only resembles it. */
import { JsonCapture, type JsonReader } from "./json-scanner.ts";

const versionBytesMax = 1024;

export class EncryptionReader {
  readonly #data = new Base64Check();
  readonly #meta = new ObjectCheck();
  readonly #version = new JsonCapture(versionBytesMax);

  member(key: string): JsonReader | undefined {
    switch (key) {
      case "encrypted_data":
        return this.#data;
      case "meta":
        return this.#meta;
      case "encryption_version":
        return this.#version;
      default:
        return undefined;
    }
  }

  get hasEncryptedData(): boolean {
    return this.#data.isPresent;
  }

  fault(): string | undefined {
    if (!this.#data.isBase64) return 'its member "encrypted_data" is not a base64 string';
    if (this.#meta.shape === "other") return 'its member "meta" is not an object';
    if (this.#version.size > 0 && !/^"[^"\\]+"$/.test(this.#version.text ?? ""))
      return 'its member "encryption_version" is not a string';
    if (this.#meta.shape !== "object" && this.#version.size === 0)
      return 'it has neither "meta" nor "encryption_version", one of which must accompany "encrypted_data"';
    return undefined;
  }
}

/** Only the first byte determines the kind of a value. */
class ObjectCheck implements JsonReader {
  shape: "absent" | "null" | "object" | "other" = "absent";

  begin(): void {
    this.shape = "absent";
  }

  raw(piece: Buffer): void {
    if (this.shape !== "absent" || piece.length === 0) return;
    this.shape = piece[0] === 0x7b ? "object" : piece[0] === 0x6e ? "null" : "other";
  }
}

const quote = 0x22;
const padding = 0x3d;
const isDigit = Uint8Array.from({ length: 256 }, (_, byte) => Number(/[A-Za-z0-9+/]/.test(String.fromCharCode(byte))));

/** Stores nothing, because the value can have any size. */
class Base64Check implements JsonReader {
  isPresent = false;
  #digits = 0;
  #paddings = 0;
  #quotes = 0;
  #isBroken = false;

  get isBase64(): boolean {
    const length = this.#digits + this.#paddings;
    return !this.#isBroken && this.#quotes === 2 && this.#digits > 0 && this.#paddings <= 2 && length % 4 === 0;
  }

  begin(): void {
    this.isPresent = true;
  }

  raw(piece: Buffer): void {
    const { length } = piece;
    for (let at = 0; at < length && !this.#isBroken; at++) {
      const start = at;
      if (this.#quotes === 1 && this.#paddings === 0) while (at < length && isDigit[piece[at]!] === 1) at++;
      this.#digits += at - start;
      if (at < length) this.#take(piece[at]!);
    }
  }

  #take(byte: number): void {
    if (byte === quote) this.#quotes++;
    else if (byte === padding && this.#quotes === 1) this.#paddings++;
    else this.#isBroken = true;
  }
}
