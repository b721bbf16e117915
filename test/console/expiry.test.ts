/** Grants, memberships, locks and tokens that expire in hours, as an on-call engineer needs them; and previews of their effects. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Locator, Page } from "playwright-core";
import type { Json } from "../support/api.ts";
import {
  data,
  inProject,
  makeMember,
  makeOrganization,
  makeProject,
  makeTeam,
  makeWorkspace,
  type Member,
  type Org,
  resource,
} from "../support/builders.ts";
import { expectAccessible, useConsole, type Visitor } from "./support/browser.ts";

const console = useConsole();
const hourMs = 3_600_000;

interface Stage {
  readonly org: Org;
  readonly project: Json;
  readonly workspace: Json;
  readonly onCall: Json;
  readonly members: readonly Member[];
}

/** Each test has its own organization, so that a retry starts from the same data. */
async function prepare(people = 2): Promise<Stage> {
  const { api } = console;
  const org = await makeOrganization(api);
  const project = await makeProject(api, org.name, { name: "Payments" });
  const workspace = await makeWorkspace(api, org.name, { name: "payments-eu" }, inProject(project.id));
  await makeWorkspace(api, org.name, { name: "payments-us" }, inProject(project.id));
  const onCall = await makeTeam(api, org.name, { name: "on-call", visibility: "organization" });
  const members = [];
  for (let count = 0; count < people; count++) members.push(await makeMember(api, org.name, [onCall.id]));
  return { org, project, workspace, onCall, members };
}

const screens = [
  { name: "on a desktop, in light", viewport: { width: 1280, height: 800 }, colorScheme: "light" as const },
  { name: "on a phone, in the dark", viewport: { width: 390, height: 800 }, colorScheme: "dark" as const },
];

const visit = (org: Org, screen: (typeof screens)[number]): Promise<Visitor> =>
  console.visit(org.owner.token, {
    viewport: screen.viewport,
    colorScheme: screen.colorScheme,
    timezoneId: "Europe/Berlin",
  });

/** The exact time was sent: this long after a moment between these two. */
function expectEnd(end: string, [from, to]: readonly [number, number], afterMs: number): void {
  expect(Date.parse(end)).toBeGreaterThanOrEqual(from + afterMs);
  expect(Date.parse(end)).toBeLessThanOrEqual(to + afterMs);
}

const expectNarrow = async (page: Page, { viewport: { width } }: (typeof screens)[number]) =>
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);

const choose = (within: Page | Locator, label: string) => within.getByText(label, { exact: true }).click();

const nearText = (hours: string) => new RegExp(`in ${hours}, (today|tomorrow) \\d\\d:\\d\\d`);

describe.each(screens)("$name", (screen) => {
  test("grants the on-call team write on a project for 1 hour in 4 clicks, and shows the expiry", async () => {
    const { org, project, onCall } = await prepare();
    const { page, go, complaints } = await visit(org, screen);
    await go(`/${org.name}/projects/${project.id}/access`);
    let clicks = 0;
    const click = async (what: Locator) => {
      clicks++;
      await what.click();
    };
    await click(page.getByRole("link", { name: "Grant access" }));
    await page.getByRole("combobox", { name: "Team" }).waitFor();
    await page.keyboard.type("on-call");
    await page.getByRole("option", { name: "on-call" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await click(page.getByText("write", { exact: true }));
    await click(page.getByText("1 hour", { exact: true }));
    await page.getByText(/^(Today|Tomorrow) \d\d:\d\d \(Europe\/Berlin\)$/).waitFor();
    await page.getByText("2 people and 1 team gain access to 2 workspaces. Nobody loses access.").waitFor();
    await expectAccessible(page);
    await expectNarrow(page, screen);
    const from = Date.now();
    await click(page.getByRole("button", { name: "Grant access" }));
    await page.waitForURL(`**/projects/${project.id}/access`);
    expect(clicks).toBeLessThanOrEqual(4);
    const [record] = data(await org.owner.get(`/team-projects?filter[project][id]=${project.id}`));
    expect(record.attributes.access).toBe("write");
    expectEnd(record.attributes["expires-at"], [from, Date.now()], hourMs);
    await page.getByText(nearText("1 hour")).first().waitFor();
    await page.getByRole("button", { name: "on-call, apply: yes" }).click();
    await page
      .getByRole("region", { name: "Why on-call, apply" })
      .getByText(/expires in 1 hour, (today|tomorrow) \d\d:\d\d/)
      .waitFor();
    await go(`/${org.name}/teams/${onCall.id}/reach`);
    await page.getByText(nearText("1 hour")).first().waitFor();
    await expectNarrow(page, screen);
    expect(complaints).toEqual([]);
  });

  test("a membership expires in 8 hours, then at a date and time; a past time is refused in the field", async () => {
    const { org, onCall } = await prepare(0);
    const member = await makeMember(console.api, org.name);
    const { page, go, complaints } = await visit(org, screen);
    await go(`/${org.name}/teams/${onCall.id}`);
    await page.getByRole("button", { name: "Add member" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("combobox", { name: "Person" }).fill(member.username);
    await page.getByRole("option", { name: member.username }).click();
    await choose(dialog, "8 hours");
    await expectAccessible(page);
    await expectNarrow(page, screen);
    const from = Date.now();
    await dialog.getByRole("button", { name: "Add member" }).click();
    const row = page.getByRole("row").filter({ hasText: member.username });
    await row.getByText(nearText("8 hours")).waitFor();
    const endOfSeat = async () =>
      data(await org.owner.get(`/teams/${onCall.id}?include=users`)).relationships.users.data[0].meta["expires-at"];
    expectEnd(await endOfSeat(), [from, Date.now()], 8 * hourMs);

    await row.getByRole("button", { name: `Change expiry of ${member.username}` }).click();
    const field = dialog.getByLabel("Expiry date and time");
    await field.fill("2020-01-31T18:00");
    await dialog.getByText("This time has passed. Choose a time in the future.").waitFor();
    expect(await dialog.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    await field.fill("2099-07-31T18:00");
    await dialog.getByText("Time zone: Europe/Berlin").waitFor();
    await dialog.getByRole("button", { name: "Save" }).click();
    await row.getByText("31 Jul 2099").waitFor();
    expect(await endOfSeat()).toBe("2099-07-31T16:00:00.000Z");
    await go(`/${org.name}/people/${member.id}`);
    await page.getByRole("row").filter({ hasText: "on-call" }).getByText("31 Jul 2099").waitFor();
    expect(complaints).toEqual([]);
  });

  test("a lock expires in 1 hour by keyboard, or at a time; the server's error is shown at the field", async () => {
    const { org, workspace } = await prepare(0);
    const { page, go, complaints } = await visit(org, screen);
    await go(`/${org.name}/workspaces/payments-eu`);
    const shown = async () => data(await org.owner.get(`/workspaces/${workspace.id}`)).attributes;
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Lock", exact: true }).click();
    await dialog.getByLabel("Reason").fill("incident 42");
    await page.keyboard.press("Tab");
    // Tab moves to the chosen option. From "Never" the arrows wrap around: "Custom", then the first.
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    expect(await dialog.getByRole("radio", { name: "1 hour" }).isChecked()).toBe(true);
    await expectAccessible(page);
    const from = Date.now();
    await dialog.getByRole("button", { name: "Lock" }).click();
    await page
      .getByText(/expires in 1 hour, (today|tomorrow) \d\d:\d\d/)
      .first()
      .waitFor();
    expectEnd((await shown())["lock-expires-at"], [from, Date.now()], hourMs);
    await go(`/${org.name}/workspaces`);
    // The list has no lock column on narrow screens.
    const inList = page.getByText(/expires in 1 hour/).first();
    if (screen.viewport.width > 600) await inList.waitFor();
    data(await org.owner.post(`/workspaces/${workspace.id}/actions/unlock`));

    await go(`/${org.name}/workspaces/payments-eu`);
    await page.getByRole("button", { name: "Lock", exact: true }).click();
    await choose(dialog, "Custom");
    await dialog.getByLabel("Expiry date and time").fill("2099-01-31T18:00");
    await dialog.getByRole("button", { name: "Lock" }).click();
    await dialog.getByText(/must be between 30 seconds and 30 days from now/).waitFor();
    expect((await shown()).locked).toBe(false);
    const end = new Date(Date.now() + 50 * hourMs);
    const berlin = new Intl.DateTimeFormat("sv-SE", {
      timeZone: "Europe/Berlin",
      dateStyle: "short",
      timeStyle: "short",
    }).format(end);
    await dialog.getByLabel("Expiry date and time").fill(berlin.replace(" ", "T"));
    await dialog.getByRole("button", { name: "Lock" }).click();
    await page.getByText("locked", { exact: true }).first().waitFor();
    expect(Date.parse((await shown())["lock-expires-at"])).toBe(Math.floor(end.getTime() / 60_000) * 60_000);
    await expectNarrow(page, screen);
    expect(complaints).toEqual([]);
  });

  test("a preview summarizes what happens to many people, and lists the others on request", async () => {
    const { org, project, onCall, members } = await prepare(11);
    const { page, go, complaints } = await visit(org, screen);
    await go(`/${org.name}/grant?team=${onCall.id}&project=${project.id}`);
    await choose(page, "write");
    const change = page.getByRole("region", { name: "What would change" });
    await change.getByText("11 people and 1 team gain access to 2 workspaces. Nobody loses access.").waitFor();
    const line = change.getByRole("listitem").filter({ hasText: "on 2 workspaces" });
    await expect.poll(() => line.count()).toBe(1);
    await line.getByText(/plan, apply, write variables, write states, lock/).waitFor();
    await line.getByRole("button", { name: "and 4 more" }).click();
    for (const { username } of members) expect(await line.innerText()).toContain(username);
    expect(await line.innerText()).toMatch(/on-call\s+payments-eu, payments-us/);
    await expectAccessible(page);
    await expectNarrow(page, screen);
    expect(complaints).toEqual([]);
  });
});

describe("a grant with an expiry", () => {
  test("counts from the click, not from the choice, and is refused in the field if the time has passed", async () => {
    const { org, project, onCall } = await prepare(0);
    const { page, go } = await visit(org, screens[0]!);
    await go(`/${org.name}/grant?team=${onCall.id}&project=${project.id}`);
    await choose(page, "Custom");
    await page.getByLabel("Expiry date and time").fill("2020-01-31T18:00");
    await page.getByText("This time has passed. Choose a time in the future.").waitFor();
    expect(await page.getByRole("button", { name: "Grant access" }).isDisabled()).toBe(true);
    await choose(page, "1 week");
    await page.locator("button:enabled", { hasText: "Grant access" }).waitFor();
    // Long enough to distinguish the two.
    await page.waitForTimeout(1500);
    const from = Date.now();
    await page.getByRole("button", { name: "Grant access" }).click();
    await page.waitForURL(`**/projects/${project.id}/access`);
    const [record] = data(await org.owner.get(`/team-projects?filter[project][id]=${project.id}`));
    expectEnd(record.attributes["expires-at"], [from, Date.now()], 7 * 24 * hourMs);
  });
});

test("expiries use the server's clock, even if the browser is an hour behind", async () => {
  const { org, project, onCall } = await prepare(0);
  const { page, go } = await visit(org, screens[0]!);
  await page.clock.setFixedTime(Date.now() - hourMs);
  await go(`/${org.name}/grant?team=${onCall.id}&project=${project.id}`);
  await choose(page, "1 hour");
  // The server's clock is known in whole seconds.
  const from = Date.now() - 60_000;
  await page.locator("button:enabled", { hasText: "Grant access" }).click();
  await page.waitForURL(`**/projects/${project.id}/access`);
  const [record] = data(await org.owner.get(`/team-projects?filter[project][id]=${project.id}`));
  expectEnd(record.attributes["expires-at"], [from, Date.now()], hourMs);
  await go(`/${org.name}/audit`);
  const sent = page.waitForRequest(/since/);
  await page.getByRole("button", { name: "Last hour" }).click();
  const since = new URL((await sent).url()).searchParams.get("filter[since]")!;
  expectEnd(since, [from, Date.now()], -hourMs);
});

describe("tokens", () => {
  let org: Org;
  beforeAll(async () => {
    ({ org } = await prepare(0));
  });

  test("are counted: those that expire soon, those never used", async () => {
    const team = await makeTeam(console.api, org.name, { name: "ci" });
    const ends = [2 * 24 * hourMs - hourMs, 200 * 24 * hourMs];
    for (const [index, ms] of ends.entries())
      data(
        await org.owner.post(
          `/teams/${team.id}/authentication-tokens`,
          resource("authentication-tokens", {
            description: `pipeline ${index}`,
            "expired-at": new Date(Date.now() + ms).toISOString(),
          }),
        ),
      );
    // Last uses are written in batches.
    await console.api.database.write((tx) =>
      tx.db
        .updateTable("tokens")
        .set({ lastUsedAt: new Date().toISOString() })
        .where("userId", "=", org.owner.id)
        .execute(),
    );
    const { page, go, complaints } = await visit(org, screens[0]!);
    await go(`/${org.name}/tokens`);
    await page.getByText("API tokens for this organization that you can manage.").waitFor();
    await page.getByText(/^3 tokens · 1 expiring in 14 days · 2 never used$/).waitFor();
    const row = page.getByRole("row").filter({ hasText: "pipeline 0" });
    await row.getByText(/in 47 hours, \w+ \d\d:\d\d/).waitFor();
    await page.getByRole("button", { name: "Rotate pipeline 0" }).click();
    const dialog = page.getByRole("dialog");
    await choose(dialog, "8 hours");
    const from = Date.now();
    await dialog.getByRole("button", { name: "Create new token" }).click();
    await dialog.getByRole("group", { name: "New token" }).waitFor();
    const made = data(await org.owner.get(`/teams/${team.id}/authentication-tokens`)).find((token: Json) =>
      token.attributes.description.startsWith("pipeline 0 (since"),
    );
    expectEnd(made.attributes["expired-at"], [from, Date.now()], 8 * hourMs);
    expect(complaints).toEqual([]);
  });
});
