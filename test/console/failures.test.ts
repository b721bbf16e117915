/** Failures: no response, a slow one, an expired session, a deleted resource. The page says what is wrong and what to do. */
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import type { Json } from "../support/api.ts";
import { data, makeOrganization, makeTeamToken, resource } from "../support/builders.ts";
import { expectAccessible, useConsole } from "./support/browser.ts";

const console = useConsole();
const password = "correct-horse-battery";

const make = async (name: string): Promise<Json> =>
  data(await console.api.admin.post("/organizations/acme/workspaces", resource("workspaces", { name })));

beforeAll(async () => {
  const { admin } = console.api;
  data(await admin.post("/organizations", resource("organizations", { name: "acme", email: "ops@acme.example" })));
  await make("network");
});

/** As if the server or the network were down. */
const everything = "**/*";
const vanish = (page: Page) => page.route(everything, (route) => route.abort("connectionrefused"));
const comeBack = (page: Page) => page.unroute(everything);

/** The browser's messages about requests without a response are not faults of the page. */
const ofOurs = (complaints: readonly string[]) =>
  complaints.filter((each) => !each.includes("net::ERR_CONNECTION_REFUSED"));

test("keeps input and content while the server is unreachable, and continues when it is back", async () => {
  const { page, go, complaints } = await console.visit(console.api.admin.token);
  await go("/acme/workspaces/network");
  await page.getByRole("button", { name: "Lock", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("Incident 42");
  await vanish(page);
  await dialog.getByRole("button", { name: "Lock" }).click();
  await dialog.getByRole("alert").getByText("The server did not respond.").waitFor();
  await expectAccessible(page);
  expect(await dialog.getByLabel("Reason").inputValue()).toBe("Incident 42");
  await comeBack(page);
  await dialog.getByRole("button", { name: "Lock" }).click();
  await page.getByText("“Incident 42”").waitFor();

  // A page whose code is not loaded yet, with the server down again: it loads automatically later.
  await vanish(page);
  await page.getByRole("link", { name: "Agent pools" }).click();
  await page.getByRole("heading", { name: "Can't reach the server" }).waitFor();
  await page.getByRole("alert").getByText("Retrying automatically").waitFor();
  await expectAccessible(page);
  await comeBack(page);
  await page.getByRole("heading", { name: "Agent pools" }).waitFor();
  expect(ofOurs(complaints)).toEqual([]);
});

test("retries a failed list, by a button or automatically", async () => {
  const { page, go, complaints } = await console.visit(console.api.admin.token);
  await go("/acme/teams");
  await page.getByRole("link", { name: "owners" }).waitFor();
  await vanish(page);
  await page.getByLabel("Search teams").fill("own");
  await page.getByRole("alert").getByText("Can't reach the server").waitFor();
  await comeBack(page);
  await page.getByRole("button", { name: "Retry now" }).click();
  await page.getByRole("link", { name: "owners" }).waitFor();
  await page.getByRole("alert").waitFor({ state: "detached" });
  expect(ofOurs(complaints)).toEqual([]);
});

test("after the session ends, a form says so and keeps its input; a page leads to sign-in and back", async () => {
  const { admin } = console.api;
  const made = await admin.post(
    "/admin/users",
    resource("users", { username: "ana", email: "ana@acme.example", password, "is-admin": true }),
  );
  const { id } = data(made);
  const { page, go, complaints } = await console.visit();
  await go("/~/account");
  const signIn = async (on: Page) => {
    await on.getByLabel("Username").fill("ana");
    await on.getByRole("textbox", { name: "Password" }).fill(password);
    await on.getByRole("button", { name: "Sign in" }).click();
  };
  await signIn(page);
  await page.getByRole("heading", { name: "Account" }).waitFor();
  const end = async () => data(await admin.patch(`/admin/users/${id}`, resource("users", { password })));

  await page.getByRole("button", { name: "Create token" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Description").fill("my laptop");
  await end();
  await dialog.getByRole("button", { name: "Create token" }).click();
  await dialog.getByRole("alert").getByText("Your session has ended.").waitFor();
  expect(await dialog.getByLabel("Description").inputValue()).toBe("my laptop");
  await expectAccessible(page);
  const [tab] = await Promise.all([
    page.context().waitForEvent("page"),
    dialog.getByRole("link", { name: "Sign in" }).click(),
  ]);
  await signIn(tab);
  await tab.getByRole("heading", { name: "Organizations" }).waitFor();
  await tab.close();
  await dialog.getByRole("button", { name: "Create token" }).click();
  await page.getByRole("group", { name: "New token" }).waitFor();
  await page.getByRole("button", { name: "I have copied it" }).click();

  await end();
  await page.getByRole("link", { name: "Cadastre: all organizations" }).click();
  await page.getByText("Your session has ended").waitFor();
  await expectAccessible(page);
  await signIn(page);
  await page.getByRole("heading", { name: "Organizations" }).waitFor();
  expect(complaints).toEqual([]);
});

test("an organization that rejects the session's token says so; the session continues", async () => {
  const { api } = console;
  const org = await makeOrganization(api);
  const owners = await makeTeamToken(api, org.ownersTeamId);
  data(await owners.patch(`/organizations/${org.name}`, resource("organizations", { "user-tokens-enabled": false })));
  const { page, go, complaints } = await console.visit(org.owner.token);
  await go(`/${org.name}/workspaces`);
  await page.getByRole("alert").getByText("The organization refuses users' tokens").waitFor();
  await expectAccessible(page);
  await page.getByRole("link", { name: "Cadastre: all organizations" }).click();
  await page.getByRole("heading", { name: "Organizations" }).waitFor();
  expect(complaints).toEqual([]);
});

test("shows a loading state for a slow response", async () => {
  const { page, go, complaints } = await console.visit(console.api.admin.token);
  await go("/acme/teams");
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/api/v2/organizations/acme/ssh-keys**", async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole("link", { name: "SSH keys" }).click();
  await page.getByRole("progressbar", { name: "Loading" }).waitFor();
  await expectAccessible(page);
  release();
  await page.getByRole("progressbar").waitFor({ state: "detached" });
  await page.getByRole("heading", { name: "SSH keys" }).waitFor();
  expect(complaints).toEqual([]);
});

test("the page of a deleted resource says so, and offers no actions", async () => {
  const { id } = await make("doomed");
  const { page, go, complaints } = await console.visit(console.api.admin.token);
  await go("/acme/workspaces/doomed");
  await page.getByRole("button", { name: "Lock", exact: true }).waitFor();
  expect((await console.api.admin.delete(`/workspaces/${id}`)).status).toBe(204);
  // The page polls, because it waits for a first state.
  await page.getByText("This no longer exists").waitFor();
  expect(await page.getByRole("button", { name: "Lock", exact: true }).count()).toBe(0);
  await expectAccessible(page);
  await page.getByRole("navigation", { name: "Breadcrumbs" }).getByRole("link", { name: "Workspaces" }).click();
  await page.getByRole("link", { name: "network" }).waitFor();
  expect(await page.getByRole("link", { name: "doomed" }).count()).toBe(0);
  expect(complaints).toEqual([]);
});
