/** How strong a password must be: long, and none of those that are tried first. No rules about kinds of letters, which only make notes. */
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { passwordLengthMin } from "../../../kernel/passwords.ts";
import { fold } from "../../../kernel/text.ts";

/** What lists of leaked passwords begin with, as far as they are long enough, without the digits and signs around them. */
const known = [
  "password",
  "passwort",
  "passphrase",
  "letmein",
  "welcome",
  "administrator",
  "admin",
  "changeme",
  "iloveyou",
  "terraform",
  "opentofu",
  "cadastre",
  "secret",
  "qwertyuiop",
  "qwertzuiop",
  "asdfghjkl",
  "qwerty",
  "abcdefghij",
];

const rows = [
  "01234567890123456789",
  "qwertyuiopasdfghjklzxcvbnm",
  "qwertzuiopasdfghjklyxcvbnm",
  "abcdefghijklmnopqrstuvwxyz",
];
const backwards = (text: string): string => Array.from(text).toReversed().join("");
const letters = (text: string): string => text.replace(/[^\p{L}]+/gu, "");

/** Of one who is called so. */
export function passwordFaults(
  password: string,
  { username, email }: { readonly username: string; readonly email: string },
  attribute = "password",
): Fault[] {
  const fault = (sentence: string) => [attributeFault(attribute, sentence)];
  const length = Array.from(password).length;
  if (length < passwordLengthMin)
    return fault(`Password must have at least ${passwordLengthMin} characters; a few words make a good one`);
  const folded = fold(password);
  const isRow = [...rows, ...rows.map(backwards)].some((row) => row.includes(folded));
  const isKnown = known.some((word) => letters(folded) === word);
  if (new Set(folded).size < 4 || isRow || isKnown)
    return fault(
      "Password is among the first that are guessed; take a few words that have nothing to do with each other",
    );
  if ([username, email, email.split("@")[0] ?? ""].some((name) => fold(name) === folded))
    return fault("Password can't be the user's own name or address");
  return [];
}
