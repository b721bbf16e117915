/** The list of workspaces, their resources, and their tags. */
import { beforeAll, describe, expect, test } from "vitest";
import { data, makeHolder, makeMember } from "../support/builders.ts";
import { managed, stateOf, writeState } from "../support/states.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";

const console = useConsole();

beforeAll(async () => {
  const { admin } = console.api;
  const organization = await admin.post("/organizations", {
    data: { type: "organizations", attributes: { name: "acme", email: "ops@acme.example" } },
  });
  expect(organization.status).toBe(201);
  for (const name of ["network-production", "network-staging", "billing-eu", "workspaces"])
    expect(
      (await admin.post("/organizations/acme/workspaces", { data: { type: "workspaces", attributes: { name } } }))
        .status,
    ).toBe(201);
});

describe("the workspaces of an organization", () => {
  test("are filtered while typing, and the URL contains the search", async () => {
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go("/acme/workspaces");
    await page.getByText("4 workspaces").waitFor();
    await page.getByLabel("Search workspaces").fill("network");
    await page.getByText("2 workspaces").waitFor();
    expect(new URL(page.url()).search).toBe("?q=network");
    await page.reload();
    await page.getByText("2 workspaces").waitFor();
    await expectCount(page.getByRole("row"), 3);
    await page.getByRole("link", { name: "network-staging" }).click();
    await page.getByRole("heading", { name: "network-staging" }).waitFor();
    await page.goBack();
    await page.getByText("2 workspaces").waitFor();
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });

  test("one with the name of a page can be opened, and so can the run URL that the CLI prints", async () => {
    const { page, go } = await console.visit(console.api.admin.token);
    await go("/acme/workspaces/workspaces");
    await page.getByRole("heading", { name: "workspaces", exact: true }).waitFor();
    await go("/acme/workspaces/runs/run-abc");
    await page.waitForURL("**/app/acme/workspaces/workspaces/runs/run-abc");
    await go("/acme/workspaces/workspaces/nowhere");
    await page.getByText("There is no page at this address").waitFor();
  });
});

describe("resources and tags", () => {
  test("lists resources of all readable workspaces, by type", async () => {
    const { admin } = console.api;
    const [workspace] = data(await admin.get("/organizations/acme/workspaces?search[name]=network-staging"));
    await writeState(admin, workspace.id, stateOf({ resources: [managed("subnet", 2), managed("zone")] }));
    const { page, go, complaints } = await console.visit(admin.token);
    await go("/acme");
    await page.getByRole("link", { name: "Resources" }).click();
    const rows = page.getByRole("table", { name: "Resources" }).getByRole("row");
    await rows.filter({ hasText: "null_resource.subnet[1]" }).getByRole("link", { name: "network-staging" }).waitFor();
    await page.getByText("3 resources").waitFor();
    await page.getByRole("button", { name: "Address" }).click();
    await page.waitForURL("**?sort=-address");
    await expect.poll(() => rows.nth(1).innerText()).toContain("null_resource.zone");
    await page.getByLabel("Type").fill("aws_s3_bucket");
    await page.getByText("No resources match these filters").waitFor();
    await expectAccessible(page);
    const member = await console.visit((await makeMember(console.api, "acme")).token);
    await member.go("/acme/resources");
    await member.page.getByText("No resources yet").waitFor();
    expect([...complaints, ...member.complaints]).toEqual([]);
  });

  test("tags link to their workspaces, and can be deleted from all of them with the permission", async () => {
    const { admin } = console.api;
    for (const name of ["network-staging", "network-production"]) {
      const [workspace] = data(await admin.get(`/organizations/acme/workspaces?search[name]=${name}`));
      const sent = { data: [{ type: "tags", attributes: { name: "core" } }] };
      expect((await admin.post(`/workspaces/${workspace.id}/relationships/tags`, sent)).status).toBe(204);
    }
    // Permission to manage projects allows creating workspaces, but not deleting a tag everywhere.
    const manager = await console.visit((await makeHolder(console.api, "acme", "manage-projects")).token);
    await manager.go("/acme/tags");
    await manager.page.getByRole("link", { name: "core" }).waitFor();
    await expectCount(manager.page.getByRole("button", { name: "Delete core" }), 0);
    const { page, go, complaints } = await console.visit(admin.token);
    await go("/acme/tags");
    await page.getByRole("link", { name: "core" }).click();
    await page.getByText("2 workspaces").waitFor();
    await page.goBack();
    await page.getByRole("button", { name: "Delete core" }).click();
    await page.getByRole("dialog").getByText("This removes the tag from 2 workspaces.").waitFor();
    await expectAccessible(page);
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("No tags yet").waitFor();
    expect(data(await admin.get("/organizations/acme/tags"))).toEqual([]);
    expect([...complaints, ...manager.complaints]).toEqual([]);
  });
});
