/** A proxy to a database that can cut, silence or record its connections. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export interface Passage {
  cut(): void;
  silence(): void;
}

/** Called before the data is forwarded. False drops it. */
export type Listener = (sent: string, passage: Passage) => boolean | void;

export interface Gate {
  readonly port: number;
  /** Also refuses new connections. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** Accepts connections, but forwards nothing until `speak`. */
  silence(): void;
  speak(): void;
  listen(listener: Listener | undefined): void;
  close(): Promise<void>;
}

export async function openGate(target: URL): Promise<Gate> {
  const passages = new Map<Socket, Passage & { speak(): void }>();
  let listener: Listener | undefined;
  let isSilent = false;

  const admit = (client: Socket) => {
    const upstream = connect(Number(target.port), target.hostname);
    const both = [client, upstream];
    const passage = {
      cut: () => both.forEach((socket) => socket.destroy()),
      silence: () => both.forEach((socket) => socket.pause()),
      speak: () => both.forEach((socket) => socket.resume()),
    };
    passages.set(client, passage);
    for (const socket of both) {
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        passages.delete(client);
        passage.cut();
      });
    }
    client.on("data", (sent) => {
      if (listener?.(sent.toString("latin1"), passage) !== false) upstream.write(sent);
    });
    upstream.on("data", (sent) => client.write(sent));
    if (isSilent) passage.silence();
  };

  async function listening(at: number): Promise<Server> {
    const opened = createServer(admit);
    await new Promise<void>((resolve) => opened.listen(at, "127.0.0.1", resolve));
    return opened;
  }

  let server = await listening(0);
  const { port } = server.address() as AddressInfo;
  const cut = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const passage of passages.values()) passage.cut();
    await closed;
  };
  return {
    port,
    cut,
    mend: async () => {
      server = await listening(port);
    },
    silence: () => {
      isSilent = true;
      for (const passage of passages.values()) passage.silence();
    },
    speak: () => {
      isSilent = false;
      for (const passage of passages.values()) passage.speak();
    },
    listen: (next) => {
      listener = next;
    },
    close: cut,
  };
}
