/** A new workspace: which project it goes to, and who will have access to it. */
import { beforeAll, describe, expect, test } from "vitest";
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
import { expectAccessible, useConsole } from "./support/browser.ts";

const console = useConsole();
let org: Org;
let [accounting, network]: Json[] = [];

beforeAll(async () => {
  const { api } = console;
  org = await makeOrganization(api);
  // Before the default project in the alphabet.
  accounting = await makeProject(api, org.name, { name: "Accounting" });
  network = await makeProject(api, org.name, { name: "Network" });
  for (const [index, name] of ["auditors", "contractors", "network-ops", "on-call"].entries()) {
    const team = await makeTeam(api, org.name, { name, visibility: "organization" });
    await makeTeamProject(api, network.id, team.id, { access: index === 0 ? "read" : "write" });
    if (name === "contractors") await makeTeamProject(api, accounting.id, team.id, { access: "maintain" });
  }
});

describe.each([
  ["on a large screen", { viewport: { width: 1280, height: 800 } }],
  ["on a phone", { viewport: { width: 390, height: 760 } }],
])("a new workspace, %s", (screen, size) => {
  test("goes to the default project, and says who will have access there and elsewhere", async () => {
    const { page, go, complaints } = await console.visit(org.owner.token, size);
    const requestedUrls: string[] = [];
    page.on("request", (request) => request.url().includes("/api/") && requestedUrls.push(request.url()));
    await go(`/${org.name}/new-workspace`);
    const project = page.getByRole("combobox", { name: "Project" });
    await expect.poll(() => project.inputValue()).toBe("Default Project");
    await page.getByText("owners will have access.").waitFor();
    await project.click();
    await project.fill("Account");
    await page.getByRole("option", { name: "Accounting" }).click();
    await page.getByText("owners and contractors (maintain) will have access.").waitFor();
    await project.click();
    await project.fill("Netw");
    await page.getByRole("option", { name: "Network" }).click();
    await page.getByText("owners, auditors (read) and 3 more teams will have access.").waitFor();
    await expectAccessible(page);
    expect(requestedUrls.filter((url) => url.includes("team-access"))).toHaveLength(3);
    const name = screen === "on a phone" ? "from-phone" : "from-desk";
    await page.getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Create workspace" }).click();
    await page.getByText(`Created workspace ${name}.`).waitFor();
    const made = data(await org.owner.get(`/organizations/${org.name}/workspaces/${name}`));
    expect(made.relationships.project.data.id).toBe(network!.id);
    expect(complaints).toEqual([]);
  });

  test("goes to the project that the link names", async () => {
    const { page, go } = await console.visit(org.owner.token, size);
    await go(`/${org.name}/projects/${accounting!.id}`);
    await page.getByRole("link", { name: "New workspace" }).first().click();
    await expect.poll(() => page.getByRole("combobox", { name: "Project" }).inputValue()).toBe("Accounting");
    await page.getByLabel("Name").fill("half-filled");
    const opened = page.waitForEvent("popup");
    await page.getByRole("link", { name: "See who has access" }).click();
    await (await opened).waitForURL(`**/projects/${accounting!.id}/access`);
    expect(await page.getByLabel("Name").inputValue()).toBe("half-filled");
  });

  test("keeps the input when another project is chosen", async () => {
    const { page, go, complaints } = await console.visit(org.owner.token, size);
    await go(`/${org.name}/new-workspace`);
    const project = page.getByRole("combobox", { name: "Project" });
    await expect.poll(() => project.inputValue()).toBe("Default Project");
    await page.getByLabel("Name").fill("typed-first");
    await page.getByLabel("Description").fill("Before the project");
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await page.route(`**/api/v2/projects/${accounting!.id}`, async (route) => {
      await released;
      await route.continue();
    });
    await project.click();
    await project.fill("Account");
    await page.getByRole("option", { name: "Accounting" }).click();
    // Until the project is known, the workspace would go to the previous one.
    const create = page.getByRole("button", { name: "Create workspace" });
    await expect.poll(() => create.isDisabled()).toBe(true);
    release();
    await page.getByText("owners and contractors (maintain) will have access.").waitFor();
    expect(await project.inputValue()).toBe("Accounting");
    expect(await page.getByLabel("Name").inputValue()).toBe("typed-first");
    expect(await page.getByLabel("Description").inputValue()).toBe("Before the project");
    await expect.poll(() => create.isEnabled()).toBe(true);
    expect(complaints).toEqual([]);
  });
});

test("a link to a project in which the caller can't create workspaces falls back to the default project", async () => {
  const { api } = console;
  const team = await makeTeam(api, org.name, { name: "newcomers" });
  const shown = data(await org.owner.get(`/organizations/${org.name}`));
  const byDefault = shown.relationships["default-project"].data.id;
  await makeTeamProject(api, accounting!.id, team.id, { access: "maintain" });
  await makeTeamProject(api, byDefault, team.id, { access: "maintain" });
  await makeTeamProject(api, network!.id, team.id, { access: "read" });
  const { page, go } = await console.visit((await makeMember(api, org.name, [team.id])).token);
  await go(`/${org.name}/new-workspace?project=${network!.id}`);
  await expect.poll(() => page.getByRole("combobox", { name: "Project" }).inputValue()).toBe("Default Project");
});
