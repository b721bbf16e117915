/**
 * A proxy on the loopback for programs that call others by themselves, git for one: it judges addresses as our own requests are
 * judged, and bounds what comes back. It is there for one piece of work and gone with it.
 */
import {
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type Server,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { Transform } from "node:stream";
import { judgedLookup, judgeOf, OutgoingFault } from "./request.ts";

export interface ProxyOptions {
  /** As for our own requests. */
  readonly allowed: readonly string[];
  /** Of everything that comes back. */
  readonly bytesMax: number;
}

export class JudgingProxy {
  readonly #options: ProxyOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #bytes = 0;
  #fault: OutgoingFault | undefined;

  private constructor(options: ProxyOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => this.#pass(request, response));
    this.#server.on("connect", (request, socket: Socket, head: Buffer) => this.#tunnel(request, socket, head));
    this.#server.on("connection", (socket) => this.#keep(socket));
  }

  static async start(options: ProxyOptions): Promise<JudgingProxy> {
    const proxy = new JudgingProxy(options);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Why it let something not through, the first time. */
  get fault(): OutgoingFault | undefined {
    return this.#fault;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => this.#sockets.delete(socket));
  }

  /** TLS from end to end: what is inside is not ours to see. */
  #tunnel(request: IncomingMessage, client: Socket, head: Buffer): void {
    this.#keep(client);
    const refuse = (error: Error) => {
      this.#note(error, request.url);
      client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    };
    try {
      const target = new URL(`https://${request.url}`);
      const judge = judgeOf(target, this.#options.allowed);
      const host = target.hostname.replace(/^\[|\]$/g, "");
      const upstream = connect({ host, port: Number(target.port || 443), lookup: judgedLookup(judge) });
      this.#keep(upstream);
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

  /** Without TLS: only where the operator has named the address. */
  #pass(request: IncomingMessage, response: ServerResponse): void {
    const refuse = (error: Error) => {
      this.#note(error, request.headers.host);
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
    };
    try {
      const target = new URL(request.url ?? "");
      if (target.protocol !== "http:") throw new OutgoingFault(`${target.host} is only called over https.`);
      const lookup = judgedLookup(judgeOf(target, this.#options.allowed));
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => !name.startsWith("proxy-")),
      );
      const upstream = httpRequest(target, { method: request.method, headers, lookup, agent: false }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(this.#counted(answer.socket)).pipe(response);
      });
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
        this.#note(new OutgoingFault(`It sends more than ${bytesMax} bytes.`));
        from.destroy();
        for (const socket of this.#sockets) socket.destroy();
      },
    });
  }

  #note(error: Error, host = "The address"): void {
    const known = error instanceof OutgoingFault;
    this.#fault ??= known ? error : new OutgoingFault(`${host} can't be reached (${error.message}).`);
  }
}
