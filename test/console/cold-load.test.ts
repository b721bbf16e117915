/** A first visit: how much every page asks the server for before it is there, that the browser has nothing to complain of, and what is seen meanwhile. */
import type { BrowserContextOptions } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { data } from "../support/builders.ts";
import { useConsole } from "./support/browser.ts";
import { routes, useEveryPage } from "./support/every-page.ts";
import { settle, watchful } from "./support/looks.ts";

const console = useConsole();
const { scene, addressOf } = useEveryPage(console);

const requestsMax = 15;
const callsMax = 4;
/** Pages that need more calls of the API than others. The numbers only go down. */
const callsOf: Record<string, number> = {};

interface Visit {
  readonly requests: string[];
  readonly calls: string[];
  /** Whatever the browser wrote into its console, and refusals of the server. */
  readonly noted: string[];
  /** As they were sent, compressed. */
  readonly bytes: number;
}

async function visit(path: string, token: string | undefined, options: BrowserContextOptions = {}): Promise<Visit> {
  const { page, load } = await watchful(console, token, options);
  const [requests, calls, noted]: [string[], string[], string[]] = [[], [], []];
  page.on("request", (request) => {
    const { pathname, search } = new URL(request.url());
    requests.push(pathname + search);
    if (pathname.startsWith("/api/")) calls.push(decodeURIComponent(pathname + search));
  });
  page.on("console", (message) => noted.push(message.text()));
  page.on("pageerror", (error) => noted.push(error.message));
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  let bytes = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  await load(addressOf(path));
  await page.context().close();
  return { requests, calls, noted, bytes };
}

const pages = routes.map(({ path }) => path);

test("measure", async () => {
  const lines: string[] = [];
  for (const { path, isOutside } of routes) {
    const { requests, calls, noted, bytes } = await visit(path, isOutside ? undefined : console.api.admin.token);
    lines.push([path, requests.length, bytes, calls.length, ...noted].join(" | "), ...calls.map((c) => "      " + c.slice(0,200)));
  }
  (await import("node:fs")).writeFileSync(process.env.OUT ?? "/tmp/cad/h1-measure.txt", lines.join("\n"));
}, 600_000);
