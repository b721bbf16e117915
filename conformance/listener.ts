/** A receiver on the loopback interface for the tests of notifications. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Listener {
  readonly url: string;
  /** The server's settings that allow calling it. */
  readonly settings: Readonly<Record<string, string>>;
  stop(): void;
}

export async function startListener(): Promise<Listener> {
  const server = createServer((request, response) => {
    request.resume();
    request.once("end", () => response.writeHead(200, { "content-type": "text/plain" }).end("heard"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    settings: { CADASTRE_ALLOW_PRIVATE_ADDRESSES: "127.0.0.1" },
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
