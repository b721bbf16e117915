/** Makes all outgoing requests. It connects to the address that it checked after the DNS lookup, so that DNS rebinding has no effect. */
import { lookup as lookUp } from "node:dns";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { parseBounded, TooManyMembers } from "../kernel/bounded-json.ts";
import { addressClassifier, type AddressClass } from "./addresses.ts";

export interface OutgoingOptions {
  /** Private addresses that the service can call, also without TLS. */
  readonly allowed: readonly string[];
  readonly timeoutMs?: number;
  readonly bytesMax?: number;
}

const timeoutMsByDefault = 5000;
const bytesMaxByDefault = 1024 * 1024;
const okStatus = 200;

/** Throws OutgoingError. */
export async function fetchJson(url: string, options: OutgoingOptions): Promise<unknown> {
  const text = await fetchText(url, options);
  try {
    return parseBounded(Buffer.from(text));
  } catch (error) {
    const why = error instanceof TooManyMembers ? "too much JSON" : "not JSON";
    throw new OutgoingError(`The response of ${hostOf(url)} is ${why}.`);
  }
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "the address");

async function fetchText(url: string, options: OutgoingOptions): Promise<string> {
  const { bytesMax = bytesMaxByDefault } = options;
  return exchange(url, { method: "GET" }, options, async (response, host) => {
    if (response.statusCode !== okStatus)
      throw new OutgoingError(`${host} responded with the status ${response.statusCode}.`);
    const { text, isCut } = await readBody(response, bytesMax);
    if (isCut) throw new OutgoingError(`The response of ${host} is larger than ${bytesMax} bytes.`);
    return text;
  });
}

export interface OutgoingRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface OutgoingResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: string;
  readonly isCut: boolean;
}

/** Accepts every status; doesn't follow redirects. Throws OutgoingError. */
export async function sendRequest(
  url: string,
  request: OutgoingRequest,
  options: OutgoingOptions,
): Promise<OutgoingResponse> {
  return exchange(url, request, options, async (response) => {
    const { text: body, isCut } = await readBody(response, options.bytesMax ?? bytesMaxByDefault);
    const headers = Object.fromEntries(
      Object.entries(response.headersDistinct).map(([name, values]) => [name, values ?? []]),
    );
    return { status: response.statusCode ?? 0, headers, body, isCut };
  });
}

async function exchange<T>(
  url: string,
  request: OutgoingRequest,
  { allowed, timeoutMs = timeoutMsByDefault }: OutgoingOptions,
  read: (response: IncomingMessage, host: string) => Promise<T>,
): Promise<T> {
  const target = targetOf(url);
  const check = addressCheckFor(target, allowed);
  const signal = AbortSignal.timeout(timeoutMs);
  let response: IncomingMessage | undefined;
  try {
    response = await openRequest(target, request, check, signal);
    return await read(response, target.host);
  } catch (error) {
    if (error instanceof OutgoingError) throw error;
    const reason = signal.aborted
      ? "it took too long"
      : (error as Error).message || (error as NodeJS.ErrnoException).code;
    throw new OutgoingError(`${target.host} can't be reached (${reason}).`);
  } finally {
    response?.destroy();
  }
}

/** Throws OutgoingError. */
export function targetOf(url: string): URL {
  const target = URL.canParse(url) ? new URL(url) : undefined;
  if (target === undefined || !["https:", "http:"].includes(target.protocol) || target.username || target.password)
    throw new OutgoingError(
      `${JSON.stringify(url.slice(0, 200))} is not an address that can be called; it must begin with https://.`,
    );
  return target;
}

export function openRequest(
  target: URL,
  { method, headers, body }: OutgoingRequest,
  check: AddressCheck,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const request = target.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const sent = { accept: "application/json", "user-agent": "Cadastre", ...headers };
    request(target, { method, lookup: checkedLookup(check), signal, agent: false, headers: sent }, resolve)
      .on("error", reject)
      .end(body);
  });
}

async function readBody(response: IncomingMessage, bytesMax: number): Promise<{ text: string; isCut: boolean }> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    pieces.push(piece);
    if (bytes > bytesMax) break;
  }
  return { text: Buffer.concat(pieces).subarray(0, bytesMax).toString("utf8"), isCut: bytes > bytesMax };
}

interface OutgoingFetchInit {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams | null | undefined;
}

const bodiless = [204, 205, 304];

/** For libraries: bodies are text or forms. Doesn't follow redirects. Throws OutgoingError. */
export function outgoingFetch(options: OutgoingOptions): (url: string, init: OutgoingFetchInit) => Promise<Response> {
  return async (url, { method, headers, body }) => {
    const sent = body === undefined || body === null ? {} : { body: body.toString() };
    const request = { method: method as OutgoingRequest["method"], headers, ...sent };
    const response = await sendRequest(url, request, options);
    if (response.isCut) throw new OutgoingError(`The response of ${new URL(url).host} is too large.`);
    const received = Object.entries(response.headers).flatMap(([name, values]) =>
      values.map((value): [string, string] => [name, value]),
    );
    const { status } = response;
    return new Response(bodiless.includes(status) ? null : response.body, { status, headers: received });
  };
}

export class OutgoingError extends Error {
  override readonly name = "OutgoingError";
}

/** Repeating the request would fail again, until the address or the operator's settings change. */
export class ForbiddenAddress extends OutgoingError {}

export type AddressCheck = (address: string) => OutgoingError | undefined;

export function addressCheckFor(
  { protocol, hostname, host }: Pick<URL, "protocol" | "hostname" | "host">,
  allowed: readonly string[],
): AddressCheck {
  const rules = addressClassifier(allowed);
  const check: AddressCheck = (address) => {
    const addressClass: AddressClass = rules(address);
    if (addressClass === "allowed" || (addressClass === "public" && protocol === "https:")) return undefined;
    return new ForbiddenAddress(
      addressClass === "public"
        ? `${host} is only called over https.`
        : `${host} leads to a private address (${address}). The operator can allow that with CADASTRE_ALLOW_PRIVATE_ADDRESSES.`,
    );
  };
  const literal = hostname.replace(/^\[|\]$/g, "");
  const fault = isIP(literal) === 0 ? undefined : check(literal);
  if (fault !== undefined) throw fault;
  return check;
}

export function checkedLookup(check: AddressCheck): LookupFunction {
  return (name, options, done) =>
    lookUp(name, { ...options, all: true }, (error, resolved) => {
      const fault = error ?? resolved.map(({ address }) => check(address)).find((each) => each !== undefined);
      const [first] = resolved ?? [];
      if (fault !== undefined || first === undefined) done(fault ?? new Error(`${name} has no address`), "", 0);
      else if (options.all) done(null, resolved);
      else done(null, first.address, first.family);
    });
}

/** For a program that then connects to the address. Throws OutgoingError. */
export async function resolveAllowedAddress(host: string, port: string, allowed: readonly string[]): Promise<string> {
  const hostname = isIP(host) === 6 ? `[${host}]` : host;
  // SSH is as safe as TLS.
  const check = addressCheckFor({ protocol: "https:", hostname, host: `${hostname}:${port}` }, allowed);
  if (isIP(host) !== 0) return host;
  return new Promise((resolve, reject) => {
    checkedLookup(check)(host, {}, (error, address) => {
      if (error === null) return resolve(address as string);
      reject(
        error instanceof OutgoingError ? error : new OutgoingError(`${host} can't be reached (${error.message}).`),
      );
    });
  });
}
