/** A workspace in the console: its lock, settings, tags, states, variables and deletion. */
import { beforeAll, describe, expect, test } from "vitest";
import { data, makeMember, makeTeam, makeTeamWorkspace, makeVarset, resource } from "../support/builders.ts";
import type { Json } from "../support/api.ts";
import { managed, stateOf, writeState } from "../support/states.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";

const console = useConsole();
let workspace: Json;

beforeAll(async () => {
  const { admin } = console.api;
  data(await admin.post("/organizations", resource("organizations", { name: "acme", email: "ops@acme.example" })));
  workspace = await make("network", { description: "<b>All networks</b>" });
});

const make = async (name: string, attributes: object = {}): Promise<Json> =>
  data(await console.api.admin.post("/organizations/acme/workspaces", resource("workspaces", { name, ...attributes })));
const show = async (id: string): Promise<Json> => data(await console.api.admin.get(`/workspaces/${id}`));

describe("a workspace", () => {
  test("without a state says how to begin, and updates when there is one", async () => {
    const { id } = await make("fresh");
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go("/acme/workspaces/fresh");
    const block = page.getByRole("group", { name: "Cloud block" });
    expect(await block.innerText()).toContain('organization = "acme"');
    expect(await block.innerText()).toContain('name = "fresh"');
    const outputs = {
      vpc: { value: "vpc-1", type: "string" },
      secret: { value: "hush", type: "string", sensitive: true },
    };
    await writeState(console.api.admin, id, stateOf({ outputs, resources: [managed("vpc"), managed("subnet", 2)] }));
    await page.getByRole("table", { name: "Resources" }).getByText("null_resource.subnet[1]").waitFor();
    expect(await page.getByRole("table", { name: "Outputs" }).getByRole("row").allInnerTexts()).toEqual([
      expect.stringMatching(/Name/),
      expect.stringMatching(/secret\s+sensitive/),
      expect.stringMatching(/vpc\s+vpc-1/),
    ]);
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });

  test("is locked with a reason and an expiry, renewed, unlocked, and force-unlocked", async () => {
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go("/acme/workspaces/network");
    await page.getByText("<b>All networks</b>").waitFor();
    await page.getByRole("button", { name: "Lock", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Reason").fill("Incident 42");
    await dialog.getByText("1 hour", { exact: true }).click();
    await dialog.getByRole("button", { name: "Lock" }).click();
    await page.getByText("“Incident 42”").waitFor();
    expect((await show(workspace.id)).attributes).toMatchObject({ locked: true, "locked-reason": "Incident 42" });
    await page.getByRole("button", { name: "Renew lock" }).click();
    await page.getByText("Renewed the lock of network.").waitFor();
    await page.getByRole("button", { name: "Unlock" }).click();
    await page.getByText("not locked").waitFor();
    const team = await makeTeam(console.api, "acme", { name: "operators" });
    await makeTeamWorkspace(console.api, workspace.id, team.id, { access: "write" });
    const operator = await makeMember(console.api, "acme", [team.id]);
    data(await operator.post(`/workspaces/${workspace.id}/actions/lock`, { reason: "Mine" }));
    // An unavailable dialog is removed from the URL, so that it doesn't open once the workspace is unlocked.
    await go("/acme/workspaces/network?open=lock");
    await page.getByRole("button", { name: "Force-unlock" }).click();
    await expect.poll(() => page.url()).not.toContain("open=");
    await page
      .getByRole("dialog")
      .getByText(new RegExp(`${operator.username} locked this .+: “Mine”. Their unfinished work is abandoned`))
      .waitFor();
    await expectAccessible(page);
    await page.getByRole("dialog").getByRole("button", { name: "Force-unlock" }).click();
    await page.getByText("not locked").waitFor();
    expect(complaints).toEqual([]);
  });

  test("saves settings on top of someone else's change only after confirmation", async () => {
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go("/acme/workspaces/network/settings");
    await page.getByLabel("Working directory").fill("../outside");
    await page.getByRole("button", { name: "Save settings" }).click();
    const field = page.getByLabel("Working directory");
    await expect.poll(() => field.getAttribute("aria-invalid")).toBe("true");
    await field.fill("environments/production");
    await page.getByLabel("Auto-apply", { exact: true }).check();
    const meanwhile = resource("workspaces", { description: "Changed meanwhile" });
    data(await console.api.admin.patch(`/workspaces/${workspace.id}`, meanwhile));
    await page.getByRole("button", { name: "Save settings" }).click();
    await page.getByText("Someone else changed this").waitFor();
    await expectAccessible(page);
    expect((await show(workspace.id)).attributes["auto-apply"]).toBe(false);
    await page.getByRole("button", { name: "Reload and apply mine" }).click();
    await page.getByText("Saved the settings of network.").waitFor();
    expect((await show(workspace.id)).attributes).toMatchObject({
      "auto-apply": true,
      "working-directory": "environments/production",
      description: "Changed meanwhile",
    });
    await page.getByLabel("Name").fill("networks");
    await page.getByRole("button", { name: "Save settings" }).click();
    await page.waitForURL("**/app/acme/workspaces/networks/settings");
    await page.getByRole("heading", { name: "networks" }).waitFor();
    data(await console.api.admin.patch(`/workspaces/${workspace.id}`, resource("workspaces", { name: "network" })));
    expect(complaints).toEqual([]);
  });

  test("is tagged, shares its state, and has run triggers", async () => {
    await make("billing");
    const { id } = await make("tagged");
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go("/acme/workspaces/tagged/settings?part=tags");
    await page.getByLabel("New tag").fill("no spaces please");
    await page.getByRole("button", { name: "Add tag" }).click();
    await expect.poll(() => page.getByLabel("New tag").getAttribute("aria-invalid")).toBe("true");
    await page.getByLabel("New tag").fill("production");
    await page.getByRole("button", { name: "Add tag" }).click();
    await page.getByRole("link", { name: "production" }).waitFor();
    await page.getByRole("textbox", { name: "Key" }).fill("team");
    await page.getByRole("textbox", { name: "Value" }).fill("<script>");
    await page.getByRole("button", { name: "Save tag" }).click();
    await page.getByRole("cell", { name: "<script>" }).waitFor();
    await page.getByRole("button", { name: "Remove team" }).click();
    await page.getByText("Removed tag team.").waitFor();
    await page.getByRole("link", { name: "State sharing" }).click();
    await page.getByRole("combobox", { name: "Workspace" }).fill("billing");
    await page.getByRole("option", { name: "billing" }).click();
    await page.getByRole("button", { name: "Add workspace" }).click();
    await page.getByRole("group", { name: "State sharing" }).getByRole("link", { name: "billing" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("link", { name: "Run triggers" }).click();
    await page.getByRole("combobox", { name: "Workspace" }).fill("billing");
    await page.getByRole("option", { name: "billing" }).click();
    await page.getByRole("button", { name: "Add workspace" }).click();
    await page.getByRole("table", { name: "Source workspaces" }).getByText("billing").waitFor();
    await page.getByRole("link", { name: "SSH key and retention" }).click();
    await page.getByLabel("Delete old state versions").check();
    await page.getByLabel("Delete after, days").fill("30");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Current policy: delete after 30 days.").waitFor();
    await expectAccessible(page);
    expect((await show(id)).attributes["tag-names"]).toEqual(["production"]);
    expect(complaints).toEqual([]);
  });

  test("rolls back to an earlier state version, chosen by its changes", async () => {
    const { id } = await make("stateful");
    const first = await writeState(
      console.api.admin,
      id,
      stateOf({ serial: 1, resources: [managed("kept"), managed("lost")] }),
    );
    await writeState(
      console.api.admin,
      id,
      stateOf({ serial: 2, resources: [managed("kept")], outputs: { url: { value: "https://x", type: "string" } } }),
    );
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go("/acme/workspaces/stateful/states");
    await page
      .getByRole("row", { name: /Serial 2 current/ })
      .getByRole("link", { name: "Serial 2" })
      .click();
    const differences = page.getByRole("table", { name: "Changes" });
    await differences.getByText("null_resource.lost").waitFor();
    expect((await differences.getByRole("row").allInnerTexts()).join("\n")).toMatch(
      /removed[^]*null_resource\.lost[^]*added[^]*url/,
    );
    await expectAccessible(page);
    await go(`/acme/workspaces/stateful/states/${first.id}`);
    await page.getByRole("button", { name: "Roll back to this version" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
    await page.getByText("Rolled back stateful to serial 1. The new version is serial 3.").waitFor();
    expect((await show(id)).attributes).toMatchObject({ locked: false, "resource-count": 2 });
    expect(complaints).toEqual([]);
  });

  test("has variables with their sources and precedence; a sensitive value is never returned", async () => {
    const { id } = await make("variables");
    const varset = await makeVarset(console.api, "acme", { name: "defaults", global: true });
    const variable = resource("vars", { key: "region", value: "us-east-1", category: "terraform" });
    data(await console.api.admin.post(`/varsets/${varset.id}/relationships/vars`, variable));
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go("/acme/workspaces/variables/variables");
    const table = page.getByRole("table", { name: "Variables" });
    await table.getByText("us-east-1").waitFor();
    for (const [key, value] of [
      ["region", "eu-west-1"],
      ["password", "hush-hush"],
    ] as const) {
      await page.getByRole("button", { name: "Add variable" }).first().click();
      const panel = page.getByRole("dialog");
      await panel.getByLabel("Key").fill(key);
      await panel.getByLabel("Value").fill(value);
      if (key === "password") await panel.getByLabel("Sensitive").check();
      await expectAccessible(page);
      await panel.getByRole("button", { name: "Add variable" }).click();
      await table.getByText(key).first().waitFor();
    }
    await table.getByText("Overridden by this workspace").waitFor();
    await table
      .getByRole("row", { name: /password/ })
      .getByText("sensitive")
      .waitFor();
    await table
      .getByRole("row", { name: /password/ })
      .getByRole("button", { name: "Edit" })
      .click();
    const panel = page.getByRole("dialog");
    expect(await panel.getByLabel("Value").inputValue()).toBe("");
    await panel.getByLabel("Description").fill("Of the database");
    await panel.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved password.").waitFor();
    await page.getByRole("button", { name: "Delete region" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("Deleted region.").waitFor();
    const left: Json[] = data(await console.api.admin.get(`/workspaces/${id}/vars`));
    expect(left.map(({ attributes }) => [attributes.key, attributes.sensitive, attributes.description])).toEqual([
      ["password", true, "Of the database"],
    ]);
    expect(await page.content()).not.toContain("hush-hush");
    expect(complaints).toEqual([]);
  });

  test("that manages resources can only be force deleted, with its name", async () => {
    const { id } = await make("doomed");
    await writeState(console.api.admin, id, stateOf({ resources: [managed("left")] }));
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go("/acme/workspaces/doomed/settings?part=delete");
    await page.getByText("This workspace manages 1 resource.").waitFor();
    await page.getByRole("button", { name: "Delete workspace" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete workspace" }).click();
    await page.getByText("Request failed").waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect((await console.api.admin.get(`/workspaces/${id}`)).status).toBe(200);
    await page.getByRole("button", { name: "Force delete" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("1 resource will be left without a state.").waitFor();
    expect(await dialog.getByRole("button", { name: "Force delete" }).isDisabled()).toBe(true);
    await dialog.getByLabel("Type doomed to confirm").fill("doomed");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Force delete" }).click();
    expect(await dialog.getByRole("button", { name: "Force delete" }).isDisabled()).toBe(true);
    await dialog.getByLabel("Type doomed to confirm").fill("doomed");
    await dialog.getByRole("button", { name: "Force delete" }).click();
    await page.waitForURL("**/app/acme/workspaces");
    expect((await console.api.admin.get(`/workspaces/${id}`)).status).toBe(404);
    expect(complaints).toEqual([]);
  });

  test("offers no changes with read access, and says which permission they need", async () => {
    const { id } = await make("readable");
    const team = await makeTeam(console.api, "acme", { name: "readers" });
    await makeTeamWorkspace(console.api, id, team.id, { access: "read" });
    const reader = await makeMember(console.api, "acme", [team.id]);
    const { page, go, complaints } = await console.visit(reader.token, {
      viewport: { width: 375, height: 800 },
      colorScheme: "dark",
    });
    await go("/acme/workspaces/readable/settings");
    await page.getByText("You need admin access to the workspace to change these settings.").waitFor();
    expect(await page.getByLabel("Name").isDisabled()).toBe(true);
    for (const name of ["Lock", "Start run", "Force-unlock"])
      await expectCount(page.getByRole("button", { name, exact: true }), 0);
    await go("/acme/workspaces/readable/settings?part=keeping");
    for (const label of ["Organization default", "Keep all state versions", "Delete old state versions"])
      expect(await page.getByLabel(label).isDisabled(), label).toBe(true);
    await expectCount(page.getByRole("button", { name: "Save" }), 0);
    await go("/acme/workspaces/readable/settings?part=delete");
    await page.getByText("You need admin access to delete this workspace.").waitFor();
    await expectAccessible(page);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(375);
    await go("/acme/workspaces/network");
    await page.getByText("not found").waitFor();
    expect(complaints).toEqual([]);
  });

  test("shows its audit log, before and after; only to owners", async () => {
    const { id } = await make("audited");
    data(await console.api.admin.patch(`/workspaces/${id}`, resource("workspaces", { "auto-apply": true })));
    data(await console.api.admin.post(`/workspaces/${id}/actions/lock`, { reason: "Incident 42" }));
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go("/acme/workspaces/audited");
    await page.getByRole("navigation", { name: "Page sections" }).getByRole("link", { name: "Audit" }).click();
    await page.getByText("locked").waitFor();
    await page.getByRole("button", { name: /^Details: updated workspace/ }).click();
    const row = page.getByRole("row").filter({ hasText: "auto-apply" });
    expect(await row.getByRole("cell").allTextContents()).toEqual(["auto-apply", "false", "true"]);
    await expectCount(page.getByText("created workspace"), 1);
    await expectAccessible(page);
    const team = await makeTeam(console.api, "acme", { name: "admins-of-it" });
    await makeTeamWorkspace(console.api, id, team.id, { access: "admin" });
    const other = await console.visit((await makeMember(console.api, "acme", [team.id])).token);
    await other.go("/acme/workspaces/audited");
    await other.page.getByRole("heading", { name: "audited" }).waitFor();
    await expectCount(other.page.getByRole("link", { name: "Audit" }), 0);
    await other.go("/acme/workspaces/audited/audit");
    await other.page.getByRole("alert").getByText("ownership of the organization").waitFor();
    expect([...complaints, ...other.complaints]).toEqual([]);
  });
});
