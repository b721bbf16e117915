/**
 * Which credentials a caller may create: a pipeline's token creates none, and an expiring token of a team or an organization none that
 * outlives it. See docs/decisions/0171-no-credential-outlives-its-creator.md.
 */
import { type AppError, attributeFault, forbidden, invalid } from "../kernel/errors.ts";
import { human } from "../kernel/names.ts";
import type { Actor, CredentialLimit } from "./actor.ts";
import type { Granted } from "./granted.ts";

declare const decided: unique symbol;

/** The decision that a credential may work until `endsAt` (null: no end). The functions that store credentials demand it. */
export interface CredentialTerm<EndsAt extends string | null = string | null> {
  readonly endsAt: EndsAt;
  readonly [decided]: true;
}

export interface WantedCredential<EndsAt extends string | null> {
  /** As a refusal names it, with its article: `an agent token`. */
  readonly thing: string;
  readonly endsAt: EndsAt;
  /** The attribute by which the caller chooses the end, where it can. */
  readonly attribute?: string;
}

/** Raises `forbidden`; `invalid` where the caller can send an earlier end. */
export function credentialTerm<EndsAt extends string | null>(
  actor: Actor,
  { thing, endsAt, attribute }: WantedCredential<EndsAt>,
): CredentialTerm<EndsAt> {
  const limit = limitOf(actor);
  if (limit === undefined)
    throw forbidden(
      `A token that a pipeline or a run was given can't create ${thing}, which would outlive it. Use a token of your own, or a stored one of the team.`,
    );
  if (limit === null || (endsAt !== null && endsAt <= limit)) return { endsAt } as CredentialTerm<EndsAt>;
  throw outlives(thing, limit, attribute);
}

/** For people who have just shown who they are, and pipelines: nothing but that is what the credential follows from. */
export function signInTerm<EndsAt extends string | null>(
  _by: Granted<object, "can-sign-in">,
  endsAt: EndsAt,
): CredentialTerm<EndsAt> {
  return { endsAt } as CredentialTerm<EndsAt>;
}

/** Undefined for those who create nothing. */
function limitOf(actor: Actor): CredentialLimit | undefined {
  if (actor.kind === "team" || actor.kind === "organization") return actor.credentialsUntil;
  return actor.kind === "user" || actor.kind === "operator" ? null : undefined;
}

function outlives(thing: string, limit: string, attribute: string | undefined): AppError {
  if (attribute === undefined)
    return forbidden(
      `The token that you use expires at ${limit}, so it can't create ${thing}, which would outlive it. Use a token without expiry, or a user's.`,
    );
  const sentence = `${human(attribute)} must be sent, and be ${limit} or earlier: the token that you use expires then, and can't create ${thing} that outlives it`;
  return invalid([attributeFault(attribute, sentence)]);
}
