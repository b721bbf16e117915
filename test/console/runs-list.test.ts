/** Lists of runs: links, counts and layout; and actions in a displayed plan. */
import { beforeAll, describe, expect, test } from "vitest";
import { data, resource } from "../support/builders.ts";
import { storeOutput } from "../support/phases.ts";
import { advanceRun, makeRun, makeRunnable } from "../support/runs.ts";
import { expectAccessible, useConsole } from "./support/browser.ts";

const console = useConsole();
let organizationId: string;
const longName = "payments-settlement-reconciliation-production-eu-west-1";

beforeAll(async () => {
  const { api } = console;
  const attributes = { name: "acme", email: "ops@acme.example" };
  const made = data(await api.admin.post("/organizations", resource("organizations", attributes)));
  organizationId = made.attributes["external-id"];
  const workspace = await makeRunnable(api, "acme", { name: longName });
  for (let count = 1; count <= 8; count += 1) {
    const message = `Rotate the certificates of the settlement services in all regions, step ${count} of 8`;
    await makeRun(api.admin, workspace.id, { message, "plan-only": true });
  }
});

describe("the runs of an organization", () => {
  for (const width of [1280, 390])
    test(`have links that do not wrap, and the right total, at ${width} px`, async () => {
      const { page, go, complaints } = await console.visit(console.api.admin.token, {
        viewport: { width, height: 800 },
      });
      await go("/acme/runs");
      await page.getByText("0 running · 8 queued").waitFor();
      await page.getByText("8 runs", { exact: true }).waitFor();
      const name = page.getByRole("link", { name: longName }).first();
      const message = page.getByRole("link", { name: /step 8 of 8/ });
      const linesOf = (locator: typeof name) =>
        locator.evaluate((element: any) => Math.round(element.getBoundingClientRect().height / 22));
      expect([await linesOf(name), await linesOf(message)]).toEqual([1, 1]);
      await expectAccessible(page);
      const isSideways = await page.evaluate(
        "document.documentElement.scrollWidth > document.documentElement.clientWidth",
      );
      expect(isSideways).toBe(false);
      await name.click();
      await page.waitForURL(`**/app/acme/workspaces/${longName}`);
      expect(complaints).toEqual([]);
    });

  test("are paged if there are more than a page holds", async () => {
    const workspace = await makeRunnable(console.api, "acme", { name: `busy-${Date.now()}` });
    for (let count = 1; count <= 30; count += 1)
      await makeRun(console.api.admin, workspace.id, { message: `Nightly ${count}`, "plan-only": true });
    const { page, go } = await console.visit(console.api.admin.token);
    await go("/acme/runs");
    await page.getByText("Runs 1–30", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Older" }).click();
    await page.getByText(/^(3[1-9]|\d\d+) runs$/).waitFor();
    await page.getByRole("button", { name: "Newer" }).click();
    await page.getByText("Runs 1–30", { exact: true }).waitFor();
  });

  test("show the search if nothing matches", async () => {
    const { page, go } = await console.visit(console.api.admin.token);
    await go("/acme/runs?q=nothing");
    await page.getByText('No runs match "nothing"').waitFor();
    await go("/acme/runs?status=errored");
    await page.getByText("No runs match these filters").waitFor();
  });
});

test("a plan shows the actions that its apply invokes", async () => {
  const workspace = await makeRunnable(console.api, "acme", { name: `acting-${Date.now()}` });
  const run = await makeRun(console.api.admin, workspace.id, { message: "Warm the caches" });
  await advanceRun(console.api, run.id, "planned");
  const plan = {
    format_version: "1.2",
    action_invocations: [
      {
        address: "action.aws_lambda_invoke.warm",
        type: "aws_lambda_invoke",
        name: "warm",
        config_values: { function_name: "warm-caches", payload: "s3cr3t-value" },
        config_sensitive: { payload: true },
        lifecycle_action_trigger: {
          triggering_resource_address: "aws_lambda.web",
          action_trigger_event: "AfterCreate",
        },
      },
    ],
  };
  await storeOutput(console.api, { id: run.id, organizationId } as never, "plan-json", JSON.stringify(plan));
  const { page, go } = await console.visit(console.api.admin.token);
  await go(`/acme/workspaces/${workspace.attributes.name}/runs/${run.id}`);
  await page.getByRole("button", { name: "1 action to invoke" }).waitFor();
  await page.getByRole("button", { name: /warm invoke after create of aws_lambda\.web/ }).click();
  await page.getByText('"warm-caches"').waitFor();
  expect(await page.content()).not.toContain("s3cr3t-value");
});
