/** Settings of an organization and its projects, and variable sets. */
import { describe, expect, test } from "vitest";
import type { Json } from "../support/api.ts";
import {
  data,
  grantProject,
  inProject,
  makeMember,
  makeOrganization,
  makeProject,
  makeTeam,
  makeWorkspace,
  resource,
} from "../support/builders.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";
import { useOrganization } from "./support/organizations.ts";

const console = useConsole();
const { org, inOrganization } = useOrganization(console);

describe("an organization", () => {
  test("sets a retention period, and removes it again", async () => {
    const policy = () => org.owner.get(inOrganization("relationships/data-retention-policy"));
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/settings`);
    const retention = page.getByRole("region", { name: "Retention" });
    await retention.getByText("Old states are never deleted.").waitFor();
    await retention.getByLabel("Delete old states after, days").fill("30");
    await retention.getByRole("button", { name: "Save" }).click();
    await retention.getByText("Old states are deleted after 30 days.").waitFor();
    expect(data(await policy()).attributes["delete-older-than-n-days"]).toBe(30);
    await retention.getByRole("button", { name: "Never delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Never delete" }).click();
    await retention.getByText("Old states are never deleted.").waitFor();
    expect((await policy()).body.data ?? null).toBeNull();
    expect(complaints).toEqual([]);
  });

  test("reserves a tag key, prevents overrides, and unreserves it", async () => {
    const keys = async () =>
      data(await org.owner.get(inOrganization("reserved-tag-keys"))).map(({ attributes }: Json) => [
        attributes.key,
        attributes["disable-overrides"],
      ]);
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/settings`);
    await page.getByRole("button", { name: "Reserve tag key" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Reserve tag key" }).click();
    await dialog.locator("[aria-invalid=true]").waitFor();
    await dialog.getByLabel("Key").fill("cost-center");
    await dialog.getByRole("button", { name: "Reserve tag key" }).click();
    await page.getByLabel("Allow overrides of cost-center").click();
    await page.getByText("Workspaces can no longer override cost-center.").waitFor();
    expect(await keys()).toEqual([["cost-center", true]]);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Unreserve cost-center" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unreserve" }).click();
    await page.getByText("cost-center is no longer reserved.").waitFor();
    expect(await keys()).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test("limits token lifetimes by kind", async () => {
    const other = await makeOrganization(console.api);
    const { page, go, complaints } = await console.visit(other.owner.token);
    await go(`/${other.name}/settings`);
    await page.getByLabel("Limit token lifetime").click();
    await page.getByLabel("Team tokens, days").fill("30");
    await page.getByRole("button", { name: "Save limits" }).click();
    await page.getByText("Saved the token limits.").waitFor();
    const policies = data(await other.owner.get(`/organizations/${other.name}/token-ttl-policies`));
    const limits = policies.map(({ attributes }: Json) => [attributes["token-type"], attributes["max-ttl-ms"]]);
    expect(limits).toContainEqual(["team", 30 * 86_400_000]);
    await expectAccessible(page);
    await page.getByLabel("Limit token lifetime").click();
    await page.getByText("Token lifetime is no longer limited.").waitFor();
    expect(data(await other.owner.get(`/organizations/${other.name}`)).attributes["max-ttl-enabled"]).toBe(false);
    expect(complaints).toEqual([]);
  });
});

describe("a project", () => {
  test("is created, edited and tagged, shows who did it, and is deleted when empty", async () => {
    const pool = data(await org.owner.post(inOrganization("agent-pools"), resource("agent-pools", { name: "cellar" })));
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/projects`);
    await page.getByRole("button", { name: "New project" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("Network");
    await page.getByRole("button", { name: "Create project" }).click();
    await page.getByRole("heading", { name: "Network" }).waitFor();
    await page.getByText("No workspaces yet").waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1)!;
    const { id: workspaceId } = await makeWorkspace(console.api, org.name, { name: "in-the-way" }, inProject(id));

    await page.reload();
    await page.getByRole("link", { name: "Settings" }).last().click();
    await page.getByLabel("Description").fill("Addresses and the ways in");
    await page.getByRole("combobox", { name: "Default execution mode" }).click();
    await page.getByRole("option", { name: /^Agent/ }).click();
    await page.getByRole("combobox", { name: "Agent pool" }).click();
    await page.getByRole("option", { name: "cellar" }).click();
    await page.getByLabel("Auto-destroy after inactivity of").fill("a while");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator("[aria-invalid=true]").waitFor();
    await page.getByLabel("Auto-destroy after inactivity of").fill("14d");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved the project.").waitFor();
    const { attributes, relationships } = data(await org.owner.get(`/projects/${id}`));
    expect(attributes).toMatchObject({
      description: "Addresses and the ways in",
      "default-execution-mode": "agent",
      "auto-destroy-activity-duration": "14d",
    });
    expect(relationships["default-agent-pool"].data.id).toBe(pool.id);

    await page.getByRole("textbox", { name: "Key" }).fill("team");
    await page.getByRole("textbox", { name: "Value" }).fill("network");
    await page.getByRole("button", { name: "Add tag" }).click();
    await page.getByRole("button", { name: "Remove tag team" }).waitFor();
    expect(data(await org.owner.get(`/projects/${id}/tag-bindings`))[0].attributes).toMatchObject({ value: "network" });
    await expectAccessible(page);
    await page.getByRole("button", { name: "Remove tag team" }).click();
    await page.getByRole("button", { name: "Remove tag team" }).waitFor({ state: "detached" });

    await page.getByRole("link", { name: "Audit" }).last().click();
    await page
      .getByRole("button", { name: /^Details: updated project/ })
      .first()
      .waitFor();
    await page.getByText("created project").waitFor();
    await expectAccessible(page);

    await page.getByRole("link", { name: "Settings" }).last().click();
    await page.getByRole("button", { name: "Delete project" }).click();
    await page.getByLabel("Type Network to confirm").fill("Network");
    await page.getByRole("dialog").getByRole("button", { name: "Delete project" }).click();
    await page.getByText("Request failed").waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect((await org.owner.get(`/projects/${id}`)).status).toBe(200);
    expect((await org.owner.delete(`/workspaces/${workspaceId}`)).status).toBe(204);
    await page.getByRole("button", { name: "Delete project" }).click();
    await page.getByLabel("Type Network to confirm").fill("Network");
    await page.getByRole("dialog").getByRole("button", { name: "Delete project" }).click();
    await page.waitForURL(`**/app/${org.name}/projects`);
    expect((await org.owner.get(`/projects/${id}`)).status).toBe(404);
    expect(complaints).toEqual([]);
  });

  test("offers no changes with read access", async () => {
    const project = await makeProject(console.api, org.name, { name: "Billing" });
    const team = await makeTeam(console.api, org.name, { name: "readers" });
    await grantProject(console.api, org.id, project.id, team.id, "read");
    const reader = await makeMember(console.api, org.name, [team.id]);
    const { page, go, complaints } = await console.visit(reader.token);
    await go(`/${org.name}/projects/${project.id}/settings`);
    await page.getByText("You can view these settings but not change them.").waitFor();
    expect(await page.getByLabel("Name").isDisabled()).toBe(true);
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    for (const name of ["Add tag", "Delete project"]) await expectCount(page.getByRole("button", { name }), 0, name);
    for (const name of ["Audit", "Notifications", "Identity trusts"])
      await expectCount(page.getByRole("link", { name }), 0, name);
    await expectAccessible(page);
    await go(`/${org.name}/projects/${project.id}/notifications`);
    await page.getByRole("alert").waitFor();
    await go(`/${org.name}/identity-trusts`);
    await page.getByRole("alert").waitFor();
    expect(complaints).toEqual([]);
  });
});

describe("a variable set", () => {
  test("is created, gets variables, projects, workspaces and priority, and is deleted", async () => {
    await makeProject(console.api, org.name, { name: "Platform" });
    await makeWorkspace(console.api, org.name, { name: "registry" });
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/variable-sets`);
    await page.getByText("No variable sets yet").waitFor();
    await page.getByRole("button", { name: "New variable set" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("cloud-credentials");
    await page.getByRole("button", { name: "Create variable set" }).click();
    await page.getByRole("heading", { name: "cloud-credentials" }).waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1)!;

    await page.getByRole("button", { name: "Add variable" }).click();
    const form = page.getByRole("dialog");
    await form.getByLabel("Key").fill("secret_key");
    await form.getByLabel("Value").fill("hush-hush");
    await form.getByLabel("Sensitive").check();
    await form.getByRole("button", { name: "Add" }).click();
    await form.waitFor({ state: "detached" });
    await page.getByRole("row").filter({ hasText: "secret_key" }).getByText("Sensitive").waitFor();
    expect(await page.content()).not.toContain("hush-hush");

    const projects = page.getByRole("group", { name: "Projects" });
    await page.getByRole("combobox", { name: "Projects: add a project" }).fill("Plat");
    await page.getByRole("option", { name: "Platform" }).click();
    await projects.getByRole("link", { name: "Platform" }).waitFor();
    await page.getByRole("combobox", { name: "Workspaces: add a workspace" }).fill("regis");
    await page.getByRole("option", { name: "registry" }).click();
    await page.getByRole("group", { name: "Workspaces" }).getByRole("link", { name: "registry" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Remove project Platform" }).click();
    await projects.getByRole("link", { name: "Platform" }).waitFor({ state: "detached" });

    await page.getByLabel("Priority").check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved the variable set.").waitFor();
    const { attributes } = data(await org.owner.get(`/varsets/${id}`));
    expect(attributes).toMatchObject({ priority: true, "workspace-count": 1, "project-count": 0, "var-count": 1 });

    await page.getByRole("button", { name: "Delete variable set" }).click();
    await page.getByText("This deletes the set and its 1 variable. It applies to 1 workspace").waitFor();
    await page.getByLabel("Type cloud-credentials to confirm").fill("cloud-credentials");
    await page.getByRole("dialog").getByRole("button", { name: "Delete variable set" }).click();
    await page.waitForURL(`**/app/${org.name}/variable-sets`);
    expect((await org.owner.get(`/varsets/${id}`)).status).toBe(404);
    expect(complaints).toEqual([]);
  });
});
