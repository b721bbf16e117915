/** Exchanges a pipeline's OpenID Connect token for a short-lived team token. Must not store the pipeline's token. */
import { createLocalJWKSet, decodeJwt, errors, type JSONWebKeySet, jwtVerify, type JWTVerifyGetKey } from "jose";
import { z } from "zod";
import { authorize } from "../../../access/granted.ts";
import { AppError } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { fold } from "../../../kernel/text.ts";
import { now, nowMs } from "../../../kernel/time.ts";
import { fetchJson, OutgoingError, type OutgoingOptions } from "../../../outgoing/request.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { earlierExpiry, latestExpiry, OauthError, ruledToken } from "../authentication-tokens/rules.ts";
import { issueSignInToken } from "../authentication-tokens/writes.ts";
import { restrictsPipelines } from "./definition.ts";
import { type PipelineClaims, claimsMatch } from "./rules.ts";
import { findTrustsOfIssuer, lockExchangeLimits, type TrustOfIssuer } from "./store.ts";

export interface TokenExchangeRequest {
  readonly organization: string;
  readonly subjectToken: string;
  readonly trust: string | undefined;
}

export interface ExchangedToken {
  readonly token: string;
  readonly expiresInSeconds: number;
}

/** Asymmetric algorithms only: symmetric ones could be forged with a public key. */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
const clockToleranceSeconds = 60;

export async function exchangeIdentity(context: Context, request: TokenExchangeRequest): Promise<ExchangedToken> {
  const issuer = issuerIn(request.subjectToken, nowMs() / 1000 - clockToleranceSeconds);
  const trusts = await findTrustsOfIssuer(context.database.reader, request.organization, issuer);
  if (trusts.length === 0) throw noMatchingTrust;
  const claims = await verifyToken(context, request.subjectToken, issuer);
  const trust = findMatchingTrust(trusts, claims, request.trust);
  return issueTeamToken(context, trust, claims);
}

/** One error for all cases, so that it doesn't reveal which organizations exist and whom they trust. */
const noMatchingTrust = new OauthError(
  "invalid_grant",
  "No identity trust of this organization matches the token, or the token's signature is invalid. Compare the token's issuer, audience and claims with the organization's identity trusts.",
);

/** Reads unverified claims. Throws `OauthError`. */
function issuerIn(token: string, expiredBefore: number): string {
  const { iss, exp } = decodeToken(token);
  if (typeof iss !== "string" || iss.includes("\0") || !iss.isWellFormed())
    throw new OauthError("invalid_request", "The subject_token is not a JSON Web Token with an issuer.");
  // Before any trust is looked up, so that the response is the same for all organizations.
  if (typeof exp === "number" && exp <= expiredBefore)
    throw new OauthError("invalid_grant", "The subject_token has expired. Request a new one just before the exchange.");
  return iss;
}

function decodeToken(token: string): Readonly<Record<string, unknown>> {
  try {
    return decodeJwt(token);
  } catch {
    return {};
  }
}

/** Fetches keys only from issuers that the organization trusts. */
async function verifyToken({ options }: Context, token: string, issuer: string): Promise<PipelineClaims> {
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
  if (error instanceof OutgoingError)
    return new OauthError("invalid_grant", `The issuer's keys can't be fetched: ${error.message}`);
  return error instanceof errors.JOSEError || error instanceof TypeError ? noMatchingTrust : error;
}

function findMatchingTrust(
  trusts: readonly TrustOfIssuer[],
  claims: PipelineClaims,
  name: string | undefined,
): TrustOfIssuer {
  const audiences = new Set([claims["aud"]].flat());
  const nameKey = name === undefined ? undefined : fold(name);
  const matches = trusts.filter((trust) => {
    if (!audiences.has(trust.audience) || (nameKey !== undefined && trust.nameKey !== nameKey)) return false;
    const patterns = JSON.parse(trust.claims) as Record<string, string>;
    // Trusts may be older than this rule.
    return restrictsPipelines(patterns) && claimsMatch(patterns, claims);
  });
  const [first, ...others] = matches;
  if (first === undefined) throw noMatchingTrust;
  if (others.length > 0)
    throw new OauthError(
      "invalid_request",
      `Several identity trusts match the token: ${matches.map((trust) => trust.name).join(", ")}. Select one with the parameter 'trust'.`,
    );
  return first;
}

async function issueTeamToken(context: Context, trust: TrustOfIssuer, claims: PipelineClaims): Promise<ExchangedToken> {
  const id = newId("authentication-tokens");
  const { teamId, organizationId, organizationName, teamName } = trust;
  const actor = { kind: "team", teamId, name: teamName, organizationId, tokenId: id } as const;
  const authorized = authorize(trust, {
    thing: "team",
    permission: "can-sign-in",
    visible: true,
    allowed: true,
    needs: "a token",
  });
  return context.database.write(async (tx) => {
    const createdAt = now();
    const requested = new Date(Date.parse(createdAt) + trust.tokenSeconds * 1000).toISOString();
    const limits = await lockExchangeLimits(tx, trust.id);
    if (limits === undefined) throw noMatchingTrust;
    const { maxTtlMs, enabledRuleCount } = limits;
    const expiredAt = earlierExpiry(requested, latestExpiry(createdAt, maxTtlMs ?? undefined)) ?? requested;
    const token = ruledToken({ type: "teams", id: teamId }, expiredAt);
    // The pipeline is no member, so the organization is the rules' principal.
    await context.hooks.accessRules
      .enforceRules(tx, context, { organizationId, enabledRuleCount }, [token])
      .catch(refuseExchange);
    const audited = auditedClaims(trust, claims);
    const { secret } = await issueSignInToken(tx, { ...context, actor }, authorized, {
      id,
      holder: { kind: "team", teamId, organizationId, organizationName },
      isLegacy: false,
      identityTrustId: trust.id,
      description: `${trust.name}: ${audited["sub"] ?? "exchanged"}`.slice(0, 256),
      expiredAt,
    });
    await recordEvent(
      tx,
      { ...context, actor },
      {
        organizationId,
        verb: "exchange",
        subject: { type: "identity-trusts", id: trust.id },
        after: { token: id, "expired-at": expiredAt, claims: audited },
      },
    );
    return { token: secret, expiresInSeconds: Math.floor((Date.parse(expiredAt) - Date.parse(createdAt)) / 1000) };
  });
}

function refuseExchange(error: unknown): never {
  if (error instanceof AppError && error.code === "forbidden") throw new OauthError("invalid_grant", error.message);
  throw error;
}

const auditedClaimLengthMax = 512;

function auditedClaims(trust: TrustOfIssuer, claims: PipelineClaims): Record<string, string> {
  const names = new Set(["iss", "sub", "aud", "jti", ...Object.keys(JSON.parse(trust.claims) as object)]);
  const present = [...names].filter((name) => claims[name] !== undefined);
  return Object.fromEntries(
    present.map((name) => {
      const value = claims[name];
      const text = typeof value === "string" ? value.replaceAll("\0", "") : JSON.stringify(value);
      return [name, text.slice(0, auditedClaimLengthMax).toWellFormed()];
    }),
  );
}

const discovery = z.object({ issuer: z.string(), jwks_uri: z.string() });
const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) });

interface CachedKeys {
  readonly keys: Promise<JWTVerifyGetKey>;
  readonly fetchedAtMs: number;
}

const cacheMs = 10 * 60_000;
/** An unknown key may be new or invented; this limits how often invented keys cause a fetch. */
const refetchMs = 30_000;
const issuersMax = 1000;

const keysByIssuer = new Map<string, CachedKeys>();

function keysOf(issuer: string, options: OutgoingOptions, isUnknownKey = false): Promise<JWTVerifyGetKey> {
  const cached = keysByIssuer.get(issuer);
  const age = nowMs() - (cached?.fetchedAtMs ?? -Infinity);
  if (cached !== undefined && age < (isUnknownKey ? refetchMs : cacheMs)) return cached.keys;
  if (keysByIssuer.size >= issuersMax) keysByIssuer.clear();
  const keys = fetchKeys(issuer, options);
  keysByIssuer.set(issuer, { keys, fetchedAtMs: nowMs() });
  keys.catch(() => keysByIssuer.delete(issuer));
  return keys;
}

async function fetchKeys(issuer: string, options: OutgoingOptions): Promise<JWTVerifyGetKey> {
  const address = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const found = discovery.safeParse(await fetchJson(address, options));
  if (!found.success || found.data.issuer !== issuer)
    throw new OutgoingError(`${address} does not describe the issuer ${issuer}.`);
  const keys = keySet.safeParse(await fetchJson(found.data.jwks_uri, options));
  if (!keys.success) throw new OutgoingError(`${found.data.jwks_uri} is not a JSON Web Key Set.`);
  return createLocalJWKSet(keys.data as JSONWebKeySet);
}
