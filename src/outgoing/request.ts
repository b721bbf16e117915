/**
 * The one way in which the service calls others: TLS verified, bounded in time and size, no redirects, and no address that it should
 * not call, judged after its name was looked up, so that a name that leads elsewhere a moment later leads nowhere.
 */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { parseBounded, TooManyMembers } from "../kernel/bounded-json.ts";
import { ForbiddenAddress, type Judge, judgedLookup, judgeOf, OutgoingFault } from "./judge.ts";

export { ForbiddenAddress, OutgoingFault };

export interface OutgoingOptions {
  /** Addresses and networks inside the operator's own that may be called, also without TLS. */
  readonly allowed: readonly string[];
  readonly timeoutMs?: number;
  readonly bytesMax?: number;
}

const timeoutMsByDefault = 5000;
const bytesMaxByDefault = 1024 * 1024;
const good = 200;

/** A document of JSON. Raises OutgoingFault. */
export async function fetchJson(url: string, options: OutgoingOptions): Promise<unknown> {
  const text = await fetchText(url, options);
  try {
    return parseBounded(Buffer.from(text));
  } catch (error) {
    const why = error instanceof TooManyMembers ? "too much JSON" : "not JSON";
    throw new OutgoingFault(`What ${hostOf(url)} answers is ${why}.`);
  }
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "the address");

async function fetchText(url: string, options: OutgoingOptions): Promise<string> {
  const { bytesMax = bytesMaxByDefault } = options;
  return talk(url, { method: "GET" }, options, async (answer, host) => {
    if (answer.statusCode !== good) throw new OutgoingFault(`${host} answered with the status ${answer.statusCode}.`);
    const { text, isCut } = await gathered(answer, bytesMax);
    if (isCut) throw new OutgoingFault(`${host} answers with more than ${bytesMax} bytes.`);
    return text;
  });
}

export interface OutgoingRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Instead of, or beside, an `accept` of JSON. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface OutgoingAnswer {
  readonly status: number;
  /** By their lower-case names. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: string;
  /** There was more than `bytesMax`, which nobody read. */
  readonly isCut: boolean;
}

/** Sends something, and gives whatever is answered: any status, a redirect too, for none is followed. Raises OutgoingFault. */
export async function callOut(
  url: string,
  request: OutgoingRequest,
  options: OutgoingOptions,
): Promise<OutgoingAnswer> {
  return talk(url, request, options, async (answer) => {
    const { text: body, isCut } = await gathered(answer, options.bytesMax ?? bytesMaxByDefault);
    const headers = Object.fromEntries(
      Object.entries(answer.headersDistinct).map(([name, values]) => [name, values ?? []]),
    );
    return { status: answer.statusCode ?? 0, headers, body, isCut };
  });
}

/** Whatever is not read of the answer is cut off, with its connection. */
async function talk<T>(
  url: string,
  request: OutgoingRequest,
  { allowed, timeoutMs = timeoutMsByDefault }: OutgoingOptions,
  read: (answer: IncomingMessage, host: string) => Promise<T>,
): Promise<T> {
  const target = targetOf(url);
  const judge = judgeOf(target, allowed);
  const signal = AbortSignal.timeout(timeoutMs);
  let answer: IncomingMessage | undefined;
  try {
    answer = await ask(target, request, judge, signal);
    return await read(answer, target.host);
  } catch (error) {
    if (error instanceof OutgoingFault) throw error;
    const reason = signal.aborted
      ? "it took too long"
      : (error as Error).message || (error as NodeJS.ErrnoException).code;
    throw new OutgoingFault(`${target.host} can't be reached (${reason}).`);
  } finally {
    answer?.destroy();
  }
}

function targetOf(url: string): URL {
  const target = URL.canParse(url) ? new URL(url) : undefined;
  if (target === undefined || !["https:", "http:"].includes(target.protocol) || target.username || target.password)
    throw new OutgoingFault(
      `${JSON.stringify(url.slice(0, 200))} is not an address that can be called; it must begin with https://.`,
    );
  return target;
}

function ask(
  target: URL,
  { method, headers, body }: OutgoingRequest,
  judge: Judge,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const request = target.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const sent = { accept: "application/json", "user-agent": "Cadastre", ...headers };
    request(target, { method, lookup: judgedLookup(judge), signal, agent: false, headers: sent }, resolve)
      .on("error", reject)
      .end(body);
  });
}

async function gathered(answer: IncomingMessage, bytesMax: number): Promise<{ text: string; isCut: boolean }> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer as AsyncIterable<Buffer>) {
    bytes += piece.length;
    pieces.push(piece);
    if (bytes > bytesMax) break;
  }
  return { text: Buffer.concat(pieces).subarray(0, bytesMax).toString("utf8"), isCut: bytes > bytesMax };
}
