/** The spellings under which a secret can appear in a program's output. Pure. */
import { textsInHcl } from "./hcl.ts";

/** Shorter secrets are part of ordinary words. */
const lengthMin = 4;
/** Lines are masked separately, because engines indent them; short ones are often just brackets. */
const lineLengthMin = 8;
/** Masking these would break every line of JSON. */
const jsonKeywords = new Set(["true", "false", "null"]);

export function secretSpellings(secrets: Iterable<string>): Buffer[] {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (jsonKeywords.has(secret) || Buffer.byteLength(secret) < lengthMin) continue;
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

function jsonForms(text: string): string[] {
  const plain = JSON.stringify(text).slice(1, -1);
  const forGo = plain.replace(/[<>&\u2028\u2029]/g, escaped);
  // JSON inside a JSON string: a provisioner's output, a policy.
  return [plain, forGo, JSON.stringify(plain).slice(1, -1), JSON.stringify(forGo).slice(1, -1)];
}

const escaped = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Alone, and at each of the three offsets within a longer text, without the letters that depend on its neighbours. */
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

export const maskedValues = ({ value, hcl }: { readonly value: string; readonly hcl: boolean }): readonly string[] =>
  hcl ? textsInHcl(value) : [value];
