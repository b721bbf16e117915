/** A proxy of connections that can be cut, reset and slowed. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Link, Messages } from "../../deploy/cluster/link.ts";
import { freePort } from "../../deploy/cluster/parts.ts";

let echo: Server;
let link: Link;
const calls: Socket[] = [];

beforeAll(async () => {
  echo = createServer((socket) => void socket.on("error", () => {}).pipe(socket)).listen(0, "127.0.0.1");
  await once(echo, "listening");
  const unusedPort = await freePort();
  const { port } = echo.address() as AddressInfo;
  link = await Link.open({ name: "test", port: await freePort(), to: [unusedPort, port] });
});
afterAll(async () => {
  for (const call of calls) call.destroy();
  await link.close();
  echo.close();
});

class Caller {
  received = "";
  isClosed = false;
  readonly socket: Socket;

  constructor() {
    this.socket = connect(link.port, "127.0.0.1");
    calls.push(this.socket);
    this.socket.on("error", () => {});
    this.socket.on("data", (chunk) => (this.received += chunk));
    this.socket.once("close", () => (this.isClosed = true));
  }

  async echoes(word: string): Promise<void> {
    const before = this.received.length;
    this.socket.write(word);
    await expect.poll(() => this.received.slice(before)).toBe(word);
  }
}

/** Much longer than a message takes. */
const waitBriefly = () => new Promise((resolve) => setTimeout(resolve, 60));

describe("a link", () => {
  it("connects to the first target that accepts", async () => {
    await new Caller().echoes("hello");
  });

  it("forwards nothing while it is cut, and everything afterwards", async () => {
    const before = new Caller();
    await before.echoes("one");
    link.cut();
    before.socket.write("two");
    const called = new Caller();
    called.socket.write("three");
    await waitBriefly();
    expect([before.received, called.received]).toEqual(["one", ""]);
    link.heal();
    await expect.poll(() => [before.received, called.received]).toEqual(["onetwo", "three"]);
  });

  it("closes connections that timed out while it was cut", async () => {
    const caller = new Caller();
    await caller.echoes("one");
    link.cut();
    link.heal({ isForgotten: true });
    await expect.poll(() => caller.isClosed).toBe(true);
    await new Caller().echoes("again");
  });

  it("can be cut only for connections that start with a given text", async () => {
    const [ann, bob] = [new Caller(), new Caller()];
    await ann.echoes("I am ann");
    await bob.echoes("I am bob");
    link.cut("ann");
    ann.socket.write("more");
    const another = new Caller();
    another.socket.write("also ann");
    await bob.echoes("more");
    await waitBriefly();
    expect([ann.received, another.received]).toEqual(["I am ann", ""]);
    link.heal();
    await expect.poll(() => [ann.received, another.received]).toEqual(["I am annmore", "also ann"]);
  });

  it("closes connections when it is reset, and accepts new ones", async () => {
    const caller = new Caller();
    await caller.echoes("one");
    link.breakOff();
    await expect.poll(() => caller.isClosed).toBe(true);
    await new Caller().echoes("again");
  });
});

describe("messages of a PostgreSQL client", () => {
  const message = (kind: string, length: number) => {
    const bytes = Buffer.alloc(length + 5, 0x51);
    bytes.write(kind);
    bytes.writeUInt32BE(length + 4, 1);
    return bytes;
  };
  const greeting = Buffer.alloc(30, 0x51);
  greeting.writeUInt32BE(30);
  const tls = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
  const stream = Buffer.concat([
    greeting,
    message("p", 40),
    message("Q", 10),
    message("P", 100),
    message("B", 7),
    message("E", 9),
    message("S", 0),
  ]);

  it.each([1, 3, 5, 7, 64, 1_000])("are counted in pieces of %i bytes", (size) => {
    for (const bytes of [stream, Buffer.concat([tls, stream])]) {
      const messages = new Messages();
      let count = 0;
      for (let at = 0; at < bytes.length; at += size) count += messages.pass(bytes.subarray(at, at + size));
      expect(count).toBe(2);
    }
  });
});
