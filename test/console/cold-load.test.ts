/** A first visit: how much every page asks the server for, that the browser's console stays empty, and what is seen before the code is there. */
import { readdirSync, readFileSync } from "node:fs";
import type { BrowserContextOptions, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { data } from "../support/builders.ts";
import { useConsole } from "./support/browser.ts";
import { routes, useEveryPage } from "./support/every-page.ts";
import { watchful } from "./support/looks.ts";

const console = useConsole();
const { scene, addressOf } = useEveryPage(console);

const requestsMax = 15;
const bytesMax = 300_000;
const callsMax = 4;
/** Pages that need more calls of the API than the others. The numbers may only go down. */
const callsOf: Readonly<Record<string, number>> = {
  "/$organization/agent-pools/$pool": 5,
  "/$organization/new-workspace": 5,
  "/$organization/tokens": 9,
  "/$organization/audit": 6,
  "/$organization/people/$user/leaving": 6,
  "/$organization/projects/$project/access": 5,
  "/$organization/workspaces/$workspace/": 9,
  "/$organization/workspaces/$workspace/access": 5,
  "/$organization/workspaces/$workspace/runs/$run": 6,
  "/$organization/workspaces/$workspace/states": 5,
  "/$organization/workspaces/$workspace/states/$state": 8,
  "/$organization/workspaces/$workspace/variables": 6,
};

/** Whatever the browser writes into its console; a refusal of the server is in there too. */
function notesOf(page: Page): string[] {
  const notes: string[] = [];
  page.on("console", (message) => notes.push(message.text()));
  page.on("pageerror", (error) => notes.push(error.message));
  return notes;
}

async function visit(path: string, token: string | undefined) {
  const { page, load } = await watchful(console, token, {});
  const notes = notesOf(page);
  /** Those that went to the server; the icon is drawn twice, and the second time comes from the browser's cache. */
  const sent = new Map<string, string>();
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  session.on("Network.requestWillBeSent", ({ requestId, request }) => {
    sent.set(requestId, decodeURIComponent(request.url.slice(console.api.url.length)));
  });
  session.on("Network.requestServedFromCache", ({ requestId }) => sent.delete(requestId));
  session.on("Network.responseReceived", ({ requestId, response }) => {
    if (response.fromDiskCache) sent.delete(requestId);
  });
  // Of the console itself: how much data there is to show is another question.
  let bytes = 0;
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    if (!sent.get(requestId)?.startsWith("/api/")) bytes += encodedDataLength;
  });
  await load(addressOf(path));
  await page.context().close();
  const requests = [...sent.values()];
  return { requests, calls: requests.filter((each) => each.startsWith("/api/")), notes, bytes };
}

const tokenFor = (path: string, isOutside: boolean): string | undefined =>
  isOutside ? undefined : path.startsWith("/~/site") ? console.api.admin.token : scene.owner;

test.each(routes)("$path takes few requests, and the browser has nothing to note", async ({ path, isOutside }) => {
  const { requests, calls, notes, bytes } = await visit(path, tokenFor(path, isOutside));
  expect(notes).toEqual([]);
  expect(requests.length, requests.join("\n")).toBeLessThanOrEqual(requestsMax);
  expect(calls.length, calls.join("\n")).toBeLessThanOrEqual(callsOf[path] ?? callsMax);
  expect(bytes).toBeLessThan(bytesMax);
});

test("fewer than a quarter of the pages take more calls than the others", () => {
  const known = routes.map(({ path }) => path);
  for (const path of Object.keys(callsOf)) expect(known).toContain(path);
  expect(Object.keys(callsOf).length).toBeLessThan(known.length / 4);
});

test("every component of the library that the code uses has its style", () => {
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

test("a member finds no refusal behind any link of the navigation or of a workspace", async () => {
  const made = data(await console.api.admin.post(`/users${addressOf("/$user")}/authentication-tokens`));
  const { page, load } = await watchful(console, made.attributes.token, {});
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

// ---- before the code is there ----

const looks = (["light", "dark"] as const).flatMap((colorScheme) =>
  [1280, 390].map((width) => ({ colorScheme, viewport: { width, height: 800 } })),
);
const grounds = { light: "rgb(255, 255, 255)", dark: "rgb(36, 36, 36)" };
const groundOf = (page: Page) => page.evaluate("getComputedStyle(document.getElementById('frame')).backgroundColor");

/** Opens a page whose scripts and styles are held back until `release`. */
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

describe.each(looks)("before the code is there, in $colorScheme, $viewport.width wide", (look) => {
  const isWide = look.viewport.width > 1000;

  test("the frame is seen, and nothing of it moves when the page appears", async () => {
    const { page, release } = await held("/acme/workspaces", look);
    const brand = page.getByRole("img", { name: "Cadastre" });
    await brand.waitFor();
    expect(await groundOf(page)).toBe(grounds[look.colorScheme]);
    expect(await page.locator("#frame aside").isVisible()).toBe(isWide);
    expect(await page.getByText("Cadastre", { exact: true }).first().isVisible()).toBe(true);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(look.viewport.width);
    const before = await brand.boundingBox();
    release();
    await page.getByRole("heading", { name: "Workspaces" }).waitFor();
    expect(await page.locator("#frame").count()).toBe(0);
    const after = await page.getByRole("img", { name: "Cadastre" }).boundingBox();
    for (const side of ["x", "y", "width", "height"] as const)
      expect(Math.abs(after![side] - before![side]), side).toBeLessThanOrEqual(2);
  });

  test("without JavaScript the frame says what is missing", async () => {
    const { page } = await console.visit(scene.owner, { ...look, javaScriptEnabled: false });
    await page.goto(`${console.api.url}/app/acme/workspaces`);
    await page.getByRole("img", { name: "Cadastre" }).waitFor();
    expect(await page.locator("#frame aside").isVisible()).toBe(isWide);
    // Found by its element: looking for text leaves `noscript` out.
    await page.locator("#frame main noscript p", { hasText: "The console needs JavaScript." }).waitFor();
  });
});

test("the frame has the theme that somebody chose, whatever the system's is", async () => {
  const { page, go } = await console.visit(scene.owner, { colorScheme: "light" });
  await go("/acme");
  await page.getByRole("button", { name: "Switch to dark theme" }).click();
  await page.route(/\.js$/, () => undefined);
  await page.goto(`${console.api.url}/app/acme`, { waitUntil: "commit" });
  await page.locator("#frame header").waitFor();
  expect(await groundOf(page)).toBe(grounds.dark);
});

test("where nobody is signed in, no navigation is drawn, and nothing is asked that would be refused", async () => {
  const { page } = await console.visit();
  const notes = notesOf(page);
  await page.goto(`${console.api.url}/app/acme/workspaces`);
  await page.getByRole("heading", { name: "Sign in to Cadastre" }).waitFor();
  expect(notes).toEqual([]);
});
