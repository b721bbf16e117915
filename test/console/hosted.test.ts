/** The hosted edition: missing features are not offered, and old links explain that. */
import { beforeAll, expect, test } from "vitest";
import { data, resource } from "../support/builders.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";

const console = useConsole({ options: { edition: "hosted" } });

beforeAll(async () => {
  const { admin } = console.api;
  data(await admin.post("/organizations", resource("organizations", { name: "acme", email: "ops@acme.example" })));
  data(await admin.post("/organizations/acme/workspaces", resource("workspaces", { name: "network" })));
});

test("has no list of the site's runs, and no retention policies", async () => {
  const { page, go, complaints } = await console.visit(console.api.admin.token);
  await go("/~/site");
  const tabs = page.getByRole("navigation", { name: "Page sections" });
  await tabs.getByRole("link", { name: "Agent pools" }).waitFor();
  await expectCount(tabs.getByRole("link", { name: "Runs" }), 0);
  await go("/~/site/runs");
  await page.getByText("Not available in the hosted edition").waitFor();
  await expectCount(page.getByRole("alert"), 0);
  await expectAccessible(page);

  await go("/acme/settings");
  await page.getByRole("heading", { name: "Reserved tag keys" }).waitFor();
  await expectCount(page.getByRole("heading", { name: "Retention" }), 0);
  await go("/acme/workspaces/network/settings?part=keeping");
  await page.getByText("The hosted edition keeps all state versions.").waitFor();
  expect(complaints).toEqual([]);
});
