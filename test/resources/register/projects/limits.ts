/** Values at and beyond each limit of a project's attributes, for create and update alike. */
import { expect } from "vitest";
import type { Answer } from "../../../support/api.ts";

const emoji = "\u{1F600}";

const namesAccepted = ["abc", "a".repeat(40), "012", "A b_C-9", "a  b", "___", "---", "-a-", "Z z"];

const namesTooShort = ["a", "ab"];
const namesTooLong = ["a".repeat(41), "a".repeat(4000)];

/** Each has a length that is allowed, and a character that is not. */
const namesOfOtherCharacters = [
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

const descriptionsAccepted = [
  null,
  "",
  "x".repeat(256),
  emoji.repeat(256),
  "two\nlines, \u00fcml\u00e4ut & <b>",
  " spaces kept ",
];
const descriptionsTooLong = ["x".repeat(257), emoji.repeat(257), `${emoji.repeat(256)}x`];

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
const durationsRefused = [
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
const notStrings = [5, true, [], ["abc"], {}, { name: "abc" }];

type Values = readonly (readonly [title: string, attribute: string, value: unknown])[];
const each = (attribute: string, values: readonly unknown[]): Values =>
  values.map((value) => [`${attribute} ${JSON.stringify(value).slice(0, 40)}`, attribute, value]);

export const accepted: Values = [
  ...each("name", namesAccepted),
  ...each("description", descriptionsAccepted),
  ...each("auto-destroy-activity-duration", durationsAccepted),
];

const refusals: readonly (readonly [attribute: string, values: readonly unknown[], detail: string | RegExp])[] = [
  ["name", [""], "Name can't be blank"],
  ["name", namesTooShort, "Name is too short (minimum is 3 characters)"],
  ["name", namesTooLong, "Name is too long (maximum is 40 characters)"],
  ["name", namesOfOtherCharacters, /^Name may only contain letters, numbers, spaces/],
  ["name", [null, ...notStrings], "Name must be a string"],
  ["description", descriptionsTooLong, "Description is too long (maximum is 256 characters)"],
  ["description", notStrings, "Description must be a string"],
  ["auto-destroy-activity-duration", durationsRefused, durationSentence],
  ["auto-destroy-activity-duration", notStrings, "Auto destroy activity duration must be a string"],
];
export const refused = refusals.flatMap(([attribute, values, detail]) =>
  each(attribute, values).map((value) => [...value, detail] as const),
);

/** Expects exactly this error. */
export function expectRefused(answer: Answer, pointer: string, detail: string | RegExp): void {
  expect(answer.status).toBe(422);
  const expectedDetail = typeof detail === "string" ? detail : expect.stringMatching(detail);
  const error = { status: "422", title: "invalid attribute", detail: expectedDetail, source: { pointer } };
  expect(answer.body).toEqual({ errors: [error] });
}
