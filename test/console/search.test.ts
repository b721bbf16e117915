/** Searching lists and Ctrl-K: words in any order, and actions as far as the caller can do them. */
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import {
  data,
  inProject,
  makeMember,
  makeProject,
  makeTeam,
  makeTeamProject,
  makeWorkspace,
  type Member,
  resource,
} from "../support/builders.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";

const console = useConsole();
let reader: Member;
let workspaces: Record<string, string>;

beforeAll(async () => {
  const { api } = console;
  data(await api.admin.post("/organizations", resource("organizations", { name: "acme", email: "ops@acme.example" })));
  const project = await makeProject(api, "acme", { name: "Payments" });
  workspaces = {};
  for (const name of ["prod-payments-eu", "prod-network", "payments-staging"]) {
    const attributes = { name, "execution-mode": "remote" };
    workspaces[name] = (await makeWorkspace(api, "acme", attributes, inProject(project.id))).id;
  }
  const team = await makeTeam(api, "acme", { name: "readers", visibility: "organization" });
  await makeTeamProject(api, project.id, team.id, { access: "read" });
  reader = await makeMember(api, "acme", [team.id]);
});

const phone = { viewport: { width: 390, height: 780 }, hasTouch: true };

async function openPalette(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Search" }).first().click();
  await page.locator("[role=combobox]:focus").waitFor();
}

const options = (page: Page) => page.getByRole("listbox", { name: "Results" }).getByRole("option");
const optionNames = (page: Page) => options(page).allInnerTexts();

test("lists match words in any order, and show a search without results", async () => {
  const { page, go } = await console.visit(console.api.admin.token);
  await go("/acme/workspaces?q=payments+prod");
  await page.getByRole("link", { name: "prod-payments-eu" }).waitFor();
  await expectCount(page.getByRole("row"), 2);
  await page.getByRole("textbox", { name: "Search" }).first().fill("payments nowhere");
  await page.getByText('No workspaces match "payments nowhere".').waitFor();
  await go("/acme/teams?q=nobody+here");
  await page.getByText('No teams match "nobody here".').waitFor();
  await go("/acme/people?q=nobody+here");
  await page.getByText('No people match "nobody here".').waitFor();
});

test.each([
  ["a desk", {}],
  ["a phone", phone],
  ["a dark phone", { ...phone, colorScheme: "dark" as const }],
])("the palette finds workspaces and runs actions on them, on %s", async (_, options) => {
  const { page, go, complaints } = await console.visit(console.api.admin.token, options);
  await go("/acme");
  await openPalette(page);
  await page.keyboard.type("payments prod");
  await page.getByRole("option", { name: /^prod-payments-eu/, selected: true }).waitFor();
  await expectAccessible(page, "results");
  // Tab shows its actions.
  await page.keyboard.press("Tab");
  await page.getByRole("combobox", { name: "Actions for prod-payments-eu" }).waitFor();
  await expect
    .poll(() => optionNames(page))
    .toEqual(["Start run", "Lock", "Grant access", "Who has access", "Variables", "Settings"]);
  await expectAccessible(page, "actions");
  expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  await page.keyboard.press("Backspace");
  await page.getByRole("combobox", { name: "Find anything" }).waitFor();
  await page.keyboard.type("lock payments eu");
  await page.getByRole("option", { name: /^Lock/, selected: true }).waitFor();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: /prod-payments-eu/ });
  await dialog.waitFor();
  await dialog.getByRole("textbox", { name: "Reason" }).fill("incident 7");
  await dialog.getByRole("button", { name: "Lock", exact: true }).click();
  await page.getByRole("button", { name: "Unlock", exact: true }).waitFor();
  expect(page.url()).not.toContain("open=");

  // On the workspace's page, its actions come first; the caller's own lock is released immediately.
  await openPalette(page);
  await page.getByRole("group", { name: "prod-payments-eu" }).waitFor();
  await page.keyboard.type("unlock");
  await page.getByRole("option", { name: "Unlock", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("Unlocked prod-payments-eu.").waitFor();
  expect(complaints).toEqual([]);
});

test("on a touch screen, a workspace's actions have a button", async () => {
  const { page, go } = await console.visit(console.api.admin.token, phone);
  await go("/acme");
  await openPalette(page);
  await page.keyboard.type("staging");
  await page.getByRole("option", { name: /^payments-staging/ }).waitFor();
  await page.getByText("Actions ›").tap();
  await page.getByRole("option", { name: "Variables" }).tap();
  await page.waitForURL(/payments-staging\/variables/);
});

test.each([
  ["new workspace", /new-workspace/, "heading", /workspace/i],
  ["project new", /projects\?open=create/, "dialog", /project/i],
  ["new team", /teams\?open=create/, "dialog", /team/i],
  ["invite", /people\?open=invite/, "dialog", /invite/i],
  ["move", /move/, "heading", /move/i],
  ["create token", /tokens\?open=create/, "dialog", /token/i],
] as const)("%j opens the page of the action", async (text, url, role, name) => {
  const { page, go } = await console.visit(console.api.admin.token);
  await go("/acme");
  await openPalette(page);
  await page.keyboard.type(text);
  const actions = page.getByRole("group", { name: "Actions" }).getByRole("option");
  await expectCount(actions, 1);
  await actions.click();
  await page.waitForURL(url);
  await page.getByRole(role, { name }).first().waitFor();
  if (role !== "dialog") return;
  await page.keyboard.press("Escape");
  await expect.poll(() => page.url()).not.toContain("open=");
});

test("going back from what was created doesn't open its dialog again", async () => {
  const { page, go } = await console.visit(console.api.admin.token);
  await go("/acme/teams?open=create");
  await page.getByRole("dialog").getByLabel("Name").fill(`night-shift-${Date.now()}`);
  await page.getByRole("button", { name: "Create team" }).click();
  await page.waitForURL(/teams\/team-/);
  await page.goBack();
  await page.waitForURL(/teams$/);
  await page.getByRole("table", { name: "Teams" }).waitFor();
  await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
});

test("offers only actions that the caller can do", async () => {
  const { page, go } = await console.visit(reader.token);
  await go("/acme/workspaces/prod-network");
  await openPalette(page);
  await expect
    .poll(() => page.getByRole("group", { name: "prod-network" }).getByRole("option").allInnerTexts())
    .toEqual(["Request access", "Who has access", "Variables", "Settings"]);
  await expect
    .poll(() => page.getByRole("group", { name: "Actions" }).getByRole("option").allInnerTexts())
    .toEqual(["Request access", "Break glass", "Create token"]);
  await page.keyboard.type("lock");
  await page.getByText('No results for "lock"').waitFor();
});
