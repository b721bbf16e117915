/** Decides which credentials a caller can create. See docs/decisions/0171-no-credential-outlives-its-creator.md. */
import { type AppError, attributeFault, forbidden, invalid } from "../kernel/errors.ts";
import { human } from "../kernel/names.ts";
import type { Actor, CredentialLimit } from "./actor.ts";
import type { Granted } from "./granted.ts";

declare const decided: unique symbol;

export interface CredentialTerm<EndsAt extends string | null = string | null> {
  readonly endsAt: EndsAt;
  readonly [decided]: true;
}

export interface CredentialRequest<EndsAt extends string | null> {
  /** With its article: `an agent token`. */
  readonly thing: string;
  readonly endsAt: EndsAt;
  /** The attribute that sets the expiry, if the caller can choose it. */
  readonly attribute?: string;
}

/** Throws `forbidden`, or `invalid` if the caller can send an earlier expiry. */
export function credentialTerm<EndsAt extends string | null>(
  actor: Actor,
  { thing, endsAt, attribute }: CredentialRequest<EndsAt>,
): CredentialTerm<EndsAt> {
  const limit = limitOf(actor);
  if (limit === undefined)
    throw forbidden(
      `A token of a pipeline or a run can't create ${thing}, which would outlive it. Use your own token, or a stored team token.`,
    );
  if (limit === null || (endsAt !== null && endsAt <= limit)) return { endsAt } as CredentialTerm<EndsAt>;
  throw outlives(thing, limit, attribute);
}

export function signInTerm<EndsAt extends string | null>(
  _by: Granted<object, "can-sign-in">,
  endsAt: EndsAt,
): CredentialTerm<EndsAt> {
  return { endsAt } as CredentialTerm<EndsAt>;
}

function limitOf(actor: Actor): CredentialLimit | undefined {
  if (actor.kind === "team" || actor.kind === "organization") return actor.credentialsUntil;
  return actor.kind === "user" || actor.kind === "operator" ? null : undefined;
}

function outlives(thing: string, limit: string, attribute: string | undefined): AppError {
  if (attribute === undefined)
    return forbidden(
      `Your token expires at ${limit}, so it can't create ${thing}, which would outlive it. Use a token without expiry, or a user's token.`,
    );
  const sentence = `${human(attribute)} must be sent, and be ${limit} or earlier: your token expires then, and can't create ${thing} that outlives it`;
  return invalid([attributeFault(attribute, sentence)]);
}
