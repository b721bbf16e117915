/** Writes HCL. */

export class HclExpression {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HclArgument =
  | string
  | number
  | boolean
  | HclExpression
  | readonly HclArgument[]
  | { readonly [key: string]: HclArgument };

export interface HclBody {
  readonly attributes: Readonly<Record<string, HclArgument | undefined>>;
  readonly blocks?: Readonly<Record<string, HclBody | undefined>>;
}

/** HCL would evaluate template sequences. */
export const quotedText = (text: string): string =>
  JSON.stringify(text)
    .replaceAll("${", () => "$${")
    .replaceAll("%{", "%%{")
    // JSON escapes that HCL doesn't have.
    .replaceAll(
      /(?<!\\)((?:\\\\)*)\\([bf])/g,
      (_, before: string, letter: string) => `${before}\\u${letter === "b" ? "0008" : "000c"}`,
    );

export function valueText(value: HclArgument, indent = ""): string {
  if (value instanceof HclExpression) return value.text;
  if (typeof value === "string") return quotedText(value);
  if (typeof value !== "object") return String(value);
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((each: HclArgument) => `${inner}${valueText(each, inner)},\n`).join("")}${indent}]`;
  }
  const entries = Object.entries(value as Readonly<Record<string, HclArgument>>);
  if (entries.length === 0) return "{}";
  return `{\n${entries.map(([key, each]) => `${inner}${quotedText(key)} = ${valueText(each, inner)}\n`).join("")}${indent}}`;
}

export function block(head: string, { attributes, blocks = {} }: HclBody, indent = ""): string {
  const inner = `${indent}  `;
  const lines = Object.entries(attributes).flatMap(([name, value]) =>
    value === undefined ? [] : [`${inner}${name} = ${valueText(value, inner)}\n`],
  );
  const nested = Object.entries(blocks).flatMap(([name, body]) =>
    body === undefined ? [] : [`\n${block(name, body, inner)}`],
  );
  return `${indent}${head} {\n${lines.join("")}${nested.join("")}${indent}}\n`;
}

export class ResourceLabels {
  readonly #taken = new Set<string>();

  for(kind: string, name: string): string {
    const plain =
      name
        .toLowerCase()
        .replaceAll(/[^a-z0-9_]+/g, "_")
        .replaceAll(/^_+|_+$/g, "") || "unnamed";
    const label = /^[0-9]/.test(plain) ? `_${plain}` : plain;
    for (let count = 1; ; count += 1) {
      const tried = count === 1 ? label : `${label}_${count}`;
      if (this.#taken.has(`${kind} ${tried}`)) continue;
      this.#taken.add(`${kind} ${tried}`);
      return tried;
    }
  }
}
