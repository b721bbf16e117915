/** A real browser on a real server: the console as a person meets it. `npm run test:console` builds it and finds the browser. */
import { readFileSync } from "node:fs";
import type axe from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from "playwright-core";
import pino from "pino";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { ConsoleFiles } from "../../../src/console.ts";
import { type Api, type ApiOptions, startApi } from "../../support/api.ts";
import { scaled } from "../../support/waiting.ts";

/** Debian's; another by CHROMIUM. */
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
  /** To an address of the console: `/acme/workspaces`. */
  go(path: string): Promise<void>;
  /** What the browser complained of: errors of scripts, refused by the policy, requests to other hosts. */
  readonly complaints: readonly string[];
}

/** A token, or a name and a password. */
type Credentials = string | { readonly username: string; readonly password: string };

export interface Console {
  readonly api: Api;
  /** Somebody with a browser of their own until the test is over; signed in by these, where there are some. */
  visit(by?: Credentials, options?: BrowserContextOptions): Promise<Visitor>;
  /** The same, for all tests of the file. */
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
      // A page that is left open goes on asking and drawing beside the tests that follow.
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
    // A refusal of the API is shown to the person; that the browser notes it too is no fault.
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) complaints.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith("data:")) complaints.push(`asked ${request.url()}`);
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

/** Without the page of signing in, which has its own tests. */
async function signIn(page: Page, url: string, by: Credentials): Promise<void> {
  const attributes = typeof by === "string" ? { token: by } : by;
  const answer = await page.request.post(`${url}/api/v2/sessions`, {
    headers: { "content-type": "application/vnd.api+json", origin: url },
    data: JSON.stringify({ data: { type: "sessions", attributes } }),
  });
  expect(answer.status()).toBe(201);
}

const axeSource = readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** Nothing serious for those who use a keyboard or a screen reader, once what fades in or out has done so. */
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

/** So many of these, at once or as soon as the page has come to rest. */
export async function expectCount(found: Locator, count: number, what?: string): Promise<void> {
  await expect.poll(() => found.count(), what === undefined ? {} : { message: what }).toBe(count);
}
