/** Every path of the console: a change breaks links and bookmarks. */
import { expect, test } from "vitest";
import { paths } from "../console/paths.ts";

test("the addresses of the console", () => {
  const all = Object.entries(paths).map(([name, path]) => [
    name,
    (path as (...words: string[]) => string)("acme", "one", "two"),
  ]);
  expect(Object.fromEntries(all)).toMatchSnapshot();
});

test("special characters in a name are encoded", () => {
  expect(paths.workspace("acme", "a/b?c")).toBe("/acme/workspaces/a%2Fb%3Fc");
});
