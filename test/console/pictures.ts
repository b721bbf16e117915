/** The pictures of the main pages, light and dark, for the documents: `npm run screenshots` writes them to `docs/images/`. */
import { mkdirSync } from "node:fs";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { useConsole } from "./support/browser.ts";
import { type Scene, setScene } from "./support/scene.ts";

const console = useConsole();
const folder = "docs/images";
let scene: Scene;

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  scene = await setScene(console.api);
});

type Prepare = (page: Page) => Promise<void>;

const shots: [name: string, path: () => string, prepare?: Prepare][] = [
  ["workspaces", () => "/acme/workspaces"],
  ["organization", () => "/acme"],
  ["workspace", () => "/acme/workspaces/network-production"],
  [
    "who-can",
    () => "/acme/workspaces/network-production/access",
    async (page) => {
      await page.getByText("People", { exact: true }).nth(1).click();
      await page.getByRole("button", { name: /^ana, apply: .*Why\?/ }).click();
      await page.getByRole("region", { name: "Why ana, apply" }).waitFor();
      await page.waitForTimeout(1_000);
    },
  ],
  ["reach", () => `/acme/teams/${scene.teams["network-ops"]}/reach`],
  [
    "grant",
    () => `/acme/grant?team=${scene.teams["contractors"]}&project=${scene.projects["Billing"]}&level=write`,
    async (page) => {
      await page.getByRole("button", { name: "Grant access" }).waitFor();
      await page.waitForTimeout(1_000);
    },
  ],
  ["run", () => `/acme/workspaces/billing-eu/runs/${scene.run}`],
  ["move", () => `/acme/move`],
  ["audit", () => "/acme/audit"],
  ["tokens", () => "/acme/tokens"],
];

test.each(shots)("%s", async (name, path, prepare) => {
  for (const colorScheme of ["light", "dark"] as const) {
    const { page, go, complaints } = await console.visit(scene.owner, { colorScheme, deviceScaleFactor: 1 });
    await go(path());
    await prepare?.(page);
    await page.waitForLoadState("networkidle");
    await page.screenshot({ path: `${folder}/${name}-${colorScheme}.png`, animations: "disabled" });
    expect(complaints).toEqual([]);
    await page.context().close();
  }
  const phone = await console.visit(scene.owner, { viewport: { width: 375, height: 740 } });
  await phone.go(path());
  // Nothing is wider than a phone.
  expect(await phone.page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(375);
  await phone.page.context().close();
});
