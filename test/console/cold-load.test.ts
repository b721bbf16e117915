/** A first visit: what is visible before the code is loaded, without warnings in the browser's console. `sweep` measures every page. */
import { readdirSync, readFileSync } from "node:fs";
import type { BrowserContextOptions, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { data } from "../support/builders.ts";
import { useConsole } from "./support/browser.ts";
import { useEveryPage } from "./support/every-page.ts";
import { observe } from "./support/rendering.ts";

const console = useConsole();
const { scene, addressOf } = useEveryPage(console);

/** All messages in the browser's console, including rejected requests. */
function notesOf(page: Page): string[] {
  const notes: string[] = [];
  page.on("console", (message) => notes.push(message.text()));
  page.on("pageerror", (error) => notes.push(error.message));
  return notes;
}

test("every used component of the library has its styles", () => {
  const folder = "dist/console/~/assets/";
  const textOf = (end: string) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(end))
      .map((name) => readFileSync(`${folder}${name}`, "utf8"))
      .join("");
  const [code, style] = [textOf(".js"), textOf(".css")];
  const known = readFileSync("node_modules/@mantine/core/styles.css", "utf8").match(/(?<=\.)m_[0-9a-f]+/g) ?? [];
  expect(known.length).toBeGreaterThan(100);
  expect(known.filter((name) => code.includes(name) && !style.includes(name))).toEqual([]);
});

test("no link of the navigation or of a workspace leads a member to a refusal", async () => {
  const made = data(await console.api.admin.post(`/users${addressOf("/$user")}/authentication-tokens`));
  const { page, load } = await observe(console, made.attributes.token, {});
  const notes = notesOf(page);
  const linksOf = async (address: string, name: string): Promise<string[]> => {
    await load(address);
    const links = await page.getByRole("navigation", { name }).getByRole("link").all();
    return Promise.all(links.map(async (link) => ((await link.getAttribute("href")) ?? "").replace("/app", "")));
  };
  const places = [
    ...(await linksOf("/acme", "Organization")),
    ...(await linksOf("/acme/workspaces/network-production", "Page sections")),
  ];
  expect(places.length).toBeGreaterThan(15);
  for (const address of places) {
    await load(address);
    expect(notes, address).toEqual([]);
  }
  await page.context().close();
});

// ---- before the code is loaded ----

const variants = (["light", "dark"] as const).flatMap((colorScheme) =>
  [1280, 390].map((width) => ({ colorScheme, viewport: { width, height: 800 } })),
);
const grounds = { light: "rgb(255, 255, 255)", dark: "rgb(36, 36, 36)" };
const groundOf = (page: Page) => page.evaluate("getComputedStyle(document.getElementById('frame')).backgroundColor");

/** Opens a page whose scripts and styles are delayed until `release`. */
async function held(address: string, options: BrowserContextOptions) {
  const { page } = await console.visit(scene.owner, options);
  let release = () => {};
  const wait = new Promise<void>((resolve) => (release = resolve));
  await page.route(/\.(js|css)$/, async (route) => {
    await wait;
    await route.continue().catch(() => undefined);
  });
  await page.goto(`${console.api.url}/app${address}`, { waitUntil: "commit" });
  return { page, release };
}

describe.each(variants)("before the code is loaded, in $colorScheme, $viewport.width wide", (variant) => {
  const isWide = variant.viewport.width > 1000;

  test("the shell is visible, and does not shift when the page appears", async () => {
    const { page, release } = await held("/acme/workspaces", variant);
    const brand = page.getByRole("img", { name: "Cadastre" });
    await brand.waitFor();
    expect(await groundOf(page)).toBe(grounds[variant.colorScheme]);
    expect(await page.locator("#frame aside").isVisible()).toBe(isWide);
    expect(await page.getByText("Cadastre", { exact: true }).first().isVisible()).toBe(true);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(variant.viewport.width);
    const before = await brand.boundingBox();
    release();
    await page.getByRole("heading", { name: "Workspaces" }).waitFor();
    expect(await page.locator("#frame").count()).toBe(0);
    const after = await page.getByRole("img", { name: "Cadastre" }).boundingBox();
    for (const side of ["x", "y", "width", "height"] as const)
      expect(Math.abs(after![side] - before![side]), side).toBeLessThanOrEqual(2);
  });

  test("without JavaScript the shell says that JavaScript is required", async () => {
    const { page } = await console.visit(scene.owner, { ...variant, javaScriptEnabled: false });
    await page.goto(`${console.api.url}/app/acme/workspaces`);
    await page.getByRole("img", { name: "Cadastre" }).waitFor();
    expect(await page.locator("#frame aside").isVisible()).toBe(isWide);
    // Located by its element: a search by text skips `noscript`.
    await page.locator("#frame main noscript p", { hasText: "The console needs JavaScript." }).waitFor();
  });
});

test("the shell has the chosen theme, whatever the system's theme", async () => {
  const { page, go } = await console.visit(scene.owner, { colorScheme: "light" });
  await go("/acme");
  await page.getByRole("button", { name: "Switch to dark theme" }).click();
  await page.route(/\.js$/, () => undefined);
  await page.goto(`${console.api.url}/app/acme`, { waitUntil: "commit" });
  await page.locator("#frame header").waitFor();
  expect(await groundOf(page)).toBe(grounds.dark);
});

test("without a session, there is no navigation, and no request that would be refused", async () => {
  const { page } = await console.visit();
  const notes = notesOf(page);
  await page.goto(`${console.api.url}/app/acme/workspaces`);
  await page.getByRole("heading", { name: "Sign in to Cadastre" }).waitFor();
  expect(notes).toEqual([]);
});
