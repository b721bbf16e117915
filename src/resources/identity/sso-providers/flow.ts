/**
 * One way to a provider and back: what has to be remembered between the two, sealed, in the browser that went. So whoever comes back is
 * who went, with what was asked, and nothing waits on the server for those who never do.
 */
import { randomBytes } from "node:crypto";
import { z } from "zod";
import { nowMs } from "../../../kernel/time.ts";
import type { Vault } from "../../../database/vault.ts";

export interface Flow {
  readonly providerId: string;
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** A path of ours. */
  readonly returnTo: string;
  /** In milliseconds. */
  readonly until: number;
}

const shape = z.object({
  providerId: z.string(),
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  returnTo: z.string(),
  until: z.number(),
});

/** Long enough to find a password and a second factor. */
export const flowSeconds = 600;
const owner = "a way to a provider of single sign-on and back";
const random = () => randomBytes(32).toString("base64url");

export function newFlow(providerId: string, returnTo: string): Flow {
  const until = nowMs() + flowSeconds * 1000;
  return { providerId, state: random(), nonce: random(), codeVerifier: random(), returnTo, until };
}

export const sealFlow = (vault: Vault, flow: Flow): string =>
  Buffer.from(vault.seal(owner, Buffer.from(JSON.stringify(flow)))).toString("base64url");

/** Undefined for what we did not seal, and for what is too old. */
export function openFlow(vault: Vault, sealed: string | undefined): Flow | undefined {
  if (sealed === undefined) return undefined;
  try {
    const opened = vault.open(owner, Buffer.from(sealed, "base64url"));
    const flow = shape.parse(JSON.parse(Buffer.from(opened).toString("utf8")));
    return flow.until > nowMs() ? flow : undefined;
  } catch {
    return undefined;
  }
}

const home = "/app";
const pathMax = 2048;

/** Where to go on afterwards: a path of ours, however it is spelled, and nothing that a browser takes for another host. */
export function pathOfOurs(asked: string | undefined): string {
  if (asked === undefined || asked.length > pathMax || !/^\/(?![/\\])[\x21-\x7e]*$/.test(asked)) return home;
  // Where any base gives the same, no host was named.
  const bases = ["https://a.example", "https://b.example"];
  if (!bases.every((base) => URL.canParse(asked, base) && new URL(asked, base).origin === base)) return home;
  const { pathname, search, hash } = new URL(asked, "https://a.example");
  return /^\/[/\\]/.test(pathname) ? home : `${pathname}${search}${hash}`;
}
