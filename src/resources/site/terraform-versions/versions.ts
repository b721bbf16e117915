/** Engine versions and constraints on them: how they are written, and which of two is the newer. Pure. */

const number = "(?:0|[1-9][0-9]{0,8})";
/** Of a release this is small; versions of one's own making count on, by dates or at random. */
const patch = "(?:0|[1-9][0-9]*)";
const label = "[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*";
const exact = new RegExp(`^(${number})\\.(${number})\\.(${patch})(?:-(${label}))?(?:\\+${label})?$`);
/** In a constraint a version may leave out its last parts: `>= 1.2`. */
const condition = new RegExp(
  `^(?:=|!=|>=|<=|>|<|~>)?\\s*${number}(?:\\.${number}(?:\\.${patch}(?:-${label})?(?:\\+${label})?)?)?$`,
);

/** Stands for the newest release wherever a constraint may stand. */
export const latest = "latest";

const lengthMax = 255;

/** `1.9.5` or `1.9.0-beta1`: all three numbers, and nothing before them. */
export function isExactVersion(text: string): boolean {
  return text.length <= lengthMax && exact.test(text);
}

/** `~> 1.0.0`, `>= 1.2, < 2.0`, `!= 1.3.1`, `latest`. An exact version is a constraint too. */
export function isConstraint(text: string): boolean {
  if (text.length > lengthMax) return false;
  return text === latest || text.split(",").every((part) => condition.test(part.trim()));
}

/** Neither alpha nor beta nor a release candidate. */
export function isRelease(version: string): boolean {
  return exact.exec(version)?.[4] === undefined && isExactVersion(version);
}

/** Negative where the first is older, positive where it is newer. Both must be exact versions; build labels don't count. */
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

interface Parts {
  /** As they are written: they may be larger than what JavaScript counts exactly. */
  readonly numbers: readonly [string, string, string];
  readonly prerelease: readonly string[];
}

function partsOf(version: string): Parts {
  const [, major, minor, last, prerelease] = exact.exec(version) ?? [];
  if (major === undefined || minor === undefined || last === undefined)
    throw new Error(`${version} is not an exact version`);
  return {
    numbers: [major, minor, last],
    prerelease: prerelease === undefined ? [] : prerelease.split("."),
  };
}

/** Without one comes after any; numbers come before words; the rest goes by bytes. */
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

/** Of two numbers without leading zeros, the longer is the larger. */
function compareNumbers(left: string, right: string): number {
  if (left.length !== right.length) return left.length - right.length;
  return left === right ? 0 : left < right ? -1 : 1;
}

/** Whether an exact version fulfils a constraint: every part of it. A pre-release is only what names it exactly. */
export function satisfies(version: string, constraint: string): boolean {
  if (constraint === latest) return isRelease(version);
  return constraint.split(",").every((part) => fulfils(version, part.trim()));
}

function fulfils(version: string, part: string): boolean {
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
  // `~> 1.2.3` leaves the last of the numbers that it names open.
  const fixed = named.split(/[-+]/)[0]?.split(".").slice(0, -1) ?? [];
  return difference >= 0 && fixed.every((number, position) => partsOf(version).numbers[position] === number);
}

const padded = (version: string): string => [...version.split("."), "0", "0"].slice(0, 3).join(".");
