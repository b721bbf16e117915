/** Pure rules of tokens: whose one is, and how long it works. */
import type { TokenTable } from "../../../database/schema/identity.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import type { Timestamp } from "../../../kernel/time.ts";
import { authenticationTokens } from "./definition.ts";

/** The two tokens of an organization itself: the ordinary one, and the one that reads its audit trail. */
export type OrganizationTokenKind = "organization" | "audit-trails";

interface OfOrganization {
  readonly organizationId: string;
  readonly organizationName: string;
  /** For the ETag; whoever asks for none need not know it. */
  readonly organizationFacts?: number;
}

/** Whose a token is to be. */
export type TokenOwner =
  | { readonly kind: "user" | "session"; readonly userId: string }
  | (OfOrganization & { readonly kind: "team"; readonly teamId: string })
  | (OfOrganization & { readonly kind: OrganizationTokenKind });

export interface WantedToken {
  /** Made up by whoever needs to know it beforehand. */
  readonly id?: string;
  readonly holder: TokenOwner;
  readonly isLegacy: boolean;
  readonly description?: string | null | undefined;
  /** The token that a session is begun by. */
  readonly begunById?: string | undefined;
  /** The trust by which a pipeline is given it. */
  readonly identityTrustId?: string | undefined;
}

interface Identity {
  readonly createdById: string;
  readonly createdAt: Timestamp;
  readonly expiredAt: Timestamp | null;
}

export function newTokenRow(
  { id, holder, isLegacy, description, begunById, identityTrustId }: WantedToken,
  { expiredAt, ...identity }: Identity,
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

const yearsByDefault = 2;

/** On the same day two years later; from a 29 February, on the 1 March. */
function expiryByDefault(createdAt: Timestamp): Timestamp {
  const expiry = new Date(createdAt);
  expiry.setUTCFullYear(expiry.getUTCFullYear() + yearsByDefault);
  return expiry.toISOString();
}

/** The last moment at which a token may work that works for so long; undefined where nothing bounds it. */
export function latestExpiry(createdAt: Timestamp, maxMs: number | undefined): Timestamp | undefined {
  return maxMs === undefined ? undefined : new Date(Date.parse(createdAt) + maxMs).toISOString();
}

/** A time that was asked for; two years, or as long as may be, where none was. */
export function expiryOf(
  asked: Timestamp | null | undefined,
  createdAt: Timestamp,
  latest: Timestamp | undefined,
): Timestamp | null {
  return asked === undefined ? earlier(expiryByDefault(createdAt), latest) : asked;
}

/** Timestamps compare like the instants that they stand for; null is never. */
export function earlier(expiry: Timestamp | null, latest: Timestamp | undefined): Timestamp | null {
  return latest !== undefined && (expiry === null || expiry > latest) ? latest : expiry;
}

export function expiryFaults(
  expiredAt: Timestamp | null,
  createdAt: Timestamp,
  latest: Timestamp | undefined,
): Fault[] {
  if (expiredAt !== null && expiredAt <= createdAt)
    return [attributeFault("expired-at", "Expired at must be in the future")];
  if (latest === undefined || earlier(expiredAt, latest) === expiredAt) return [];
  return [
    attributeFault(
      "expired-at",
      `Expired at must be ${latest} or earlier: the organization bounds how long such tokens work (max-ttl-enabled)`,
    ),
  ];
}

export type GrantFaultCode = "invalid_request" | "invalid_client" | "invalid_grant" | "unsupported_grant_type";

export class GrantFault extends Error {
  override readonly name = "GrantFault";
  readonly code: GrantFaultCode;

  constructor(code: GrantFaultCode, sentence: string) {
    super(sentence);
    this.code = code;
  }
}
