/** Every address, as it is written: a change here breaks links that people have kept. */
import { expect, test } from "vitest";
import { paths } from "../console/paths.ts";

test("the addresses of the console", () => {
  const all = Object.entries(paths).map(([name, path]) => [
    name,
    (path as (...words: string[]) => string)("acme", "one", "two"),
  ]);
  expect(Object.fromEntries(all)).toMatchSnapshot();
});

test("a name with signs of its own stays one part of the address", () => {
  expect(paths.workspace("acme", "a/b?c")).toBe("/acme/workspaces/a%2Fb%3Fc");
});
