/** Looking at a page as it is drawn: whether it has come to rest, and what is wrong with it. */
import { readFileSync } from "node:fs";
import type axe from "axe-core";
import type { BrowserContextOptions, Page } from "playwright-core";
import type { Console, Visitor } from "./browser.ts";
import { scaled } from "../../support/waiting.ts";

/** Kept by the page itself, from its first moment on. */
const watching = `
  globalThis.seen = { shift: 0, asked: 0, last: 0 };
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) if (!entry.hadRecentInput) seen.shift += entry.value })
    .observe({ type: "layout-shift", buffered: true });
  const ask = globalThis.fetch;
  globalThis.fetch = (...words) => {
    seen.asked++;
    return ask(...words).finally(() => { seen.asked--; seen.last = performance.now() });
  };
`;

/** Nothing is on its way, and what has come was drawn. `__TSR_ROUTER__` is the router, as its library exposes it. */
const atRest = `
  globalThis.__TSR_ROUTER__?.state.status === "idle"
  && __TSR_ROUTER__.state.resolvedLocation?.href === __TSR_ROUTER__.state.location.href
  && seen.asked === 0 && performance.now() - seen.last > 60 && document.querySelector("h1") !== null
  && document.querySelector("[aria-busy=true], .mantine-Skeleton-root") === null
`;

const restMs = 60_000;

export async function settle(page: Page): Promise<void> {
  const begun = Date.now();
  // Asked from here: the page's own policy lets nobody evaluate text in it again and again.
  while (!(await page.evaluate(atRest))) {
    if (Date.now() - begun > scaled(restMs)) throw new Error(`${page.url()} does not come to rest`);
    await page.waitForTimeout(25);
  }
}

export interface Looker extends Visitor {
  /** To an address of the console, until nothing changes any more. */
  load(path: string): Promise<void>;
  /** The same within the page that is open, as a link does: much quicker, because the code is there. */
  follow(path: string): Promise<void>;
  readonly complaints: string[];
}

/** Somebody who watches what the page does. */
export async function watchful(
  console: Console,
  token: string | undefined,
  options: BrowserContextOptions,
): Promise<Looker> {
  const visitor = await console.stay(token, options);
  const { page } = visitor;
  await page.addInitScript(watching);
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

export const seen = (page: Page): Promise<{ shift: number; title: string }> =>
  page.evaluate("({ shift: seen.shift, title: document.title })") as never;

const axeSource = readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");
/** In dark nothing else is another than in light. */
const aboutColours = ["color-contrast", "link-in-text-block"];

/** What is wrong with the page as it is drawn now, at its width and in its scheme. */
export async function judge(page: Page, scheme: "light" | "dark"): Promise<string[]> {
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
  if (levels.filter((level) => level === 1).length !== 1) faults.push("has not one first heading");
  levels.forEach((level, at) => { if (level > (levels[at - 1] ?? 0) + 1) faults.push("skips a heading before “" + headings[at].textContent + "”") });
  const first = headings.find(({ tagName }) => tagName === "H1")?.textContent.trim() ?? "";
  if (first === "Not found" || first === "") faults.push("is called “" + first + "”");
  if (!document.title.includes(first)) faults.push("its window is called “" + document.title + "”");
  for (const alert of document.querySelectorAll("[role=alert]")) faults.push("alerts: " + alert.textContent);
  return faults;
})()`;
