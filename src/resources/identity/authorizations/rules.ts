/** Pure rules of authorizations: for how long a code works, who may allow one, and what proves who sends it. */
import { hash } from "node:crypto";
import { type Actor, isInPerson } from "../../../access/actor.ts";
import { grant, type Granted } from "../../../access/granted.ts";
import type { AuthorizationTable } from "../../../database/schema/identity.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault, forbidden } from "../../../kernel/errors.ts";
import { codeHash, newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { authorizations } from "./definition.ts";

const codeMs = 90_000;
const dayMs = 86_400_000;
const daysByDefault = 30;

type Wanted = CreateAttributes<typeof authorizations>;
export type SignedIn = Granted<Actor & { readonly kind: "user" }, "can-sign-in">;

/** A token that somebody else has must not make itself others that outlive it. Raises `forbidden`. */
export function inPerson(actor: Actor): SignedIn {
  if (actor.kind !== "user" || !isInPerson(actor))
    throw forbidden(
      "Only a person who has signed in by a password or a provider of single sign-on can authorize a program. A token can't, nor a session that it started: sign in again.",
    );
  return grant(actor, { thing: "user", permission: "can-sign-in", visible: true, allowed: true, needs: "a session" });
}

export function newAuthorization(wanted: Wanted, userId: string, code: string): AuthorizationTable {
  const createdAt = now();
  const { clientId, redirectUri, codeChallenge, expiresAt } = wanted;
  const after = (ms: number) => new Date(Date.parse(createdAt) + ms).toISOString();
  return {
    id: newId("authorizations"),
    hash: codeHash(code),
    userId,
    clientId,
    redirectUri,
    codeChallenge,
    ...createdColumns(authorizations, wanted),
    tokenExpiresAt: expiresAt === undefined ? after(daysByDefault * dayMs) : expiresAt,
    tokenId: null,
    createdAt,
    expiresAt: after(codeMs),
  };
}

/** The program has until the end of the code to fetch the token, which is to work for longer than that. */
export function tokenFaults({ tokenExpiresAt, expiresAt }: AuthorizationTable): Fault[] {
  return tokenExpiresAt !== null && tokenExpiresAt <= expiresAt
    ? [attributeFault("expires-at", "Expires at must be in the future, by some minutes at least")]
    : [];
}

/** RFC 7636: only whoever began knows what the challenge was made of. */
export const isVerified = (verifier: string, challenge: string): boolean =>
  /^[A-Za-z0-9._~-]{43,128}$/.test(verifier) && hash("sha256", verifier, "base64url") === challenge;
