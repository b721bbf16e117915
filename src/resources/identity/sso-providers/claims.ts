/** Turns the claims of an SSO provider into an identity. It must not trust the type or size of a claim. */
import { randomBytes } from "node:crypto";
import { AppError } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";
import { looksLikeUserId } from "../../../kernel/ids.ts";
import type { SsoProviderView } from "./definition.ts";

export type IdTokenClaims = Readonly<Record<string, unknown>>;

export interface SsoIdentity {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | undefined;
  readonly isEmailVerified: boolean;
  readonly names: readonly string[];
  readonly groups: readonly string[];
}

const subjectMax = 255;
const emailMax = 254;
const groupsMax = 1000;
const groupMax = 255;

const ownClaim = (claims: IdTokenClaims, name: string): unknown =>
  Object.hasOwn(claims, name) ? claims[name] : undefined;
/** The databases can't store NUL characters or lone surrogates. */
const isText = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && !value.includes("\0") && value.isWellFormed();
const textOf = (value: unknown): string | undefined => (isText(value) ? value : undefined);

/** By name, else by a dotted path such as `realm_access.roles`. */
function claimOf(claims: IdTokenClaims, name: string): unknown {
  const found = ownClaim(claims, name);
  if (found !== undefined) return found;
  let value: unknown = claims;
  for (const part of name.split(".")) {
    if (value === null || typeof value !== "object" || Array.isArray(value)) return undefined;
    value = ownClaim(value as IdTokenClaims, part);
  }
  return value;
}

export const needsUserInfo = (claims: IdTokenClaims, { groupsClaim }: Pick<SsoProviderView, "groupsClaim">): boolean =>
  ownClaim(claims, "email") === undefined ||
  ownClaim(claims, "email_verified") === undefined ||
  (groupsClaim !== null && claimOf(claims, groupsClaim) === undefined);

/** Throws `forbidden`. */
export function identityOf(
  provider: Pick<SsoProviderView, "name" | "issuer" | "groupsClaim" | "assumeEmailVerified">,
  idToken: IdTokenClaims,
  userInfo: IdTokenClaims,
): SsoIdentity {
  const subject = textOf(ownClaim(idToken, "sub"));
  if (subject === undefined || subject.length > subjectMax)
    throw new AppError(
      "forbidden",
      `${provider.name} did not identify you: the subject claim is missing or too long. Ask a site admin to check the SSO provider.`,
    );
  // Address and `email_verified` come from one source, so that no source vouches for the other's address.
  const isComplete = ownClaim(idToken, "email") !== undefined && ownClaim(idToken, "email_verified") !== undefined;
  const source = isComplete || ownClaim(userInfo, "email") === undefined ? idToken : userInfo;
  const email = textOf(ownClaim(source, "email"));
  const verified = ownClaim(source, "email_verified");
  const isAddress =
    email !== undefined && email.length <= emailMax && /^[^\s@]+@[^\s@]+$/.test(email) && !isConfusable(email);
  return {
    issuer: provider.issuer,
    subject,
    email: isAddress ? email : undefined,
    isEmailVerified:
      verified === true || verified === "true" || (verified === undefined && provider.assumeEmailVerified === 1),
    names: namesIn({ ...userInfo, ...idToken }, email),
    groups: provider.groupsClaim === null ? [] : groupsIn(provider, idToken, userInfo),
  };
}

const isPrintableAscii = (text: string) => /^[\x21-\x7e]*$/.test(text);

/** Case folding maps some non-ASCII letters to ASCII, so such an address could impersonate another user. */
const isConfusable = (email: string): boolean => !isPrintableAscii(email) && isPrintableAscii(fold(email));

/** Throws `forbidden` if the provider omits the groups: an incomplete list must not grant or revoke access. */
function groupsIn(
  { name, groupsClaim }: Pick<SsoProviderView, "name" | "groupsClaim">,
  idToken: IdTokenClaims,
  userInfo: IdTokenClaims,
): string[] {
  const claim = groupsClaim ?? "";
  const found = claimOf(idToken, claim) ?? claimOf(userInfo, claim);
  const isDistributed = [idToken, userInfo].some((claims) =>
    claimOf((ownClaim(claims, "_claim_names") ?? {}) as IdTokenClaims, claim),
  );
  const groups = [found].flat().filter(isText);
  if ((found === undefined && isDistributed) || groups.length > groupsMax)
    throw new AppError(
      "forbidden",
      `${name} did not send all of your groups, or sent more than ${groupsMax}. Ask its administrators to send only the groups that Cadastre needs.`,
    );
  return [...new Set(groups.filter((group) => group.length <= groupMax))];
}

const nameMax = 50;

/** Truncates first, because normalization gets slower with length. */
const toUsername = (name: string): string =>
  name
    .slice(0, emailMax)
    .toWellFormed()
    .normalize("NFKD")
    .replace(/@.*$/, "")
    .replace(/[^A-Za-z0-9_.-]+/g, "-")
    .replace(/-{2,}/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "")
    .slice(0, nameMax);

function namesIn(claims: IdTokenClaims, email: string | undefined): string[] {
  const claimed = [
    ownClaim(claims, "preferred_username"),
    ownClaim(claims, "nickname"),
    email,
    ownClaim(claims, "name"),
  ];
  const names = claimed.flatMap((each) => textOf(each) ?? []).map(toUsername);
  return [...new Set([...names, "user"])].filter((name) => name !== "" && !looksLikeUserId(name));
}

export function usernameCandidates({ names }: SsoIdentity): string[] {
  const [first = "user"] = names;
  const numbered = [2, 3, 4, 5, 6, 7, 8, 9].map((number) => `${first}-${number}`);
  return [...names.filter((name) => name !== "user"), ...numbered, `${first}-${randomBytes(4).toString("hex")}`];
}

export function firstFreeName(names: readonly string[], taken: readonly string[]): string {
  const known = new Set(taken);
  return names.find((name) => !known.has(fold(name))) ?? "";
}
