/** A real S3 server, and a proxy in front of it that fails like a network or a store does. */
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createSocketServer } from "node:net";
import { join } from "node:path";
import { newFolder } from "./folder.ts";
import { until } from "./waiting.ts";

export const storeBinary = "node_modules/.cache/cadastre/versitygw-v1.8.0/versitygw";
export const storeCredentials = { AWS_ACCESS_KEY_ID: "testing", AWS_SECRET_ACCESS_KEY: "testing-secret" } as const;
const bucket = "contents";

export interface ObjectServer {
  readonly port: number;
  /** Holds a folder for each bucket. */
  readonly folder: string;
  /** An address for `CADASTRE_CONTENTS`. */
  address(prefix?: string, port?: number): string;
  /** Paths of all objects in the bucket, without the server's own files. */
  objects(prefix?: string): string[];
  read(path: string): Promise<Buffer>;
  write(path: string, bytes: Uint8Array): Promise<void>;
  remove(path: string): Promise<void>;
  stop(): Promise<void>;
}

export async function startObjectServer(): Promise<ObjectServer> {
  const folder = newFolder("cadastre-objects-");
  await mkdir(join(folder, bucket));
  const port = await freePort();
  const { AWS_ACCESS_KEY_ID: access, AWS_SECRET_ACCESS_KEY: secret } = storeCredentials;
  const flags = ["--access", access, "--secret", secret, "--region", "us-east-1"];
  const served = ["--port", `127.0.0.1:${port}`, "--quiet", "posix", folder];
  const child = spawn(storeBinary, [...flags, ...served], { stdio: "ignore" });
  process.once("exit", () => child.kill("SIGKILL"));
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  await until(() => accepts(port), "the object server accepts connections");
  const pathOf = (path: string) => join(folder, bucket, path);
  return {
    port,
    folder,
    address: (prefix = "", at = port) =>
      `s3://${bucket}${prefix === "" ? "" : `/${prefix}`}?region=us-east-1&endpoint=http://127.0.0.1:${at}&path-style=true`,
    objects: (prefix = "") =>
      readdirSync(join(folder, bucket), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, bucket).length + 1))
        .filter(
          (path) => path.startsWith(prefix) && !path.startsWith(".sgwtmp") && !path.endsWith("cadastre-register.json"),
        )
        .sort(),
    read: (path) => readFile(pathOf(path)),
    write: (path, bytes) => writeFile(pathOf(path), bytes),
    remove: (path) => rm(pathOf(path)),
    async stop() {
      child.kill("SIGKILL");
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createSocketServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });

/**
 * `cut`: closes connections. `silence`: accepts and never answers; `unanswered`: the store gets the request, the caller no answer. A number: answers with that status. `short`: closes the connection after
 * some bytes of each body. `slow`: forwards some bytes of each answer, then nothing.
 */
export type StoreFault = "cut" | "silence" | "unanswered" | "short" | "slow" | 403 | 500 | 503 | 507;

const errorCodes: Readonly<Record<number, string>> = {
  403: "AccessDenied",
  500: "InternalError",
  503: "SlowDown",
  507: "InsufficientStorage",
};
const bytesBeforeFault = 1_500_000;

export class FaultProxy {
  fault: StoreFault | undefined;
  /** Only for these methods; undefined for all. */
  methods: readonly string[] | undefined;
  /** Only for paths that contain it. */
  path = "";
  /** How many of these requests pass before it fails. */
  passing = 0;
  readonly #server: Server;
  readonly #open = new Set<IncomingMessage>();
  requests: string[] = [];
  bytesSent = 0;

  private constructor(target: number) {
    this.#server = createServer((incoming, response) => this.#pass(incoming, response, target));
  }

  static async start(target: number): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await new Promise((resolve) => proxy.#server.once("listening", resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Requests to the store that are not finished. */
  get openRequests(): number {
    return this.#open.size;
  }

  heal(): void {
    this.fault = undefined;
    this.methods = undefined;
    this.path = "";
    this.passing = 0;
    this.#server.closeAllConnections();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #faultFor({ method = "", url = "" }: IncomingMessage): StoreFault | undefined {
    if (this.fault === undefined || this.methods?.includes(method) === false) return undefined;
    if (!url.includes(this.path)) return undefined;
    if (this.passing === 0) return this.fault;
    this.passing -= 1;
    return undefined;
  }

  #pass(incoming: IncomingMessage, response: ServerResponse, target: number): void {
    this.requests.push(`${incoming.method} ${incoming.url}`);
    const fault = this.#faultFor(incoming);
    if (fault === "cut") return void incoming.socket.destroy();
    if (fault === "silence") return void incoming.resume();
    if (typeof fault === "number") {
      incoming.resume();
      const code = errorCodes[fault];
      response.writeHead(fault, { "content-type": "application/xml" });
      return void response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`);
    }
    this.#open.add(incoming);
    const { method, url: path, headers } = incoming;
    const forwarded = request({ host: "127.0.0.1", port: target, method, path, headers }, (answer) => {
      if (fault === "unanswered") return void answer.resume();
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      let sent = 0;
      answer.on("data", (piece: Buffer) => {
        sent += piece.length;
        this.bytesSent += piece.length;
        if (fault === "short" && sent > bytesBeforeFault) return void incoming.socket.destroy();
        if (fault === "slow" && sent > bytesBeforeFault) return void answer.pause();
        if (!response.write(piece)) {
          answer.pause();
          response.once("drain", () => answer.resume());
        }
      });
      answer.once("end", () => response.end());
    });
    forwarded.once("error", () => incoming.socket.destroy());
    response.once("close", () => {
      this.#open.delete(incoming);
      forwarded.destroy();
    });
    incoming.pipe(forwarded);
  }
}
