/** A pipeline's own token → a team's, for a while. The pipeline shows who it is by what its issuer has signed; nothing of it is stored. */
import { createLocalJWKSet, decodeJwt, errors, type JSONWebKeySet, jwtVerify, type JWTVerifyGetKey } from "jose";
import { z } from "zod";
import { grant } from "../../../access/granted.ts";
import { newId } from "../../../kernel/ids.ts";
import { fold } from "../../../kernel/text.ts";
import { now, nowMs } from "../../../kernel/time.ts";
import { fetchJson, OutgoingFault, type OutgoingOptions } from "../../../outgoing/request.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { earlier, GrantFault, latestExpiry } from "../authentication-tokens/rules.ts";
import { issueSignInToken } from "../authentication-tokens/writes.ts";
import { tokenMaxMs } from "../organization-token-ttl-policies/reads.ts";
import { restrictsPipelines } from "./definition.ts";
import { type Claims, claimsFit } from "./rules.ts";
import { findTrustsOfIssuer, type TrustOfIssuer } from "./store.ts";

export interface Exchange {
  readonly organization: string;
  readonly subjectToken: string;
  /** The trust's name, where several fit. */
  readonly trust: string | undefined;
}

export interface Exchanged {
  readonly token: string;
  readonly expiresInSeconds: number;
}

/** None that could be forged by whoever knows a public key. */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
const clockToleranceSeconds = 60;

/** Raises GrantFault. */
export async function exchangeIdentity(context: Context, asked: Exchange): Promise<Exchanged> {
  const issuer = issuerIn(asked.subjectToken, nowMs() / 1000 - clockToleranceSeconds);
  const trusts = await findTrustsOfIssuer(context.database.reader, asked.organization, issuer);
  if (trusts.length === 0) throw nobody;
  const claims = await verified(context, asked.subjectToken, issuer);
  const trust = fitting(trusts, claims, asked.trust);
  return give(context, trust, claims);
}

/** Which organizations there are, and whom they trust, is nobody's business: also not of who makes a token up. */
const nobody = new GrantFault(
  "invalid_grant",
  "No trust of this organization fits the token, or its issuer has not signed it: compare its issuer, audience and claims with the organization's identity-trusts.",
);

/** What a token says of itself, before anything of it is believed. Raises GrantFault. */
function issuerIn(token: string, expiredBefore: number): string {
  const { iss, exp } = decoded(token);
  if (typeof iss !== "string" || iss.includes("\0") || !iss.isWellFormed())
    throw new GrantFault("invalid_request", "The subject_token is not a JSON Web Token with an issuer.");
  // Told to everybody alike, whoever is trusted.
  if (typeof exp === "number" && exp <= expiredBefore)
    throw new GrantFault(
      "invalid_grant",
      "The subject_token has expired. Ask for a new one just before it is exchanged.",
    );
  return iss;
}

function decoded(token: string): Readonly<Record<string, unknown>> {
  try {
    return decodeJwt(token);
  } catch {
    // Then it is none.
    return {};
  }
}

/** By the issuer's own keys; only those of issuers who are trusted are ever asked for. */
async function verified({ options }: Context, token: string, issuer: string): Promise<Claims> {
  const outgoing = { allowed: options.privateAddresses ?? [] };
  const currentDate = new Date(nowMs());
  const checks = { issuer, algorithms, currentDate, clockTolerance: clockToleranceSeconds, requiredClaims: ["exp"] };
  const verify = async (isUnknownKey: boolean) =>
    (await jwtVerify(token, await keysOf(issuer, outgoing, isUnknownKey), checks)).payload;
  try {
    return await verify(false).catch((error: unknown) => {
      if (error instanceof errors.JWKSNoMatchingKey) return verify(true);
      throw error;
    });
  } catch (error) {
    throw faultOf(error);
  }
}

function faultOf(error: unknown): unknown {
  if (error instanceof OutgoingFault)
    return new GrantFault("invalid_grant", `The issuer's keys can't be had: ${error.message}`);
  return error instanceof errors.JOSEError || error instanceof TypeError ? nobody : error;
}

function fitting(trusts: readonly TrustOfIssuer[], claims: Claims, name: string | undefined): TrustOfIssuer {
  const audiences = new Set([claims["aud"]].flat());
  const nameKey = name === undefined ? undefined : fold(name);
  const fit = trusts.filter((trust) => {
    if (!audiences.has(trust.audience) || (nameKey !== undefined && trust.nameKey !== nameKey)) return false;
    const wanted = JSON.parse(trust.claims) as Record<string, string>;
    // Some were stored before a trust had to leave anybody out.
    return restrictsPipelines(wanted) && claimsFit(wanted, claims);
  });
  const [first, ...others] = fit;
  if (first === undefined) throw nobody;
  if (others.length > 0)
    throw new GrantFault(
      "invalid_request",
      `Several trusts fit the token: ${fit.map((trust) => trust.name).join(", ")}. Name the one that is meant in the parameter 'trust'.`,
    );
  return first;
}

async function give(context: Context, trust: TrustOfIssuer, claims: Claims): Promise<Exchanged> {
  const id = newId("authentication-tokens");
  const { teamId, organizationId, organizationName, teamName } = trust;
  const actor = { kind: "team", teamId, name: teamName, organizationId, tokenId: id } as const;
  const shown = grant(trust, {
    thing: "team",
    permission: "can-sign-in",
    visible: true,
    allowed: true,
    needs: "a token",
  });
  return context.database.write(async (tx) => {
    const createdAt = now();
    const wanted = new Date(Date.parse(createdAt) + trust.tokenSeconds * 1000).toISOString();
    const latest = latestExpiry(createdAt, await tokenMaxMs(tx, organizationId, "team"));
    const expiredAt = earlier(wanted, latest) ?? wanted;
    const told = toldOf(trust, claims);
    const { secret } = await issueSignInToken(tx, { ...context, actor }, shown, {
      id,
      holder: { kind: "team", teamId, organizationId, organizationName },
      isLegacy: false,
      identityTrustId: trust.id,
      description: `${trust.name}: ${told["sub"] ?? "exchanged"}`.slice(0, 256),
      expiredAt,
    });
    await recordEvent(
      tx,
      { ...context, actor },
      {
        organizationId,
        verb: "exchange",
        subject: { type: "identity-trusts", id: trust.id },
        after: { token: id, "expired-at": expiredAt, claims: told },
      },
    );
    return { token: secret, expiresInSeconds: Math.floor((Date.parse(expiredAt) - Date.parse(createdAt)) / 1000) };
  });
}

const toldLengthMax = 512;

/** Who it was, for the trail: what the trust asks for, and what every token says. */
function toldOf(trust: TrustOfIssuer, claims: Claims): Record<string, string> {
  const names = new Set(["iss", "sub", "aud", "jti", ...Object.keys(JSON.parse(trust.claims) as object)]);
  const said = [...names].filter((name) => claims[name] !== undefined);
  return Object.fromEntries(
    said.map((name) => {
      const value = claims[name];
      const text = typeof value === "string" ? value.replaceAll("\0", "") : JSON.stringify(value);
      return [name, text.slice(0, toldLengthMax).toWellFormed()];
    }),
  );
}

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
function keysOf(issuer: string, options: OutgoingOptions, isUnknownKey = false): Promise<JWTVerifyGetKey> {
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
