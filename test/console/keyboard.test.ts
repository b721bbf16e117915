/** The console by keyboard alone: without a mouse, and with the focus always on an element. */
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
  resource,
} from "../support/builders.ts";
import { expectAccessible, useConsole } from "./support/browser.ts";

const console = useConsole();
const password = "correct-horse-battery";

beforeAll(async () => {
  const { api } = console;
  data(await api.admin.post("/organizations", resource("organizations", { name: "acme", email: "ops@acme.example" })));
  const project = await makeProject(api, "acme", { name: "Network" });
  for (const name of ["network-production", "network-staging"])
    await makeWorkspace(api, "acme", { name }, inProject(project.id));
  const team = await makeTeam(api, "acme", { name: "operators", visibility: "organization" });
  await makeTeamProject(api, project.id, team.id, { access: "write" });
  const owners = data(await api.admin.get("/organizations/acme/teams?q=owners"))[0].id;
  const ana = await makeMember(api, "acme", [owners]);
  const { id } = data(await ana.get("/account/details"));
  data(await api.admin.patch(`/admin/users/${id}`, resource("users", { username: "ana", password })));
});

/** The name of the focused element. */
const focused = (page: Page) =>
  page.evaluate(
    "(() => { const { ariaLabel, innerText, id, tagName } = document.activeElement; return (ariaLabel || innerText?.trim() || id || tagName).split('\\n')[0] })()",
  ) as Promise<string>;

const reaches = (page: Page, name: string) => expect.poll(() => focused(page)).toBe(name);

/** Waits until it has the focus. */
async function openFinder(page: Page): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.locator("[role=combobox]:focus").waitFor();
}

/** Presses Tab until it has the focus. */
async function tabTo(page: Page, name: string, key = "Tab"): Promise<void> {
  for (let step = 0; step < 60; step++) {
    if ((await focused(page)) === name) return;
    await page.keyboard.press(key);
  }
  throw new Error(`Tab does not come to ${name}; it is at ${await focused(page)}`);
}

test("signs in, finds a workspace, locks it, and opens who has access and why", async () => {
  const { page, go, complaints } = await console.visit();
  const { keyboard } = page;
  await go("/acme");
  // The first field has the focus automatically.
  await expect.poll(() => page.evaluate("document.activeElement.autocomplete")).toBe("username");
  await keyboard.type("ana");
  await keyboard.press("Tab");
  await keyboard.type(password);
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "acme" }).waitFor();

  // The first Tab offers to skip the navigation.
  await keyboard.press("Tab");
  await reaches(page, "Skip to content");
  await keyboard.press("Enter");
  await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("content");
  await tabTo(page, "All workspaces");

  await openFinder(page);
  await keyboard.type("network-st");
  await page.getByRole("option", { name: /^network-staging/, selected: true }).waitFor();
  await expectAccessible(page);
  // Closed without a choice, the focus returns.
  await keyboard.press("Escape");
  await reaches(page, "All workspaces");
  await openFinder(page);
  await keyboard.type("network-");
  await page.getByRole("option", { name: /^network-production/, selected: true }).waitFor();
  await keyboard.press("ArrowDown");
  await page.getByRole("option", { name: /^network-staging/, selected: true }).waitFor();
  await keyboard.press("ArrowUp");
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "network-production", level: 1 }).waitFor();
  // The new page is announced, and the next Tab begins at its content.
  await page.locator("[data-page-announcement]", { hasText: "network-production · Workspaces · acme" }).waitFor();
  await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("content");

  await tabTo(page, "Lock");
  await keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Lock network-production" }).waitFor();
  await expect.poll(() => page.evaluate("document.activeElement.tagName")).toBe("TEXTAREA");
  await keyboard.press("Escape");
  await reaches(page, "Lock");
  await keyboard.press("Enter");
  await expect.poll(() => page.evaluate("document.activeElement.tagName")).toBe("TEXTAREA");
  await keyboard.type("incident 42");
  await tabTo(page, "Lock");
  await keyboard.press("Enter");
  // The result is announced immediately, and the button's replacement has the focus.
  await page.getByRole("alert").filter({ hasText: "Locked network-production." }).waitFor();
  await reaches(page, "Unlock");

  await tabTo(page, "Access");
  await keyboard.press("Enter");
  await page.waitForURL("**/network-production/access");
  await page.locator("[data-page-announcement]", { hasText: "Access · network-production" }).waitFor();
  await tabTo(page, "operators, read: yes. Why?");
  for (const [label, value] of [
    ["plan", "yes"],
    ["apply", "yes"],
  ]) {
    await keyboard.press("ArrowRight");
    await reaches(page, `operators, ${label}: ${value}. Why?`);
  }
  await keyboard.press("Enter");
  await page.getByRole("region", { name: "Why operators, apply" }).getByText("has write").waitFor();
  await reaches(page, "operators, apply: yes. Why?");
  await expectAccessible(page);
  expect(complaints).toEqual([]);
});

test("`?` lists the shortcuts, `/` searches, and `g` goes to pages", async () => {
  const { page, go, complaints } = await console.visit(console.api.admin.token);
  const { keyboard } = page;
  await go("/acme/workspaces");
  await page.getByRole("link", { name: "network-staging" }).waitFor();
  await keyboard.press("Shift+?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await keyboard.press("/");
  await reaches(page, "Search workspaces");
  await keyboard.type("gt");
  await page.waitForURL("**/app/acme/workspaces?q=gt");
  await page.evaluate("document.activeElement.blur()");
  // One after the other, within a second: a busy machine may need several tries.
  const teams = page.getByRole("heading", { name: "Teams", level: 1 });
  const goToTeams = async () => {
    await keyboard.press("g");
    await keyboard.press("t");
    return teams.count();
  };
  await expect.poll(goToTeams).toBe(1);
  // Enter doesn't wait for the search results.
  await openFinder(page);
  await keyboard.type("network-st");
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "network-staging", level: 1 }).waitFor();
  expect(complaints).toEqual([]);
});

test("after a row is deleted, the next one has the focus", async () => {
  const { api } = console;
  const { data: workspace } = (await api.admin.get("/organizations/acme/workspaces/network-staging")).body;
  for (const key of ["alpha", "beta", "gamma"])
    data(await api.admin.post(`/workspaces/${workspace.id}/vars`, resource("vars", { key, category: "terraform" })));
  const { page, go, complaints } = await console.visit(api.admin.token);
  await go("/acme/workspaces/network-staging/variables");
  await page.getByRole("button", { name: "Delete alpha" }).focus();
  await page.keyboard.press("Enter");
  await tabTo(page, "Delete");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").filter({ hasText: "Deleted alpha." }).waitFor();
  await page.getByRole("button", { name: "Delete alpha" }).waitFor({ state: "detached" });
  await reaches(page, "Delete beta");
  expect(complaints).toEqual([]);
});
