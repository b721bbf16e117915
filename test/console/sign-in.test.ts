/** Signing in and out, in a browser. */
import { beforeAll, expect, test } from "vitest";
import { expectAccessible, useConsole } from "./support/browser.ts";

const console = useConsole();
const password = "correct-horse-battery";

beforeAll(async () => {
  const { admin } = console.api;
  const made = await admin.post("/admin/users", {
    data: { type: "users", attributes: { username: "ana", email: "ana@acme.example", password } },
  });
  expect(made.status).toBe(201);
});

test("a page that was requested without a session opens after signing in", async () => {
  const { page, go, complaints } = await console.visit();
  await go("/?page=1");
  await page.getByLabel("Username").fill("ana");
  await page.getByRole("textbox", { name: "Password" }).fill("not it at all");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await expectAccessible(page);
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/app/?page=1");
  await page.getByRole("button", { name: "Account of ana" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.waitForURL("**/app/~/sign-in");
  expect(complaints).toEqual([]);
});
