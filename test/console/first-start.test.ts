/** From an empty site to the first state; and missing pages. */
import { describe, expect, test } from "vitest";
import { makeOrganization, makeMember, resource } from "../support/builders.ts";
import { managed, stateOf, writeState } from "../support/states.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";

const console = useConsole();

describe("a first start", () => {
  test("leads from an organization to a project, a workspace, a cloud block, a token and the first state", async () => {
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go("/");
    await page.getByRole("link", { name: "New organization" }).first().click();
    await page.getByLabel("Name").fill("no spaces please");
    await page.getByRole("button", { name: "Create organization" }).click();
    await page.locator("[aria-invalid=true]").waitFor();
    await page.getByLabel("Name").fill("acme");
    await page.getByLabel("Email").fill("ops@acme.example");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Create organization" }).click();
    await page.getByRole("heading", { name: "Create a project" }).waitFor();
    await expectAccessible(page);
    await page.getByLabel("Name").fill("Network");
    await page.getByRole("button", { name: "Create project" }).click();
    await page.getByRole("heading", { name: "New workspace" }).waitFor();
    expect(await page.getByRole("combobox", { name: "Project" }).inputValue()).toBe("Network");
    await page.getByLabel("Name").fill("network-production");
    await page.getByRole("button", { name: "Create workspace" }).click();

    await page.getByText("Waiting for the first state").waitFor();
    expect(await page.getByRole("group", { name: "Cloud block" }).textContent()).toContain(
      'organization = "acme"\n    workspaces {\n      name = "network-production"',
    );
    const file = page.getByRole("group", { name: "cadastre.tfrc" });
    expect(await file.textContent()).toContain(`"tfe.v2"   = "${console.api.url}/api/v2/"`);
    await page.getByRole("button", { name: "Create token" }).click();
    await page.getByText(/Token created.*expires in 90 days/).waitFor();
    const token = /token = "([^"]+)"/.exec((await file.textContent())!)![1]!;
    await expectAccessible(page);

    // With the token on the page, like Terraform.
    const terraform = console.api.as(token);
    const { data } = (await terraform.get("/organizations/acme/workspaces/network-production")).body;
    await writeState(terraform, data.id, stateOf({ resources: [managed("first")] }));
    await page.getByText("First state received: 1 resource").waitFor();
    await expectAccessible(page);
    await page.getByRole("link", { name: "Open workspace" }).click();
    await page.waitForURL("**/app/acme/workspaces/network-production");
    expect(complaints).toEqual([]);
  });

  test("says whom to ask if the caller can't create organizations or workspaces", async () => {
    const organization = await makeOrganization(console.api);
    const member = await makeMember(console.api, organization.name);
    const { page, go, complaints } = await console.visit(member.token);
    await go("/~/new-organization");
    await page.getByText("Only site admins can create organizations").waitFor();
    await go(`/${organization.name}/new-workspace`);
    await page.getByText("You can't create workspaces yet").waitFor();
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });
});

describe("a missing page", () => {
  test("is reported inside the shell, with links to other pages", async () => {
    const { name, owner } = await makeOrganization(console.api);
    const { page, go, complaints } = await console.visit(owner.token);
    for (const path of [`/${name}/nowhere`, "/~/nowhere"]) {
      await go(path);
      await page.getByRole("heading", { name: "Page not found" }).waitFor();
      await page.getByRole("button", { name: /^Account of/ }).waitFor();
    }
    await go(`/${name}/nowhere`);
    await page.getByRole("link", { name: "Workspaces" }).waitFor();
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });

  test("an organization of others looks as if it did not exist", async () => {
    const { owner } = await makeOrganization(console.api);
    const other = await makeOrganization(console.api);
    const { page, go } = await console.visit(owner.token);
    await go(`/${other.name}/workspaces`);
    await page.getByRole("heading", { name: "Organization not found" }).waitFor();
    await expectCount(page.getByRole("navigation", { name: "Organization" }), 0);
  });

  test("markup in a name is shown as text", async () => {
    const { name, owner } = await makeOrganization(console.api);
    const markup = "<img src=x onerror=alert(1)> <b>bold</b>";
    const made = await owner.post(
      `/organizations/${name}/projects`,
      resource("projects", { name: "Network", description: markup }),
    );
    expect(made.status).toBe(201);
    const { page, go, complaints } = await console.visit(owner.token);
    await go(`/${name}`);
    await page.getByText(markup).waitFor();
    expect(complaints).toEqual([]);
  });
});
