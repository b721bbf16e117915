/** The twelve tasks of a platform team, each from the organization's home page, with the clicks that it takes. Typing is no click, nor is Ctrl-K. */
import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { data, makeWorkspace } from "../support/builders.ts";
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
  /** By Ctrl-K: types the name, and Enter. */
  find(name: string, expected: RegExp): Promise<void>;
  /** Types into a field that searches, and takes what it finds by the arrow and Enter. */
  choose(label: string | RegExp, name: string): Promise<void>;
}

/** By the arrows to the option of this name, and Enter. */
async function take(page: Page, field: Locator, name: string | RegExp): Promise<void> {
  const option = page.getByRole("option", { name }).first();
  await option.waitFor();
  const isPicked = () =>
    option.evaluate((each) =>
      each.matches("[data-combobox-selected], [aria-selected=true]:not([data-combobox-option])"),
    );
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
      await page.keyboard.press("Control+k");
      const field = page.getByRole("combobox", { name: "Find anything" });
      await field.fill(name);
      await take(page, field, new RegExp(`^${name}`));
      await page.waitForURL(expected);
      await page.waitForLoadState("networkidle");
    },
    choose: async (label, name) => {
      const field = page.getByRole("combobox", { name: label });
      await field.fill(name);
      await take(page, field, name);
      await field.press("Tab");
    },
  };
}

test("1. find why somebody can apply on a workspace", async () => {
  const { page, clicks, click, press, find } = await atHome();
  await find("network-production", /\/workspaces\/network-production$/);
  await press("link", "Access");
  await click(page.getByText("People", { exact: true }).last());
  await press("button", /^ana, apply: .*Why\?/);
  await page.getByRole("region", { name: "Why ana, apply" }).getByText("network-ops").first().waitFor();
  expect(clicks()).toBe(3);
});

test("2. give a team write on a project until a moment", async () => {
  const { page, clicks, click, press, choose } = await atHome();
  await click(page.getByRole("link", { name: "2 teams" }).first());
  await page.waitForURL(/\/projects\/.*\/access/);
  await press("link", "Grant access");
  await choose("Team", "platform");
  await click(page.getByRole("combobox", { name: "Level" }));
  await click(page.getByRole("option", { name: /^write/ }));
  await page.getByLabel("Until").fill("2099-12-31");
  await page.getByLabel("Reason").fill("on call");
  await press("button", "Grant access");
  await page.waitForURL(/\/access/);
  expect(clicks()).toBe(5);
});

test("3. remove a person's access when they leave", async () => {
  const { page, clicks, press, find } = await atHome();
  await find("noa", /\/people\/user-/);
  await press("link", "Leaving");
  await press("button", "Remove from the organization…");
  await press("button", "Remove from acme");
  await page.getByText("noa is no longer a member of acme.").waitFor();
  expect(clicks()).toBe(3);
});

test("4. move twelve workspaces to another project", async () => {
  const { page, clicks, click, press, choose } = await atHome();
  await press("link", "Default Project");
  await press("link", "Move workspaces");
  await page.getByLabel("Search names").fill("shop-");
  await page.getByText("12 workspaces", { exact: true }).waitFor();
  await click(page.getByRole("checkbox", { name: "Choose shop-01" }));
  await click(page.getByRole("checkbox", { name: "Choose shop-12" }), { modifiers: ["Shift"] });
  await page.getByText("12 workspaces chosen").waitFor();
  await choose("Move to the project", "Platform");
  await press("button", "Move 12 workspaces to Platform");
  await page.waitForURL(/\/workspaces\?project=/);
  const [moved] = data(await console.api.admin.get("/organizations/acme/workspaces?search[name]=shop-07"));
  expect(moved.relationships.project.data.id).toBe(scene.projects["Platform"]);
  expect(clicks()).toBe(5);
});

test("5. confirm a waiting run", async () => {
  const { page, clicks, click, press } = await atHome();
  await click(page.getByRole("link", { name: /A queue for dunning/ }));
  await press("button", "Confirm and apply");
  await page.getByRole("dialog").waitFor();
  await press("button", "Confirm and apply");
  await page.getByText("Confirmed; the apply is queued.").waitFor();
  expect(clicks()).toBe(3);
});

test("6. force-unlock a workspace", async () => {
  const { page, clicks, press, find } = await atHome();
  await find("dns-public", /\/workspaces\/dns-public$/);
  await press("button", "Force unlock");
  await page.getByRole("dialog").waitFor();
  await press("button", "Force unlock");
  await page.getByText("Unlocked dns-public with force.").waitFor();
  expect(clicks()).toBe(2);
});

test("7. roll back a state", async () => {
  const { page, clicks, click, press, find } = await atHome();
  await find("network-production", /\/workspaces\/network-production$/);
  await press("link", "States");
  const rows = page.getByRole("table", { name: "States" }).getByRole("row");
  await click(rows.last().getByRole("link").first());
  await press("button", "Go back to this state");
  await page.getByRole("dialog").waitFor();
  await press("button", "Go back");
  await page.getByText(/is back at what serial 1 was/).waitFor();
  expect(clicks()).toBe(4);
});

test("8. create a workspace in a project and get its cloud block", async () => {
  const { page, clicks, press, choose } = await atHome();
  await press("link", "New workspace");
  await page.getByLabel("Name", { exact: true }).fill("checkout");
  await choose("Project", "Billing");
  await press("button", "Make the workspace");
  await press("button", "Copy The cloud block");
  expect(clicks()).toBe(3);
});

test("9. find who changed a grant since yesterday", async () => {
  const { page, clicks, find, choose } = await atHome();
  await find("Audit", /\/acme\/audit$/);
  await page.getByLabel("From this moment on").fill(new Date(Date.now() - 86_400_000).toISOString().slice(0, 16));
  await choose("Kind of thing", "access to a project");
  await page.waitForURL(/kind=team-projects/);
  expect(clicks()).toBe(0);
});

test("10. rotate a token", async () => {
  const { page, clicks, press, find } = await atHome();
  await find("Tokens", /\/acme\/tokens$/);
  await press("button", "Rotate drift reports");
  await page.getByRole("dialog").waitFor();
  await press("button", "Make the new token");
  await press("button", "Copy The new token");
  await press("button", "Revoke the old one");
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
  await find("People", /\/acme\/people$/);
  await press("button", "Invite somebody");
  await page.getByRole("dialog").waitFor();
  await page.getByLabel("E-mail").fill("grace@acme.example");
  await choose("Teams", "auditors");
  await press("button", "Invite");
  await press("button", /^Copy /);
  await press("button", "I have copied it");
  await expectCount(page.getByRole("row").filter({ hasText: "grace@acme.example" }), 1);
  expect(clicks()).toBe(4);
});
