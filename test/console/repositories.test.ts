/** A workspace's repository: chosen from what a connection can see, followed, and why a push did or did not start a run. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  data,
  makeMember,
  makeOrganization,
  makeProject,
  makeTeam,
  makeTeamWorkspace,
  makeWorkspace,
  resource,
} from "../support/builders.ts";
import { FakeGithub } from "../support/github.ts";
import { makeConnected, makeConnection, pushTo, processVcsEvents } from "../support/vcs.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";
import { useOrganization } from "./support/organizations.ts";

const console = useConsole();
const { org, inOrganization } = useOrganization(console);
const provider = new FakeGithub();
let http: Server;
let url: string;

beforeAll(async () => {
  http = createServer(provider.listener);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  for (const name of ["network", "network-edge", "billing"])
    provider.repositories.set(`acme/${name}`, ["main", "release/1.2", "release/1.3"]);
});
afterAll(() => {
  http.closeAllConnections();
  http.close();
});

const privateKey = "-----BEGIN OPENSSH PRIVATE KEY-----\nhush-hush\n-----END OPENSSH PRIVATE KEY-----\n";
const repositoryOf = async (id: string) => data(await org.owner.get(`/workspaces/${id}`)).attributes["vcs-repo"];

describe("a repository", () => {
  test("is chosen from the connection's repositories, with a branch; its webhook can be created by hand; it is disconnected", async () => {
    const { id } = await makeWorkspace(console.api, org.name, { name: "network" });
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/connections`);
    await page.getByRole("button", { name: "New connection" }).click();
    const dialog = page.getByRole("dialog");
    const api = dialog.getByLabel("API URL");
    await dialog.getByRole("combobox", { name: "Provider" }).click();
    await page.getByRole("option", { name: "Bitbucket Cloud" }).click();
    expect(await api.inputValue()).toBe("https://api.bitbucket.org/2.0");
    await dialog.getByRole("combobox", { name: "Provider" }).click();
    await page.getByRole("option", { name: "GitHub", exact: true }).click();
    await dialog.getByLabel("Name").fill("Git of the platform team");
    await dialog.getByLabel("URL", { exact: true }).fill(url);
    await api.fill(url);
    await dialog.getByLabel("Token").fill("a token of the provider");
    await dialog.getByRole("button", { name: "Connect" }).click();
    await dialog.getByRole("group", { name: "Webhook secret" }).waitFor();
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "I have copied it" }).click();
    await page.getByRole("row").filter({ hasText: "Git of the platform team" }).waitFor();

    await go(`/${org.name}/workspaces/network/repository`);
    await page.getByText("No repository connected").waitFor();
    await page.getByRole("button", { name: "Connect repository" }).click();
    const repository = dialog.getByRole("combobox", { name: "Repository" });
    await repository.fill("net");
    await page.getByRole("option", { name: "acme/billing" }).waitFor({ state: "detached" });
    expect(await page.getByRole("option").allInnerTexts()).toEqual(["acme/network", "acme/network-edge"]);
    await page.getByRole("option", { name: "acme/network", exact: true }).click();
    const branch = dialog.getByRole("combobox", { name: "Branch" });
    await branch.fill("release");
    await page.getByRole("option", { name: "release/1.3" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("option", { name: "release/1.2" }).click();
    await dialog.getByRole("button", { name: "Connect" }).click();
    await page.getByText("Connected network to acme/network.").waitFor();
    expect(await repositoryOf(id)).toMatchObject({ identifier: "acme/network", branch: "release/1.2" });
    const hook = page.getByRole("group", { name: "Webhook URL" });
    expect(await hook.innerText()).toContain((await repositoryOf(id))["webhook-url"]);
    await page.getByText("In the repository's settings, under Webhooks").waitFor();
    await expectAccessible(page);

    await page.getByRole("button", { name: "Disconnect" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
    await page.getByText("No repository connected").waitFor();
    expect(await repositoryOf(id)).toBeNull();

    await go(`/${org.name}/connections`);
    await page.getByRole("button", { name: "Delete Git of the platform team" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("No connections yet").waitFor();
    expect(complaints).toEqual([]);
  });

  test("is typed by hand if the provider doesn't respond; the server's error is shown at the field", async () => {
    const { id } = await makeWorkspace(console.api, org.name, { name: "by-hand" });
    const elsewhere = createServer();
    await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
    const closed = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
    await new Promise((resolve) => elsewhere.close(resolve));
    await makeConnection(org, { "api-url": closed, "http-url": closed, name: "Silent" });
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/workspaces/by-hand/repository`);
    await page.getByRole("button", { name: "Connect repository" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("combobox", { name: "Connection" }).click();
    await page.getByRole("option", { name: "Silent" }).click();
    await dialog.getByText("Couldn't list repositories").waitFor();
    const repository = dialog.getByRole("combobox", { name: "Repository" });
    await repository.fill("../outside");
    await dialog.getByRole("button", { name: "Connect" }).click();
    await expect.poll(() => repository.getAttribute("aria-invalid")).toBe("true");
    await expectAccessible(page);
    await repository.fill("acme/typed");
    await dialog.getByRole("button", { name: "Connect" }).click();
    await page.getByText("Connected by-hand to acme/typed.").waitFor();
    expect(await repositoryOf(id)).toMatchObject({ identifier: "acme/typed", branch: "" });
    // The page reports that the provider is unreachable, and so does the browser's console.
    expect(complaints.filter((complaint) => !/status of 503/.test(complaint))).toEqual([]);
  });

  test("can't be chosen without access to a connection, nor changed with read access", async () => {
    const workspace = await makeWorkspace(console.api, org.name, { name: "guarded" });
    const teams = await Promise.all(["admin", "read"].map((name) => makeTeam(console.api, org.name, { name })));
    for (const { id, attributes } of teams)
      await makeTeamWorkspace(console.api, workspace.id, id, { access: attributes.name });
    const [admin, reader] = await Promise.all(teams.map(({ id }) => makeMember(console.api, org.name, [id])));
    const { page, go, complaints } = await console.visit(admin!.token);
    await go(`/${org.name}/workspaces/guarded/repository`);
    await page.getByRole("button", { name: "Connect repository" }).click();
    await page.getByRole("dialog").getByRole("alert").waitFor();
    await expectCount(page.getByRole("dialog").getByRole("combobox"), 0);
    const looking = await console.visit(reader!.token);
    await looking.go(`/${org.name}/workspaces/guarded/repository`);
    await looking.page.getByText("No repository connected").waitFor();
    await expectCount(looking.page.getByRole("button", { name: "Connect repository" }), 0);
    await looking.go(`/${org.name}/connections`);
    await looking.page.getByRole("alert").waitFor();
    expect([...complaints, ...looking.complaints]).toEqual([]);
  });

  test("shows why a push started no run: on the workspace, its overview, and the organization's page", async () => {
    const connection = await makeConnection(org);
    await makeConnected(console.api, org, connection, { name: "follower" }, { identifier: "acme/follower" });
    expect(await pushTo(console.api, connection, { repository: "acme/follower", branch: "elsewhere" })).toBe(202);
    await processVcsEvents(console.api);
    const [event] = data(await org.owner.get(inOrganization("vcs-events")));
    const { detail } = event.attributes;
    expect(detail).toContain("started no run");
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/workspaces/follower`);
    await page.getByText(detail).waitFor();
    await page.getByRole("link", { name: "acme/follower" }).click();
    const events = page.getByRole("table", { name: "Repository events" });
    const row = events.getByRole("row").filter({ hasText: detail });
    await row.getByText("no run", { exact: true }).waitFor();
    await expectAccessible(page);
    await page.getByText("Failed", { exact: true }).click();
    await page.getByText("No events with this outcome").waitFor();
    await page.waitForURL("**?outcome=failed");
    await go(`/${org.name}/repository-events`);
    await events.getByRole("row").filter({ hasText: detail }).getByRole("link", { name: "follower" }).click();
    await page.getByRole("heading", { name: "follower" }).waitFor();
    expect(complaints).toEqual([]);
  });
});

describe("a connection", () => {
  test("is renamed, gets a new secret, and is limited to one project; a workspace elsewhere gets an error", async () => {
    const org = await makeOrganization(console.api);
    const project = await makeProject(console.api, org.name, { name: "Platform" });
    await makeWorkspace(console.api, org.name, { name: "outside" });
    const { id, tokenId } = await makeConnection(org, { "api-url": url, "http-url": url, name: "Narrow" });
    const show = async () => data(await org.owner.get(`/oauth-clients/${id}`));
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/connections`);
    await page.getByRole("button", { name: "Edit Narrow" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Generate new secret" }).click();
    const secret = dialog.getByRole("group", { name: "Webhook secret" });
    expect((await secret.innerText()).trim().length).toBeGreaterThanOrEqual(16);
    await dialog.getByRole("button", { name: "I have copied it" }).click();
    await dialog.getByLabel("Private key").fill(privateKey);
    await dialog.getByRole("button", { name: "Save key" }).click();
    await dialog.getByText("A key is set. It is never shown.").waitFor();
    expect(data(await org.owner.get(`/oauth-tokens/${tokenId}`)).attributes["has-ssh-key"]).toBe(true);
    await dialog.getByRole("button", { name: "Remove key" }).click();
    await dialog.getByLabel("Private key").waitFor();
    expect(await page.content()).not.toContain("hush-hush");
    await dialog.getByLabel("All projects").click();
    await dialog.getByRole("combobox", { name: "Allowed projects: add a project" }).fill("Plat");
    await page.getByRole("option", { name: "Platform" }).click();
    await dialog.getByRole("link", { name: "Platform" }).waitFor();
    await expectAccessible(page);
    await dialog.getByLabel("Name").fill("Narrower");
    await org.owner.patch(`/oauth-clients/${id}`, resource("oauth-clients", { key: "meanwhile" }));
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await dialog.getByRole("button", { name: "Reload and apply mine" }).click();
    await page.getByRole("row").filter({ hasText: "Narrower" }).waitFor();
    const { attributes, relationships } = await show();
    expect(attributes).toMatchObject({ name: "Narrower", key: "meanwhile", "organization-scoped": false });
    expect(relationships.projects.data).toEqual([{ type: "projects", id: project.id }]);

    await go(`/${org.name}/workspaces/outside/repository`);
    await page.getByRole("button", { name: "Connect repository" }).click();
    await dialog.getByRole("combobox", { name: "Connection" }).click();
    await page.getByRole("option", { name: "Narrower" }).click();
    await dialog.getByRole("combobox", { name: "Repository" }).fill("acme/billing");
    await dialog.getByRole("button", { name: "Connect" }).click();
    await dialog.getByText("Oauth token belongs to a connection that does not include this project").waitFor();
    expect(complaints).toEqual([]);
  });
});
