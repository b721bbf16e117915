/**
 * Compares the attributes of a changed resource. Must hide values that either state marks as sensitive, or whose name or type
 * looks secret: older engines record only marks from the configuration, not from the provider.
 */
import type { AttributeChange } from "./definition.ts";
import { rootMark, type SensitiveMark, markOf, SensitiveMarks } from "./marks.ts";

/** Further changes are counted but not listed. */
const listedMax = 200;
/** Limits the size of a page. */
const valueLengthMax = 20_000;

/** Characters of paths and values that remain for a page. */
export interface ComparisonBudget {
  left: number;
}
export const pageBudget = (): ComparisonBudget => ({ left: 4 * 1024 * 1024 });

const secretName = new RegExp(
  [
    "passw|passphrase|pwd|psk|jwt|secret|token|credential|connection[_-]?string|kube[_-]?config|(user|custom)[_-]?data",
    "(private|access|api|auth|encryption|shared|client|primary|secondary|account|signing|hmac|tls)[_-]?key",
    // Only as whole words: `bypass` and `fieldsname` contain them too.
    "(?<![a-z])(pass|dsn|pem)(?![a-z])",
  ].join("|"),
  "i",
);
const secretType = /password|secret|private_key|access_key|api_key|token|credential/i;

interface AttributeComparison {
  readonly listed: AttributeChange[];
  readonly path: string[];
  readonly isIndex: boolean[];
  readonly marks: SensitiveMarks;
  readonly budget: ComparisonBudget;
  count: number;
}

/** `count` includes changes that are not listed. */
export function attributeChangesOf(
  type: string,
  beforeText: string,
  afterText: string,
  budget: ComparisonBudget,
): { listed: AttributeChange[]; count: number } {
  const [before, after] = [instanceOf(beforeText), instanceOf(afterText)];
  const marked = [...before.marks, ...after.marks];
  // The keys of flat attributes are whole paths (`a.b`), which no mark matches.
  const hidesAll = secretType.test(type) || (marked.length > 0 && (before.isFlat || after.isFlat));
  const marks = new SensitiveMarks(hidesAll ? [rootMark] : marked);
  const compared: AttributeComparison = { listed: [], path: [], isIndex: [], marks, budget, count: 0 };
  compare(compared, before.attributes, after.attributes);
  return { listed: compared.listed, count: compared.count };
}

function instanceOf(text: string): { attributes: unknown; isFlat: boolean; marks: SensitiveMark[] } {
  const instance = JSON.parse(text, exactNumbers) as Readonly<Record<string, unknown>>;
  const marks = instance["sensitive_attributes"] ?? [];
  const isFlat = isAbsent(instance["attributes"]);
  return {
    attributes: instance[isFlat ? "attributes_flat" : "attributes"],
    isFlat,
    marks: Array.isArray(marks) ? marks.map(markOf) : [rootMark],
  };
}

/** Keeps the source text of numbers that JavaScript would round. */
const exactNumbers = (_: string, value: unknown, { source }: { source?: string } = {}): unknown =>
  typeof value === "number" && source !== undefined && !isExact(value, source) ? source : value;

const isExact = (value: number, source: string): boolean => Number.isSafeInteger(value) || String(value) === source;

type JsonContainer = Readonly<Record<string, unknown>> | readonly unknown[];

const isContainer = (value: unknown): value is JsonContainer => typeof value === "object" && value !== null;
const isAbsent = (value: unknown): boolean => value === undefined || value === null;
const kindOf = (value: unknown): string => (Array.isArray(value) ? "list" : isContainer(value) ? "map" : "leaf");
const isEmpty = (value: JsonContainer): boolean => Object.keys(value).length === 0;

/** Compares an added or removed container with an empty one, to list its members. */
function counterpart(value: unknown, other: unknown): unknown {
  return isAbsent(value) && isContainer(other) && !isEmpty(other) ? (Array.isArray(other) ? [] : {}) : value;
}

function compare(compared: AttributeComparison, before: unknown, after: unknown): void {
  const [one, other] = [counterpart(before, after), counterpart(after, before)];
  if (!isContainer(one) || !isContainer(other) || kindOf(one) !== kindOf(other)) {
    if (one !== other && !(isContainer(one) && isContainer(other) && isEmpty(one) && isEmpty(other)))
      addChange(compared, before, after);
    return;
  }
  for (const key of keysOf(one, other)) {
    compared.path.push(key);
    compared.isIndex.push(Array.isArray(one));
    compare(compared, valueAt(one, key), valueAt(other, key));
    compared.path.pop();
    compared.isIndex.pop();
  }
}

function keysOf(one: JsonContainer, other: JsonContainer): string[] {
  if (Array.isArray(one)) return Object.keys(one.length >= (other as readonly unknown[]).length ? one : other);
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].sort();
}

const valueAt = (container: JsonContainer, key: string): unknown =>
  Object.hasOwn(container, key) ? (container as Readonly<Record<string, unknown>>)[key] : undefined;

function addChange(compared: AttributeComparison, before: unknown, after: unknown): void {
  compared.count++;
  const { listed, budget } = compared;
  if (listed.length >= listedMax || budget.left <= 0) return;
  const path = pathText(compared);
  const sensitive = isSecret(compared, before, after);
  const lengths = sensitive ? [0, 0] : [before, after].map((value) => JSON.stringify(value ?? null).length);
  const tooLarge = lengths.some((length) => length > valueLengthMax);
  const isShown = !sensitive && !tooLarge;
  budget.left -= path.length + (isShown ? lengths.reduce((sum, length) => sum + length, 0) : 0);
  listed.push({
    path,
    change: before === undefined ? "added" : after === undefined ? "removed" : "changed",
    sensitive,
    "too-large": tooLarge,
    before: isShown ? (before ?? null) : null,
    after: isShown ? (after ?? null) : null,
  });
}

/** As in a configuration: `tags["a b"]`, `ingress[0].port`. */
function pathText({ path, isIndex }: AttributeComparison): string {
  return path
    .map((key, step) => {
      if (isIndex[step]) return `[${key}]`;
      if (!/^[\p{L}_][\p{L}\p{N}_-]*$/u.test(key)) return `[${JSON.stringify(key)}]`;
      return step === 0 ? key : `.${key}`;
    })
    .join("");
}

function isSecret({ path, isIndex, marks }: AttributeComparison, before: unknown, after: unknown): boolean {
  if (path.some((key, step) => !isIndex[step] && secretName.test(key))) return true;
  return marks.isHidden(path) || hasSecretName(before) || hasSecretName(after);
}

const hasSecretName = (value: unknown): boolean =>
  isContainer(value) && Object.entries(value).some(([key, inner]) => secretName.test(key) || hasSecretName(inner));
