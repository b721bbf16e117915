/** Parses and compares engine versions and version constraints. Pure. */

const number = "(?:0|[1-9][0-9]{0,8})";
/** Unbounded: custom builds use dates or random numbers. */
const patch = "(?:0|[1-9][0-9]*)";
const label = "[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*";
const exact = new RegExp(`^(${number})\\.(${number})\\.(${patch})(?:-(${label}))?(?:\\+${label})?$`);
const condition = new RegExp(
  `^(?:=|!=|>=|<=|>|<|~>)?\\s*${number}(?:\\.${number}(?:\\.${patch}(?:-${label})?(?:\\+${label})?)?)?$`,
);

export const latest = "latest";

const lengthMax = 255;

export function isExactVersion(text: string): boolean {
  return text.length <= lengthMax && exact.test(text);
}

export function isConstraint(text: string): boolean {
  if (text.length > lengthMax) return false;
  return text === latest || text.split(",").every((part) => condition.test(part.trim()));
}

export function isRelease(version: string): boolean {
  return exact.exec(version)?.[4] === undefined && isExactVersion(version);
}

export function compareVersions(left: string, right: string): number {
  const [before, after] = [partsOf(left), partsOf(right)];
  for (const position of [0, 1, 2] as const) {
    const difference = compareNumbers(before.numbers[position], after.numbers[position]);
    if (difference !== 0) return difference;
  }
  return comparePrereleases(before.prerelease, after.prerelease);
}

export function isOlder(version: string, than: string): boolean {
  return compareVersions(version, than) < 0;
}

interface VersionParts {
  /** Kept as text, because they can exceed JavaScript's safe integers. */
  readonly numbers: readonly [string, string, string];
  readonly prerelease: readonly string[];
}

function partsOf(version: string): VersionParts {
  const [, major, minor, last, prerelease] = exact.exec(version) ?? [];
  if (major === undefined || minor === undefined || last === undefined)
    throw new Error(`${version} is not an exact version`);
  return {
    numbers: [major, minor, last],
    prerelease: prerelease === undefined ? [] : prerelease.split("."),
  };
}

/** Semantic versioning: a release sorts after its pre-releases, numbers before words, and words by bytes. */
function comparePrereleases(left: readonly string[], right: readonly string[]): number {
  if (left.length === 0 || right.length === 0) return right.length - left.length;
  for (const [position, mine] of left.entries()) {
    const other = right[position];
    if (other === undefined) return 1;
    const difference = compareIdentifiers(mine, other);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function compareIdentifiers(left: string, right: string): number {
  if (left === right) return 0;
  const [leftIsNumber, rightIsNumber] = [/^[0-9]+$/.test(left), /^[0-9]+$/.test(right)];
  if (leftIsNumber !== rightIsNumber) return leftIsNumber ? -1 : 1;
  return leftIsNumber ? compareNumbers(left, right) : left < right ? -1 : 1;
}

/** Without leading zeros, the longer number is larger. */
function compareNumbers(left: string, right: string): number {
  if (left.length !== right.length) return left.length - right.length;
  return left === right ? 0 : left < right ? -1 : 1;
}

/** A pre-release satisfies only a part that names it exactly. */
export function satisfies(version: string, constraint: string): boolean {
  if (constraint === latest) return isRelease(version);
  return constraint.split(",").every((part) => satisfiesPart(version, part.trim()));
}

function satisfiesPart(version: string, part: string): boolean {
  const [, operator = "", named = ""] = /^(=|!=|>=|<=|>|<|~>)?\s*(.+)$/.exec(part) ?? [];
  const bound = named.split(/[-+]/)[0]?.split(".").length === 3 ? named : padded(named);
  const difference = compareVersions(version, bound);
  if (operator === "" || operator === "=") return difference === 0;
  if (operator === "!=") return difference !== 0;
  if (!isRelease(version)) return false;
  if (operator === ">=") return difference >= 0;
  if (operator === "<=") return difference <= 0;
  if (operator === ">") return difference > 0;
  if (operator === "<") return difference < 0;
  const fixed = named.split(/[-+]/)[0]?.split(".").slice(0, -1) ?? [];
  return difference >= 0 && fixed.every((number, position) => partsOf(version).numbers[position] === number);
}

const padded = (version: string): string => [...version.split("."), "0", "0"].slice(0, 3).join(".");
