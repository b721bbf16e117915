/** Pure rules of authorizations, including PKCE. */
import { hash } from "node:crypto";
import { type Actor, isInteractiveSession } from "../../../access/actor.ts";
import { authorize, type Granted } from "../../../access/granted.ts";
import type { AuthorizationTable } from "../../../database/schema/identity.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault, forbidden } from "../../../kernel/errors.ts";
import { codeHash, newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { authorizations } from "./definition.ts";

const codeMs = 90_000;
const dayMs = 86_400_000;
const defaultDays = 30;

type AuthorizationInput = CreateAttributes<typeof authorizations>;
export type InteractiveUser = Granted<Actor & { readonly kind: "user" }, "can-sign-in">;

/** A stolen token must not be able to create tokens that outlive it. Throws `forbidden`. */
export function requireInteractiveUser(actor: Actor): InteractiveUser {
  if (actor.kind !== "user" || !isInteractiveSession(actor))
    throw forbidden(
      "Only a user who has signed in with a password or through an SSO provider can authorize a program. A token, or a session started with one, can't. Sign in again.",
    );
  return authorize(actor, {
    thing: "user",
    permission: "can-sign-in",
    visible: true,
    allowed: true,
    needs: "a session",
  });
}

export function newAuthorization(input: AuthorizationInput, userId: string, code: string): AuthorizationTable {
  const createdAt = now();
  const { clientId, redirectUri, codeChallenge, expiresAt } = input;
  const after = (ms: number) => new Date(Date.parse(createdAt) + ms).toISOString();
  return {
    id: newId("authorizations"),
    hash: codeHash(code),
    userId,
    clientId,
    redirectUri,
    codeChallenge,
    ...createdColumns(authorizations, input),
    tokenExpiresAt: expiresAt === undefined ? after(defaultDays * dayMs) : expiresAt,
    tokenId: null,
    createdAt,
    expiresAt: after(codeMs),
  };
}

/** The program still has to redeem the code, so the token must expire later. */
export function tokenFaults({ tokenExpiresAt, expiresAt }: AuthorizationTable): Fault[] {
  return tokenExpiresAt !== null && tokenExpiresAt <= expiresAt
    ? [attributeFault("expires-at", "Expires at must be at least a few minutes in the future")]
    : [];
}

/** RFC 7636: only the program that started the authorization knows the verifier. */
export const isVerified = (verifier: string, challenge: string): boolean =>
  /^[A-Za-z0-9._~-]{43,128}$/.test(verifier) && hash("sha256", verifier, "base64url") === challenge;
