/**
 * The one way in which the service calls others: TLS verified, bounded in time and size, no redirects, and no address that it should
 * not call, judged after its name was looked up, so that a name that leads elsewhere a moment later leads nowhere.
 */
import { lookup as lookUp } from "node:dns";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { addressRules, type Standing } from "./addresses.ts";

/** Why nothing came of it: a sentence for whoever named the address. */
export class OutgoingFault extends Error {
  override readonly name = "OutgoingFault";
}

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
    return JSON.parse(text) as unknown;
  } catch {
    throw new OutgoingFault(`What ${hostOf(url)} answers is not JSON.`);
  }
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "the address");

async function fetchText(url: string, options: OutgoingOptions): Promise<string> {
  const target = targetOf(url);
  const judge = judgeOf(target, options.allowed);
  const signal = AbortSignal.timeout(options.timeoutMs ?? timeoutMsByDefault);
  try {
    const answer = await ask(target, judge, signal);
    if (answer.statusCode !== good) {
      answer.destroy();
      throw new OutgoingFault(`${target.host} answered with the status ${answer.statusCode}.`);
    }
    return await gathered(answer, options.bytesMax ?? bytesMaxByDefault, target.host);
  } catch (error) {
    if (error instanceof OutgoingFault) throw error;
    const reason = signal.aborted
      ? "it took too long"
      : (error as Error).message || (error as NodeJS.ErrnoException).code;
    throw new OutgoingFault(`${target.host} can't be reached (${reason}).`);
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

type Judge = (address: string) => OutgoingFault | undefined;

/** Without TLS only what the operator has named. */
function judgeOf({ protocol, hostname, host }: URL, allowed: readonly string[]): Judge {
  const rules = addressRules(allowed);
  const judge: Judge = (address) => {
    const standing: Standing = rules(address);
    if (standing === "named" || (standing === "public" && protocol === "https:")) return undefined;
    return new OutgoingFault(
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

function ask(target: URL, judge: Judge, signal: AbortSignal): Promise<IncomingMessage> {
  // What is connected to is what was judged: the connection is made to these very addresses.
  const lookup: LookupFunction = (name, options, done) =>
    lookUp(name, { ...options, all: true }, (error, found) => {
      const fault = error ?? found.map(({ address }) => judge(address)).find((each) => each !== undefined);
      const [first] = found ?? [];
      if (fault !== undefined || first === undefined) done(fault ?? new Error(`${name} has no address`), "", 0);
      else if (options.all) done(null, found);
      else done(null, first.address, first.family);
    });
  const request = target.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    request(target, { lookup, signal, agent: false, headers: { accept: "application/json" } }, resolve)
      .on("error", reject)
      .end();
  });
}

async function gathered(answer: IncomingMessage, bytesMax: number, host: string): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new OutgoingFault(`${host} answers with more than ${bytesMax} bytes.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}
