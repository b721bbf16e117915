/**
 * Every page of the console, in light and in dark, on a desk and on a phone, as it is for somebody who may do everything. The pages are read
 * off the routes in `console/`, so that a new one is looked at from its first line; one whose address can't be filled in fails.
 */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { useConsole } from "./support/browser.ts";
import { pagesInSource, type Route, routes, useEveryPage } from "./support/every-page.ts";
import { judge, type Looker, seen, watchful } from "./support/looks.ts";

const console = useConsole();
const { scene, addressOf } = useEveryPage(console);

/** Parts of pages, and pages of which something is chosen. */
const more: Route[] = [
  ...["tags", "sharing", "triggers", "keeping", "delete"].map(
    (part) => `/$organization/workspaces/$workspace/settings?part=${part}`,
  ),
  "/$organization/grant?team=$team&project=$project",
  "/$organization/workspaces/$workspace/access?who=people",
  "/$organization/workspaces/$workspace/runs/$run?show=plan-log",
  "/$organization/workspaces/firewalls/repository",
].map((path) => ({ path, isOutside: false }));

// ---- looking at them ----

const desk = { width: 1280, height: 800 };
const phone = { width: 375, height: 740 };
const schemes = ["light", "dark"] as const;
type Scheme = (typeof schemes)[number];

/** In light a page is loaded at a desk and then drawn on a phone; in dark it is the other way round. */
const sizes = { light: [desk, phone], dark: [phone, desk] } as const;

/** In light every page is a first visit, by a browser of its own; in dark somebody goes from page to page; another without a session. */
const inDark = new Map<boolean, Promise<Looker>>();

function lookerOf(scheme: Scheme, path: string, isOutside: boolean): Promise<Looker> {
  const options = { viewport: sizes[scheme][0], colorScheme: scheme, reducedMotion: "reduce" } as const;
  const { token } = console.api.admin;
  if (scheme === "light")
    return watchful(console, isOutside ? undefined : path.startsWith("/~/site") ? token : scene.owner, options);
  const looker = inDark.get(isOutside) ?? watchful(console, isOutside ? undefined : token, options);
  inDark.set(isOutside, looker);
  return looker;
}

/** The name of each window, and which page has it. */
const titles = new Map<string, string>();

/** What is wrong with the page that is open, on one screen and then on the other. */
async function faultsOf(address: string, scheme: Scheme, { page, complaints }: Looker): Promise<string[]> {
  const [first, second] = sizes[scheme];
  const on = ({ width }: { readonly width: number }, some: readonly string[]) =>
    some.map((fault) => `${scheme}, ${width} wide: ${fault}`);
  const { shift, title } = await seen(page);
  const [place = ""] = address.split("?");
  const other = titles.get(title) ?? place;
  titles.set(title, other);
  const faults = [
    ...on(first, shift >= 0.1 ? [`things jump (${shift.toFixed(2)})`] : []),
    ...on(first, other === place ? [] : [`is called “${title}”, like ${other}`]),
    ...on(first, await judge(page, scheme)),
  ];
  await page.setViewportSize(second);
  faults.push(...on(second, await judge(page, scheme)), ...on(second, await unseenFocus(page)));
  return [...faults, ...on(first, complaints)];
}

async function faultsInDark(address: string, path: string, isOutside: boolean): Promise<string[]> {
  const looker = await lookerOf("dark", path, isOutside);
  looker.complaints.length = 0;
  await looker.page.setViewportSize(sizes.dark[0]);
  await looker.follow(address);
  return faultsOf(address, "dark", looker);
}

async function faultsInLight(address: string, path: string, isOutside: boolean): Promise<string[]> {
  const looker = await lookerOf("light", path, isOutside);
  const costs = await costsOfLoading(looker, address);
  const faults = await faultsOf(address, "light", looker);
  await looker.page.context().close();
  return [...faults, ...(more.some((part) => part.path === path) ? [] : excessOf(path, costs))];
}

// ---- what a first visit costs ----

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

interface Costs {
  readonly requests: readonly string[];
  /** Of the console itself: how much data there is to show is another question. */
  readonly bytes: number;
  /** Whatever the browser writes into its console; a refusal of the server is in there too. */
  readonly notes: readonly string[];
}

async function costsOfLoading({ page, load }: Looker, address: string): Promise<Costs> {
  const notes: string[] = [];
  page.on("console", (message) => notes.push(message.text()));
  /** Those that went to the server; the icon is drawn twice, and the second time comes from the browser's cache. */
  const sent = new Map<string, string>();
  let bytes = 0;
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  session.on("Network.requestWillBeSent", ({ requestId, request }) => {
    sent.set(requestId, decodeURIComponent(request.url.slice(console.api.url.length)));
  });
  session.on("Network.requestServedFromCache", ({ requestId }) => sent.delete(requestId));
  session.on("Network.responseReceived", ({ requestId, response }) => {
    if (response.fromDiskCache) sent.delete(requestId);
  });
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    if (!sent.get(requestId)?.startsWith("/api/")) bytes += encodedDataLength;
  });
  await load(address);
  await session.detach();
  return { requests: [...sent.values()], bytes, notes: [...notes] };
}

function excessOf(path: string, { requests, bytes, notes }: Costs): string[] {
  const calls = requests.filter((each) => each.startsWith("/api/"));
  return [
    ...notes.map((note) => `the browser notes: ${note}`),
    ...(requests.length > requestsMax ? [`takes ${requests.length} requests: ${requests.join(" ")}`] : []),
    ...(calls.length > (callsOf[path] ?? callsMax) ? [`takes ${calls.length} calls: ${calls.join(" ")}`] : []),
    ...(bytes >= bytesMax ? [`takes ${bytes} bytes`] : []),
  ];
}

/** Whatever the keyboard reaches looks another way when it is reached. */
async function unseenFocus(page: Page): Promise<string[]> {
  await page.keyboard.press("Tab");
  return (await page.evaluate(focusing)) as string[];
}

const focusing = `(() => {
  const traits = ["outlineStyle", "outlineWidth", "boxShadow", "borderTopColor", "backgroundColor", "opacity", "left"];
  const look = (element) => { const style = getComputedStyle(element); return traits.map((trait) => style[trait]).join() };
  const outside = (element, steps = 4) =>
    steps === 0 || element.parentElement === null ? [] : [element.parentElement, ...outside(element.parentElement, steps - 1)];
  const around = (element) =>
    [element, element.nextElementSibling, element.previousElementSibling, element.firstElementChild, ...outside(element)]
      .filter((each) => each !== null).map(look).join(";");
  const all = [...document.querySelectorAll("a[href], button, input, select, textarea, [tabindex='0']")]
    .filter((each) => each.tabIndex >= 0 && !each.disabled && each.checkVisibility());
  document.activeElement?.blur();
  const unseen = all.filter((each) => {
    const before = around(each);
    each.focus({ preventScroll: true });
    return document.activeElement === each && around(each) === before;
  });
  document.activeElement?.blur();
  return unseen.map((each) => "the focus can't be seen on " + each.outerHTML.slice(0, 200));
})()`;

test("every page has an address in the sweep", () => {
  expect(routes.length).toBe(pagesInSource);
  expect(routes.length).toBeGreaterThan(60);
  for (const { path } of [...routes, ...more]) expect(addressOf(path)).not.toContain("$");
});

test("fewer than a quarter of the pages take more calls than the others", () => {
  const known = routes.map(({ path }) => path);
  for (const path of Object.keys(callsOf)) expect(known).toContain(path);
  expect(Object.keys(callsOf).length).toBeLessThan(known.length / 4);
});

test.each([...routes, ...more])("$path is whole, calm, within reach and light", async ({ path, isOutside }) => {
  const address = addressOf(path);
  const faults = [await faultsInLight(address, path, isOutside), await faultsInDark(address, path, isOutside)];
  expect(faults.flat()).toEqual([]);
});
