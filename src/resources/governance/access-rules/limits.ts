/** Bounds a policy before Cedar parses it: its parser and evaluator recurse on a stack of fixed size, and every change of access evaluates it. */

const bracketsMax = 32;
/**
 * Of operators that contain each other, and brackets. Cedar 4.13 traps at about 130 brackets when it parses, and at about 400 operators
 * when it evaluates.
 */
const depthMax = 250;
const bracketWeight = 3;
/** 16 KiB of ids, the longest useful policy, have 2,400. Cedar prepares 2,500 in at most 3 milliseconds. */
const wordsMax = 2500;
/** Matching takes the product of both lengths, at a nanosecond each. */
const stringLengthMax = 1000;
const patternLengthMax = 1000;

const token = /\/\/[^\n\r]*|\s+|"(?:\\[\s\S]|[^"\\])*"|&&|\|\||[=!<>]=|::|[()[\]{},;<>+*.!-]|[A-Za-z_]\w*|\d+|[^]/g;
const operatorWords = new Set(["has", "like", "in", "is", "if", "when", "unless"]);
const operators = new Set(["&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", ".", "!", "::"]);

/** Without comments and white space. */
function wordsOf(policy: string): string[] {
  return Array.from(policy.matchAll(token), ([part]) => part).filter((part) => !/^(\/\/|\s)/.test(part));
}

/** The end of a sentence about the policy. */
export function limitFault(policy: string): string | undefined {
  const words = wordsOf(policy);
  if (isNestedTooDeeply(words)) return nestingSentence;
  if (words.length > wordsMax)
    return `is too complex: it has ${words.length} words, operators and punctuation marks, and at most ${wordsMax} are possible. Use several rules`;
  return stringFault(words);
}

/** What one pair of brackets encloses, or the whole policy, since the last comma. */
interface NestingLevel {
  operators: number;
  /** An upper bound of the height of the expression's tree. */
  height: number;
}

/**
 * Strings don't count. Operators before a bracket may contain what it encloses, and those after it do. A comma begins a new operand, so what
 * it separates doesn't nest.
 */
function isNestedTooDeeply(words: readonly string[]): boolean {
  const enclosing: (NestingLevel & { readonly heightBefore: number })[] = [];
  let level: NestingLevel = { operators: 0, height: 0 };
  let heightBefore = 0;
  for (const part of words) {
    if ("([{".includes(part)) {
      enclosing.push({ ...level, heightBefore });
      level = { operators: 0, height: 0 };
      heightBefore = 0;
    } else if (")]}".includes(part)) {
      const enclosed = Math.max(level.height, heightBefore) + bracketWeight;
      const outer = enclosing.pop() ?? { operators: 0, height: 0, heightBefore: 0 };
      level = { operators: outer.operators, height: Math.max(outer.height, outer.operators + enclosed) };
      ({ heightBefore } = outer);
    } else if (part === "," || part === ";") {
      heightBefore = Math.max(heightBefore, level.height);
      level = { operators: 0, height: 0 };
    } else if (operators.has(part) || operatorWords.has(part)) {
      level.operators += 1;
      level.height += 1;
    }
    if (level.height > depthMax || enclosing.length > bracketsMax) return true;
  }
  return false;
}

/** Annotations are not evaluated. */
function stringFault(words: readonly string[]): string | undefined {
  let patternLength = 0;
  for (const [index, word] of words.entries()) {
    if (!word.startsWith('"') || words[index - 3] === "@") continue;
    if (word.length - 2 > stringLengthMax) return `has a string of more than ${stringLengthMax} characters: shorten it`;
    if (words[index - 1] === "like") patternLength += word.length - 2;
  }
  return patternLength > patternLengthMax
    ? `has patterns of more than ${patternLengthMax} characters together after \`like\`: shorten them, or use several rules`
    : undefined;
}

export const nestingSentence = `is nested too deeply: at most ${bracketsMax} brackets in each other and about ${depthMax} operators in one expression. Use a set, as in \`resource in [...]\`, or several rules`;
