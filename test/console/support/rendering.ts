/** Checks of a rendered page: whether it has settled, and its problems. */
import { readFileSync } from "node:fs";
import type axe from "axe-core";
import type { BrowserContextOptions, Page } from "playwright-core";
import type { Console, Visitor } from "./browser.ts";
import { scaled } from "../../support/waiting.ts";

/** Recorded by the page itself, from its start. */
const observerScript = `
  globalThis.seen = { shift: 0, pending: 0, last: 0 };
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) if (!entry.hadRecentInput) seen.shift += entry.value })
    .observe({ type: "layout-shift", buffered: true });
  const originalFetch = globalThis.fetch;
  globalThis.fetch = (...words) => {
    seen.pending++;
    return originalFetch(...words).finally(() => { seen.pending--; seen.last = performance.now() });
  };
`;

/** No request is pending, and everything is rendered. `__TSR_ROUTER__` is the router, as its library exposes it. */
const isSettled = `
  globalThis.__TSR_ROUTER__?.state.status === "idle"
  && __TSR_ROUTER__.state.resolvedLocation?.href === __TSR_ROUTER__.state.location.href
  && seen.pending === 0 && performance.now() - seen.last > 60 && document.querySelector("h1") !== null
  && document.querySelector("[aria-busy=true], .mantine-Skeleton-root") === null
`;

const settleMsMax = 60_000;

export async function settle(page: Page): Promise<void> {
  const startedAt = Date.now();
  // Polled from here: the page's content policy forbids evaluating text repeatedly.
  while (!(await page.evaluate(isSettled))) {
    if (Date.now() - startedAt > scaled(settleMsMax)) throw new Error(`${page.url()} does not settle`);
    await page.waitForTimeout(25);
  }
}

export interface ObservedVisitor extends Visitor {
  /** Opens a path of the console, and waits until it has settled. */
  load(path: string): Promise<void>;
  /** The same within the open page, like a link: much faster, because the code is loaded. */
  follow(path: string): Promise<void>;
  readonly complaints: string[];
}

/** A user whose page is observed. */
export async function observe(
  console: Console,
  token: string | undefined,
  options: BrowserContextOptions,
): Promise<ObservedVisitor> {
  const visitor = await console.stay(token, options);
  const { page } = visitor;
  await page.addInitScript(observerScript);
  const load = async (path: string) => {
    await page.goto(`${console.api.url}/app${path}`, { waitUntil: "commit" });
    await settle(page);
  };
  const follow = async (path: string) => {
    if (page.url() === "about:blank") return load(path);
    await page.evaluate(`seen.shift = 0; history.pushState(null, "", ${JSON.stringify(`/app${path}`)})`);
    await settle(page);
  };
  return { ...visitor, complaints: visitor.complaints as string[], load, follow };
}

export const measurePage = (page: Page): Promise<{ shift: number; title: string }> =>
  page.evaluate("({ shift: seen.shift, title: document.title })") as never;

const axeSource = readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");
/** Dark mode differs from light mode only in colours. */
const aboutColours = ["color-contrast", "link-in-text-block"];

/** The problems of the page as rendered now, at its width and in its scheme. */
export async function findProblems(page: Page, scheme: "light" | "dark"): Promise<string[]> {
  await settle(page);
  await page.evaluate(`globalThis.axe === undefined && (() => { ${axeSource} })()`);
  const only = scheme === "dark" ? `runOnly: ${JSON.stringify(aboutColours)}, ` : "";
  const { violations } = (await page.evaluate(
    `axe.run(document, { ${only}resultTypes: ["violations"] })`,
  )) as axe.AxeResults;
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return [
    ...((await page.evaluate(shape)) as string[]),
    ...serious.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 250)}`)),
  ];
}

const shape = `(() => {
  const faults = [];
  const { scrollWidth } = document.documentElement;
  if (scrollWidth > innerWidth) faults.push("is " + scrollWidth + " wide");
  const headings = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter((each) => each.checkVisibility());
  const levels = headings.map(({ tagName }) => Number(tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1) faults.push("does not have exactly one h1");
  levels.forEach((level, at) => { if (level > (levels[at - 1] ?? 0) + 1) faults.push("skips a heading before “" + headings[at].textContent + "”") });
  const first = headings.find(({ tagName }) => tagName === "H1")?.textContent.trim() ?? "";
  if (first === "Not found" || first === "") faults.push("has the heading “" + first + "”");
  if (!document.title.includes(first)) faults.push("has the window title “" + document.title + "”");
  for (const alert of document.querySelectorAll("[role=alert]")) faults.push("shows an alert: " + alert.textContent);
  return faults;
})()`;
