/** Masks sensitive variables in a plan. Replacements keep the JSON type, and are equal if and only if the values are. Pure. */
import { comparedMax, LiteralMatcher } from "../../../kernel/literal-matcher.ts";
import { secretSpellings, maskedValues } from "../../../kernel/secret-spellings.ts";
import type { ExactJson } from "./exact-json.ts";

export interface SecretVariable {
  readonly value: string;
  readonly hcl: boolean;
}

export class TooManySecrets extends Error {}

const spellingBytesMax = 4 * 1024 * 1024;
/** Larger than any number in a plan, and small enough to stay exact. */
const firstNumber = 900_000_000_000_000;

export class PlanMask {
  readonly #matcher: LiteralMatcher;
  readonly #json: ExactJson;
  readonly #numbers = new Map<string, number>();

  constructor(secrets: readonly SecretVariable[], json: ExactJson) {
    const spellings = secretSpellings(secrets.flatMap(maskedValues));
    if (spellings.reduce((sum, { length }) => sum + Math.min(length, comparedMax), 0) > spellingBytesMax)
      throw new TooManySecrets();
    this.#matcher = new LiteralMatcher(spellings);
    this.#json = json;
  }

  get isEmpty(): boolean {
    return this.#matcher.isEmpty;
  }

  leaf(value: unknown): unknown {
    if (this.isEmpty) return value;
    const number = this.#json.numberIn(value);
    if (number === undefined) return typeof value === "string" ? this.text(value) : value;
    const isSecret = this.#matcher.spans(Buffer.from(number)).length > 0;
    return isSecret ? firstNumber + this.#numberOf(number) : value;
  }

  text(text: string): string {
    if (this.isEmpty) return text;
    const bytes = Buffer.from(text);
    const spans = this.#matcher.spans(bytes);
    if (spans.length === 0) return text;
    const pieces: string[] = [];
    let at = 0;
    for (const [from, to] of spans) {
      const hidden = bytes.toString("utf8", from, to);
      pieces.push(bytes.toString("utf8", at, from), `(sensitive variable ${this.#numberOf(hidden)})`);
      at = to;
    }
    return [...pieces, bytes.toString("utf8", at)].join("");
  }

  values(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item: unknown) => this.values(item));
    if (typeof value !== "object" || value === null) return this.leaf(value);
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.values(member)]));
  }

  #numberOf(hidden: string): number {
    const number = this.#numbers.get(hidden) ?? this.#numbers.size + 1;
    this.#numbers.set(hidden, number);
    return number;
  }
}
