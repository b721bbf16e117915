/** What a provider tells of somebody → what is made of it here. It believes nothing that is not of the right kind. */
import { randomBytes } from "node:crypto";
import { AppError } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";
import { looksLikeUserId } from "../../../kernel/ids.ts";
import type { SsoProviderView } from "./definition.ts";

export type Claims = Readonly<Record<string, unknown>>;

/** Somebody at a provider. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  /** Undefined where the provider tells none, or none that could be one. */
  readonly email: string | undefined;
  readonly isEmailVerified: boolean;
  /** What the person might be called here, the best first. */
  readonly names: readonly string[];
  readonly groups: readonly string[];
}

const subjectMax = 255;
const emailMax = 254;
const groupsMax = 1000;
const groupMax = 255;

const own = (claims: Claims, name: string): unknown => (Object.hasOwn(claims, name) ? claims[name] : undefined);
/** Neither engine stores the character 0 or half a character. */
const isText = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && !value.includes("\0") && value.isWellFormed();
const textOf = (value: unknown): string | undefined => (isText(value) ? value : undefined);

/** A claim by its name; or, where none is called so, by the way to it: `realm_access.roles`. */
function claimOf(claims: Claims, name: string): unknown {
  const found = own(claims, name);
  if (found !== undefined) return found;
  let at: unknown = claims;
  for (const part of name.split(".")) {
    if (at === null || typeof at !== "object" || Array.isArray(at)) return undefined;
    at = own(at as Claims, part);
  }
  return at;
}

/** Whether the provider has to be asked for more than its token says. */
export const isIncomplete = (claims: Claims, { groupsClaim }: Pick<SsoProviderView, "groupsClaim">): boolean =>
  own(claims, "email") === undefined ||
  own(claims, "email_verified") === undefined ||
  (groupsClaim !== null && claimOf(claims, groupsClaim) === undefined);

/** `told` is what the token says, signed; `more` what the provider told beside it, or nothing. Raises `forbidden`. */
export function identityOf(
  provider: Pick<SsoProviderView, "name" | "issuer" | "groupsClaim" | "assumeEmailVerified">,
  told: Claims,
  more: Claims,
): Identity {
  const subject = textOf(own(told, "sub"));
  if (subject === undefined || subject.length > subjectMax)
    throw new AppError(
      "forbidden",
      `${provider.name} does not say who you are. Ask a site admin to look at the provider.`,
    );
  // An address and whether it is verified are told by one and the same, so that neither vouches for the other's.
  const isWhole = own(told, "email") !== undefined && own(told, "email_verified") !== undefined;
  const telling = isWhole || own(more, "email") === undefined ? told : more;
  const email = textOf(own(telling, "email"));
  const verified = own(telling, "email_verified");
  const isAddress =
    email !== undefined && email.length <= emailMax && /^[^\s@]+@[^\s@]+$/.test(email) && !isDisguised(email);
  return {
    issuer: provider.issuer,
    subject,
    email: isAddress ? email : undefined,
    isEmailVerified:
      verified === true || verified === "true" || (verified === undefined && provider.assumeEmailVerified === 1),
    names: namesIn({ ...more, ...told }, email),
    groups: provider.groupsClaim === null ? [] : groupsIn(provider, told, more),
  };
}

const isPlain = (text: string) => /^[\x21-\x7e]*$/.test(text);

/** The same as another's once case is ignored, and not the same address: a letter from elsewhere whose small form is one of ours. */
const isDisguised = (email: string): boolean => !isPlain(email) && isPlain(fold(email));

/** Raises `forbidden` where the provider keeps them to itself: nobody is to lose or keep access by a list that is not whole. */
function groupsIn(
  { name, groupsClaim }: Pick<SsoProviderView, "name" | "groupsClaim">,
  told: Claims,
  more: Claims,
): string[] {
  const claim = groupsClaim ?? "";
  const found = claimOf(told, claim) ?? claimOf(more, claim);
  const isElsewhere = [told, more].some((claims) => claimOf((own(claims, "_claim_names") ?? {}) as Claims, claim));
  const groups = [found].flat().filter(isText);
  if ((found === undefined && isElsewhere) || groups.length > groupsMax)
    throw new AppError(
      "forbidden",
      `You are in more groups than ${name} tells of at once (${groupsMax} are taken). Ask its administrators to send only the groups that matter here.`,
    );
  return [...new Set(groups.filter((group) => group.length <= groupMax))];
}

const nameMax = 50;

/** What is left of a name when it is spelled as users' names are; of its beginning, because that takes longer the longer it is. */
const spelled = (name: string): string =>
  name
    .slice(0, emailMax)
    .toWellFormed()
    .normalize("NFKD")
    .replace(/@.*$/, "")
    .replace(/[^A-Za-z0-9_.-]+/g, "-")
    .replace(/-{2,}/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "")
    .slice(0, nameMax);

function namesIn(claims: Claims, email: string | undefined): string[] {
  const said = [own(claims, "preferred_username"), own(claims, "nickname"), email, own(claims, "name")];
  const names = said.flatMap((each) => textOf(each) ?? []).map(spelled);
  return [...new Set([...names, "user"])].filter((name) => name !== "" && !looksLikeUserId(name));
}

/** With a number where all of them are taken, and in the end with so many letters that it is nobody's. */
export function namesToTry({ names }: Identity): string[] {
  const [first = "user"] = names;
  const numbered = [2, 3, 4, 5, 6, 7, 8, 9].map((number) => `${first}-${number}`);
  return [...names.filter((name) => name !== "user"), ...numbered, `${first}-${randomBytes(4).toString("hex")}`];
}

/** The first that nobody has; `taken` are folded. */
export function freeName(names: readonly string[], taken: readonly string[]): string {
  const known = new Set(taken);
  return names.find((name) => !known.has(fold(name))) ?? "";
}
