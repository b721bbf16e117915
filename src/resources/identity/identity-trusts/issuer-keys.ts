/** The keys of those who are trusted, fetched from themselves when they are first needed and kept for a while. */
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { z } from "zod";
import { nowMs } from "../../../kernel/time.ts";
import { fetchJson, OutgoingFault, type OutgoingOptions } from "../../../outgoing/request.ts";

const discovery = z.object({ issuer: z.string(), jwks_uri: z.string() });
const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) });

interface Kept {
  readonly keys: Promise<JWTVerifyGetKey>;
  readonly at: number;
}

const keptMs = 10 * 60_000;
/** A key that nobody knows may be a new one, or made up: whoever makes them up must not have us ask again and again. */
const againMs = 30_000;
const issuersMax = 1000;

const kept = new Map<string, Kept>();

/** Raises OutgoingFault. */
export function keysOf(issuer: string, options: OutgoingOptions, isUnknownKey = false): Promise<JWTVerifyGetKey> {
  const known = kept.get(issuer);
  const age = nowMs() - (known?.at ?? -Infinity);
  if (known !== undefined && age < (isUnknownKey ? againMs : keptMs)) return known.keys;
  if (kept.size >= issuersMax) kept.clear();
  const keys = fetchKeys(issuer, options);
  kept.set(issuer, { keys, at: nowMs() });
  // What failed is not kept.
  keys.catch(() => kept.delete(issuer));
  return keys;
}

async function fetchKeys(issuer: string, options: OutgoingOptions): Promise<JWTVerifyGetKey> {
  const address = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const found = discovery.safeParse(await fetchJson(address, options));
  if (!found.success || found.data.issuer !== issuer)
    throw new OutgoingFault(`${address} does not describe the issuer ${issuer}.`);
  const keys = keySet.safeParse(await fetchJson(found.data.jwks_uri, options));
  if (!keys.success) throw new OutgoingFault(`${found.data.jwks_uri} is not a set of keys.`);
  return createLocalJWKSet(keys.data as JSONWebKeySet);
}
