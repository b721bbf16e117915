/** Values at and past each bound of a project's attributes, tried on create and on update alike. */

const emoji = "\u{1F600}";

export const namesAccepted: readonly string[] = [
  "abc",
  "a".repeat(40),
  "012",
  "A b_C-9",
  "a  b",
  "___",
  "---",
  "-a-",
  "Z z",
];

export const namesTooShort: readonly string[] = ["a", "ab"];
export const namesTooLong: readonly string[] = ["a".repeat(41), "a".repeat(4000)];

/** Each has a length that is allowed, and a character that is not. */
export const namesOfOtherCharacters: readonly string[] = [
  " abc",
  "abc ",
  "   ",
  "a.b.c",
  "a/b/c",
  "a,b,c",
  "a'b'c",
  "a%b%c",
  "abc\n",
  "ab\tc",
  "a\u00a0b\u00a0c",
  "na\u00efve",
  "\u00e5\u00e4\u00f6",
  "\u65e5\u672c\u8a9e",
  "\u0430\u0431\u0432",
  "ab\uff11",
  emoji.repeat(3),
];

export const descriptionsAccepted: readonly (string | null)[] = [
  null,
  "",
  "x".repeat(256),
  emoji.repeat(256),
  "two\nlines, \u00fcml\u00e4ut & <b>",
  " spaces kept ",
];
export const descriptionsTooLong: readonly string[] = ["x".repeat(257), emoji.repeat(257), `${emoji.repeat(256)}x`];

export const durationsAccepted: readonly (string | null)[] = [
  null,
  "1d",
  "1h",
  "01d",
  "0001h",
  "14d",
  "9999d",
  "9999h",
  "1000h",
];
export const durationsRefused: readonly string[] = [
  "",
  "0d",
  "00d",
  "0000h",
  "10000h",
  "00001d",
  "1w",
  "1m",
  "1D",
  "d",
  "1",
  "d1",
  "1 d",
  " 1d",
  "1d ",
  "1d\n",
  "-1d",
  "+1d",
  "1.5d",
  "1dh",
  "1d1h",
  "\u0663d",
];

export const durationSentence =
  "Auto destroy activity duration has an incorrect format, we expect up to 4 numeric digits and 1 unit ('d' or 'h')";

/** Values of a wrong type for a string attribute. */
export const notStrings: readonly unknown[] = [5, true, [], ["abc"], {}, { name: "abc" }];
