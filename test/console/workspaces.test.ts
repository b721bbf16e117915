/** The list of workspaces, as a person uses it. */
import { beforeAll, describe, expect, test } from "vitest";
import { expectAccessible, useConsole } from "./support/browser.ts";

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
  test("are found as one types, and the address says what was searched for", async () => {
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go("/acme/workspaces");
    await page.getByText("4 workspaces").waitFor();
    await page.getByLabel("Search names").fill("network");
    await page.getByText("2 workspaces").waitFor();
    expect(new URL(page.url()).search).toBe("?q=network");
    await page.reload();
    await page.getByText("2 workspaces").waitFor();
    expect(await page.getByRole("row").count()).toBe(3);
    await page.getByRole("link", { name: "network-staging" }).click();
    await page.getByRole("heading", { name: "network-staging" }).waitFor();
    await page.goBack();
    await page.getByText("2 workspaces").waitFor();
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });

  test("one that is called like a place has a page, and the address of a run that the CLI prints leads to it", async () => {
    const { page, go } = await console.visit(console.api.admin.token);
    await go("/acme/workspaces/workspaces");
    await page.getByRole("heading", { name: "workspaces", exact: true }).waitFor();
    await go("/acme/workspaces/runs/run-abc");
    await page.waitForURL("**/app/acme/workspaces/workspaces/runs/run-abc");
    await go("/acme/workspaces/workspaces/nowhere");
    await page.getByText("There is no page at this address").waitFor();
  });
});
