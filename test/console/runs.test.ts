/** Runs in the console: starting, following, confirming and discarding them, with the right permissions. */
import { beforeAll, describe, expect, test } from "vitest";
import { appendLog } from "../../src/resources/runs/phases/logs.ts";
import { type Json } from "../support/api.ts";
import { data, makeMember, makeTeam, makeTeamWorkspace, resource } from "../support/builders.ts";
import { storeOutput, testVault } from "../support/phases.ts";
import { advanceRun, cancelLongAgo, applyTransition, makeRun, makeRunnable, showRun } from "../support/runs.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";

const console = useConsole();
let organizationId: string;

beforeAll(async () => {
  const { admin } = console.api;
  const made = data(
    await admin.post("/organizations", resource("organizations", { name: "acme", email: "ops@acme.example" })),
  );
  organizationId = made.attributes["external-id"];
});

const runsOf = (name: string) => `/acme/workspaces/${name}/runs`;

async function say(phaseId: string, offset: number, text: string): Promise<void> {
  await console.api.database.write(async (tx) => {
    const phase = await tx.db.selectFrom("runPhases").selectAll().where("id", "=", phaseId).executeTakeFirstOrThrow();
    await appendLog(tx, testVault, phase, offset, Buffer.from(text));
  });
}

const change = (address: string, actions: string[], before: unknown, after: unknown, more: object = {}) => ({
  address,
  mode: "managed",
  type: "aws_instance",
  name: "x",
  ...(address.startsWith("module.web.") && { module_address: "module.web" }),
  change: { actions, before, after, after_unknown: {}, before_sensitive: {}, after_sensitive: {}, ...more },
});

/** A planned run with a structured plan. */
async function plannedRun(workspaceId: string, message: string, changes: object[]): Promise<Json> {
  const run = await makeRun(console.api.admin, workspaceId, { message });
  await advanceRun(console.api, run.id, "planned");
  const plan = JSON.stringify({ format_version: "1.2", resource_changes: changes });
  await storeOutput(console.api, { id: run.id, organizationId } as never, "plan-json", plan);
  return run;
}

describe("a run", () => {
  test("is started with a message, and listed for the workspace and the organization", async () => {
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await makeRunnable(console.api, "acme", { name: "network" });
    await go(runsOf("network"));
    await page.getByText("No runs yet").waitFor();
    await page.getByRole("button", { name: "Start run" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Message").fill("Only look");
    await dialog.getByRole("combobox", { name: "Run type" }).click();
    await page.getByRole("option", { name: "Plan only" }).click();
    await dialog.getByText("It can't be applied and doesn't need the lock.").waitFor();
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Start run" }).click();
    await page.getByRole("heading", { name: "Only look" }).waitFor();
    await page.getByText("Waiting for a worker or a site agent").waitFor();
    const id = page.url().split("/").at(-1)!;
    expect((await showRun(console.api.admin, id)).attributes).toMatchObject({
      "plan-only": true,
      message: "Only look",
    });
    await page.getByRole("navigation", { name: "Breadcrumbs" }).getByRole("link", { name: "Runs" }).click();
    await page.getByRole("link", { name: "Only look" }).waitFor();
    await go("/acme/runs");
    await page.getByRole("link", { name: "Only look" }).waitFor();
    await page.getByText("0 running · 1 queued").waitFor();
    await page.getByRole("link", { name: "Queue" }).click();
    await page.getByRole("link", { name: "Only look" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("link", { name: "All", exact: true }).click();
    await page.getByLabel("Search runs").fill("nothing like it");
    await page.getByText('No runs match "nothing like it"').waitFor();
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });

  test("shows its plan by resource, and is confirmed with a comment that stays", async () => {
    const { id } = await makeRunnable(console.api, "acme", { name: "runs" });
    const run = await plannedRun(id, "A new bastion", [
      change(
        "aws_instance.bastion",
        ["delete", "create"],
        { ami: "one", key: "s3cr3t-value" },
        { ami: "two", key: "an0ther-value" },
        {
          before_sensitive: { key: true },
          after_sensitive: { key: true },
          replace_paths: [["ami"]],
        },
      ),
      change("aws_instance.stays", ["no-op"], {}, {}),
      change("module.web.aws_instance.front", ["create"], null, { name: "<b>front</b>" }),
    ]);
    await console.api.database.write((tx) =>
      tx.db
        .updateTable("runPhases")
        .set({ resourceAdditions: 2, resourceDestructions: 1 })
        .where("id", "=", run.relationships.plan.data.id)
        .execute(),
    );
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go(`/acme/runs/runs/${run.id}`);
    await page.waitForURL(`**/app${runsOf("runs")}/${run.id}`);
    await page.getByText("Waiting for confirmation. You can confirm or discard this plan").waitFor();
    await page.getByRole("button", { name: /aws_instance\.bastion replace/ }).click();
    const differences = page.getByRole("table", { name: "Changes to aws_instance.bastion" });
    await differences.getByText("forces replacement").waitFor();
    expect(await differences.getByRole("row").allInnerTexts()).toEqual([
      expect.stringMatching(/ami\s+"one" → "two" forces replacement/),
      expect.stringMatching(/key\s+\(sensitive\) → \(sensitive\)/),
    ]);
    await page.getByRole("button", { name: /aws_instance\.front add/ }).click();
    await page.getByText('"<b>front</b>"').waitFor();
    await expectCount(page.getByText("aws_instance.stays"), 0);
    expect(await page.content()).not.toMatch(/s3cr3t-value|an0ther-value/);
    await page.getByText("+ add 1").click();
    await expectCount(page.getByRole("button", { name: /aws_instance\.bastion/ }), 0);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Confirm & apply" }).click();
    const dialog = page.getByRole("dialog", { name: "Apply to runs?" });
    await dialog.getByText("2 to add, 0 to change, 1 to destroy.").waitFor();
    // Emphasized, not only by its position in the sentence.
    await dialog.getByText("1 to destroy", { exact: true }).waitFor();
    await dialog.getByLabel("Comment").fill("In the window at 14:00");
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Confirm & apply" }).click();
    await page.getByText("Plan confirmed. The apply is queued.").waitFor();
    await page.getByRole("region", { name: "Timeline" }).getByText("In the window at 14:00").waitFor();
    expect((await showRun(console.api.admin, run.id)).attributes.status).toBe("apply_queued");
    expect(complaints).toEqual([]);
  });

  test("without a structured plan links to the plan log", async () => {
    const { id } = await makeRunnable(console.api, "acme", { name: "only-a-log" });
    const run = await makeRun(console.api.admin, id, { message: "Planned by an old agent" });
    await advanceRun(console.api, run.id, "planned");
    const { page, go } = await console.visit(console.api.admin.token);
    await go(`${runsOf("only-a-log")}/${run.id}`);
    await page.getByText("No structured plan").waitFor();
    await page.getByText("See the plan log.").waitFor();
    await expectCount(page.getByText("Plan not found"), 0);
    await expectAccessible(page);
  });

  test("shows its growing log in colour, with search and a link for each line", async () => {
    const { id } = await makeRunnable(console.api, "acme", { name: "talks" });
    const run = await makeRun(console.api.admin, id, { message: "Talks a lot" });
    await advanceRun(console.api, run.id, "planning");
    const planId = run.relationships.plan.data.id;
    const first = `${Array.from({ length: 300 }, (_, index) => `line ${index + 1}`).join("\n")}\n`;
    await say(planId, 0, first);
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await page.goto(`${console.api.url}/app${runsOf("talks")}/${run.id}`);
    const log = page.getByRole("region", { name: "Plan log" });
    await log.getByText("line 300", { exact: true }).waitFor();
    await say(planId, first.length, "\u001b[31mError:\u001b[0m <i>no</i> such thing\n");
    await log.getByText("<i>no</i> such thing").waitFor();
    const colorOf = (text: string) =>
      log.getByText(text).evaluate((element) => (globalThis as Json).getComputedStyle(element).color as string);
    expect(await colorOf("Error:")).not.toBe(await colorOf("<i>no</i> such thing"));
    await page.getByLabel("Search log").fill("line 12");
    await page.getByText("1 of 11").waitFor();
    await log.getByText("line 12", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Next match" }).click();
    await page.getByText("2 of 11").waitFor();
    await log.getByRole("link", { name: "Line 120", exact: true }).click();
    await page.waitForURL(/line=120/);
    await expectAccessible(page);
    await go(new URL(page.url()).pathname.slice("/app".length) + "?show=plan-log&line=42");
    await log.getByText("line 42", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Cancel run" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel run" }).click();
    await page.getByText("Cancel requested.").waitFor();
    await applyTransition(console.api, run.id, { event: "phase-errored" });
    await page.getByText("The run was canceled.").waitFor();
    expect(complaints).toEqual([]);
  });

  test("is discarded with a comment; a later action gets an error", async () => {
    const { id } = await makeRunnable(console.api, "acme", { name: "given-up" });
    const run = await plannedRun(id, "Not like that", [change("aws_instance.one", ["create"], null, { a: 1 })]);
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go(`${runsOf("given-up")}/${run.id}`);
    const slow = await console.visit(console.api.admin.token);
    await slow.go(`${runsOf("given-up")}/${run.id}`);
    await slow.page.getByRole("button", { name: "Confirm & apply" }).click();
    await page.getByRole("button", { name: "Discard" }).click();
    const dialog = page.getByRole("dialog", { name: "Discard this plan?" });
    await dialog.getByText("Nothing is changed.").waitFor();
    await dialog.getByLabel("Comment").fill("The size is wrong");
    await dialog.getByRole("button", { name: "Discard" }).click();
    await page.getByText("The plan was discarded.").waitFor();
    await page.getByRole("region", { name: "Timeline" }).getByText("The size is wrong").waitFor();
    await expectAccessible(page);
    expect((await showRun(console.api.admin, run.id)).attributes.status).toBe("discarded");
    for (const name of ["Confirm & apply", "Discard", "Cancel run"])
      await expectCount(page.getByRole("button", { name }), 0, name);
    await slow.page.getByRole("dialog").getByRole("button", { name: "Confirm & apply" }).click();
    await slow.page.getByRole("dialog").getByRole("alert").getByText("discarded").waitFor();
    expect([...complaints, ...slow.complaints]).toEqual([]);
  });

  test("that does not stop can be force-canceled after a cancel; and a queued one can run next", async () => {
    const { id } = await makeRunnable(console.api, "acme", { name: "stubborn" });
    const run = await makeRun(console.api.admin, id, { message: "Hangs" });
    await advanceRun(console.api, run.id, "planning");
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go(`${runsOf("stubborn")}/${run.id}`);
    await page.getByRole("button", { name: "Cancel run" }).waitFor();
    await expectCount(page.getByRole("button", { name: "Force cancel" }), 0);
    await cancelLongAgo(console.api, run.id);
    await page.getByRole("button", { name: "Force cancel" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("can exist without being in the state").waitFor();
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Force cancel" }).click();
    await page.getByText("The run was canceled.").waitFor();
    expect((await showRun(console.api.admin, run.id)).attributes.status).toBe("canceled");

    const [held, between, urgent] = [
      await plannedRun(id, "Holds the workspace", []),
      await makeRun(console.api.admin, id, { message: "Between" }),
      await makeRun(console.api.admin, id, { message: "Urgent" }),
    ];
    await go(`${runsOf("stubborn")}/${urgent.id}`);
    await page.getByRole("button", { name: "Run next" }).click();
    await dialog.getByRole("button", { name: "Run next" }).click();
    await page.getByText("This run is next. The runs before it were discarded.").waitFor();
    const statusOf = async (one: Json) => (await showRun(console.api.admin, one.id)).attributes.status;
    expect([await statusOf(held), await statusOf(between), await statusOf(urgent)]).toEqual([
      "discarded",
      "discarded",
      "plan_queued",
    ]);
    expect(complaints).toEqual([]);
  });

  test("offers no actions with read access, and says who can act", async () => {
    const workspace = await makeRunnable(console.api, "acme", { name: "audited" });
    const team = await makeTeam(console.api, "acme", { name: "auditors" });
    await makeTeamWorkspace(console.api, workspace.id, team.id, { access: "read" });
    const reader = await makeMember(console.api, "acme", [team.id]);
    const run = await plannedRun(workspace.id, "Not yours to confirm", [
      change("aws_instance.one", ["create"], null, { a: 1 }),
    ]);
    const appliers = await makeTeam(console.api, "acme", { name: "appliers", visibility: "organization" });
    await makeTeamWorkspace(console.api, workspace.id, appliers.id, { access: "write" });
    const { page, go, complaints } = await console.visit(reader.token);
    const logged: string[] = [];
    page.on("console", (message) => logged.push(message.text()));
    await go(`${runsOf("audited")}/${run.id}`);
    const needed = "You can't confirm this plan: you need permission to apply runs in this workspace.";
    await page.getByText(`${needed} Ask appliers and owners.`).waitFor();
    expect(logged).toEqual([]);
    const deeds = ["Confirm & apply", "Discard", "Cancel run", "Force cancel", "Run next"];
    for (const name of deeds) await expectCount(page.getByRole("button", { name }), 0, name);
    await page.getByRole("button", { name: /aws_instance\.one add/ }).waitFor();
    const stuck = await makeRunnable(console.api, "acme", { name: "stuck" });
    await makeTeamWorkspace(console.api, stuck.id, team.id, { access: "write" });
    const hanging = await makeRun(console.api.admin, stuck.id, { message: "Hangs" });
    await advanceRun(console.api, hanging.id, "planning");
    await cancelLongAgo(console.api, hanging.id);
    await go(`${runsOf("stuck")}/${hanging.id}`);
    await page.getByRole("heading", { name: "Hangs" }).waitFor();
    // Apply permission allows cancel, but not force cancel.
    await expectCount(page.getByRole("button", { name: "Force cancel" }), 0);
    const stranger = await console.visit((await makeMember(console.api, "acme")).token);
    await stranger.go(`${runsOf("audited")}/${run.id}`);
    await stranger.page.getByText("Workspace not found").first().waitFor();
    await go("/acme/workspaces/audited");
    await page.getByRole("heading", { name: "Recent runs" }).waitFor();
    await expectCount(page.getByRole("button", { name: "Start run" }), 0);
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });
});
