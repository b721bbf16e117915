/**
 * A phase's log on its way to the server: secrets are hidden before offsets are given, chunks leave within half a second, whoever
 * writes faster than they leave has to wait, and what goes beyond the limit is dropped with a sentence.
 */
import { setTimeout as pause } from "node:timers/promises";
import { Masker } from "./masking.ts";
import { Refused } from "./server.ts";

/** So that many small lines make few requests, and nobody waits long for one. */
const rhythmMs = 250;
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
  readonly #closing: Buffer;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #writtenBytes = 0;
  #offset = 0;
  #isFull = false;
  #sending: Promise<void> | undefined;
  /** Whoever waits does so in vain while we pause. */
  #hurry = new AbortController();
  #failure: unknown;

  constructor({ send, bytesMax, secrets }: LogOptions) {
    this.#send = send;
    this.#masker = new Masker(secrets);
    this.#bytesMax = bytesMax;
    this.#closing = Buffer.from(
      `\n\nThe log has reached its limit of ${bytesMax} bytes. The rest is not kept; the engine goes on.\n`,
    );
  }

  /** Raises what sending raised, if it failed. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#add(this.#masker.write(bytes));
    while (this.#pendingBytes > pendingBytesMax && this.#failure === undefined) await this.#drained();
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** A sentence of the agent's own, on a line of its own. */
  async say(sentence: string): Promise<void> {
    await this.write(Buffer.from(`${sentence}\n`));
  }

  /** Everything has arrived. Raises what sending raised, if it failed. */
  async end(): Promise<void> {
    this.#add(this.#masker.end());
    this.#hurry.abort();
    while (this.#sending !== undefined) await this.#sending;
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #drained(): Promise<void> {
    this.#hurry.abort();
    await this.#sending;
    this.#hurry = new AbortController();
  }

  #add(shown: Buffer): void {
    if (this.#isFull || shown.length === 0) return;
    const room = this.#bytesMax - this.#closing.length - this.#writtenBytes;
    this.#isFull = shown.length > room;
    const kept = this.#isFull ? [shown.subarray(0, Math.max(0, room)), this.#closing] : [shown];
    for (const bytes of kept) {
      if (bytes.length === 0) continue;
      this.#pending.push(withoutMarks(bytes));
      this.#pendingBytes += bytes.length;
      this.#writtenBytes += bytes.length;
    }
    this.#sending ??= this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    try {
      while (this.#pendingBytes > 0) {
        const chunk = this.#take();
        await this.#send(this.#offset, chunk);
        this.#offset += chunk.length;
        if (this.#pendingBytes < chunkBytesMax)
          await pause(rhythmMs, undefined, { signal: this.#hurry.signal }).catch(() => undefined);
      }
    } catch (error) {
      // The server's own limit may be nearer than the one that it named: an earlier attempt has used some of it.
      if (error instanceof Refused && error.status === 413) this.#isFull = true;
      else this.#failure = error;
      this.#pending = [];
      this.#pendingBytes = 0;
    } finally {
      this.#sending = undefined;
    }
  }

  #take(): Buffer<ArrayBuffer> {
    const all = Buffer.concat(this.#pending);
    const chunk = all.subarray(0, chunkBytesMax);
    const rest = all.subarray(chunk.length);
    this.#pending = rest.length === 0 ? [] : [rest];
    this.#pendingBytes = rest.length;
    return chunk;
  }
}

/** STX and ETX mark a log's beginning and end, which are the server's to write. */
function withoutMarks(bytes: Buffer): Buffer {
  if (!bytes.includes(2) && !bytes.includes(3)) return bytes;
  const copy = Buffer.from(bytes);
  for (let at = 0; at < copy.length; at += 1) if (copy[at] === 2 || copy[at] === 3) copy[at] = 0x3f;
  return copy;
}
