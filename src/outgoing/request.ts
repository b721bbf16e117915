/**
 * The one way in which the service calls others: TLS verified, bounded in time and size, no redirects, and no address that it should
 * not call, judged after its name was looked up, so that a name that leads elsewhere a moment later leads nowhere.
 */
import { lookup as lookUp } from "node:dns";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { parseBounded, TooManyMembers } from "../kernel/bounded-json.ts";
import { addressRules, type Standing } from "./addresses.ts";

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

interface Init {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams | null | undefined;
}

const bodiless = [204, 205, 304];

/** Bodies are texts or forms; no redirect is followed. Raises OutgoingFault. */
export function outgoingFetch(options: OutgoingOptions): (url: string, init: Init) => Promise<Response> {
  return async (url, { method, headers, body }) => {
    const sent = body === undefined || body === null ? {} : { body: body.toString() };
    const request = { method: method as OutgoingRequest["method"], headers, ...sent };
    const answer = await callOut(url, request, options);
    if (answer.isCut) throw new OutgoingFault(`${new URL(url).host} answers with more than is taken.`);
    const received = Object.entries(answer.headers).flatMap(([name, values]) =>
      values.map((value): [string, string] => [name, value]),
    );
    const { status } = answer;
    return new Response(bodiless.includes(status) ? null : answer.body, { status, headers: received });
  };
}

/** Why nothing came of it: a sentence for whoever named the address. */
export class OutgoingFault extends Error {
  override readonly name = "OutgoingFault";
}

/** The same once more would be refused again: until the operator or the address is another. */
export class ForbiddenAddress extends OutgoingFault {}

export type Judge = (address: string) => OutgoingFault | undefined;

/** Without TLS only what the operator has named. */
export function judgeOf(
  { protocol, hostname, host }: Pick<URL, "protocol" | "hostname" | "host">,
  allowed: readonly string[],
): Judge {
  const rules = addressRules(allowed);
  const judge: Judge = (address) => {
    const standing: Standing = rules(address);
    if (standing === "named" || (standing === "public" && protocol === "https:")) return undefined;
    return new ForbiddenAddress(
      standing === "public"
        ? `${host} is only called over https.`
        : `${host} leads to a private address (${address}). The operator can allow that with CADASTRE_ALLOW_PRIVATE_ADDRESSES.`,
    );
  };
  const literal = hostname.replace(/^\[|\]$/g, "");
  const fault = isIP(literal) === 0 ? undefined : judge(literal);
  if (fault !== undefined) throw fault;
  return judge;
}

/** What is connected to is what was judged: the connection is made to these very addresses. */
export function judgedLookup(judge: Judge): LookupFunction {
  return (name, options, done) =>
    lookUp(name, { ...options, all: true }, (error, found) => {
      const fault = error ?? found.map(({ address }) => judge(address)).find((each) => each !== undefined);
      const [first] = found ?? [];
      if (fault !== undefined || first === undefined) done(fault ?? new Error(`${name} has no address`), "", 0);
      else if (options.all) done(null, found);
      else done(null, first.address, first.family);
    });
}

/** The first address of a name that may be called, for a program that is then to call that. Raises OutgoingFault. */
export async function judgedAddress(host: string, port: string, allowed: readonly string[]): Promise<string> {
  const hostname = isIP(host) === 6 ? `[${host}]` : host;
  // What is spoken there is as safe as TLS.
  const judge = judgeOf({ protocol: "https:", hostname, host: `${hostname}:${port}` }, allowed);
  if (isIP(host) !== 0) return host;
  return new Promise((resolve, reject) => {
    judgedLookup(judge)(host, {}, (error, address) => {
      if (error === null) return resolve(address as string);
      reject(
        error instanceof OutgoingFault ? error : new OutgoingFault(`${host} can't be reached (${error.message}).`),
      );
    });
  });
}
