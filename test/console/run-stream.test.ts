/** The page of a running run: followed by one stream, which is closed when it is not needed and resumed when it is interrupted. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { appendLog } from "../../src/resources/runs/phases/logs.ts";
import type { Json } from "../support/api.ts";
import { data, makeMember, makeTeam, makeTeamWorkspace, resource, unique } from "../support/builders.ts";
import { testVault } from "../support/phases.ts";
import { advanceRun, applyTransition, makeRun, makeRunnable } from "../support/runs.ts";
import { until } from "../support/waiting.ts";
import { type Console, expectAccessible, useConsole } from "./support/browser.ts";

const makeAcme = async (console: Console) =>
  data(
    await console.api.admin.post(
      "/organizations",
      resource("organizations", { name: "acme", email: "ops@acme.example" }),
    ),
  );

interface Followed {
  readonly run: Json;
  readonly message: string;
  readonly workspaceId: string;
  readonly path: string;
  say(text: string): Promise<void>;
}

/** A planning run, and its log. */
async function planningRun(console: Console, prefix: string): Promise<Followed> {
  const name = unique(prefix);
  const message = `Plans ${name}`;
  const { id: workspaceId } = await makeRunnable(console.api, "acme", { name });
  const run = await makeRun(console.api.admin, workspaceId, { message });
  await advanceRun(console.api, run.id, "planning");
  const phaseId = run.relationships.plan.data.id;
  let offset = 0;
  const say = (text: string) =>
    console.api.database.write(async (tx) => {
      const phase = await tx.db.selectFrom("runPhases").selectAll().where("id", "=", phaseId).executeTakeFirstOrThrow();
      await appendLog(tx, testVault, phase, offset, Buffer.from(text));
      offset += Buffer.byteLength(text);
    });
  return { run, message, workspaceId, path: `/acme/workspaces/${name}/runs/${run.id}`, say };
}

const isStream = (url: string) => /\/runs\/[\w-]+\/events(\?|$)/.test(url);

/** The page's requests to the API. */
function watchRequests(page: Page) {
  const seen = { streams: 0, open: 0, others: [] as string[] };
  page.on("request", (request) => {
    if (!request.url().includes("/api/")) return;
    if (!isStream(request.url())) return void seen.others.push(request.url());
    seen.streams += 1;
    seen.open += 1;
  });
  const closed = (request: { url(): string }) => {
    if (isStream(request.url())) seen.open -= 1;
  };
  page.on("requestfinished", closed);
  page.on("requestfailed", closed);
  return seen;
}

const logOf = (page: Page) => page.getByRole("region", { name: "Plan log" });

describe("the page of a run", () => {
  const console = useConsole({ options: { streams: { checkMs: 300 } } });
  beforeAll(() => makeAcme(console));

  test("shows each line as it is written, with one stream and few other requests, and closes it when the run ends", async () => {
    const { run, path, say } = await planningRun(console, "streamed");
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    const seen = watchRequests(page);
    await go(path);
    await page.getByText("Planning…").waitFor();
    await say("line 1\n");
    await logOf(page).getByText("line 1", { exact: true }).waitFor();
    // The badge and the banner of access requests are loaded after the page.
    await until(() => seen.others.filter((url) => url.includes("/access-requests?")).length === 2);
    const before = seen.others.length;
    for (let line = 2; line <= 25; line += 1) {
      await say(`line ${line}\n`);
      await logOf(page).getByText(`line ${line}`, { exact: true }).waitFor();
      await page.waitForTimeout(200);
    }
    expect(seen.others.slice(before)).toEqual([]);
    expect(seen.streams).toBe(1);
    await expectAccessible(page);
    await applyTransition(console.api, run.id, { event: "phase-finished", hasChanges: false });
    await page.getByText("No changes", { exact: false }).first().waitFor();
    await until(() => seen.open === 0, "the stream is closed");
    // The end causes only one more read.
    await page.waitForLoadState("networkidle");
    expect(seen.others.length - before).toBeLessThanOrEqual(6);
    expect(seen.streams).toBe(1);
    await go(`${path}?show=plan-log`);
    await logOf(page).getByText("line 25", { exact: true }).waitFor();
    expect(seen.streams).toBe(1);
    expect(complaints).toEqual([]);
  });

  test("closes the stream when the user leaves, and reopens it when they come back", async () => {
    const { path, message, say } = await planningRun(console, "left");
    await say("one\n");
    const { page, go } = await console.visit(console.api.admin.token);
    const seen = watchRequests(page);
    await go(path);
    await logOf(page).getByText("one", { exact: true }).waitFor();
    await page.getByRole("navigation", { name: "Breadcrumbs" }).getByRole("link", { name: "Runs" }).click();
    await until(() => seen.open === 0);
    await page.getByRole("link", { name: message }).click();
    await logOf(page).getByText("one", { exact: true }).waitFor();
    expect(seen.open).toBe(1);
  });

  test("closes the stream while its tab is hidden for long, and shows every line afterwards", async () => {
    const { path, say } = await planningRun(console, "hidden");
    await say("one\n");
    const { page, go } = await console.visit(console.api.admin.token);
    const seen = watchRequests(page);
    await go(path);
    await logOf(page).getByText("one", { exact: true }).waitFor();
    const show = (hidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`,
      );
    await show(true);
    await until(() => seen.open === 0);
    await say("two\n");
    await show(false);
    await logOf(page).getByText("two", { exact: true }).waitFor();
    expect(await logOf(page).getByRole("link").allInnerTexts()).toHaveLength(2);
  });

  test("says that the run is gone when access to it ends, and stops following it", async () => {
    const { workspaceId, path, say } = await planningRun(console, "taken-away");
    const team = await makeTeam(console.api, "acme");
    const grant = await makeTeamWorkspace(console.api, workspaceId, team.id, { access: "read" });
    const member = await makeMember(console.api, "acme", [team.id]);
    const { page, go, complaints } = await console.visit(member.token);
    const seen = watchRequests(page);
    await say("before\n");
    await go(path);
    await logOf(page).getByText("before").waitFor();
    data(await console.api.admin.delete(`/team-workspaces/${grant.id}`));
    await page.getByRole("alert").waitFor();
    await say("afterwards\n");
    await until(() => seen.open === 0);
    expect(await page.content()).not.toContain("afterwards");
    expect(complaints).toEqual([]);
  });

  test("redirects to the sign-in page when the session ends", async () => {
    const { path, say } = await planningRun(console, "signed-out");
    const { page, go } = await console.visit(console.api.admin.token);
    await say("before\n");
    await go(path);
    await logOf(page).getByText("before").waitFor();
    await console.api.database.write((tx) => tx.db.deleteFrom("tokens").where("kind", "=", "session").execute());
    await page.waitForURL(/sign-in/);
  });

  test("polls if no stream can be opened", async () => {
    const { run, path, say } = await planningRun(console, "behind-a-proxy");
    const { page, go } = await console.visit(console.api.admin.token);
    await page.route(isStreamUrl, (route) => route.abort());
    await say("one\n");
    await go(path);
    await logOf(page).getByText("one", { exact: true }).waitFor();
    await say("two\n");
    await logOf(page).getByText("two", { exact: true }).waitFor();
    await applyTransition(console.api, run.id, { event: "phase-finished", hasChanges: false });
    await page.getByText("No changes", { exact: false }).first().waitFor();
  });
});

const isStreamUrl = (url: URL) => isStream(url.href);

describe("a stream that is interrupted repeatedly", () => {
  const console = useConsole({ options: { streams: { lifetimeMs: 1_200 } } });
  beforeAll(() => makeAcme(console));

  test("resumes, and shows every line once", async () => {
    const { path, say } = await planningRun(console, "cut");
    const { page, go } = await console.visit(console.api.admin.token);
    const seen = watchRequests(page);
    await go(path);
    let line = 0;
    await until(async () => {
      line += 1;
      await say(`line ${line} ✓\n`);
      await logOf(page).getByText(`line ${line} ✓`, { exact: true }).waitFor();
      return seen.streams >= 4 && line >= 10;
    });
    const numbers = await logOf(page).getByRole("link").allInnerTexts();
    expect(numbers.map((text) => Number(text.replace(/\D/g, "")))).toEqual(
      Array.from({ length: line }, (_, index) => index + 1),
    );
  });
});
