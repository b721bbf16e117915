/**
 * Twelve tasks of a platform team, each from the organization's home page, with the clicks that it takes. Typing is not a click, nor is
 * choosing with the keyboard. The table in docs/console.md has the same figures.
 */
import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { data, makeWorkspace } from "../support/builders.ts";
import { scaled } from "../support/waiting.ts";
import { expectCount, useConsole } from "./support/browser.ts";
import { type Scene, setScene } from "./support/scene.ts";

const console = useConsole();
let scene: Scene;
const toMove = Array.from({ length: 12 }, (_, at) => `shop-${String(at + 1).padStart(2, "0")}`);

beforeAll(async () => {
  scene = await setScene(console.api);
  for (const name of toMove) await makeWorkspace(console.api, "acme", { name });
});

interface Worker {
  readonly page: Page;
  readonly clicks: () => number;
  click(what: Locator, options?: Parameters<Locator["click"]>[0]): Promise<void>;
  /** A button, link or tab of the page or, where one is open, of the dialog. */
  press(role: "button" | "link", name: string | RegExp): Promise<void>;
  /** With Ctrl-K: types the name and presses Enter. */
  find(name: string, expected: RegExp): Promise<void>;
  /** Types into a search field, and chooses the result with the arrow and Enter. */
  choose(label: string | RegExp, name: string): Promise<void>;
}

/** Moves to the option with the arrows, and presses Enter. */
async function take(page: Page, field: Locator, name: string | RegExp): Promise<void> {
  const option = page.getByRole("option", { name }).first();
  await option.waitFor();
  const picked = option.and(page.locator("[data-combobox-selected], [aria-selected=true]:not([data-combobox-option])"));
  const isPicked = async () => (await picked.count()) > 0;
  for (let tries = 0; tries < 20 && !(await isPicked()); tries += 1) await field.press("ArrowDown");
  await field.press("Enter");
}

/** An owner of the organization, on its home page. */
async function atHome(): Promise<Worker> {
  const { page, go } = await console.visit(scene.owner);
  await go("/acme");
  await page.getByRole("heading", { name: "acme" }).waitFor();
  let count = 0;
  const click: Worker["click"] = async (what, options) => {
    count += 1;
    await what.click(options);
  };
  return {
    page,
    clicks: () => count,
    click,
    press: async (role, name) => {
      const dialog = page.getByRole("dialog");
      const around = (await dialog.count()) > 0 ? dialog : page;
      await click(around.getByRole(role, typeof name === "string" ? { name, exact: true } : { name }).last());
    },
    find: async (name, expected) => {
      const field = page.getByRole("combobox", { name: "Find anything" });
      const isThere = () => expected.test(page.url());
      // As in `choose`, the options may change between the arrow and Enter: then it tries again.
      for (let tries = 0; tries < 5 && !isThere(); tries += 1) {
        if (tries > 0) await go("/acme");
        await page.keyboard.press("Control+k");
        await field.fill(name);
        await take(page, field, new RegExp(`^${name}`));
        await page.waitForURL(expected, { timeout: scaled(5_000) }).catch(() => undefined);
      }
      await page.waitForURL(expected);
      await page.waitForLoadState("networkidle");
    },
    choose: async (label, name) => {
      const field = page.getByRole("combobox", { name: label });
      const pills = page.locator(".mantine-Pill-root");
      // The options change again when the server's results arrive, also between the arrow and Enter: then nothing was chosen.
      for (let tries = 0; tries < 5; tries += 1) {
        await field.fill(name);
        await take(page, field, name);
        await field.press("Tab");
        const isSelected =
          (await field.inputValue()).includes(name) || (await pills.filter({ hasText: name }).count()) > 0;
        if (isSelected) return;
      }
      throw new Error(`“${name}” could not be chosen`);
    },
  };
}

test("1. find why someone can apply on a workspace", async () => {
  const { page, clicks, click, press, find } = await atHome();
  await find("network-production", /\/workspaces\/network-production$/);
  await press("link", "Access");
  await click(page.getByRole("main").getByText("People", { exact: true }));
  await press("button", /^ana, apply: .*Why\?/);
  await page.getByRole("region", { name: "Why ana, apply" }).getByText("network-ops").first().waitFor();
  expect(clicks()).toBe(3);
});

test("2. give a team write on a project for 8 hours", async () => {
  const { page, clicks, click, press, choose, find } = await atHome();
  await find("Grant access", /\/grant$/);
  await choose("Team", "contractors");
  await choose("Project", "Billing");
  await click(page.getByText("write", { exact: true }));
  await click(page.getByText("8 hours", { exact: true }));
  await page.getByLabel("Reason").fill("on call");
  await press("button", "Grant access");
  await page.waitForURL(/\/access/);
  expect(clicks()).toBe(3);
});

test("3. remove a person's access when they leave", async () => {
  const { page, clicks, press, find } = await atHome();
  await find("noa", /\/people\/user-/);
  await press("link", "Offboarding");
  await press("button", "Remove from organization…");
  await press("button", "Remove from acme");
  await page.getByText("Removed noa from acme.").waitFor();
  expect(clicks()).toBe(3);
});

test("4. move twelve workspaces to another project", async () => {
  const { page, clicks, press, choose, find } = await atHome();
  await find("Move workspaces", /\/move$/);
  await page.getByLabel("Search workspaces").fill("shop-");
  await press("button", "Select all 12 matching");
  await page.getByText("12 selected").waitFor();
  await choose("Move to project", "Platform");
  await press("button", "Move 12 workspaces");
  await page.waitForURL(/\/workspaces\?project=/);
  const [moved] = data(await console.api.admin.get("/organizations/acme/workspaces?search[name]=shop-07"));
  expect(moved.relationships.project.data.id).toBe(scene.projects["Platform"]);
  expect(clicks()).toBe(2);
});

test("5. confirm a waiting run", async () => {
  const { page, clicks, click, press } = await atHome();
  await click(page.getByRole("link", { name: /A queue for dunning/ }));
  await press("button", "Confirm & apply");
  await page.getByRole("dialog").waitFor();
  await press("button", "Confirm & apply");
  await page.getByText("Plan confirmed. The apply is queued.").waitFor();
  expect(clicks()).toBe(3);
});

test("6. force-unlock a workspace", async () => {
  const { page, clicks, press, find } = await atHome();
  await find("dns-public", /\/workspaces\/dns-public$/);
  await press("button", "Force-unlock");
  await page.getByRole("dialog").waitFor();
  await press("button", "Force-unlock");
  await page.getByText("Force-unlocked dns-public.").waitFor();
  expect(clicks()).toBe(2);
});

test("7. roll back a state", async () => {
  const { page, clicks, click, press, find } = await atHome();
  await find("network-production", /\/workspaces\/network-production$/);
  await press("link", "States");
  const rows = page.getByRole("table", { name: "State versions" }).getByRole("row");
  await click(rows.last().getByRole("link").first());
  await press("button", "Roll back to this version");
  await page.getByRole("dialog").waitFor();
  await press("button", "Roll back");
  await page.getByText(/Rolled back network-production to serial 1/).waitFor();
  expect(clicks()).toBe(4);
});

test("8. create a workspace in a project and copy its cloud block", async () => {
  const { page, clicks, press, choose } = await atHome();
  await press("link", "New workspace");
  await page.getByLabel("Name", { exact: true }).fill("checkout");
  await choose("Project", "Billing");
  await press("button", "Create workspace");
  await press("button", "Copy Cloud block");
  expect(clicks()).toBe(3);
});

test("9. find who changed access since yesterday, and export it", async () => {
  const { page, clicks, press, find, choose } = await atHome();
  await find("Audit log", /\/acme\/audit$/);
  await press("button", "Last 24 hours");
  await choose("Resource type", "project access");
  await page.waitForURL(/kind=team-projects/);
  const [download] = await Promise.all([page.waitForEvent("download"), press("button", "Export CSV")]);
  expect(download.suggestedFilename()).toMatch(/^audit-acme.*\.csv$/);
  expect(clicks()).toBe(2);
});

test("10. rotate a token", async () => {
  const { page, clicks, press, find } = await atHome();
  await find("Tokens", /\/acme\/tokens$/);
  await press("button", "Rotate drift reports");
  await page.getByRole("dialog").waitFor();
  await press("button", "Create new token");
  await press("button", "Copy New token");
  await press("button", "Revoke old token");
  await page.getByText("Revoked the old token.").waitFor();
  expect(clicks()).toBe(4);
});

test("11. add a sensitive variable", async () => {
  const { page, clicks, click, press, find } = await atHome();
  await find("payments", /\/workspaces\/payments$/);
  await press("link", "Variables");
  await press("button", "Add variable");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Key").fill("api_key");
  await dialog.getByLabel("Value").fill("hush-hush");
  await click(dialog.getByLabel("Sensitive"));
  await press("button", "Add variable");
  await page.getByRole("row").filter({ hasText: "api_key" }).waitFor();
  expect(clicks()).toBe(4);
});

test("12. invite a person into a team", async () => {
  const { page, clicks, press, find, choose } = await atHome();
  await find("Invite member", /\/acme\/people\?open=invite$/);
  await page.getByRole("dialog").waitFor();
  await page.getByLabel("Email").fill("grace@acme.example");
  await choose("Teams", "auditors");
  await press("button", "Invite");
  await press("button", /^Copy /);
  await press("button", "I have copied it");
  await expectCount(page.getByRole("row").filter({ hasText: "grace@acme.example" }), 1);
  expect(clicks()).toBe(3);
});
