/** A proxy to a database that can cut, pause or inspect its connections. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export interface ProxiedConnection {
  cut(): void;
  silence(): void;
}

/** Called with data from the client before it is forwarded; false drops the data. */
export type ProxyListener = (sent: string, connection: ProxiedConnection) => boolean | void;

export interface DatabaseProxy {
  readonly port: number;
  /** Also refuses new connections. */
  cut(): Promise<void>;
  restore(): Promise<void>;
  /** Accepts connections, but forwards nothing until `speak`. */
  silence(): void;
  speak(): void;
  listen(listener: ProxyListener | undefined): void;
  close(): Promise<void>;
}

export async function openDatabaseProxy(target: URL): Promise<DatabaseProxy> {
  const connections = new Map<Socket, ProxiedConnection & { speak(): void }>();
  let listener: ProxyListener | undefined;
  let isSilent = false;

  const admit = (client: Socket) => {
    const upstream = connect(Number(target.port), target.hostname);
    const sockets = [client, upstream];
    const connection = {
      cut: () => sockets.forEach((socket) => socket.destroy()),
      silence: () => sockets.forEach((socket) => socket.pause()),
      speak: () => sockets.forEach((socket) => socket.resume()),
    };
    connections.set(client, connection);
    for (const socket of sockets) {
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        connections.delete(client);
        connection.cut();
      });
    }
    client.on("data", (sent) => {
      if (listener?.(sent.toString("latin1"), connection) !== false) upstream.write(sent);
    });
    upstream.on("data", (sent) => client.write(sent));
    if (isSilent) connection.silence();
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
    for (const connection of connections.values()) connection.cut();
    await closed;
  };
  return {
    port,
    cut,
    restore: async () => {
      server = await listening(port);
    },
    silence: () => {
      isSilent = true;
      for (const connection of connections.values()) connection.silence();
    },
    speak: () => {
      isSilent = false;
      for (const connection of connections.values()) connection.speak();
    },
    listen: (next) => {
      listener = next;
    },
    close: cut,
  };
}
