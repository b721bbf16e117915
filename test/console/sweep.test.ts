/**
 * Every page of the console, in light and dark mode, on a desktop and on a phone, for a user with all permissions. The pages are read from
 * the routes in `console/`, so that new ones are included; a page whose address can't be filled in fails.
 */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { useConsole } from "./support/browser.ts";
import { pagesInSource, type Route, routes, useEveryPage } from "./support/every-page.ts";
import { findProblems, type ObservedVisitor, measurePage, observe } from "./support/rendering.ts";

const console = useConsole();
const { scene, addressOf } = useEveryPage(console);

/** Parts of pages, and pages with a selection. */
const more: Route[] = [
  ...["tags", "sharing", "triggers", "keeping", "delete"].map(
    (part) => `/$organization/workspaces/$workspace/settings?part=${part}`,
  ),
  "/$organization/grant?team=$team&project=$project",
  "/$organization/access-requests/new?team=$team",
  "/$organization/access-requests/new?for=team&team=$team&project=$project",
  "/$organization/workspaces/$workspace/access?who=people",
  "/$organization/workspaces/$workspace/runs/$run?show=plan-log",
  "/$organization/workspaces/firewalls/repository",
].map((path) => ({ path, isOutside: false }));

// ---- rendering ----

const desk = { width: 1280, height: 800 };
const phone = { width: 375, height: 740 };
const schemes = ["light", "dark"] as const;
type Scheme = (typeof schemes)[number];

/** In light mode a page is loaded on a desktop and then rendered on a phone; in dark mode the other way round. */
const sizes = { light: [desk, phone], dark: [phone, desk] } as const;

/** In light mode every page is a first visit in a new browser; in dark mode one user navigates between pages; another has no session. */
const inDark = new Map<boolean, Promise<ObservedVisitor>>();

function visitorFor(scheme: Scheme, path: string, isOutside: boolean): Promise<ObservedVisitor> {
  const options = { viewport: sizes[scheme][0], colorScheme: scheme, reducedMotion: "reduce" } as const;
  const { token } = console.api.admin;
  if (scheme === "light")
    return observe(console, isOutside ? undefined : path.startsWith("/~/site") ? token : scene.owner, options);
  const observed = inDark.get(isOutside) ?? observe(console, isOutside ? undefined : token, options);
  inDark.set(isOutside, observed);
  return observed;
}

/** The title of each window, and its page. */
const titles = new Map<string, string>();

/** The problems of the open page, on one screen size and then on the other. */
async function faultsOf(address: string, scheme: Scheme, { page, complaints }: ObservedVisitor): Promise<string[]> {
  const [first, second] = sizes[scheme];
  const on = ({ width }: { readonly width: number }, some: readonly string[]) =>
    some.map((fault) => `${scheme}, ${width} wide: ${fault}`);
  const { shift, title } = await measurePage(page);
  const [place = ""] = address.split("?");
  const other = titles.get(title) ?? place;
  titles.set(title, other);
  const faults = [
    ...on(first, shift >= 0.1 ? [`the layout shifts (${shift.toFixed(2)})`] : []),
    ...on(first, other === place ? [] : [`is called “${title}”, like ${other}`]),
    ...on(first, await findProblems(page, scheme)),
  ];
  await page.setViewportSize(second);
  faults.push(...on(second, await findProblems(page, scheme)), ...on(second, await unseenFocus(page)));
  return [...faults, ...on(first, complaints)];
}

async function faultsInDark(address: string, path: string, isOutside: boolean): Promise<string[]> {
  const observed = await visitorFor("dark", path, isOutside);
  observed.complaints.length = 0;
  await observed.page.setViewportSize(sizes.dark[0]);
  await observed.follow(address);
  return faultsOf(address, "dark", observed);
}

async function faultsInLight(address: string, path: string, isOutside: boolean): Promise<string[]> {
  const observed = await visitorFor("light", path, isOutside);
  const costs = await costsOfLoading(observed, address);
  const faults = await faultsOf(address, "light", observed);
  await observed.page.context().close();
  return [...faults, ...(more.some((part) => part.path === path) ? [] : excessOf(path, costs))];
}

// ---- the cost of a first visit ----

const requestsMax = 15;
const bytesMax = 300_000;
const callsMax = 4;
/** Pages that need more API requests than the others. These numbers must only decrease. */
const callsOf: Readonly<Record<string, number>> = {
  "/$organization/agent-pools/$pool": 5,
  "/$organization/new-workspace": 5,
  "/$organization/offers/$offer": 5,
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
  /** Of the console itself, without its data. */
  readonly bytes: number;
  /** All messages in the browser's console, including rejected requests. */
  readonly notes: readonly string[];
}

async function costsOfLoading({ page, load }: ObservedVisitor, address: string): Promise<Costs> {
  const notes: string[] = [];
  page.on("console", (message) => notes.push(message.text()));
  /** Requests that reached the server; the icon is used twice, the second time from the browser's cache. */
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

/** Every element that the keyboard reaches has a visible focus. */
async function unseenFocus(page: Page): Promise<string[]> {
  await page.keyboard.press("Tab");
  return (await page.evaluate(focusing)) as string[];
}

const focusing = `(() => {
  const traits = ["outlineStyle", "outlineWidth", "boxShadow", "borderTopColor", "backgroundColor", "opacity", "left"];
  const appearance = (element) => { const style = getComputedStyle(element); return traits.map((trait) => style[trait]).join() };
  const outside = (element, steps = 4) =>
    steps === 0 || element.parentElement === null ? [] : [element.parentElement, ...outside(element.parentElement, steps - 1)];
  const around = (element) =>
    [element, element.nextElementSibling, element.previousElementSibling, element.firstElementChild, ...outside(element)]
      .filter((each) => each !== null).map(appearance).join(";");
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

test("fewer than a quarter of the pages need more requests than the others", () => {
  const known = routes.map(({ path }) => path);
  for (const path of Object.keys(callsOf)) expect(known).toContain(path);
  expect(Object.keys(callsOf).length).toBeLessThan(known.length / 4);
});

test.each([...routes, ...more])("$path is complete, stable, accessible and small", async ({ path, isOutside }) => {
  const address = addressOf(path);
  const faults = [await faultsInLight(address, path, isOutside), await faultsInDark(address, path, isOutside)];
  expect(faults.flat()).toEqual([]);
});
