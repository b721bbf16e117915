/** The spellings under which a secret may appear in what a program writes: as it is, in JSON, in base64, and line by line. Pure. */
import { textsInHcl } from "./hcl.ts";

/** Shorter ones can't be masked sensibly: they are part of ordinary words. */
const lengthMin = 4;
/** Lines of a secret are hidden one by one too, because engines indent them; short ones are often just brackets. */
const lineLengthMin = 8;
/** What says nothing by itself, and would break every line of JSON. */
const openSecrets = new Set(["true", "false", "null"]);

/** A secret as it stands, as JSON and base64 spell it, and its lines. */
export function formsOf(secrets: Iterable<string>): Buffer[] {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (openSecrets.has(secret) || Buffer.byteLength(secret) < lengthMin) continue;
    for (const spelled of [secret, secret.trim()]) {
      for (const form of [spelled, ...jsonForms(spelled), ...base64Forms(spelled)]) {
        if (Buffer.byteLength(form) >= lengthMin) forms.add(form);
      }
    }
    for (const line of linesOf(secret)) for (const form of [line, ...jsonForms(line)]) forms.add(form);
  }
  return [...forms].map((form) => Buffer.from(form));
}

function linesOf(secret: string): string[] {
  const lines = secret.split(/\r?\n/).map((line) => line.trim());
  return lines.length < 2 ? [] : lines.filter((line) => line.length >= lineLengthMin);
}

/** As encoders write it: with and without the letters that Go escapes for the sake of HTML. */
function jsonForms(text: string): string[] {
  const plain = JSON.stringify(text).slice(1, -1);
  const forGo = plain.replace(/[<>&\u2028\u2029]/g, escaped);
  // Inside a string of JSON that is itself inside a string of JSON: a provisioner's output, a policy.
  return [plain, forGo, JSON.stringify(plain).slice(1, -1), JSON.stringify(forGo).slice(1, -1)];
}

const escaped = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Alone, and within something longer: then it begins at one of three places, and its first and last letters are mixed with others. */
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(text);
  const forms: string[] = [];
  for (const before of [0, 1, 2]) {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]);
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor((whole.length * 8) / 6);
    const inner = whole.toString("base64").slice(first, last);
    if (inner.length >= 5) forms.push(inner, inner.replaceAll("+", "-").replaceAll("/", "_"));
  }
  return [bytes.toString("base64"), ...forms];
}

/** A variable's value as it would show: in HCL that is what it holds, beside its own spelling. */
export const shownValues = ({ value, hcl }: { readonly value: string; readonly hcl: boolean }): readonly string[] =>
  hcl ? textsInHcl(value) : [value];
