/** Offers: written by an owner, taken by a member with and without an approval, and a banner until the access ends. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { followClock } from "../../src/kernel/time.ts";
import type { Json } from "../support/api.ts";
import {
  data,
  inProject,
  makeMember,
  makeOrganization,
  makeProject,
  makeTeam,
  makeTeamProject,
  makeWorkspace,
  type Member,
  type Org,
} from "../support/builders.ts";
import { useMailbox } from "../support/mailbox.ts";
import { makeOffer, seatIn } from "../support/offers.ts";
import { deliver } from "../resources/connections/notification-configurations/support.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";

const from = "Cadastre <cadastre@example.com>";
/** The server only stores mail; the delivery job sends it to the mailbox. */
const console = useConsole({ options: { mail: { url: "smtp://127.0.0.1:1", from } } });
const mailbox = useMailbox();
const hourMs = 3_600_000;

let org: Org;
let [workspace, onCall, developers, leads]: Json[] = [];
let mia: Member;

beforeEach(async () => {
  const { api } = console;
  org = await makeOrganization(api);
  const project = await makeProject(api, org.name, { name: "Payments" });
  workspace = await makeWorkspace(api, org.name, { name: "payments-eu" }, inProject(project.id));
  const visibility = "organization";
  onCall = await makeTeam(api, org.name, { name: "on-call", visibility });
  developers = await makeTeam(api, org.name, { name: "developers", visibility });
  leads = await makeTeam(api, org.name, { name: "leads", visibility });
  await makeTeamProject(api, project.id, onCall!.id, { access: "write" });
  await makeTeamProject(api, project.id, developers!.id, { access: "read" });
  mia = await makeMember(api, org.name, [developers!.id]);
});
afterEach(() => followClock(undefined));

function moveClock(ms: number): void {
  const moment = performance.now();
  followClock({ clockMs: Date.now() + ms, askedAt: moment, answeredAt: moment });
}

const canApply = async (): Promise<boolean> =>
  data(await mia.get(`/workspaces/${workspace!.id}`)).attributes.permissions["can-queue-apply"];

const onPhone = { viewport: { width: 375, height: 740 }, colorScheme: "dark" } as const;
const isTooWide = "document.documentElement.scrollWidth > innerWidth";

test("an owner writes an offer with pickers, and changes it", async () => {
  const { page, go, complaints } = await console.visit(org.owner.token);
  await go(`/${org.name}`);
  await page.getByRole("link", { name: "Offers" }).click();
  await page.getByText("No offers yet").waitFor();
  await page.getByRole("link", { name: "New offer" }).click();
  await page.getByLabel("Name").fill("Payments on call");
  const access = page.getByRole("group", { name: "Add access" });
  await access.getByRole("combobox", { name: "Team" }).fill("on-call");
  await page.getByRole("option", { name: "on-call" }).click();
  await access.getByText("Add the person to team on-call").waitFor();
  await access.getByRole("button", { name: "Add", exact: true }).click();
  await access.getByText("Project", { exact: true }).click();
  await access.getByRole("combobox", { name: "Team" }).fill("developers");
  await page.getByRole("option", { name: "developers" }).click();
  await access.getByRole("combobox", { name: "Project" }).fill("Payments");
  await page.getByRole("option", { name: "Payments" }).click();
  await access.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("list", { name: "Access" }).getByText("Grant developers write on project Payments").waitFor();
  await page.getByRole("button", { name: "Create offer" }).click();
  await page.locator("[aria-invalid=true], [role=alert]").first().waitFor();
  await page.getByRole("combobox", { name: "Eligible teams: add a team" }).fill("developers");
  await page.getByRole("option", { name: "developers" }).click();
  await page.getByRole("radio", { name: "None: break glass" }).check();
  await page.getByText("4 hours", { exact: true }).click();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Create offer" }).click();
  await page.getByText("Created offer Payments on call.").waitFor();
  const row = page.getByRole("row").filter({ hasText: "Payments on call" });
  await row.getByText("4 hours").waitFor();
  await expectAccessible(page);

  await row.getByRole("link").click();
  await page.getByRole("button", { name: "Remove change 2" }).click();
  await page.getByRole("switch", { name: "Enabled" }).uncheck();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved offer Payments on call.").waitFor();
  await row.getByText("disabled").waitFor();
  const [saved] = data(await org.owner.get(`/organizations/${org.name}/access-offers`)) as Json[];
  expect(saved.attributes).toMatchObject({
    approvals: "none",
    enabled: false,
    "duration-seconds-max": 14_400,
    changes: [{ method: "POST", body: { data: [{ type: "users", id: "$user" }] } }],
  });
  expect(saved.relationships["eligible-teams"].data).toEqual([{ type: "teams", id: developers!.id }]);
  expect(complaints).toEqual([]);
});

test("a member breaks glass on a phone, a banner shows the remaining time, and the access ends", async () => {
  const offer = await makeOffer(org.owner, org.name, [seatIn(onCall!.id)], [developers!.id], {
    name: "Payments on call",
    approvals: "none",
  });
  const { page, go, complaints } = await console.visit(mia.token, onPhone);
  await go(`/${org.name}/offers`);
  expect(await page.evaluate(isTooWide)).toBe(false);
  await page.getByRole("button", { name: "Break glass: Payments on call" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Add you to team on-call").waitFor();
  expect(await dialog.getByRole("button", { name: "Break glass" }).isDisabled()).toBe(true);
  await page.keyboard.type("Payments are down");
  await dialog.getByText("30 minutes", { exact: true }).click();
  await expectAccessible(page);
  expect(await page.evaluate(isTooWide)).toBe(false);
  expect(await canApply()).toBe(false);
  await dialog.getByRole("button", { name: "Break glass" }).press("Enter");
  await page.getByText("Break-glass access is active: Payments on call. All owners are notified.").waitFor();
  expect(await canApply()).toBe(true);
  await deliver(console.api, { mail: { url: mailbox.url, from } });
  const mail = mailbox.mails.find(({ to }) => to.includes(org.owner.email));
  expect(mail?.text).toContain("Payments are down");

  const banner = page.getByRole("status").filter({ hasText: "Break-glass access" });
  await banner.getByText(/: Payments on call, expires in (29|30) minutes/).waitFor();
  await expectAccessible(page);
  expect(await page.evaluate(isTooWide)).toBe(false);

  await go(`/${org.name}/workspaces/payments-eu`);
  await banner.getByText(/expires in (29|30) minutes/).waitFor();
  await banner.getByRole("link", { name: "Show request" }).click();
  await page.getByRole("heading", { name: "Payments are down" }).waitFor();
  expect(complaints).toEqual([]);

  moveClock(hourMs);
  expect(await canApply()).toBe(false);
  await go(`/${org.name}/workspaces/payments-eu`);
  await page.getByRole("heading", { name: "payments-eu" }).waitFor();
  await expectCount(banner, 0);
  expect(offer.attributes.permissions["can-update"]).toBe(true);
});

test("an offer with an approval becomes a request, which a member of an approver team approves", async () => {
  const offer = await makeOffer(org.owner, org.name, [seatIn(onCall!.id)], [developers!.id], { name: "On call" });
  data(
    await org.owner.patch(`/access-offers/${offer.id}`, {
      data: {
        type: "access-offers",
        relationships: { "approver-teams": { data: [{ type: "teams", id: leads!.id }] } },
      },
    }),
  );
  const lead = await makeMember(console.api, org.name, [leads!.id]);
  const { page, go, complaints } = await console.visit(mia.token);
  await go(`/${org.name}/offers/${offer.id}`);
  await page.getByText("Add the person to team on-call").waitFor();
  await expectAccessible(page);
  await page.getByRole("link", { name: "Take…" }).click();
  await page.getByLabel("Reason").fill("My week on call");
  await page.getByRole("button", { name: "Request access" }).click();
  await page.getByText("Requested On call.").waitFor();
  expect(await canApply()).toBe(false);

  const decider = await console.visit(lead.token);
  await decider.go(`/${org.name}/access-requests`);
  await decider.page.getByRole("link", { name: "My week on call" }).click();
  await decider.page.getByRole("button", { name: "Approve" }).click();
  await decider.page.getByText("Approved the request of").waitFor();
  expect(await canApply()).toBe(true);
  await page.reload();
  await page.getByRole("status").filter({ hasText: "Temporary access: On call, expires in" }).waitFor();
  expect(complaints).toEqual([]);
});
