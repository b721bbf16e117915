/** Password strength: minimum length and common passwords. No rules about character classes, which make people write passwords down. */
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { passwordLengthMin } from "../../../kernel/passwords.ts";
import { fold } from "../../../kernel/text.ts";

const commonPasswords = [
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

const keySequences = [
  "01234567890123456789",
  "qwertyuiopasdfghjklzxcvbnm",
  "qwertzuiopasdfghjklyxcvbnm",
  "abcdefghijklmnopqrstuvwxyz",
];
const reversed = (text: string): string => Array.from(text).toReversed().join("");
const lettersOf = (text: string): string => text.replace(/[^\p{L}]+/gu, "");

export function passwordFaults(
  password: string,
  { username, email }: { readonly username: string; readonly email: string },
  attribute = "password",
): Fault[] {
  const fault = (sentence: string) => [attributeFault(attribute, sentence)];
  const length = Array.from(password).length;
  if (length < passwordLengthMin)
    return fault(`Password must have at least ${passwordLengthMin} characters; use a few random words`);
  const folded = fold(password);
  const isSequence = [...keySequences, ...keySequences.map(reversed)].some((row) => row.includes(folded));
  const isCommon = commonPasswords.some((word) => lettersOf(folded) === word);
  if (new Set(folded).size < 4 || isSequence || isCommon)
    return fault("Password is too easy to guess; use a few random words");
  if ([username, email, email.split("@")[0] ?? ""].some((name) => fold(name) === folded))
    return fault("Password can't be the username or the email address");
  return [];
}
