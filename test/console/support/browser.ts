/** A real browser on a real server. `npm run test:console` builds the console and finds the browser. */
import { readFileSync } from "node:fs";
import type axe from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from "playwright-core";
import pino from "pino";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { ConsoleFiles } from "../../../src/console.ts";
import { type Api, type ApiOptions, startApi } from "../../support/api.ts";
import { scaled } from "../../support/waiting.ts";

/** Debian's; set CHROMIUM for another. */
const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const quietly = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface Visitor {
  readonly page: Page;
  /** Opens a path of the console: `/acme/workspaces`. */
  go(path: string): Promise<void>;
  /** Complaints of the browser: script errors, violations of the content policy, requests to other hosts. */
  readonly complaints: readonly string[];
}

/** A token, or a name and a password. */
type Credentials = string | { readonly username: string; readonly password: string };

export interface Console {
  readonly api: Api;
  /** A user with a separate browser until the end of the test, signed in with the given credentials, if any. */
  visit(by?: Credentials, options?: BrowserContextOptions): Promise<Visitor>;
  /** The same for all tests of the file. */
  stay(by?: Credentials, options?: BrowserContextOptions): Promise<Visitor>;
}

/** A server with its console and a browser, for the tests of one file. */
export function useConsole(options: ApiOptions = {}): Console {
  let api: Api | undefined;
  let browser: Browser | undefined;
  beforeAll(async () => {
    const files = new ConsoleFiles(pino({ level: "silent" }));
    [api, browser] = await Promise.all([
      startApi({ ...options, console: files }),
      chromium.launch({ executablePath, args: quietly }),
      files.load(),
    ]);
    if (files.failure() !== undefined) throw new Error(files.failure());
  });
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });
  return {
    get api() {
      return api!;
    },
    visit: async (by, more = {}) => {
      const visitor = await visit(browser!, api!.url, by, more);
      // An open page would keep polling and rendering during the following tests.
      onTestFinished(() => visitor.page.context().close());
      return visitor;
    },
    stay: (by, more = {}) => visit(browser!, api!.url, by, more),
  };
}

async function visit(
  browser: Browser,
  url: string,
  by: Credentials | undefined,
  options: BrowserContextOptions,
): Promise<Visitor> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(scaled(30_000));
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    // The page shows errors of the API; that the browser logs them too is not a fault.
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) complaints.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith("data:"))
      complaints.push(`requested ${request.url()}`);
  });
  if (by !== undefined) await signIn(page, url, by);
  return {
    page,
    complaints,
    go: async (path) => {
      await page.goto(`${url}/app${path}`);
      await page.waitForLoadState("networkidle");
    },
  };
}

/** Without the sign-in page, which has its own tests. */
async function signIn(page: Page, url: string, by: Credentials): Promise<void> {
  const attributes = typeof by === "string" ? { token: by } : by;
  const answer = await page.request.post(`${url}/api/v2/sessions`, {
    headers: { "content-type": "application/vnd.api+json", origin: url },
    data: JSON.stringify({ data: { type: "sessions", attributes } }),
  });
  expect(answer.status()).toBe(201);
}

const axeSource = readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** No serious accessibility problem, once transitions have ended. */
export async function expectAccessible(page: Page, where?: string): Promise<void> {
  await page.evaluate(axeSource);
  const message = where === undefined ? {} : { message: where };
  await expect.poll(() => seriousFaults(page), { interval: 500, ...message }).toEqual([]);
}

async function seriousFaults(page: Page): Promise<object[]> {
  await page.evaluate(
    "Promise.allSettled(document.getAnimations().filter((each) => each instanceof CSSTransition).map(({ finished }) => finished))",
  );
  const { violations } = (await page.evaluate("axe.run(document, { resultTypes: ['violations'] })")) as axe.AxeResults;
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return serious.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => html.slice(0, 300)) }));
}

/** This many of these, immediately or when the page has settled. */
export async function expectCount(found: Locator, count: number, what?: string): Promise<void> {
  await expect.poll(() => found.count(), what === undefined ? {} : { message: what }).toBe(count);
}
