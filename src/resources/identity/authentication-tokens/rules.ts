/** Pure rules of API tokens. */
import type { TokenTable } from "../../../database/schema/identity.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import type { Timestamp } from "../../../kernel/time.ts";
import type { RuledChange } from "../../shared/hooks.ts";
import { authenticationTokens } from "./definition.ts";

export type OrganizationTokenKind = "organization" | "audit-trails";

interface TokenOrganization {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly organizationFactsVersion?: number;
}

export type TokenOwner =
  | { readonly kind: "user" | "session"; readonly userId: string }
  | (TokenOrganization & { readonly kind: "team"; readonly teamId: string })
  | (TokenOrganization & { readonly kind: OrganizationTokenKind });

export interface TokenSpec {
  readonly id?: string;
  readonly holder: TokenOwner;
  readonly isLegacy: boolean;
  readonly description?: string | null | undefined;
  readonly begunById?: string | undefined;
  readonly identityTrustId?: string | undefined;
}

interface TokenOrigin {
  readonly createdById: string;
  readonly createdAt: Timestamp;
  readonly expiredAt: Timestamp | null;
}

export function newTokenRow(
  { id, holder, isLegacy, description, begunById, identityTrustId }: TokenSpec,
  { expiredAt, ...identity }: TokenOrigin,
): Omit<TokenTable, "hash"> {
  return {
    id: id ?? newId("authentication-tokens"),
    kind: holder.kind,
    userId: "userId" in holder ? holder.userId : null,
    teamId: holder.kind === "team" ? holder.teamId : null,
    organizationId: "userId" in holder ? null : holder.organizationId,
    isLegacy: Number(isLegacy),
    ...createdColumns(authenticationTokens, { description, expiredAt }),
    ...identity,
    lastUsedAt: null,
    version: 1,
    begunById: begunById ?? null,
    identityTrustId: identityTrustId ?? null,
  };
}

const defaultYears = 2;

function defaultExpiry(createdAt: Timestamp): Timestamp {
  const expiry = new Date(createdAt);
  expiry.setUTCFullYear(expiry.getUTCFullYear() + defaultYears);
  return expiry.toISOString();
}

export function latestExpiry(createdAt: Timestamp, maxMs: number | undefined): Timestamp | undefined {
  return maxMs === undefined ? undefined : new Date(Date.parse(createdAt) + maxMs).toISOString();
}

export function expiryOf(
  requested: Timestamp | null | undefined,
  createdAt: Timestamp,
  latest: Timestamp | undefined,
): Timestamp | null {
  return requested === undefined ? earlierExpiry(defaultExpiry(createdAt), latest) : requested;
}

/** Timestamps sort as text; null means never. */
export function earlierExpiry(expiry: Timestamp | null, latest: Timestamp | undefined): Timestamp | null {
  return latest !== undefined && (expiry === null || expiry > latest) ? latest : expiry;
}

export function expiryFaults(
  expiredAt: Timestamp | null,
  createdAt: Timestamp,
  latest: Timestamp | undefined,
): Fault[] {
  if (expiredAt !== null && expiredAt <= createdAt)
    return [attributeFault("expired-at", "Expired at must be in the future")];
  if (latest === undefined || earlierExpiry(expiredAt, latest) === expiredAt) return [];
  return [
    attributeFault(
      "expired-at",
      `Expired at must be ${latest} or earlier, because the organization limits token lifetimes (max-ttl-enabled)`,
    ),
  ];
}

export type OauthErrorCode = "invalid_request" | "invalid_client" | "invalid_grant" | "unsupported_grant_type";

export class OauthError extends Error {
  override readonly name = "OauthError";
  readonly code: OauthErrorCode;

  constructor(code: OauthErrorCode, sentence: string) {
    super(sentence);
    this.code = code;
  }
}

/** For access rules. */
export function ruledToken(resource: RuledChange["resource"], expiresAt: string | null): RuledChange {
  const team = resource.type === "teams" ? { teamId: resource.id } : {};
  return { action: "createToken", resource, ...team, permissions: [], expiresAt };
}
