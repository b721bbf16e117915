/**
 * Measures the console in a browser: the list of workspaces with few and with very many workspaces, and every page with long lists.
 *
 *   npm run bench:console                        100,000 workspaces beside 1,000
 *   npm run bench:console -- --workspaces 20000
 *   npm run bench:console -- --lists             only the pages with 1,000 rows
 *
 * Reports how much the first load weighs, compressed; the largest contentful paint; the layout shift; and the longest
 * task of the main thread while the list is scrolled by hand and dragged to its middle and end, in CPU time, which other work on the
 * machine does not lengthen. A task of more than 100 ms while 1,000 rows are scrolled fails. Needs Debian's chromium, or another by CHROMIUM.
 */
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pino from "pino";
import { type Browser, chromium, type Page } from "playwright-core";
import { ConsoleFiles } from "../src/console.ts";
import type { Database } from "../src/database/database.ts";
import { openDatabase } from "../src/database/engines/open.ts";
import { migrate } from "../src/database/migrate.ts";
import { newMembership } from "../src/resources/identity/organization-memberships/rules.ts";
import { newUser } from "../src/resources/identity/users/rules.ts";
import { fill, type Filled, largeOrganization, tokens } from "./scale/fill.ts";
import { benchServer } from "./server.ts";

const { values } = parseArgs({
  options: { workspaces: { type: "string", default: "100000" }, lists: { type: "boolean", default: false } },
});
/** The first organization has 1,000 of them. */
const few = 1_099;
const rows = 1_000;
const taskMax = 100;

interface Figures {
  readonly workspaces: number;
  readonly "first load (kB)": number;
  readonly "largest paint (ms)": number;
  readonly "layout shift": number;
  readonly "longest task, scrolled (ms)": number;
  readonly "longest task, dragged (ms)": number;
  readonly "rows after a drag (ms)": number;
}

/** Recorded by the page itself from its start. */
const watching = `
  globalThis.seen = { paint: 0, shift: 0 };
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) seen.paint = entry.startTime })
    .observe({ type: "largest-contentful-paint", buffered: true });
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) if (!entry.hadRecentInput) seen.shift += entry.value })
    .observe({ type: "layout-shift", buffered: true });
`;

/** Polled from here, because the page's CSP forbids evaluating text. */
const allThere = `[...document.querySelectorAll("[role=row]")].slice(1).every((row) => row.querySelector("a"))`;

type Seen = { paint: number; shift: number };
const seenBy = (page: Page) => page.evaluate("seen") as Promise<Seen>;

/** A browser that is signed in as an owner. */
async function visit(browser: Browser, url: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  await context.request.post(`${url}/api/v2/sessions`, {
    headers: { "content-type": "application/vnd.api+json", origin: url },
    data: JSON.stringify({ data: { type: "sessions", attributes: { token: tokens.owner } } }),
  });
  const page = await context.newPage();
  // Other work on the machine may make a page slow to load; its tasks are measured in CPU time.
  page.setDefaultTimeout(300_000);
  await page.addInitScript(watching);
  return page;
}

async function scroll(page: Page): Promise<void> {
  for (let step = 0; step < 60; step++) {
    await page.mouse.wheel(0, 600);
    await page.waitForTimeout(30);
  }
}

async function look(browser: Browser, url: string, workspaces: number): Promise<Figures> {
  const page = await visit(browser, url);
  const context = page.context();
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  await page.goto(`${url}/app/${largeOrganization}/workspaces`);
  await page.getByRole("row").nth(10).getByRole("link").first().waitFor();
  await page.waitForLoadState("networkidle");
  const loaded = { ...(await seenBy(page)), bytes };
  const scrolled = await longest(page, () => scroll(page));
  const drags: number[] = [];
  const dragged = await longest(page, async () => {
    for (const share of [0.5, 0.98, 0.1]) {
      const begun = Date.now();
      await page.evaluate(`scrollTo(0, document.body.scrollHeight * ${share})`);
      while (!(await page.evaluate(allThere))) await page.waitForTimeout(20);
      drags.push(Date.now() - begun);
    }
  });
  await context.close();
  return {
    workspaces,
    "first load (kB)": Math.round(loaded.bytes / 1000),
    "largest paint (ms)": Math.round(loaded.paint),
    "layout shift": Number(loaded.shift.toFixed(4)),
    "longest task, scrolled (ms)": Math.round(scrolled),
    "longest task, dragged (ms)": Math.round(dragged),
    "rows after a drag (ms)": Math.max(...drags),
  };
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
  /** CPU time of the thread, in microseconds. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** The longest task of the main thread during `work`, in ms of CPU time. */
async function longest(page: Page, work: () => Promise<void>): Promise<number> {
  const browser = page.context().browser()!;
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline"] });
  await work();
  await page.waitForTimeout(300);
  const { traceEvents } = JSON.parse(String(await browser.stopTracing())) as { traceEvents: TraceEvent[] };
  const threads = traceEvents.filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain");
  const isMain = ({ pid, tid }: TraceEvent) => threads.some((thread) => thread.pid === pid && thread.tid === tid);
  const tasks = traceEvents.filter((event) => event.name.endsWith("RunTask") && isMain(event));
  return Math.max(0, ...tasks.map(({ tdur, dur = 0 }) => (tdur ?? dur) / 1000));
}

interface ListFigures {
  readonly page: string;
  readonly "elements on the page": number;
  readonly "longest task, scrolled (ms)": number;
}

/** Clicks "show more" until there are so many rows. */
async function showAll(page: Page, more: RegExp): Promise<void> {
  const button = page.getByRole("button", { name: more });
  for (let step = 0; step < rows / 50 && (await button.isVisible()); step++) {
    await button.click();
    await page.waitForLoadState("networkidle");
  }
}

/** Opens a page with a long list and waits until it is rendered. */
async function lookAtList(browser: Browser, url: string, path: string, more?: RegExp): Promise<ListFigures> {
  const page = await visit(browser, url);
  await page.goto(`${url}/app/${largeOrganization}${path}`);
  await page.locator("#content a").first().waitFor();
  await page.waitForLoadState("networkidle");
  if (more !== undefined) await showAll(page, more);
  await page.evaluate("scrollTo(0, 0)");
  const elements = (await page.evaluate("document.querySelectorAll('#content *').length")) as number;
  const task = await longest(page, async () => {
    await scroll(page);
    await page.evaluate("scrollTo(0, document.body.scrollHeight * 0.5)");
  });
  await page.context().close();
  return { page: path, "elements on the page": elements, "longest task, scrolled (ms)": Math.round(task) };
}

/** Creates users with access to one project through a team. */
async function addPeople(database: Database, { teamId }: Filled): Promise<void> {
  await database.write(async ({ db }) => {
    const { organizationId } = await db
      .selectFrom("teams")
      .selectAll()
      .where("id", "=", teamId)
      .executeTakeFirstOrThrow();
    for (let number = 0; number < rows; number++) {
      const username = `person-${number}-of-the-network-team`;
      const user = newUser({ username, email: `${username}@example.com` });
      const membership = newMembership({ email: user.email }, organizationId, user.id);
      await db.insertInto("users").values(user).execute();
      await db.insertInto("organizationMemberships").values(membership).execute();
      const seat = { organizationId, teamId, membershipId: membership.id, userId: user.id, createdAt: user.createdAt };
      await db
        .insertInto("teamMembers")
        .values(seat as never)
        .execute();
    }
  });
}

async function lists(browser: Browser, url: string, { workspaceName, projectId }: Filled): Promise<ListFigures[]> {
  const figures: ListFigures[] = [];
  for (const path of [
    "/workspaces",
    "/move",
    "/runs",
    "/resources",
    "/people",
    `/projects/${projectId}/access?who=people`,
    `/workspaces/${workspaceName}/access?who=people`,
  ])
    figures.push(await lookAtList(browser, url, path));
  figures.push(await lookAtList(browser, url, "/audit", /more|older|before/i));
  return figures;
}

async function serving<T>(
  files: ConsoleFiles,
  workspaces: number,
  work: (url: string, database: Database, filled: Filled) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "cadastre-console-"));
  const database = openDatabase(`sqlite:${join(folder, "console.db")}`);
  await migrate(database);
  const filled = await fill(database, workspaces, () => {});
  const server = benchServer(database, { logger: pino({ level: "silent" }), console: files });
  await server.listen({ host: "127.0.0.1", port: 0 });
  try {
    const url = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
    return await work(url, database, filled);
  } finally {
    await server.close();
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const files = new ConsoleFiles(pino({ level: "silent" }));
await files.load();
const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"],
});
try {
  const figures = await serving(files, few, async (url, database, filled) => {
    await addPeople(database, filled);
    return lists(browser, url, filled);
  });
  console.table(figures);
  const late = figures.filter((each) => each["longest task, scrolled (ms)"] > taskMax);
  if (late.length > 0) process.exitCode = 1;
  const firstLoads: Figures[] = [];
  for (const workspaces of values.lists ? [] : [few, Number(values.workspaces)])
    firstLoads.push(
      await serving(files, workspaces, async (url) => {
        // The first visit warms up the server and its cache of compressed files.
        await look(browser, url, workspaces);
        return look(browser, url, workspaces);
      }),
    );
  if (!values.lists) console.table(firstLoads);
} finally {
  await browser.close();
}
