/** The pictures of the main pages, light and dark, for the documents: `npm run screenshots` writes them to `docs/images/`. */
import { mkdirSync, writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { useConsole } from "./support/browser.ts";
import { observe, settle } from "./support/rendering.ts";
import { toPalette } from "./support/palette-png.ts";
import { type Scene, setScene } from "./support/scene.ts";

const console = useConsole();
const folder = "docs/images";
let scene: Scene;

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  scene = await setScene(console.api);
});

type Prepare = (page: Page) => Promise<void>;

function moveOfThree(): string {
  const some = ["lake-curated", "lake-raw", "reports"].map((name) => scene.workspaces[name]);
  return `/acme/move?workspaces=${some.join(",")}&to=${scene.projects["Platform"]}`;
}

/** A name that ends in `-phone` is taken on a narrow screen. */
const shots: [name: string, path: () => string, prepare?: Prepare][] = [
  ["workspaces", () => "/acme/workspaces"],
  ["organization", () => "/acme"],
  ["workspace", () => "/acme/workspaces/network-production"],
  [
    "who-can",
    () => "/acme/workspaces/network-production/access?who=people",
    async (page) => {
      await page.getByRole("button", { name: /^ana, apply: .*Why\?/ }).click();
      await page.getByRole("button", { name: "What if this grant were removed?" }).click();
      await page.getByRole("region", { name: "What would change" }).waitFor();
    },
  ],
  ["reach", () => `/acme/teams/${scene.teams["network-ops"]}/reach`],
  [
    "grant",
    () => `/acme/grant?team=${scene.teams["contractors"]}&project=${scene.projects["Billing"]}`,
    async (page) => {
      await page.getByText("write", { exact: true }).click();
      await page.getByText("8 hours", { exact: true }).click();
      await page.getByLabel("Reason").fill("the move to the new ledger");
      await page
        .getByText(/plan, apply/)
        .first()
        .waitFor();
      await page.locator("button:enabled", { hasText: "Grant access" }).waitFor();
    },
  ],
  [
    "run",
    () => `/acme/workspaces/billing-eu/runs/${scene.run}`,
    async (page) => {
      await page.getByRole("button", { name: /aws_db_instance\.ledger/ }).click();
      await page.getByRole("button", { name: /aws_sqs_queue\.dunning/ }).click();
    },
  ],
  ["states", () => `/acme/workspaces/network-production/states/${scene.state}`],
  ["move", moveOfThree, (page) => page.getByRole("button", { name: "Move 3 workspaces" }).waitFor()],
  ["move-phone", moveOfThree],
  ["runs", () => "/acme/runs"],
  ["audit", () => "/acme/audit"],
  ["tokens", () => "/acme/tokens"],
];

test.each(shots)("%s", async (name, path, prepare) => {
  for (const colorScheme of ["light", "dark"] as const) {
    const screen = name.endsWith("-phone") ? { viewport: { width: 390, height: 844 } } : {};
    const options = { colorScheme, deviceScaleFactor: 1, ...screen };
    const { page, load, complaints } = await observe(console, scene.owner, options);
    await load(path());
    await prepare?.(page);
    await settle(page);
    const picture = await page.screenshot({ animations: "disabled" });
    writeFileSync(`${folder}/${name}-${colorScheme}.png`, toPalette(picture));
    expect(complaints).toEqual([]);
    await page.context().close();
  }
});
