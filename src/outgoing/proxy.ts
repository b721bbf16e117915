/** A loopback proxy for one task of a program such as git: it checks addresses and limits the size of responses. */
import {
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type Server,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { Transform } from "node:stream";
import { checkedLookup, addressCheckFor, OutgoingError } from "./request.ts";

export interface ProxyOptions {
  readonly allowed: readonly string[];
  readonly bytesMax: number;
}

export class FilteringProxy {
  readonly #options: ProxyOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #bytes = 0;
  #fault: OutgoingError | undefined;

  private constructor(options: ProxyOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => this.#pass(request, response));
    this.#server.on("connect", (request, socket: Socket, head: Buffer) => this.#tunnel(request, socket, head));
    this.#server.on("connection", (socket) => this.#track(socket));
  }

  static async start(options: ProxyOptions): Promise<FilteringProxy> {
    const proxy = new FilteringProxy(options);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get fault(): OutgoingError | undefined {
    return this.#fault;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => this.#sockets.delete(socket));
  }

  /** TLS is end to end: the proxy can't read it. */
  #tunnel(request: IncomingMessage, client: Socket, head: Buffer): void {
    this.#track(client);
    const refuse = (error: Error) => {
      this.#recordFault(error, request.url);
      client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    };
    try {
      const target = new URL(`https://${request.url}`);
      const check = addressCheckFor(target, this.#options.allowed);
      const host = target.hostname.replace(/^\[|\]$/g, "");
      const upstream = connect({ host, port: Number(target.port || 443), lookup: checkedLookup(check) });
      this.#track(upstream);
      upstream.once("error", refuse);
      upstream.once("connect", () => {
        client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
        upstream.write(head);
        upstream.pipe(this.#counted(upstream)).pipe(client);
        client.pipe(upstream);
      });
      client.once("close", () => upstream.destroy());
    } catch (error) {
      refuse(error as Error);
    }
  }

  /** Plain HTTP, only to addresses that the operator allows. */
  #pass(request: IncomingMessage, response: ServerResponse): void {
    const refuse = (error: Error) => {
      this.#recordFault(error, request.headers.host);
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
    };
    try {
      const target = new URL(request.url ?? "");
      if (target.protocol !== "http:") throw new OutgoingError(`${target.host} is only called over https.`);
      const lookup = checkedLookup(addressCheckFor(target, this.#options.allowed));
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => !name.startsWith("proxy-")),
      );
      const upstream = httpRequest(
        target,
        { method: request.method, headers, lookup, agent: false },
        (upstreamResponse) => {
          response.writeHead(upstreamResponse.statusCode ?? 502, upstreamResponse.headers);
          upstreamResponse.pipe(this.#counted(upstreamResponse.socket)).pipe(response);
        },
      );
      upstream.on("error", refuse);
      request.pipe(upstream);
      response.once("close", () => upstream.destroy());
    } catch (error) {
      refuse(error as Error);
    }
  }

  #counted(from: Socket): Transform {
    const { bytesMax } = this.#options;
    return new Transform({
      transform: (piece: Buffer, _encoding, done) => {
        this.#bytes += piece.length;
        if (this.#bytes <= bytesMax) return done(null, piece);
        this.#recordFault(new OutgoingError(`The response is larger than ${bytesMax} bytes.`));
        from.destroy();
        for (const socket of this.#sockets) socket.destroy();
      },
    });
  }

  #recordFault(error: Error, host = "The address"): void {
    const known = error instanceof OutgoingError;
    this.#fault ??= known ? error : new OutgoingError(`${host} can't be reached (${error.message}).`);
  }
}
