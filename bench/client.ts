/** A cheap load generator: raw keep-alive sockets with one request at a time; responses are only counted. */
import { connect, type Socket } from "node:net";

export interface Target {
  readonly host: string;
  readonly port: number;
}

/** The bytes of the next request. */
export type NextRequest = () => Buffer;

export interface Measured {
  readonly requests: number;
  readonly seconds: number;
  readonly perSecond: number;
  /** Responses that were not 2xx, which invalidate the benchmark. */
  readonly refused: number;
  /** How long each request took, in milliseconds, in rising order. */
  readonly latencies: readonly number[];
}

export function request(method: string, path: string, token: string, body?: object): Buffer {
  const text = body === undefined ? "" : JSON.stringify(body);
  const head = [
    `${method} ${path} HTTP/1.1`,
    "Host: 127.0.0.1",
    `Authorization: Bearer ${token}`,
    ...(body === undefined ? [] : ["Content-Type: application/vnd.api+json"]),
    `Content-Length: ${Buffer.byteLength(text)}`,
    "",
    text,
  ];
  return Buffer.from(head.join("\r\n"));
}

/** Sends for a duration on several connections, then waits for the last responses. */
export async function measure(
  target: Target,
  connections: number,
  seconds: number,
  next: NextRequest,
): Promise<Measured> {
  const deadline = performance.now() + seconds * 1000;
  return driveAll(target, connections, next, () => performance.now() < deadline);
}

/** Sends an exact number of requests. */
export async function repeat(target: Target, connections: number, count: number, next: NextRequest): Promise<Measured> {
  let left = count;
  return driveAll(target, connections, next, () => left-- > 0);
}

/** Sends at a fixed rate on one connection until it is stopped. Returns how many were sent and how many failed. */
export function sendAtRate(target: Target, perSecond: number, next: NextRequest): { stop(): Promise<Drive> } {
  let stopped = false;
  let due = performance.now();
  const driven = drive(target, next, async () => {
    due += 1000 / perSecond;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
    return !stopped;
  });
  return {
    stop: () => {
      stopped = true;
      return driven;
    },
  };
}

let maySleep = false;

/** Not with PostgreSQL, which needs the core that busy waiting would take. */
export function allowSleep(may: boolean): void {
  maySleep = may;
}

/**
 * Keeps this process awake between responses. Waking it costs the responding server several microseconds, and only the slower of two servers
 * lets it sleep, which would be counted against it twice.
 */
function stayAwake(): () => void {
  let awake = !maySleep;
  const turn = () => void (awake && setImmediate(turn));
  turn();
  return () => {
    awake = false;
  };
}

async function driveAll(
  target: Target,
  connections: number,
  next: NextRequest,
  more: () => boolean,
): Promise<Measured> {
  const started = performance.now();
  const rest = stayAwake();
  const results = await Promise.all(Array.from({ length: connections }, () => drive(target, next, more)));
  rest();
  const seconds = (performance.now() - started) / 1000;
  const latencies = results.flatMap((result) => result.latencies).sort((one, other) => one - other);
  const refused = results.reduce((sum, result) => sum + result.refused, 0);
  return { requests: latencies.length, seconds, perSecond: latencies.length / seconds, refused, latencies };
}

interface Drive {
  readonly latencies: number[];
  readonly refused: number;
}

async function drive(target: Target, next: NextRequest, more: () => boolean | Promise<boolean>): Promise<Drive> {
  const socket = connect(target.port, target.host);
  socket.setNoDelay(true);
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  const latencies: number[] = [];
  let refused = 0;
  while (await more()) {
    const sent = performance.now();
    socket.write(next());
    const status = await answer(socket);
    latencies.push(performance.now() - sent);
    if (status < 200 || status >= 300) refused += 1;
  }
  socket.destroy();
  return { latencies, refused };
}

/** The status of one whole answer. */
async function answer(socket: Socket): Promise<number> {
  return new Promise((resolve, reject) => {
    let head = "";
    let missing = -1;
    let status = 0;
    const onData = (chunk: Buffer) => {
      if (missing < 0) {
        head += chunk.toString("latin1");
        const end = head.indexOf("\r\n\r\n");
        if (end < 0) return;
        status = Number(head.slice(9, 12));
        const length = Number(/content-length: (\d+)/i.exec(head.slice(0, end))?.[1] ?? 0);
        missing = length - (head.length - end - 4);
      } else {
        missing -= chunk.length;
      }
      if (missing <= 0) done();
    };
    const onError = (error: Error) => done(error);
    const onClose = () => done(new Error("the server closed the connection"));
    const done = (error?: Error) => {
      socket.off("data", onData).off("error", onError).off("close", onClose);
      if (error === undefined) resolve(status);
      else reject(error);
    };
    socket.on("data", onData).on("error", onError).on("close", onClose);
  });
}
