/** SSH keys, agent pools and identity trusts. */
import { describe, expect, test } from "vitest";
import type { Json } from "../support/api.ts";
import { data, makeMember, makeProject, makeTeam, makeWorkspace, resource } from "../support/builders.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";
import { useOrganization } from "./support/organizations.ts";

const console = useConsole();
const { org, inOrganization } = useOrganization(console);

describe("an SSH key", () => {
  test("is added, used by a workspace, and deleted; its text is never returned", async () => {
    const { id } = await makeWorkspace(console.api, org.name, { name: "modules" });
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/ssh-keys`);
    await page.getByText("No SSH keys yet").waitFor();
    await page.getByRole("button", { name: "Add SSH key" }).click();
    await page.getByLabel("Name").fill("deploy");
    await page.getByLabel("Private key").fill("-----BEGIN OPENSSH PRIVATE KEY-----\nhush-hush\n");
    await expectAccessible(page);
    await page.getByRole("dialog").getByRole("button", { name: "Add SSH key" }).click();
    await page.getByRole("row").filter({ hasText: "deploy" }).waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await page.content()).not.toContain("hush-hush");

    await go(`/${org.name}/workspaces/modules/settings?part=keeping`);
    await page.getByRole("combobox", { name: "SSH key" }).click();
    await page.getByRole("option", { name: "deploy" }).click();
    await page.getByText("Saved the SSH key.").waitFor();
    const [key] = data(await org.owner.get(inOrganization("ssh-keys")));
    expect(data(await org.owner.get(`/workspaces/${id}`)).relationships["ssh-key"].data.id).toBe(key.id);

    await go(`/${org.name}/ssh-keys`);
    await page.getByRole("button", { name: "Edit deploy" }).click();
    await page.getByLabel("Name").fill("modules");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved SSH key modules.").waitFor();
    expect(data(await org.owner.get(`/ssh-keys/${key.id}`)).attributes.name).toBe("modules");
    await page.getByRole("button", { name: "Delete modules" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("No SSH keys yet").waitFor();
    expect(complaints).toEqual([]);
  });
});

describe("an agent pool", () => {
  test("is available to all but some workspaces, then only to selected ones; has a token; is deleted", async () => {
    const project = await makeProject(console.api, org.name, { name: "Datacenter" });
    const workspace = await makeWorkspace(console.api, org.name, { name: "racks" });
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/agent-pools`);
    await page.getByRole("button", { name: "New agent pool" }).click();
    await page.getByLabel("Name").fill("cellar");
    await page.getByRole("button", { name: "Create agent pool" }).click();
    await page.getByRole("heading", { name: "cellar" }).waitFor();
    await page.getByText("No agents yet").waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1)!;
    const scopes = async () => {
      const { attributes, relationships } = data(await org.owner.get(`/agent-pools/${id}`));
      const ids = (name: string) => relationships[name].data.map((each: Json) => each.id);
      return [
        attributes["organization-scoped"],
        ids("excluded-workspaces"),
        ids("allowed-projects"),
        ids("allowed-workspaces"),
      ];
    };
    const choose = async (label: string, name: string) => {
      await page.getByRole("combobox", { name: label }).fill(name);
      await page.getByRole("option", { name }).click();
      await page.getByRole("link", { name, exact: true }).waitFor();
    };
    await choose("Excluded workspaces: add a workspace", "racks");
    expect(await scopes()).toEqual([true, [workspace.id], [], []]);
    await page.getByLabel("Selected projects and workspaces").click();
    await choose("Allowed projects: add a project", "Datacenter");
    await choose("Allowed workspaces: add a workspace", "racks");
    expect(await scopes()).toEqual([false, [workspace.id], [project.id], [workspace.id]]);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Remove project Datacenter" }).click();
    await page.getByRole("link", { name: "Datacenter" }).waitFor({ state: "detached" });
    expect(await scopes()).toEqual([false, [workspace.id], [], [workspace.id]]);

    await page.getByRole("button", { name: "Create token" }).click();
    await page.getByLabel("Description").fill("the first agent");
    await page.getByRole("dialog").getByRole("button", { name: "Create token" }).click();
    await page.getByRole("group", { name: "New token" }).waitFor();
    await page.getByRole("button", { name: "I have copied it" }).click();
    await page.getByRole("row").filter({ hasText: "the first agent" }).waitFor();

    await page.getByRole("textbox", { name: "Name" }).fill("cellar-2");
    await org.owner.patch(`/agent-pools/${id}`, resource("agent-pools", { "organization-scoped": true }));
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Reload and apply mine" }).click();
    await page.getByText("Saved the agent pool.").waitFor();
    await page.getByRole("button", { name: "Delete agent pool" }).click();
    await page.getByLabel("Type cellar-2 to confirm").fill("cellar-2");
    await page.getByRole("dialog").getByRole("button", { name: "Delete agent pool" }).click();
    await page.waitForURL(`**/app/${org.name}/agent-pools`);
    expect((await org.owner.get(`/agent-pools/${id}`)).status).toBe(404);
    expect(complaints).toEqual([]);
  });

  test("is read-only for a member without the permission", async () => {
    const pool = data(await org.owner.post(inOrganization("agent-pools"), resource("agent-pools", { name: "attic" })));
    const member = await makeMember(console.api, org.name);
    const { page, go, complaints } = await console.visit(member.token);
    await go(`/${org.name}/agent-pools/${pool.id}`);
    await page.getByRole("heading", { name: "Scope" }).waitFor();
    for (const name of ["Create token", "Save", "Delete agent pool"])
      await expectCount(page.getByRole("button", { name }), 0, name);
    await expectCount(page.getByRole("combobox"), 0);
    expect(await page.getByLabel("Selected projects and workspaces").isDisabled()).toBe(true);
    for (const place of ["ssh-keys", "agent-pools"]) {
      await go(`/${org.name}/${place}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      for (const name of ["Add SSH key", "New agent pool"])
        await expectCount(page.getByRole("button", { name }), 0, name);
    }
    await expectCount(page.getByRole("link", { name: "Version control" }), 0);
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });
});

describe("an identity trust", () => {
  test("exchanges a pipeline's token by its claims, is edited, and deleted", async () => {
    const team = await makeTeam(console.api, org.name, { name: "deployers" });
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/identity-trusts`);
    await page.getByText("No identity trusts yet").waitFor();
    await page.getByRole("button", { name: "New identity trust" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("deployments");
    await dialog.getByLabel("Issuer").fill("https://ci.acme.example");
    await dialog.getByLabel("Pattern 1").fill("acme/*");
    await dialog.getByRole("button", { name: "Add claim" }).click();
    await dialog.getByRole("textbox", { name: "Claim 2" }).fill("ref");
    await dialog.getByLabel("Pattern 2").fill("refs/heads/main");
    await dialog.getByRole("combobox", { name: "Team" }).fill("deploy");
    await page.getByRole("option", { name: "deployers" }).click();
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Create identity trust" }).click();
    const row = page.getByRole("row").filter({ hasText: "deployments" });
    await row.getByRole("link", { name: "deployers" }).waitFor();
    const trusts = async () => data(await org.owner.get(inOrganization("identity-trusts")));
    const [made] = await trusts();
    expect(made.attributes).toMatchObject({
      issuer: "https://ci.acme.example",
      audience: "cadastre",
      claims: { repository: "acme/*", ref: "refs/heads/main" },
      "token-seconds": 900,
    });
    expect(made.relationships.team.data.id).toBe(team.id);
    await page.getByRole("button", { name: "Edit deployments" }).click();
    await dialog.getByRole("button", { name: "Remove claim 2" }).click();
    await dialog.getByLabel("Token lifetime, seconds").fill("300");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved identity trust deployments.").waitFor();
    expect((await trusts())[0].attributes).toMatchObject({ claims: { repository: "acme/*" }, "token-seconds": 300 });
    await expectAccessible(page);
    await page.getByRole("button", { name: "Delete deployments" }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByText("No identity trusts yet").waitFor();
    expect(complaints).toEqual([]);
  });
});
