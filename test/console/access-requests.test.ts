/** Access that a member requests on a page that refuses, and others approve or deny. */
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
  resource,
} from "../support/builders.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";

const console = useConsole();
const hourMs = 3_600_000;

/** Created before each test, also before a retry. */
let org: Org;
let [payments, production, onCall, viewers, viewersGrant]: Json[] = [];
let mia: Member;

beforeEach(async () => {
  const { api } = console;
  org = await makeOrganization(api);
  payments = await makeProject(api, org.name, { name: "Payments" });
  production = await makeWorkspace(api, org.name, { name: "payments-eu" }, inProject(payments!.id));
  await makeWorkspace(api, org.name, { name: "payments-us" }, inProject(payments!.id));
  onCall = await makeTeam(api, org.name, { name: "on-call", visibility: "organization" });
  viewers = await makeTeam(api, org.name, { name: "viewers", visibility: "organization" });
  await makeTeamProject(api, payments!.id, onCall!.id, { access: "write" });
  viewersGrant = await makeTeamProject(api, payments!.id, viewers!.id, { access: "read" });
  mia = await makeMember(api, org.name, [viewers!.id]);
});
afterEach(() => followClock(undefined));

function moveClock(ms: number): void {
  const moment = performance.now();
  followClock({ clockMs: Date.now() + ms, askedAt: moment, answeredAt: moment });
}

const canApply = async (): Promise<boolean> =>
  data(await mia.get(`/workspaces/${production!.id}`)).attributes.permissions["can-queue-apply"];
const changeAccess = async () =>
  data(
    await org.owner.patch(
      `/teams/${viewers!.id}`,
      resource("teams", { "organization-access": {}, visibility: "secret" }),
    ),
  );
const requestChanges = async (changes: object[]): Promise<Json> =>
  data(
    await mia.post(
      `/organizations/${org.name}/access-requests`,
      resource("access-requests", { reason: "Clean up", changes }),
    ),
  );
const onPhone = { viewport: { width: 375, height: 740 }, colorScheme: "dark" } as const;
const isTooWide = "document.documentElement.scrollWidth > innerWidth";

test("a member asks on a page that shows its own access, an owner approves what the page shows, and the access ends", async () => {
  const asker = await console.visit(mia.token, onPhone);
  await asker.go(`/${org.name}/workspaces/payments-eu/access`);
  await asker.page.getByRole("link", { name: "Request access" }).click();
  await asker.page.getByText("Teams with access to payments-eu:").waitFor();
  await asker.page.getByRole("button", { name: "on-call" }).click();
  await asker.page.getByText("1 hour", { exact: true }).click();
  const effects = asker.page.getByRole("region", { name: "What would change" });
  await effects.getByText("1 person gains permissions on 2 workspaces. Nobody loses access.").waitFor();
  await asker.page.getByRole("button", { name: "Send request" }).click();
  await asker.page.getByText("Say why. The people who decide read it.").waitFor();
  await asker.page.getByLabel("Reason").fill("On call this week");
  await expectAccessible(asker.page);
  expect(await asker.page.evaluate(isTooWide)).toBe(false);
  await asker.page.getByRole("button", { name: "Send request" }).press("Enter");
  await asker.page.getByRole("heading", { name: "On call this week" }).waitFor();
  await asker.page.getByText("Waiting for approval.").waitFor();
  await expectCount(asker.page.getByRole("button", { name: "Approve" }), 0);
  await expectAccessible(asker.page);
  expect(await canApply()).toBe(false);

  const { page, go, complaints } = await console.visit(org.owner.token);
  await go(`/${org.name}`);
  await page.getByRole("link", { name: "Requests 1 to decide" }).click();
  await page.getByRole("row").filter({ hasText: mia.username }).getByText("Team membership for 1 hour").waitFor();
  await expectAccessible(page);
  await page.getByRole("link", { name: "On call this week" }).click();
  await page.getByText(`Add ${mia.username} to team on-call`).waitFor();
  await page.getByText("1 person gains permissions on 2 workspaces. Nobody loses access.").waitFor();
  await expectAccessible(page);
  await changeAccess();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("Access has changed. Here are the new effects").waitFor();
  expect(await canApply()).toBe(false);
  await page.getByLabel("Comment").fill("Good luck");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText(`Approved the request of ${mia.username}.`).waitFor();
  await page.getByText("1 person gained permissions on 2 workspaces. Nobody lost access.").waitFor();
  await expectCount(page.getByRole("link", { name: "Requests 1 to decide" }), 0);
  expect(await canApply()).toBe(true);

  await asker.page.reload();
  await asker.page.getByText("Good luck").waitFor();
  await asker.page
    .getByText(/^in (1 hour|60 minutes), (today|tomorrow)/)
    .first()
    .waitFor();
  await expectAccessible(asker.page);
  expect(await asker.page.evaluate(isTooWide)).toBe(false);
  moveClock(hourMs + 60_000);
  expect(await canApply()).toBe(false);
  expect([...complaints, ...asker.complaints]).toEqual([]);
});

test("a change that the member can't make becomes a request, which an owner denies with a comment", async () => {
  const asker = await console.visit(mia.token);
  await asker.go(`/${org.name}/grant?team=${viewers!.id}&workspace=${production!.id}`);
  await asker.page.getByText("plan", { exact: true }).click();
  await asker.page.getByText("8 hours", { exact: true }).click();
  await asker.page.getByLabel("Reason").fill("Incident 42");
  await asker.page.getByText("You can't do this").waitFor();
  await asker.page.getByRole("button", { name: "Request approval" }).click();
  const dialog = asker.page.getByRole("dialog");
  expect(await dialog.getByLabel("Reason").inputValue()).toBe("Incident 42");
  await dialog.getByText("Starts when the request is approved.").waitFor();
  await dialog.getByText(/gain permissions on 1 workspace/).waitFor();
  await expectAccessible(asker.page);
  await dialog.getByRole("button", { name: "Send request" }).click();
  await asker.page.getByRole("heading", { name: "Incident 42" }).waitFor();
  const [request] = data(await mia.get(`/organizations/${org.name}/access-requests`));
  expect(request.attributes).toMatchObject({ "duration-seconds": 8 * 3600, status: "pending" });
  expect(request.attributes.changes[0].body.data.attributes).toMatchObject({ access: "plan", reason: "Incident 42" });

  const { page, go, complaints } = await console.visit(org.owner.token);
  await go(`/${org.name}/access-requests/${request.id}`);
  await page.getByText("Grant viewers plan on workspace payments-eu").waitFor();
  await page.getByRole("button", { name: "Deny" }).press("Enter");
  await page.getByText(`Say why, so that ${mia.username} knows what to change.`).waitFor();
  await page.keyboard.type("Join on-call instead");
  await page.getByRole("button", { name: "Deny" }).press("Enter");
  await page.getByText(`Denied the request of ${mia.username}.`).waitFor();
  await page.getByText("This request changed nothing.").waitFor();
  await expectAccessible(page);

  await asker.go(`/${org.name}/access-requests?show=mine`);
  await asker.page.getByRole("row").filter({ hasText: "Incident 42" }).getByText("Denied").waitFor();
  await asker.page.getByRole("link", { name: "Incident 42" }).click();
  await asker.page.getByText("Join on-call instead").waitFor();
  expect([...complaints, ...asker.complaints]).toEqual([]);
});

test("a requester withdraws, and lists say what is empty", async () => {
  const { page, go, complaints } = await console.visit(mia.token);
  await go(`/${org.name}/access-requests`);
  await page.getByText("Nothing to decide").waitFor();
  await page.getByText("Mine", { exact: true }).click();
  await page.getByText("You have no requests yet").waitFor();
  const request = await requestChanges([
    { method: "DELETE", path: `/team-projects/${viewersGrant!.id}` },
    {
      method: "DELETE",
      path: `/teams/${viewers!.id}/relationships/users`,
      body: { data: [mia, org.owner].map(({ username }) => ({ type: "users", id: username })) },
    },
    { method: "DELETE", path: `/teams/${onCall!.id}` },
    {
      method: "POST",
      path: "/team-workspaces",
      body: {
        data: {
          type: "team-workspaces",
          attributes: { access: "write" },
          relationships: {
            team: { data: { type: "teams", id: viewers!.id } },
            workspace: { data: { type: "workspaces", id: production!.id } },
          },
        },
      },
    },
  ]);
  await go(`/${org.name}/access-requests/${request.id}`);
  const changes = page.getByRole("list", { name: "Requested changes" });
  await changes.getByText("Remove the grant of viewers on project Payments").waitFor();
  await changes.getByText(`Remove ${mia.username} and ${org.owner.username} from team viewers`).waitFor();
  await changes.getByText("Delete team on-call").waitFor();
  await changes.getByText("Grant viewers write on workspace payments-eu").waitFor();
  await page.getByLabel("About this request").getByText("never", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Withdraw" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Withdraw" }).click();
  await page.getByText("Withdrew the request.").waitFor();
  await page
    .getByRole("listitem")
    .filter({ hasText: `Withdrawn by ${mia.username}` })
    .waitFor();
  await go(`/${org.name}/access-requests?show=all`);
  await page.getByRole("combobox", { name: "Status" }).click();
  await page.getByRole("option", { name: "Pending" }).click();
  await page.getByText("No pending requests").waitFor();
  await expectAccessible(page);
  expect(complaints).toEqual([]);
});

test("a page that the member can't read leads to a request, and so does a team's page", async () => {
  const { page, go, complaints } = await console.visit(mia.token);
  await go(`/${org.name}/audit`);
  await page.getByRole("link", { name: "Request access" }).click();
  await page.getByText("Choose a team").waitFor();
  await go(`/${org.name}/teams/${onCall!.id}`);
  await page.getByRole("link", { name: "Request to join" }).click();
  await page.getByText("1 person gains permissions on 2 workspaces.").waitFor();
  await go(`/${org.name}/teams/${viewers!.id}`);
  await page.getByRole("heading", { name: "viewers" }).waitFor();
  await expectCount(page.getByRole("link", { name: "Request to join" }), 0);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("request access");
  await page.getByRole("option", { name: "Request access" }).first().click();
  await page.getByText("Access for a team", { exact: true }).click();
  await page.getByRole("combobox", { name: "Team" }).fill("view");
  await page.getByRole("option", { name: "viewers" }).click();
  await page.getByRole("combobox", { name: "Project" }).fill("Pay");
  await page.getByRole("option", { name: "Payments" }).click();
  await page.getByText("The team already has read here. An approved request changes that grant.").waitFor();
  await page.getByText("write", { exact: true }).click();
  await page.getByText(/gain permissions on 2 workspaces/).waitFor();
  await expectAccessible(page);
  expect(complaints).toEqual([]);
});
