/** Rules for changes of access: written with errors shown while typing, what they would refuse today, and a refusal in a preview. */
import { beforeEach, expect, test } from "vitest";
import type { Json } from "../support/api.ts";
import {
  data,
  makeMember,
  makeOrganization,
  makeProject,
  makeTeam,
  makeTeamProject,
  type Org,
} from "../support/builders.ts";
import { scan } from "../resources/governance/access-violations/support.ts";
import { expectAccessible, useConsole } from "./support/browser.ts";

const console = useConsole();

let org: Org;
let [payments, network, onCall, viewers]: Json[] = [];

beforeEach(async () => {
  const { api } = console;
  org = await makeOrganization(api);
  payments = await makeProject(api, org.name, { name: "Payments" });
  network = await makeProject(api, org.name, { name: "Network" });
  onCall = await makeTeam(api, org.name, { name: "on-call", visibility: "organization" });
  viewers = await makeTeam(api, org.name, { name: "viewers", visibility: "organization" });
  await makeTeamProject(api, payments!.id, onCall!.id, { access: "admin" });
  await makeTeamProject(api, payments!.id, viewers!.id, { access: "read" });
});

const message = "Nobody gets admin on a project for good.";
const policy = (level: string) => `@message("${message}")
forbid (principal, action == Action::"grant", resource is Project)
when { context has access && context.access == ${level} }
unless { context has expiresInSeconds };`;

const onPhone = { viewport: { width: 375, height: 740 }, colorScheme: "dark" } as const;
const isTooWide = "document.documentElement.scrollWidth > innerWidth";

test("an owner writes a rule, sees what it would refuse today, and a preview shows its message", async () => {
  const { page, go, complaints } = await console.visit(org.owner.token);
  await go(`/${org.name}`);
  await page.getByRole("link", { name: "Rules" }).click();
  await page.getByText("No rules yet").waitFor();
  await expectAccessible(page);
  await page.getByRole("article").getByRole("link", { name: "New rule" }).first().click();
  await page.getByText("The policy is valid.").waitFor();
  await expectAccessible(page);
  await page.getByLabel("Name").fill("no-permanent-admin");
  const field = page.getByLabel("Policy");
  await field.fill(policy("admin"));
  await page.getByText(/Policy is not valid at line 3, column \d+:/).waitFor();
  await page.getByLabel("Line 3").getByText("context.access == admin").waitFor();
  expect(await field.getAttribute("aria-invalid")).toBe("true");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Create rule" }).click();
  await page.locator("textarea:focus").waitFor();
  await field.fill(policy('"admin"'));
  await page.getByText("The policy is valid.").waitFor();
  await page.getByRole("radio", { name: "Forbid" }).check();
  await page.getByRole("button", { name: "Create rule" }).click();
  await page.getByRole("heading", { name: "no-permanent-admin" }).waitFor();

  await page.getByText("Checking existing access…").waitFor();
  await scan(console.api);
  const violations = page.getByRole("region", { name: "Would be refused today" });
  const rows = violations.getByRole("table", { name: "Violations" }).getByRole("row");
  await rows.filter({ hasText: "on-call on Payments" }).getByText(message).waitFor();
  expect(await rows.count()).toBe(2);
  await expectAccessible(page);

  await go(`/${org.name}/grant?team=${viewers!.id}&project=${network!.id}`);
  await page.getByText("admin", { exact: true }).click();
  await page.getByRole("alert").getByText(message).waitFor();
  await page.getByRole("list", { name: "Access rules that match" }).getByText("no-permanent-admin").waitFor();
  expect(await page.getByRole("button", { name: "Grant access" }).count()).toBe(0);
  await expectAccessible(page);
  await page.getByText("8 hours", { exact: true }).click();
  await page.getByRole("button", { name: "Grant access" }).click();
  await page.getByText("viewers now has admin on Network.").waitFor();
  expect(complaints).toEqual([]);
});

test("a rule is changed, disabled and deleted on a phone", async () => {
  const rules = `/organizations/${org.name}/access-rules`;
  const rule = data(
    await org.owner.post(rules, {
      data: {
        type: "access-rules",
        attributes: { name: "no-permanent-admin", policy: policy('"admin"'), enforcement: "forbid" },
      },
    }),
  );
  const { page, go, complaints } = await console.visit(org.owner.token, onPhone);
  await go(`/${org.name}/rules`);
  await expectAccessible(page);
  expect(await page.evaluate(isTooWide)).toBe(false);
  await page.getByRole("link", { name: "no-permanent-admin" }).click();
  await page.getByText("The policy is valid.").waitFor();
  expect(await page.evaluate(isTooWide)).toBe(false);
  await page.getByRole("radio", { name: "Advise" }).check();
  await page.getByRole("switch", { name: "Enabled" }).uncheck();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved rule no-permanent-admin.").waitFor();
  await page.getByText("Computed for enabled rules that forbid or require approval.").waitFor();
  const saved = data(await org.owner.get(`/access-rules/${rule.id}`)).attributes;
  expect([saved.enforcement, saved.enabled]).toEqual(["advise", false]);
  await page.getByRole("button", { name: "Delete rule" }).click();
  await page.getByLabel("Type no-permanent-admin to confirm").fill("no-permanent-admin");
  await page.getByRole("dialog").getByRole("button", { name: "Delete rule" }).click();
  await page.getByText("No rules yet").waitFor();
  expect(complaints).toEqual([]);
});

test("violations are refreshed, and a member sees no rules", async () => {
  const { page, go, complaints } = await console.visit(org.owner.token, onPhone);
  await go(`/${org.name}/rules/violations`);
  const refresh = page.getByRole("button", { name: "Refresh" });
  const refreshed = "**/access-violations/actions/refresh";
  await page.route(refreshed, (route) => route.fulfill({ status: 409, json: { errors: [{ detail: "Not now." }] } }));
  await refresh.click();
  await page.getByText("Not now.").waitFor();
  await page.getByText("Not checked yet").waitFor();
  await page.unroute(refreshed);
  await refresh.click();
  await page.getByText("Checking existing access against the rules.").waitFor();
  await scan(console.api);
  await page.getByText(/^Checked /).waitFor();
  await page.getByText("No violations").waitFor();
  await expectAccessible(page);
  expect(await page.evaluate(isTooWide)).toBe(false);
  expect(complaints).toEqual([]);

  const member = await makeMember(console.api, org.name, [viewers!.id]);
  const other = await console.visit(member.token);
  await other.go(`/${org.name}`);
  expect(await other.page.getByRole("link", { name: "Rules" }).count()).toBe(0);
  await other.go(`/${org.name}/rules`);
  await other.page.getByRole("alert").waitFor();
});
