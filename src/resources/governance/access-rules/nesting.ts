/** Bounds how deeply a policy's expressions nest, before Cedar parses it: its parser and evaluator recurse on a stack of fixed size. */

const bracketsMax = 32;
/**
 * Of operators that contain each other, and brackets. Cedar 4.13 traps at about 130 brackets when it parses, and at about 400 operators
 * when it evaluates.
 */
const depthMax = 250;
const bracketWeight = 3;

const token = /\/\/[^\n]*|"(?:\\[\s\S]|[^"\\])*"|&&|\|\||[=!<>]=|::|[()[\]{},;<>+*.!-]|[A-Za-z_]\w*|[^]/g;
const operatorWords = new Set(["has", "like", "in", "is", "if", "when", "unless"]);
const operators = new Set(["&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", ".", "!", "::"]);

/** Strings and comments don't count. A comma begins a new operand, so what it separates doesn't nest. */
export function isNestedTooDeeply(policy: string): boolean {
  const enclosing: number[] = [];
  let depth = 0;
  let start = 0;
  for (const [part] of policy.matchAll(token)) {
    if ("([{".includes(part)) {
      enclosing.push(start);
      depth += bracketWeight;
      start = depth;
    } else if (")]}".includes(part)) {
      depth = start - bracketWeight;
      start = enclosing.pop() ?? 0;
      depth = Math.max(depth, 0);
    } else if (part === "," || part === ";") depth = start;
    else if (operators.has(part) || operatorWords.has(part)) depth += 1;
    if (depth > depthMax || enclosing.length > bracketsMax) return true;
  }
  return false;
}

export const nestingSentence = `is nested too deeply: at most ${bracketsMax} brackets in each other and about ${depthMax} operators in one expression. Use a set, as in \`resource in [...]\`, or several rules`;
