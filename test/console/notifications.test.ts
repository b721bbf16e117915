/** Notifications and audit webhooks, with their deliveries. */
import { describe, expect, test } from "vitest";
import { enqueueAuditNotifications } from "../../src/resources/connections/audit-webhooks/enqueue.ts";
import type { Json } from "../support/api.ts";
import { data, makeMember, makeTeam, makeWorkspace, resource } from "../support/builders.ts";
import { answering, useReceiver } from "../support/receiver.ts";
import { jobContextOf } from "../support/states.ts";
import { deliver } from "../resources/connections/notification-configurations/support.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";
import { useOrganization } from "./support/organizations.ts";

const console = useConsole();
const receiver = useReceiver();
const { org, inOrganization } = useOrganization(console);

describe("a notification", () => {
  test("is verified before it is created, tested, pointed to an unreachable host, and deleted", async () => {
    const workspace = await makeWorkspace(console.api, org.name, { name: "told" });
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/workspaces/told`);
    await page.getByRole("link", { name: "Notifications" }).click();
    await page.getByText("No notifications yet").waitFor();
    await page.getByRole("button", { name: "New notification" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Deployments");
    await dialog.getByLabel("URL").fill(receiver.url);
    await dialog.getByLabel("Run created").check();
    receiver.answer = answering(500, "not now");
    await dialog.getByRole("button", { name: "Create notification" }).click();
    await dialog.locator("[role=alert], [aria-invalid=true]").first().waitFor();
    receiver.answer = answering(200, "heard");
    await dialog.getByRole("button", { name: "Create notification" }).click();
    const row = page.getByRole("row").filter({ hasText: "Deployments" });
    await row.getByText("delivered").waitFor();
    expect(receiver.heard.at(-1)?.body.notifications[0].trigger).toBe("verification");
    await expectAccessible(page);

    await page.getByRole("button", { name: "Test Deployments" }).click();
    await page.getByText("Deployments responded.").waitFor();
    await page.getByRole("button", { name: "Deliveries of Deployments" }).click();
    const log = dialog.getByRole("table", { name: "Deliveries" });
    await log.getByText("verification").nth(1).waitFor();
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Close", exact: true }).click();
    const configurations = async () =>
      data(await org.owner.get(`/workspaces/${workspace.id}/notification-configurations`));
    expect((await configurations())[0].attributes).toMatchObject({
      enabled: true,
      triggers: ["run:needs_attention", "run:completed", "run:errored", "run:created"],
    });
    await row.getByRole("switch").press("Space");
    await page.getByText("Disabled Deployments.").waitFor();
    receiver.answer = answering(500, "not now");
    await row.locator(".mantine-Switch-track").click();
    await page.getByText("Request failed").waitFor();
    expect((await configurations())[0].attributes.enabled).toBe(false);
    await page.getByRole("button", { name: "Edit Deployments" }).click();
    await dialog.getByLabel("Name").fill("Deploys");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved notification Deploys.").waitFor();
    await page.getByRole("button", { name: "Delete Deploys" }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByText("No notifications yet").waitFor();
    expect(await configurations()).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test("is created for a team by email, and for a project", async () => {
    const team = await makeTeam(console.api, org.name, { name: "on-call" });
    const { page, go, complaints } = await console.visit(org.owner.token);
    for (const [place, path] of [
      [`teams/${team.id}`, `/teams/${team.id}`],
      [`projects/${org.defaultProjectId}`, `/projects/${org.defaultProjectId}`],
    ] as const) {
      await go(`/${org.name}/${place}/notifications`);
      await page.getByRole("button", { name: "New notification" }).click();
      await page.getByLabel("Name").fill("Night shift");
      await page.getByRole("combobox", { name: "Destination" }).click();
      await page.getByRole("option", { name: "Email" }).click();
      await page.getByRole("combobox", { name: "Email addresses" }).fill("night@acme.example");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Create notification" }).click();
      await page.getByRole("row").filter({ hasText: "Email to night@acme.example" }).waitFor();
      const [made] = data(await org.owner.get(`${path}/notification-configurations`));
      expect(made.attributes).toMatchObject({ name: "Night shift", "email-addresses": ["night@acme.example"] });
    }
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });
});

describe("an audit webhook", () => {
  test("is verified before it is created, receives events, shows its deliveries, and is deleted", async () => {
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/audit`);
    await page.getByRole("link", { name: "Webhooks" }).click();
    await page.getByText("No webhooks yet").waitFor();
    await page.getByRole("button", { name: "New webhook" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("security");
    await dialog.getByRole("textbox", { name: "URL" }).fill(receiver.url);
    await dialog.getByRole("button", { name: "Generate token" }).click();
    const token = (await dialog.getByRole("group", { name: "New token" }).innerText()).trim();
    await dialog.getByRole("combobox", { name: "Other events" }).fill("projects.create");
    await page.keyboard.press("Enter");
    await dialog.getByLabel("Report locks held longer than").fill("soon");
    await expectAccessible(page);
    receiver.answer = answering(500, "not now");
    await dialog.getByRole("button", { name: "Create webhook" }).click();
    await dialog.locator("[aria-invalid=true]").first().waitFor();
    await dialog.getByLabel("Report locks held longer than").fill("36h");
    await dialog.getByRole("button", { name: "Create webhook" }).click();
    await dialog.getByText("the response had status 500 instead of 2xx").waitFor();
    receiver.answer = answering(200, "heard");
    await dialog.getByRole("button", { name: "Create webhook" }).click();
    const row = page.getByRole("row").filter({ hasText: "security" });
    await row.getByText("delivered").waitFor();
    await dialog.waitFor({ state: "detached" });
    expect(await page.content()).not.toContain(token);
    const webhooks = async () => data(await org.owner.get(inOrganization("audit-webhooks")));
    const [made] = await webhooks();
    expect(made.attributes).toMatchObject({
      enabled: true,
      events: ["access.changed", "lock.held", "projects.create"],
      "lock-held-longer-than": "36h",
    });

    data(await org.owner.post(inOrganization("projects"), resource("projects", { name: "Told" })));
    await enqueueAuditNotifications(jobContextOf(console.api));
    receiver.answer = answering(503, "<b>busy</b>");
    await deliver(console.api);
    expect(receiver.heard.at(-1)?.headers["x-tfe-notification-signature"]).toMatch(/^[0-9a-f]{128}$/);
    await page.getByRole("button", { name: "Deliveries of security" }).click();
    await page.waitForURL(`**?deliveries=${made.id}`);
    const delivery = dialog.getByRole("row").filter({ hasText: "projects.create" });
    await delivery.getByText("waiting").waitFor();
    await delivery.getByRole("button", { name: /^Details of projects.create/ }).click();
    const details = dialog.getByRole("region", { name: "Details" });
    await details.getByText("<b>busy</b>").waitFor();
    await details.getByText("x-receiver: test").waitFor();
    await dialog.getByRole("row").filter({ hasText: "verification" }).getByText("delivered").waitFor();
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Close", exact: true }).first().click();

    receiver.answer = answering(200, "heard");
    await page.getByRole("button", { name: "Test security" }).click();
    await page.getByText("security responded.").waitFor();
    await row.getByRole("switch").press("Space");
    await page.getByText("Disabled security.").waitFor();
    await page.getByRole("button", { name: "Edit security" }).click();
    await dialog.getByLabel("All events").check();
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved webhook security.").waitFor();
    const [changed] = await webhooks();
    expect([changed.attributes.enabled, changed.attributes.events.toSorted()]).toEqual([
      false,
      ["*", "access.changed", "lock.held", "projects.create"],
    ]);
    await page.getByRole("button", { name: "Delete security" }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByText("No webhooks yet").waitFor();
    expect(await webhooks()).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test("is neither offered nor shown to a member", async () => {
    const member = await makeMember(console.api, org.name);
    const { page, go, complaints } = await console.visit(member.token);
    await go(`/${org.name}/audit/webhooks`);
    const { detail } = (await member.get(inOrganization("audit-webhooks"))).body.errors[0] as Json;
    await page.getByRole("alert").getByText(detail).waitFor();
    await expectCount(page.getByRole("button", { name: "New webhook" }), 0);
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });
});
