/** A load generator that costs little itself: raw keep-alive sockets, one request at a time on each, answers only counted. */
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
  /** Answers that were not 2xx: a benchmark of refusals is none. */
  readonly refused: number;
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

/** Sends for so long on so many connections, then waits for the last answers. */
export async function measure(
  target: Target,
  connections: number,
  seconds: number,
  next: NextRequest,
): Promise<Measured> {
  const started = performance.now();
  const deadline = started + seconds * 1000;
  const results = await Promise.all(
    Array.from({ length: connections }, () => drive(target, next, () => performance.now() < deadline)),
  );
  const elapsed = (performance.now() - started) / 1000;
  const requests = results.reduce((sum, result) => sum + result.requests, 0);
  const refused = results.reduce((sum, result) => sum + result.refused, 0);
  return { requests, seconds: elapsed, perSecond: requests / elapsed, refused };
}

/** Exactly so many requests, one after the other on each connection. */
export async function repeat(target: Target, connections: number, count: number, next: NextRequest): Promise<Measured> {
  let left = count;
  const started = performance.now();
  const results = await Promise.all(Array.from({ length: connections }, () => drive(target, next, () => left-- > 0)));
  const elapsed = (performance.now() - started) / 1000;
  const requests = results.reduce((sum, result) => sum + result.requests, 0);
  const refused = results.reduce((sum, result) => sum + result.refused, 0);
  return { requests, seconds: elapsed, perSecond: requests / elapsed, refused };
}

async function drive(
  target: Target,
  next: NextRequest,
  more: () => boolean,
): Promise<{ requests: number; refused: number }> {
  const socket = connect(target.port, target.host);
  socket.setNoDelay(true);
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  let requests = 0;
  let refused = 0;
  while (more()) {
    socket.write(next());
    const status = await answer(socket);
    requests += 1;
    if (status < 200 || status >= 300) refused += 1;
  }
  socket.destroy();
  return { requests, refused };
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
