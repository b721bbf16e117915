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
const { addressOf } = useEveryPage(console);

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

/** One for each scheme, who goes from page to page; others for those without a session. */
const lookers = new Map<string, Promise<Looker>>();

function lookerOf(colorScheme: Scheme, isOutside: boolean): Promise<Looker> {
  const key = `${colorScheme} ${isOutside}`;
  const token = isOutside ? undefined : console.api.admin.token;
  const looker =
    lookers.get(key) ??
    watchful(console, token, { viewport: sizes[colorScheme][0], colorScheme, reducedMotion: "reduce" });
  lookers.set(key, looker);
  return looker;
}

/** The name of each window, and which page has it. */
const titles = new Map<string, string>();

async function faultsOf(address: string, scheme: Scheme, { page, load, complaints }: Looker): Promise<string[]> {
  const [first, second] = sizes[scheme];
  const on = ({ width }: { readonly width: number }, some: readonly string[]) =>
    some.map((fault) => `${scheme}, ${width} wide: ${fault}`);
  complaints.length = 0;
  await page.setViewportSize(first);
  await load(address);
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

test.each([...routes, ...more])("$path is whole, calm and within reach", async ({ path, isOutside }) => {
  const look = async (scheme: Scheme) => faultsOf(addressOf(path), scheme, await lookerOf(scheme, isOutside));
  expect((await Promise.all(schemes.map(look))).flat()).toEqual([]);
});
