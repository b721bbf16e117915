/** An unreachable server: the page says so once, inside the shell, and continues later. Each error is shown in one place. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/api.ts";
import { data, resource } from "../support/builders.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";

const console = useConsole();

const make = async (name: string): Promise<Json> =>
  data(await console.api.admin.post("/organizations/acme/workspaces", resource("workspaces", { name })));

beforeAll(async () => {
  const { admin } = console.api;
  data(await admin.post("/organizations", resource("organizations", { name: "acme", email: "ops@acme.example" })));
});

/** The console's own files still load, as from a browser's cache. */
const answers = /\/(api\/|readyz)/;
const vanish = (page: Page) => page.route(answers, (route) => route.abort("connectionrefused"));
const comeBack = (page: Page) => page.unroute(answers);

const unreachableMessage = (page: Page) => page.getByText(/can't reach the server|server did not respond/i);
const notifications = (page: Page) => page.locator(".mantine-Notification-root");

/** The shell: the brand, and the navigation if there is room for it. */
async function expectFrame(page: Page, isWide: boolean): Promise<void> {
  await page.getByRole("link", { name: "Cadastre: all organizations" }).waitFor();
  if (isWide) await page.getByRole("navigation", { name: "Organization" }).waitFor();
  else await page.getByRole("button", { name: "Navigation" }).waitFor();
}

const variants = (["light", "dark"] as const).flatMap((colorScheme) =>
  [1280, 390].map((width) => ({ colorScheme, viewport: { width, height: 800 } })),
);

describe.each(variants)("in $colorScheme, $viewport.width wide", (variant) => {
  const isWide = variant.viewport.width > 1000;

  test("a page that is loaded while the server is down says so inside the shell, and appears when it is back", async () => {
    const { page, complaints } = await console.visit(console.api.admin.token, variant);
    await vanish(page);
    await page.goto(`${console.api.url}/app/acme/projects`);
    await page.getByRole("heading", { name: "Can't reach the server" }).waitFor();
    await page.getByText("Retrying automatically").waitFor();
    await expectFrame(page, isWide);
    await expectCount(unreachableMessage(page), 1);
    await expectAccessible(page);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(variant.viewport.width);
    await comeBack(page);
    await page.getByRole("heading", { name: "Projects" }).waitFor();
    await page.getByRole("link", { name: "Default Project" }).waitFor();
    await expectCount(unreachableMessage(page), 0);
    expect(complaints.filter((each) => !each.includes("net::ERR_CONNECTION_REFUSED"))).toEqual([]);
  });
});

test("a page with many queries that is opened while the server is down says so once, and loads everything when it is back", async () => {
  await make("parts");
  const { page, go } = await console.visit(console.api.admin.token);
  await go("/acme/workspaces/parts/settings");
  await vanish(page);
  await page.getByRole("navigation", { name: "Page sections" }).getByRole("link", { name: "Overview" }).click();
  await unreachableMessage(page).first().waitFor();
  await expectCount(unreachableMessage(page), 1);
  await expectFrame(page, true);
  await comeBack(page);
  await page.getByRole("heading", { name: "About" }).waitFor();
  await expectCount(unreachableMessage(page), 0);
});

test("an error of a form is shown only in the form", async () => {
  const { id } = await make("formed");
  const { page, go } = await console.visit(console.api.admin.token);
  await go("/acme/workspaces/formed/settings");
  await page.getByRole("button", { name: "Lock", exact: true }).click();
  const dialog = page.getByRole("dialog");
  data(await console.api.admin.post(`/workspaces/${id}/actions/lock`, {}));
  await dialog.getByRole("button", { name: "Lock", exact: true }).click();
  await dialog.getByRole("alert").waitFor();
  await expectCount(page.getByRole("alert"), 1);
  await expectCount(notifications(page), 0);
  await vanish(page);
  await dialog.getByRole("button", { name: "Lock", exact: true }).click();
  await unreachableMessage(page).first().waitFor();
  await expectCount(dialog.getByRole("alert"), 1);
  await expectCount(page.getByRole("alert"), 1);
  await expectCount(page.locator(".lost > *"), 0);
});

test("an error of a button is shown in one message, also when it is pressed again, and also without a server", async () => {
  const { id } = await make("pressed");
  const lock = `/workspaces/${id}/actions`;
  data(await console.api.admin.post(`${lock}/lock`, {}));
  const { page, go } = await console.visit(console.api.admin.token);
  await go("/acme/workspaces/pressed/settings");
  const unlock = page.getByRole("button", { name: "Unlock", exact: true });
  await unlock.waitFor();
  await vanish(page);
  for (const times of [1, 2]) {
    await unlock.click();
    await unreachableMessage(page).first().waitFor();
    await expectCount(notifications(page), 1, `after ${times}`);
    await expectCount(unreachableMessage(page), 1, `after ${times}`);
  }
});
