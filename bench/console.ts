/**
 * What the console costs a browser: the list of workspaces, with a few and with very many in the register.
 *
 *   npm run bench:console                        100,000 workspaces beside 1,000
 *   npm run bench:console -- --workspaces 20000
 *
 * Tells how much the first load weighs, compressed; when the largest part of the page was painted; how far things jumped; and the longest
 * task while the list is scrolled by hand and dragged to its middle and end. Needs Debian's chromium, or another by CHROMIUM.
 */
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pino from "pino";
import { type Browser, chromium, type Page } from "playwright-core";
import { ConsoleFiles } from "../src/console.ts";
import { openDatabase } from "../src/database/engines/open.ts";
import { migrate } from "../src/database/migrate.ts";
import { fill, largeOrganization, tokens } from "./scale/fill.ts";
import { benchServer } from "./server.ts";

const { values } = parseArgs({ options: { workspaces: { type: "string", default: "100000" } } });
const few = 1_000;

interface Figures {
  readonly workspaces: number;
  readonly "first load (kB)": number;
  readonly "largest paint (ms)": number;
  readonly "layout shift": number;
  readonly "longest task, scrolled (ms)": number;
  readonly "longest task, dragged (ms)": number;
  readonly "rows after a drag (ms)": number;
}

/** Kept by the page itself, from its first moment on. */
const watching = `
  globalThis.seen = { paint: 0, shift: 0, task: 0 };
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) seen.paint = entry.startTime })
    .observe({ type: "largest-contentful-paint", buffered: true });
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) if (!entry.hadRecentInput) seen.shift += entry.value })
    .observe({ type: "layout-shift", buffered: true });
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) seen.task = Math.max(seen.task, entry.duration) })
    .observe({ type: "longtask", buffered: true });
`;

/** Asked again and again from here: the page's own policy lets nobody evaluate text in it. */
const allThere = `[...document.querySelectorAll("[role=row]")].slice(1).every((row) => row.querySelector("a"))`;

type Seen = { paint: number; shift: number; task: number };
const seenBy = (page: Page) => page.evaluate("seen") as Promise<Seen>;

async function look(browser: Browser, url: string, workspaces: number): Promise<Figures> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await context.request.post(`${url}/api/v2/sessions`, {
    headers: { "content-type": "application/vnd.api+json", origin: url },
    data: JSON.stringify({ data: { type: "sessions", attributes: { token: tokens.owner } } }),
  });
  await page.addInitScript(watching);
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  await page.goto(`${url}/app/${largeOrganization}/workspaces`);
  await page.getByRole("row").nth(10).getByRole("link").first().waitFor();
  await page.waitForLoadState("networkidle");
  const loaded = { ...(await seenBy(page)), bytes };
  const scrolled = await longest(page, async () => {
    for (let step = 0; step < 60; step++) {
      await page.mouse.wheel(0, 600);
      await page.waitForTimeout(30);
    }
  });
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

async function longest(page: Page, work: () => Promise<void>): Promise<number> {
  await page.evaluate("seen.task = 0");
  await work();
  await page.waitForTimeout(300);
  return (await seenBy(page)).task;
}

async function measured(browser: Browser, files: ConsoleFiles, workspaces: number): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), "cadastre-console-"));
  const database = openDatabase(`sqlite:${join(folder, "console.db")}`);
  await migrate(database);
  await fill(database, workspaces, () => {});
  const server = benchServer(database, { logger: pino({ level: "silent" }), console: files });
  await server.listen({ host: "127.0.0.1", port: 0 });
  try {
    const url = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
    // The first visit warms the server up, and what it has made smaller is kept.
    await look(browser, url, workspaces);
    return await look(browser, url, workspaces);
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
  const rows: Figures[] = [];
  for (const workspaces of [few, Number(values.workspaces)]) rows.push(await measured(browser, files, workspaces));
  console.table(rows);
} finally {
  await browser.close();
}
