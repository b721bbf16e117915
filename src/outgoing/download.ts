/** Downloads files from a mirror, following redirects. Only the mirror itself may have a private address, and no redirect may leave TLS. */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import type { IncomingMessage } from "node:http";
import { pipeline } from "node:stream/promises";
import {
  type AddressCheck,
  addressCheckFor,
  ForbiddenAddress,
  openRequest,
  OutgoingError,
  targetOf,
} from "./request.ts";

export interface DownloadOptions {
  readonly bytesMax: number;
  /** Without TLS; for the first address only, never for a redirect. */
  readonly isPlainAllowed?: boolean;
  readonly signal?: AbortSignal;
}

/** Repeating the download would fail again: the mirror sends what must not be used. */
export class DownloadRefused extends OutgoingError {}

/** The mirror doesn't have the file. */
export class DownloadMissing extends OutgoingError {}

const redirectsMax = 5;
const idleMs = 30_000;
const totalMs = 15 * 60_000;
const redirectStatuses = [301, 302, 303, 307, 308];
const missingStatuses = [404, 410];

/** Throws OutgoingError. */
export async function downloadBytes(url: string, options: DownloadOptions): Promise<Buffer> {
  return download(url, options, async (body) => Buffer.concat(await Array.fromAsync(body)));
}

/** Returns the SHA-256 of the file. Throws OutgoingError, and errors of the disk. */
export async function downloadFile(url: string, path: string, options: DownloadOptions): Promise<string> {
  const hash = createHash("sha256");
  await download(url, options, (body) =>
    pipeline(
      body,
      async function* (pieces: AsyncIterable<Buffer>) {
        for await (const piece of pieces) {
          hash.update(piece);
          yield piece;
        }
      },
      createWriteStream(path, { flags: "wx", mode: 0o600 }),
    ),
  );
  return hash.digest("hex");
}

async function download<Result>(
  url: string,
  options: DownloadOptions,
  use: (body: AsyncGenerator<Buffer>) => Promise<Result>,
): Promise<Result> {
  const progress = new ProgressWatch(options.signal);
  const own = targetOf(url);
  let response: IncomingMessage | undefined;
  try {
    response = await follow(own, options, progress);
    return await use(boundedBody(response, own.host, options.bytesMax, progress));
  } catch (error) {
    options.signal?.throwIfAborted();
    if (error instanceof OutgoingError || isOfDisk(error)) throw error;
    const { message, code } = error as NodeJS.ErrnoException;
    throw new OutgoingError(`${own.host} can't be reached (${progress.fault ?? (message || code)}).`);
  } finally {
    progress.end();
    response?.destroy();
  }
}

const isOfDisk = (error: unknown): boolean =>
  ["ENOSPC", "EDQUOT", "EACCES", "EROFS", "EEXIST", "ENOENT", "EIO"].includes(
    (error as NodeJS.ErrnoException).code ?? "",
  );

async function follow(own: URL, options: DownloadOptions, progress: ProgressWatch): Promise<IncomingMessage> {
  let target = own;
  for (let redirects = 0; redirects <= redirectsMax; redirects += 1) {
    const response = await openAt(target, own, options, progress);
    const { statusCode = 0, headers } = response;
    if (statusCode === 200) return response;
    response.destroy();
    if (missingStatuses.includes(statusCode))
      throw new DownloadMissing(`${target.host} does not have ${target.pathname}.`);
    if (!redirectStatuses.includes(statusCode) || headers.location === undefined)
      throw new OutgoingError(`${target.host} responded with the status ${statusCode}.`);
    target = redirectTarget(headers.location, target);
  }
  throw new OutgoingError(`${own.host} redirects more than ${redirectsMax} times.`);
}

function redirectTarget(location: string, from: URL): URL {
  const target = URL.canParse(location, from) ? new URL(location, from) : undefined;
  if (target === undefined || target.protocol !== "https:" || target.username !== "" || target.password !== "")
    throw new DownloadRefused(
      `${from.host} redirects to an address without TLS (${location.slice(0, 200)}). Redirects must begin with https://.`,
    );
  return target;
}

async function openAt(
  target: URL,
  own: URL,
  { isPlainAllowed = false }: DownloadOptions,
  progress: ProgressWatch,
): Promise<IncomingMessage> {
  if (target.protocol !== "https:" && !isPlainAllowed)
    throw new DownloadRefused(`${target.host} is only called over https.`);
  try {
    const check: AddressCheck = target.hostname === own.hostname ? () => undefined : addressCheckFor(target, []);
    const headers = { accept: "*/*", "accept-encoding": "identity" };
    return await openRequest(target, { method: "GET", headers }, check, progress.signal);
  } catch (error) {
    if (!(error instanceof ForbiddenAddress)) throw error;
    throw new DownloadRefused(
      `${own.host} redirects to ${target.host}, which has a private address. Only the mirror itself can have one.`,
    );
  }
}

async function* boundedBody(
  response: IncomingMessage,
  host: string,
  bytesMax: number,
  progress: ProgressWatch,
): AsyncGenerator<Buffer> {
  const refuse = () => new DownloadRefused(`The response of ${host} is larger than ${bytesMax} bytes.`);
  if (Number(response.headers["content-length"] ?? 0) > bytesMax) throw refuse();
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    progress.note();
    bytes += piece.length;
    if (bytes > bytesMax) throw refuse();
    yield piece;
  }
}

/** Aborts a download that stands still or takes too long. */
class ProgressWatch {
  readonly signal: AbortSignal;
  readonly #stop = new AbortController();
  readonly #total: NodeJS.Timeout;
  #idle: NodeJS.Timeout | undefined;
  fault: string | undefined;

  constructor(outer: AbortSignal | undefined) {
    this.signal = outer === undefined ? this.#stop.signal : AbortSignal.any([outer, this.#stop.signal]);
    this.#total = setTimeout(() => this.#abort("it took too long"), totalMs);
    this.note();
  }

  note(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#abort("it stopped sending"), idleMs);
  }

  end(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#total);
  }

  #abort(fault: string): void {
    this.fault ??= fault;
    this.#stop.abort();
  }
}
