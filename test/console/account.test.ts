/** The account page: tokens, sessions, password; and the site's users for site admins. */
import { expect, test } from "vitest";
import { data, resource } from "../support/builders.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";

const console = useConsole();
const password = "correct-horse-battery";

test("a site admin creates a user, who creates a token, ends another session and changes the password", async () => {
  const { admin } = console.api;
  const site = await console.visit(admin.token);
  await site.go("/~/site");
  await site.page.getByRole("button", { name: "New user" }).click();
  await site.page.getByLabel("Username").fill("mia");
  await site.page.getByLabel("Email").fill("mia@acme.example");
  await site.page.getByRole("textbox", { name: "Password" }).fill(password);
  await site.page.getByRole("button", { name: "Create user" }).click();
  await site.page.getByRole("row").filter({ hasText: "mia@acme.example" }).waitFor();
  await expectAccessible(site.page);
  expect(site.complaints).toEqual([]);

  // Another session, and one in this browser.
  data(await console.api.nobody.post("/sessions", resource("sessions", { username: "mia", password })));
  const { page, go, complaints } = await console.visit();
  await go("/~/account");
  await page.getByLabel("Username").fill("mia");
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Account" }).waitFor();

  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByLabel("Description").fill("my laptop");
  await page.getByRole("dialog").getByRole("button", { name: "Create token" }).click();
  const secret = (await page.getByRole("group", { name: "New token" }).textContent())!.trim();
  expect(data(await console.api.as(secret).get("/account/details")).attributes.username).toBe("mia");
  await page.getByRole("button", { name: "I have copied it" }).click();
  await page.getByRole("row").filter({ hasText: "my laptop" }).waitFor();

  const sessions = page.getByRole("table", { name: "Your sessions" }).getByRole("row");
  await expectCount(sessions, 3);
  await page.getByRole("button", { name: /^End session of/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End session" }).click();
  await page.getByRole("button", { name: /^End session of/ }).waitFor({ state: "detached" });
  await expectAccessible(page);

  await page.getByLabel("Current password").fill(password);
  await page.getByLabel("New password", { exact: true }).fill("staple horse correct battery");
  await page.getByLabel("Confirm new password").fill("something else entirely");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("Password confirmation doesn't match the password").waitFor();
  await page.getByLabel("Confirm new password").fill("staple horse correct battery");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByRole("heading", { name: "Sign in to Cadastre" }).waitFor();
  expect(complaints).toEqual([]);
});

test("only site admins see the site's pages", async () => {
  const { page, go } = await console.visit(
    data(
      await console.api.admin.post(
        `/users/${data(await console.api.admin.post("/admin/users", resource("users", { username: "jo", email: "jo@acme.example" }))).id}/authentication-tokens`,
      ),
    ).attributes.token,
  );
  await go("/~/site");
  await page.getByText("Site admins only").waitFor();
  await expectCount(page.getByRole("button", { name: "New user" }), 0);
  await page.getByRole("button", { name: "Account of jo" }).click();
  await page.getByRole("menuitem", { name: "All organizations" }).waitFor();
  await expectCount(page.getByRole("menuitem", { name: "Site administration" }), 0);
});
