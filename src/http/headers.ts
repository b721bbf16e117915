/** The headers of every response, including responses to invalid requests. */
import { randomUUID } from "node:crypto";
import type { Allowance } from "./limits.ts";

const apiVersion = "2.6";

/** The Terraform Enterprise release that clients see; they use fewer features of older ones. See docs/decisions/0056-version-headers.md. */
const enterpriseRelease = { monthly: "v202507-1", numeric: "2.0.1" } as const;

/** Clients recognize HCP Terraform by this name; they treat every other server as Terraform Enterprise. */
const hostedName = "HCP Terraform";

export const newRequestId = (): string => randomUUID();

export interface HeaderOptions {
  readonly rateLimit: number;
  readonly edition: "self-hosted" | "hosted";
  readonly publicUrl: string | undefined;
  /** Responses then close their connection, so that clients use another server. */
  readonly isDraining: () => boolean;
}

export interface ResponseHeaders {
  readonly byName: (requestId: string, allowance?: Allowance) => Record<string, string>;
  /** Alternating names and values, which Node writes without further checks. */
  readonly flat: (requestId: string, allowance?: Allowance) => string[];
}

const rateHeaders = ({ remaining, retryAfterSeconds }: Allowance): Record<string, string> => ({
  "x-ratelimit-remaining": String(remaining),
  "x-ratelimit-reset": retryAfterSeconds.toFixed(3),
});

export function headersFor({ rateLimit, edition, publicUrl, isDraining }: HeaderOptions): ResponseHeaders {
  const constant = {
    "tfp-api-version": apiVersion,
    ...(edition === "hosted" && { "tfp-appname": hostedName }),
    "x-tfe-version": enterpriseRelease.monthly,
    "x-tfe-current-version": enterpriseRelease.numeric,
    "x-ratelimit-limit": String(rateLimit),
    ...(rateLimit > 0 && { "x-ratelimit-scope": "server" }),
    "cache-control": "private, no-store",
    "x-content-type-options": "nosniff",
    // Not for subdomains, which may belong to others.
    ...(publicUrl?.startsWith("https:") && { "strict-transport-security": "max-age=31536000" }),
  };
  const constantFlat = Object.entries(constant).flat();
  return {
    byName: (requestId, allowance) => ({
      "x-request-id": requestId,
      ...constant,
      ...(allowance && rateHeaders(allowance)),
      ...(isDraining() && { connection: "close" }),
    }),
    flat: (requestId, allowance) => [
      "x-request-id",
      requestId,
      ...constantFlat,
      ...(allowance === undefined ? [] : Object.entries(rateHeaders(allowance)).flat()),
      ...(isDraining() ? ["connection", "close"] : []),
    ],
  };
}
