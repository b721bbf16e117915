/** Sends a phase's log in chunks with secrets masked, with backpressure. Output beyond the limit is dropped. */
import { setTimeout as pause } from "node:timers/promises";
import { Masker } from "./masking.ts";
import { ServerRejection } from "./server.ts";

/** Combines many small lines into few requests. */
const intervalMs = 250;
const chunkBytesMax = 512 * 1024;
const pendingBytesMax = 2 * 1024 ** 2;

export interface LogOptions {
  readonly send: (offset: number, bytes: Uint8Array<ArrayBuffer>) => Promise<void>;
  readonly bytesMax: number;
  readonly secrets: Iterable<string>;
}

export class RunLog {
  readonly #send: LogOptions["send"];
  readonly #masker: Masker;
  readonly #bytesMax: number;
  readonly #limitNotice: Buffer;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #writtenBytes = 0;
  #offset = 0;
  #isFull = false;
  #sending: Promise<void> | undefined;
  #flushNow = new AbortController();
  #failure: unknown;

  constructor({ send, bytesMax, secrets }: LogOptions) {
    this.#send = send;
    this.#masker = new Masker(secrets);
    this.#bytesMax = bytesMax;
    this.#limitNotice = Buffer.from(
      `\n\nThe log has reached its limit of ${bytesMax} bytes. Further output is discarded; the engine keeps running.\n`,
    );
  }

  /** Throws if sending has failed. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#add(this.#masker.write(bytes));
    while (this.#pendingBytes > pendingBytesMax && this.#failure === undefined) await this.#drained();
    if (this.#failure !== undefined) throw this.#failure;
  }

  async say(line: string): Promise<void> {
    await this.write(Buffer.from(`${line}\n`));
  }

  /** Throws if sending has failed. */
  async end(): Promise<void> {
    this.#add(this.#masker.end());
    this.#flushNow.abort();
    while (this.#sending !== undefined) await this.#sending;
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #drained(): Promise<void> {
    this.#flushNow.abort();
    await this.#sending;
    this.#flushNow = new AbortController();
  }

  #add(shown: Buffer): void {
    if (this.#isFull || shown.length === 0) return;
    const room = this.#bytesMax - this.#limitNotice.length - this.#writtenBytes;
    this.#isFull = shown.length > room;
    const kept = this.#isFull ? [shown.subarray(0, Math.max(0, room)), this.#limitNotice] : [shown];
    for (const bytes of kept) {
      if (bytes.length === 0) continue;
      this.#pending.push(withoutMarkers(bytes));
      this.#pendingBytes += bytes.length;
      this.#writtenBytes += bytes.length;
    }
    this.#sending ??= this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    try {
      while (this.#pendingBytes > 0) {
        const chunk = this.#takeChunk();
        await this.#send(this.#offset, chunk);
        this.#offset += chunk.length;
        if (this.#pendingBytes < chunkBytesMax)
          await pause(intervalMs, undefined, { signal: this.#flushNow.signal }).catch(() => undefined);
      }
    } catch (error) {
      // An earlier attempt may have used part of the limit.
      if (error instanceof ServerRejection && error.status === 413) this.#isFull = true;
      else this.#failure = error;
      this.#pending = [];
      this.#pendingBytes = 0;
    } finally {
      this.#sending = undefined;
    }
  }

  #takeChunk(): Buffer<ArrayBuffer> {
    const all = Buffer.concat(this.#pending);
    const chunk = all.subarray(0, chunkBytesMax);
    const rest = all.subarray(chunk.length);
    this.#pending = rest.length === 0 ? [] : [rest];
    this.#pendingBytes = rest.length;
    return chunk;
  }
}

/** STX and ETX mark the start and end of a log; only the server writes them. */
function withoutMarkers(bytes: Buffer): Buffer {
  if (!bytes.includes(2) && !bytes.includes(3)) return bytes;
  const copy = Buffer.from(bytes);
  for (let at = 0; at < copy.length; at += 1) if (copy[at] === 2 || copy[at] === 3) copy[at] = 0x3f;
  return copy;
}
