/** The grammar of JSON (RFC 8259) as a table for `json-scanner.ts`, which tracks the nesting. */

/** Refuses every byte. */
export const failed = 0;
export const beforeValue = 1;
export const beforeFirstElement = 2;
export const beforeFirstKey = 3;
const beforeKey = 4;
export const beforeColon = 5;
export const afterMember = 6;
export const afterElement = 7;
export const afterAll = 8;
export const inString = 9;
export const beforeScalar = 10;

const inEscape = 11;
const inHex = [12, 13, 14, 15] as const;
const afterMinus = 16;
const afterZero = 17;
const inInteger = 18;
const afterPoint = 19;
const inFraction = 20;
const afterExponent = 21;
const afterExponentSign = 22;
const inExponent = 23;
const inLiterals = 24;
const stateCount = 40;

export const firstAction = 64;
const refuse = 64;
export const openObject = 65;
export const openArray = 66;
export const close = 67;
export const startString = 68;
export const startKey = 69;
export const endString = 70;
export const startScalar = 71;
/** The byte follows the number and is not consumed. */
export const endNumber = 72;
export const endLiteral = 73;

const space = " \t\n\r";
const nonZero = "123456789";
const digits = `0${nonZero}`;

/** `grammar[(state << 8) | byte]` */
export const grammar: Uint8Array = makeGrammar();

/** 1 for the bytes that a string contains unescaped. UTF-8 from 0x80 on is validated separately. */
export const plainInString: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  grammar[(inString << 8) | byte] === inString ? 1 : 0,
);

/** Whether the text can end in this state: only a number has no terminator. */
export function endsNumber(state: number): boolean {
  return grammar[(state << 8) | 0x20] === endNumber;
}

function makeGrammar(): Uint8Array {
  const table = new Uint8Array(stateCount << 8).fill(refuse);
  const on = (state: number, characters: string, next: number) => {
    for (const character of characters) table[(state << 8) | character.charCodeAt(0)] = next;
  };

  for (const state of [beforeValue, beforeFirstElement]) {
    on(state, "{", openObject);
    on(state, "[", openArray);
    on(state, '"', startString);
    on(state, `-${digits}tfn`, startScalar);
  }
  on(beforeFirstElement, "]", close);
  on(beforeFirstKey, "}", close);
  on(beforeFirstKey, '"', startKey);
  on(beforeKey, '"', startKey);
  on(beforeColon, ":", beforeValue);
  on(afterMember, ",", beforeKey);
  on(afterMember, "}", close);
  on(afterElement, ",", beforeValue);
  on(afterElement, "]", close);
  for (let state = beforeValue; state <= afterAll; state++) on(state, space, state);

  addStrings(table, on);
  addNumbers(on);
  addLiterals(on);
  return table;
}

type TransitionSetter = (state: number, characters: string, next: number) => void;

function addStrings(table: Uint8Array, on: TransitionSetter): void {
  table.fill(inString, (inString << 8) | 0x20, (inString + 1) << 8);
  on(inString, '"', endString);
  on(inString, "\\", inEscape);
  on(inEscape, '"\\/bfnrt', inString);
  on(inEscape, "u", inHex[0]);
  for (const [index, state] of inHex.entries()) on(state, `${digits}abcdefABCDEF`, inHex[index + 1] ?? inString);
}

function addNumbers(on: TransitionSetter): void {
  for (const state of [beforeScalar, afterMinus]) {
    on(state, "0", afterZero);
    on(state, nonZero, inInteger);
  }
  on(beforeScalar, "-", afterMinus);
  on(inInteger, digits, inInteger);
  for (const state of [afterZero, inInteger]) on(state, ".", afterPoint);
  for (const state of [afterPoint, inFraction]) on(state, digits, inFraction);
  for (const state of [afterZero, inInteger, inFraction]) on(state, "eE", afterExponent);
  on(afterExponent, "+-", afterExponentSign);
  for (const state of [afterExponent, afterExponentSign, inExponent]) on(state, digits, inExponent);
  for (const state of [afterZero, inInteger, inFraction, inExponent]) on(state, `${space},]}`, endNumber);
}

function addLiterals(on: TransitionSetter): void {
  let free = inLiterals;
  for (const literal of ["true", "false", "null"]) {
    let state: number = beforeScalar;
    for (const [index, letter] of [...literal].entries()) {
      const next = index === literal.length - 1 ? endLiteral : free++;
      on(state, letter, next);
      state = next;
    }
  }
}
