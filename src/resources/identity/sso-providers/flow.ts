/** The state of a sign-in between redirect and callback, encrypted in the browser so that only that browser can finish the sign-in. */
import { randomBytes } from "node:crypto";
import { z } from "zod";
import { nowMs } from "../../../kernel/time.ts";
import type { Vault } from "../../../database/vault.ts";

export interface SsoFlow {
  readonly providerId: string;
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  readonly returnTo: string;
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

/** Long enough to look up a password and a second factor. */
export const flowSeconds = 600;
/** The encryption context of a flow: another text would refuse sign-ins in progress. */
const flowOwner = "a way to a provider of single sign-on and back";
const random = () => randomBytes(32).toString("base64url");

export function newFlow(providerId: string, returnTo: string): SsoFlow {
  const until = nowMs() + flowSeconds * 1000;
  return { providerId, state: random(), nonce: random(), codeVerifier: random(), returnTo, until };
}

export const sealFlow = (vault: Vault, flow: SsoFlow): string =>
  Buffer.from(vault.seal(flowOwner, Buffer.from(JSON.stringify(flow)))).toString("base64url");

export function openFlow(vault: Vault, sealed: string | undefined): SsoFlow | undefined {
  if (sealed === undefined) return undefined;
  try {
    const opened = vault.open(flowOwner, Buffer.from(sealed, "base64url"));
    const flow = shape.parse(JSON.parse(Buffer.from(opened).toString("utf8")));
    return flow.until > nowMs() ? flow : undefined;
  } catch {
    return undefined;
  }
}

const home = "/app";
const pathMax = 2048;

/** Only a path on this site, so that the sign-in can't redirect to another host. */
export function safeReturnPath(requested: string | undefined): string {
  if (requested === undefined || requested.length > pathMax || !/^\/(?![/\\])[\x21-\x7e]*$/.test(requested))
    return home;
  // The origin follows the base only if the path names no host.
  const bases = ["https://a.example", "https://b.example"];
  if (!bases.every((base) => URL.canParse(requested, base) && new URL(requested, base).origin === base)) return home;
  const { pathname, search, hash } = new URL(requested, "https://a.example");
  return /^\/[/\\]/.test(pathname) ? home : `${pathname}${search}${hash}`;
}
