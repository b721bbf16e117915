/** Moving many workspaces at once: from the list or on the move page, on a large screen and on a phone. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/api.ts";
import {
  data,
  inProject,
  makeOrganization,
  makeProject,
  makeTeam,
  makeTeamProject,
  makeWorkspace,
  type Org,
} from "../support/builders.ts";
import { expectAccessible, useConsole } from "./support/browser.ts";

const console = useConsole();
const matching = 214;
let org: Org;
let [network, billing, platform]: Json[] = [];

beforeAll(async () => {
  const { api } = console;
  org = await makeOrganization(api);
  network = await makeProject(api, org.name, { name: "Network" });
  billing = await makeProject(api, org.name, { name: "Billing" });
  platform = await makeProject(api, org.name, { name: "Platform" });
  const operators = await makeTeam(api, org.name, { name: "operators" });
  await makeTeamProject(api, network!.id, operators.id, { access: "write" });
  for (let at = 0; at < matching; at++)
    await makeWorkspace(
      api,
      org.name,
      { name: `service-${String(at).padStart(3, "0")}` },
      inProject(at < 200 ? network!.id : billing!.id),
    );
  await makeWorkspace(api, org.name, { name: "other" }, inProject(billing!.id));
}, 120_000);

const phone = { viewport: { width: 390, height: 760 }, hasTouch: true };

/** The requests that move workspaces, and how many workspaces each contains. */
function movesOf(page: Page): number[] {
  const moves: number[] = [];
  page.on("request", (request) => {
    if (request.method() !== "POST" || !request.url().endsWith("/access-previews")) return;
    const { attributes } = JSON.parse(request.postData() ?? "{}").data;
    if (attributes.apply) moves.push(attributes.changes[0].body.data.length);
  });
  return moves;
}

const countIn = async (project: Json): Promise<number> =>
  data(await org.owner.get(`/projects/${project.id}`)).attributes["workspace-count"];

/** Whether it is visible without scrolling, and nothing covers it. */
const isInView = (page: Page, name: string | RegExp): Promise<boolean> =>
  page.getByRole("button", { name }).evaluate((button: any) => {
    const { left, top, width, height } = button.getBoundingClientRect();
    return button.contains(button.ownerDocument.elementFromPoint(left + width / 2, top + height / 2));
  });

const noSidewaysScroll = (page: Page): Promise<boolean> =>
  page.evaluate("document.documentElement.scrollWidth <= innerWidth") as Promise<boolean>;

describe("moving workspaces", () => {
  test("a selection in the list of workspaces opens the move page; all matches are one click, and move in one request", async () => {
    const { page, go, complaints } = await console.visit(org.owner.token);
    const moves = movesOf(page);
    await go(`/${org.name}/workspaces?q=service`);
    await page.getByLabel("Select service-000").check();
    await page.getByLabel("Select service-002").click({ modifiers: ["Shift"] });
    await page.getByText("3 selected").waitFor();
    await page.getByRole("button", { name: "Clear selection" }).click();
    await page.getByText("3 selected").waitFor({ state: "detached" });
    await page.getByLabel("Select service-001").check();
    await page.getByRole("button", { name: "Select all 214 matching" }).click();
    await page.getByText("214 selected").waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Move 214 workspaces…" }).click();
    await page.waitForURL("**/move?**");
    await page.getByText("214 selected").waitFor();
    expect(page.url().length).toBeLessThan(300);
    await page.reload();
    await page.getByText("214 selected").waitFor();
    await page.getByRole("combobox", { name: "Move to project" }).fill("Platf");
    await page.getByRole("option", { name: "Platform" }).click();
    const move = page.getByRole("button", { name: "Move 214 workspaces", exact: true });
    await move.waitFor();
    const brought = page.getByRole("table", { name: "Tags and variable sets" });
    await brought.getByText("200 workspaces").waitFor();
    expect(await brought.getByRole("row").count()).toBe(3);
    for (const end of [0, 1_000_000]) {
      await page.evaluate(`scrollTo(0, ${end})`);
      expect(await isInView(page, "Move 214 workspaces")).toBe(true);
    }
    await expectAccessible(page);
    await move.click();
    await page.waitForURL(`**/workspaces?project=${platform!.id}`);
    await page.getByText("214 workspaces", { exact: true }).waitFor();
    expect(moves).toEqual([214]);
    expect(await countIn(platform!)).toBe(214);
    expect(complaints).toEqual([]);
  });

  test("on a phone: select, review, move, with the bar always visible and nothing hidden under it", async () => {
    const { page, go, complaints } = await console.visit(org.owner.token, phone);
    const moves = movesOf(page);
    await go(`/${org.name}/move?q=service`);
    await page.getByText("service-003").tap();
    await page.getByText("1 selected").waitFor();
    await page.getByRole("button", { name: "Select all 214 matching" }).tap();
    await page.getByText("214 selected").waitFor();
    await page.getByRole("combobox", { name: "Move to project" }).fill("Def");
    await page.getByRole("option", { name: "Default Project" }).tap();
    expect(await isInView(page, "Review move")).toBe(true);
    expect(await noSidewaysScroll(page)).toBe(true);
    await page.evaluate("scrollTo(0, 1_000_000)");
    // The last row of the list ends above the bar.
    await page.getByText("service-213").waitFor();
    const bar = (await page.getByRole("region", { name: "Selection" }).boundingBox())!;
    const row = (await page.getByText("service-213").boundingBox())!;
    expect(row.y + row.height).toBeLessThanOrEqual(bar.y);
    expect(bar.height).toBeLessThan(130);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Review move" }).tap();
    await page.getByRole("table", { name: "Tags and variable sets" }).waitFor();
    expect(await isInView(page, "Move 214 workspaces")).toBe(true);
    expect(await noSidewaysScroll(page)).toBe(true);
    await page.getByRole("button", { name: "Back" }).tap();
    await page.getByLabel("Select service-000").uncheck();
    await page.getByText("213 selected").waitFor();
    await page.getByRole("button", { name: "Review move" }).tap();
    await page.getByRole("button", { name: "Move 213 workspaces" }).tap();
    await page.waitForURL("**/workspaces?project=*");
    expect(moves).toEqual([213]);
    await page.getByText("213 workspaces", { exact: true }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("shows tags and variable sets when they are loaded, and an error if they can't be loaded", async () => {
    const tagged = await makeProject(console.api, org.name, { name: "Tagged" });
    const binding = { type: "tag-bindings", attributes: { key: "tier", value: "gold" } };
    expect((await org.owner.patch(`/projects/${tagged.id}/tag-bindings`, { data: [binding] })).status).toBe(200);
    const { id } = await makeWorkspace(console.api, org.name, { name: "tagged" }, inProject(tagged.id));
    const { page } = await console.visit(org.owner.token);
    const errors = [{ status: "403", title: "forbidden", detail: "You can't read these tags." }];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const tagsOfTarget = `**/api/v2/projects/${billing!.id}/effective-tag-bindings*`;
    await page.route(tagsOfTarget, async (route) => {
      await released;
      await route.fulfill({ status: 403, contentType: "application/vnd.api+json", body: JSON.stringify({ errors }) });
    });
    await page.goto(`${console.api.url}/app/${org.name}/move?workspaces=${id}&to=${billing!.id}`);
    await page.getByRole("heading", { name: "Tags and variable sets" }).waitFor();
    const brought = page.getByRole("table", { name: "Tags and variable sets" });
    expect(await brought.count()).toBe(0);
    release();
    await page.getByText("You can't read these tags.").waitFor();
    expect(await brought.count()).toBe(0);
    await page.unroute(tagsOfTarget);
    await page.getByRole("button", { name: "Try again" }).click();
    await brought.getByText("− loses").waitFor();
    await brought.getByText("tier: gold").waitFor();
  });
});
