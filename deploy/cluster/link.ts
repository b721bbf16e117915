/**
 * A TCP proxy between two parts of a cluster, which can cut, reset and slow down connections without root. It parses PostgreSQL's protocol
 * only far enough to delay each statement.
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface LinkOptions {
  readonly name: string;
  readonly port: number;
  /** Ports; the first that accepts the connection is used. */
  readonly to: readonly number[];
}

interface Call {
  readonly near: Socket;
  readonly far: Socket;
  /** The first bytes from the client, which identify it in PostgreSQL. */
  greeting: string;
}

type Cut = (greeting: string) => boolean;

export class Link {
  readonly name: string;
  readonly port: number;
  readonly #to: readonly number[];
  readonly #server: Server;
  readonly #calls = new Set<Call>();
  /** Connections during a cut: accepted, but not forwarded yet. */
  readonly #stranded = new Set<Socket>();
  #cut: Cut | undefined;
  #statementMs = 0;

  private constructor({ name, port, to }: LinkOptions) {
    this.name = name;
    this.port = port;
    this.#to = to;
    this.#server = createServer({ pauseOnConnect: true }, (near) => void this.#take(near));
  }

  static async open(options: LinkOptions): Promise<Link> {
    const link = new Link(options);
    await new Promise<void>((resolve, reject) =>
      link.#server.once("error", reject).listen(options.port, "127.0.0.1", resolve),
    );
    return link;
  }

  /** Silently drops traffic in both directions, for clients whose greeting contains a word, or for all. */
  cut(word = ""): void {
    this.#cut = (greeting) => greeting.includes(word);
    for (const call of this.#calls) this.#hold(call);
  }

  /** Forwards what was held back, like TCP retransmission. `isForgotten`: drops the connections instead. */
  heal({ isForgotten = false } = {}): void {
    const cut = this.#cut;
    this.#cut = undefined;
    for (const call of this.#calls) {
      if (isForgotten && cut?.(call.greeting) === true) this.#drop(call);
      else this.#release(call);
    }
    for (const near of this.#stranded) {
      this.#stranded.delete(near);
      if (isForgotten) near.destroy();
      else void this.#take(near);
    }
  }

  /** Resets all connections; new ones are accepted. */
  breakOff(): void {
    for (const call of this.#calls) this.#drop(call);
  }

  /** Delays each statement; 0 disables the delay. */
  slow(statementMs: number): void {
    this.#statementMs = statementMs;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const call of this.#calls) this.#drop(call);
    for (const near of this.#stranded) near.destroy();
    await closed;
  }

  async #take(near: Socket): Promise<void> {
    near.on("error", () => {});
    // A client that is cut off completely sends no greeting that could identify it.
    if (this.#cut?.("") === true) {
      this.#stranded.add(near);
      near.once("close", () => this.#stranded.delete(near));
      return;
    }
    const far = await this.#reach();
    if (far === undefined || near.destroyed) {
      near.destroy();
      far?.destroy();
      return;
    }
    const call: Call = { near, far, greeting: "" };
    this.#calls.add(call);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.setNoDelay(true);
      from.on("error", () => {});
      from.once("close", () => {
        this.#calls.delete(call);
        to.destroy();
      });
      from.once("end", () => to.end());
    }
    far.on("data", (chunk) => void near.write(chunk));
    this.#forward(call);
    if (this.#cut?.(call.greeting) === true) this.#hold(call);
    else this.#release(call);
  }

  async #reach(): Promise<Socket | undefined> {
    for (const port of this.#to) {
      const far = connect({ port, host: "127.0.0.1" });
      const isOpen = await new Promise<boolean>((resolve) => {
        far.once("connect", () => resolve(true)).once("error", () => resolve(false));
      });
      if (isOpen) return far.pause();
    }
    return undefined;
  }

  #forward(call: Call): void {
    const messages = new Messages();
    let last = Promise.resolve();
    call.near.on("data", (chunk: Buffer) => {
      if (call.greeting === "") {
        call.greeting = chunk.toString("latin1");
        if (this.#cut?.(call.greeting) === true) {
          this.#hold(call);
          call.near.unshift(chunk);
          return;
        }
      }
      const statements = messages.pass(chunk);
      const waitMs = statements > 0 ? this.#statementMs : 0;
      // Keeps the order when the delay ends.
      last = passOn(last, waitMs, () => call.far.write(chunk));
    });
  }

  #hold({ near, far, greeting }: Call): void {
    if (this.#cut?.(greeting) !== true) return;
    near.pause();
    far.pause();
  }

  #release({ near, far }: Call): void {
    near.resume();
    far.resume();
  }

  #drop({ near, far }: Call): void {
    near.destroy();
    far.destroy();
  }
}

async function passOn(before: Promise<void>, waitMs: number, write: () => void): Promise<void> {
  await before;
  if (waitMs > 0) await sleep(waitMs, undefined, { ref: false });
  write();
}

const query = 0x51;
const sync = 0x53;

/** Counts the statements in a client's stream, independent of how it is split into chunks. */
export class Messages {
  /** Bytes of the current message that are still missing. */
  #missing = 0;
  #head = Buffer.alloc(0);
  #isGreeted = false;

  /** Number of statements (simple or extended) that end in this chunk. */
  pass(chunk: Uint8Array): number {
    let bytes = Buffer.concat([this.#head, chunk]);
    this.#head = Buffer.alloc(0);
    let statements = 0;
    for (;;) {
      const skipped = Math.min(this.#missing, bytes.length);
      this.#missing -= skipped;
      bytes = bytes.subarray(skipped);
      // The startup message has no type byte.
      const headLength = this.#isGreeted ? 5 : 4;
      if (bytes.length < headLength) break;
      const kind = this.#isGreeted ? bytes[0] : undefined;
      this.#missing = this.#isGreeted ? bytes.readUInt32BE(1) + 1 : bytes.readUInt32BE(0);
      if (!this.#isGreeted) this.#isGreeted = !asksForTls(bytes);
      if (kind === query || kind === sync) statements += 1;
    }
    this.#head = bytes;
    return statements;
  }
}

/** A client can request TLS before its startup message. */
const asksForTls = (bytes: Buffer) => bytes.readUInt32BE(0) === 8;
