/** An organization's teams, people, tokens, audit log and settings, as its owners use them. */
import { beforeAll, describe, expect, test } from "vitest";
import { data, makeMember, makeOrganization, makeTeam, type Member, type Org, resource } from "../support/builders.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";

const console = useConsole();
let org: Org;
let member: Member;
let teamId: string;

beforeAll(async () => {
  org = await makeOrganization(console.api);
  member = await makeMember(console.api, org.name);
  teamId = (await makeTeam(console.api, org.name, { name: "network-ops" })).id;
});

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

describe("a team", () => {
  test("gets a member with an expiry and a reason, and loses them again", async () => {
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/teams`);
    await page.getByRole("link", { name: "network-ops" }).click();
    await page.getByRole("button", { name: "Add member" }).click();
    await page.getByRole("combobox", { name: "Person" }).fill(member.username);
    await page.getByRole("option", { name: member.username }).click();
    await page.getByText("Custom", { exact: true }).click();
    await page.getByLabel("Expiry date and time").fill("2099-12-31T18:00");
    await page.getByLabel("Reason").fill("on call over the holidays");
    await expectAccessible(page);
    await page.getByRole("dialog").getByRole("button", { name: "Add member" }).click();
    const row = page.getByRole("row").filter({ hasText: member.username });
    await row.getByText("on call over the holidays").waitFor();
    expect(await row.locator("time").getAttribute("datetime")).toMatch(/^2099-12-31T/);
    await expectAccessible(page);

    await row.getByRole("link").click();
    await page.getByRole("row").filter({ hasText: "network-ops" }).getByText("on call over the holidays").waitFor();
    await page.goBack();
    await page.getByRole("button", { name: `Remove ${member.username}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("No members yet").waitFor();
    expect(complaints).toEqual([]);
  });

  test("gets organization permissions when they are saved", async () => {
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/teams/${teamId}/settings`);
    await page.getByRole("checkbox", { name: "Manage membership" }).check();
    await page.getByRole("button", { name: "Save permissions" }).click();
    await page.getByText("Saved the team.").waitFor();
    await expectAccessible(page);
    const { attributes } = data(await org.owner.get(`/teams/${teamId}`));
    expect(attributes["organization-access"]["manage-membership"]).toBe(true);
    expect(complaints).toEqual([]);
  });
});

describe("tokens", () => {
  test("are listed by expiry; one is created, rotated and revoked", async () => {
    const later = { description: "later", "expired-at": inDays(300) };
    const soon = { description: "soon", "expired-at": inDays(3) };
    for (const attributes of [later, soon])
      data(
        await org.owner.post(`/teams/${teamId}/authentication-tokens`, resource("authentication-tokens", attributes)),
      );
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/tokens`);
    const rows = page.getByRole("table", { name: "Tokens" }).getByRole("row");
    await rows.nth(1).getByText("soon", { exact: true }).first().waitFor();
    await expectAccessible(page);

    await page.getByRole("button", { name: "Rotate soon" }).click();
    await page.getByRole("button", { name: "Create new token" }).click();
    const shown = page.getByRole("group", { name: "New token" });
    const secret = (await shown.textContent())!.trim();
    expect((await console.api.as(secret).get(`/teams/${teamId}`)).status).toBe(200);
    await page.getByRole("button", { name: "Revoke old token" }).click();
    await page.getByText("Revoked the old token.").waitFor();

    await page.getByRole("button", { name: "Revoke later" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("Revoked later.").waitFor();
    await page.getByRole("button", { name: "Revoke later" }).waitFor({ state: "detached" });
    const left = (await org.owner.get(`/teams/${teamId}/authentication-tokens`)).body.data;
    expect(left.map((token: any) => token.attributes.description)).toEqual([expect.stringMatching(/^soon \(since /)]);
    expect(complaints).toEqual([]);
  });
});

describe("the audit log", () => {
  test("is filtered by actor and type in the URL, and shows values before and after", async () => {
    await org.owner.post(`/organizations/${org.name}/projects`, resource("projects", { name: "Billing" }));
    await org.owner.patch(
      `/organizations/${org.name}`,
      resource("organizations", { "default-execution-mode": "local" }),
    );
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/audit`);
    await page.getByText("created project").first().waitFor();
    await page.getByRole("combobox", { name: "Resource type" }).click();
    await page.getByRole("option", { name: "organization", exact: true }).click();
    await page.getByText("created project").first().waitFor({ state: "detached" });
    expect(new URL(page.url()).search).toBe("?kind=organizations");
    await page.getByRole("button", { name: org.owner.username, exact: true }).first().click();
    await page.waitForURL(`**?kind=organizations&actor=${org.owner.id}`);
    await page.reload();
    await page.getByRole("button", { name: /^Details: updated organization/ }).click();
    const row = page.getByRole("row").filter({ hasText: "default-execution-mode" });
    expect(await row.getByRole("cell").allTextContents()).toEqual(["default-execution-mode", "remote", "local"]);
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });

  test("is neither offered nor shown to a member", async () => {
    const { page, go } = await console.visit(member.token);
    await go(`/${org.name}/teams`);
    await page.getByRole("link", { name: "network-ops" }).waitFor();
    await expectCount(page.getByRole("link", { name: "Audit" }), 0);
    await expectCount(page.getByRole("button", { name: "New team" }), 0);
    await go(`/${org.name}/audit`);
    await page.getByRole("alert").waitFor();
    await go(`/${org.name}/settings`);
    await page.getByText("Only owners can change these settings.").waitFor();
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    await expectCount(page.getByRole("button", { name: /^Delete/ }), 0);
    await page.getByRole("region", { name: "Retention" }).getByText("Old states are never deleted.").waitFor();
    await expectCount(page.getByLabel("Delete old states after, days"), 0);
    await expectAccessible(page);
  });
});

describe("settings", () => {
  test("that someone else changed meanwhile are saved on top of theirs", async () => {
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/settings`);
    await page.getByLabel("Email").fill("mine@acme.example");
    await org.owner.patch(`/organizations/${org.name}`, resource("organizations", { "session-timeout": 30 }));
    await page.getByRole("button", { name: "Save", exact: true }).first().click();
    await page.getByText("Someone else changed this").waitFor();
    await page.getByRole("button", { name: "Reload and apply mine" }).click();
    await page.getByText("Saved the settings.").waitFor();
    const { attributes } = data(await org.owner.get(`/organizations/${org.name}`));
    expect(attributes).toMatchObject({ email: "mine@acme.example", "session-timeout": 30 });
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });
});

describe("every page", () => {
  test("renders without errors at the width of a phone in dark mode", async () => {
    const set = data(
      await org.owner.post(`/organizations/${org.name}/varsets`, resource("varsets", { name: "s", global: true })),
    );
    const pool = data(
      await org.owner.post(`/organizations/${org.name}/agent-pools`, resource("agent-pools", { name: "datacenter" })),
    );
    const { page, go, complaints } = await console.visit(org.owner.token, {
      viewport: { width: 375, height: 800 },
      colorScheme: "dark",
    });
    const places = [
      ["projects", "Projects"],
      [`projects/${org.defaultProjectId}`, "Default Project"],
      [`projects/${org.defaultProjectId}/settings`, "Default Project"],
      ["people", "People"],
      ["variable-sets", "Variable sets"],
      [`variable-sets/${set.id}`, "s"],
      ["ssh-keys", "SSH keys"],
      ["agent-pools", "Agent pools"],
      [`agent-pools/${pool.id}`, "datacenter"],
      ["connections", "Version control"],
      ["settings", "Settings"],
      ["tokens", "Tokens"],
      ["resources", "Resources"],
      ["tags", "Tags"],
      ["audit/webhooks", "Audit log"],
    ];
    for (const [place, title] of places) {
      await go(`/${org.name}/${place}`);
      await page.getByRole("heading", { level: 1, name: title!, exact: true }).waitFor();
      expect(await page.getByRole("alert").allTextContents(), place).toEqual([]);
      await expectAccessible(page);
      expect(await page.evaluate("document.documentElement.scrollWidth"), place).toBeLessThanOrEqual(375);
    }
    expect(complaints).toEqual([]);
  });
});
