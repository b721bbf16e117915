/** The headers that every answer carries, also one to what was no request at all. */
import { randomUUID } from "node:crypto";
import type { Allowance } from "./limits.ts";

/** The version of the public API whose documents ours look like. */
const apiVersion = "2.6";

/**
 * Which release of Terraform Enterprise clients may take us for, in its monthly and in its later form. They ask for less
 * where it is older, and refuse to ask for some things at all: see docs/decisions/0056-who-clients-take-us-for.md.
 */
const enterpriseRelease = { monthly: "v202507-1", numeric: "2.0.1" } as const;

/** By which clients know HCP Terraform; whatever does not say so is Terraform Enterprise to them. */
const hostedName = "HCP Terraform";

export const newRequestId = (): string => randomUUID();

export interface HeaderFacts {
  readonly rateLimit: number;
  readonly edition: "self-hosted" | "hosted";
  /** As it was configured. */
  readonly publicUrl: string | undefined;
  /** Whether this server is about to stop: whoever keeps a connection open is told to go elsewhere with the next request. */
  readonly isLeaving: () => boolean;
}

export interface ResponseHeaders {
  readonly byName: (requestId: string, allowance?: Allowance) => Record<string, string>;
  /** Names and values in turn, as Node writes them without a further look. */
  readonly flat: (requestId: string, allowance?: Allowance) => string[];
}

/** Of this server alone: each counts for itself. */
const rateHeaders = ({ remaining, retryAfterSeconds }: Allowance): Record<string, string> => ({
  "x-ratelimit-remaining": String(remaining),
  "x-ratelimit-reset": retryAfterSeconds.toFixed(3),
});

/** All but the request id is the same for every answer, so it is put together once. */
export function headersFor({ rateLimit, edition, publicUrl, isLeaving }: HeaderFacts): ResponseHeaders {
  const same = {
    "tfp-api-version": apiVersion,
    ...(edition === "hosted" && { "tfp-appname": hostedName }),
    "x-tfe-version": enterpriseRelease.monthly,
    "x-tfe-current-version": enterpriseRelease.numeric,
    "x-ratelimit-limit": String(rateLimit),
    ...(rateLimit > 0 && { "x-ratelimit-scope": "server" }),
    "cache-control": "private, no-store",
    "x-content-type-options": "nosniff",
    // Not for subdomains, which may be somebody else's.
    ...(publicUrl?.startsWith("https:") && { "strict-transport-security": "max-age=31536000" }),
  };
  const sameFlat = Object.entries(same).flat();
  return {
    byName: (requestId, allowance) => ({
      "x-request-id": requestId,
      ...same,
      ...(allowance && rateHeaders(allowance)),
      ...(isLeaving() && { connection: "close" }),
    }),
    flat: (requestId, allowance) => [
      "x-request-id",
      requestId,
      ...sameFlat,
      ...(allowance === undefined ? [] : Object.entries(rateHeaders(allowance)).flat()),
      ...(isLeaving() ? ["connection", "close"] : []),
    ],
  };
}
