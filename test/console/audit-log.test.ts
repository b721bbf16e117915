/** The audit log as an auditor uses it: what was granted to whom until when, within a time range, and as a file. */
import { readFile } from "node:fs/promises";
import { beforeEach, describe, expect, test } from "vitest";
import type { Json } from "../support/api.ts";
import { data, makeMember, makeProject, makeTeam, makeWorkspace, resource } from "../support/builders.ts";
import { parseCsv } from "../support/csv.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";
import { useOrganization } from "./support/organizations.ts";

const console = useConsole();
const { org, inOrganization } = useOrganization(console);

const hourMs = 3_600_000;
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const dayAndHour = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});

/** The same minute of another hour, today if possible. */
function today(): Date {
  const now = new Date();
  return new Date(now.getTime() + (now.getHours() < 22 ? 1 : 0) * hourMs + 90_000);
}

describe("the audit log", () => {
  let [team, project]: Json[] = [];
  const until = today();
  beforeEach(async () => {
    team = await makeTeam(console.api, org.name, { name: "on-call" });
    project = await makeProject(console.api, org.name, { name: "Payments" });
  });

  const grant = async (expiresAt: string) =>
    data(
      await org.owner.post(
        "/team-projects",
        resource(
          "team-projects",
          { access: "write", "expires-at": expiresAt },
          { project: { data: { type: "projects", id: project!.id } }, team: { data: { type: "teams", id: team!.id } } },
        ),
      ),
    );

  test("shows grants with level, target and expiry in a time range, and exports what is filtered", async () => {
    const record = await grant(until.toISOString());
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}`);
    await page
      .getByRole("link", { name: /^Audit/ })
      .first()
      .click();
    await page.getByRole("heading", { name: "Audit log" }).waitFor();
    await page.getByText("Append-only log of every change.").waitFor();
    await page.getByRole("button", { name: "Last 24 hours" }).click();
    await page.waitForURL("**?range=24h");
    const entry = `${org.owner.username} granted on-call write on Payments until ${clock.format(until)}`;
    await page.getByRole("listitem").filter({ hasText: entry }).waitFor();
    await expectCount(page.getByText(record.id), 0);

    await page.getByRole("combobox", { name: "Actor" }).click();
    await page.getByRole("option", { name: org.owner.username, exact: true }).click();
    await page.getByRole("combobox", { name: "Resource type" }).click();
    await page.getByRole("option", { name: "project access", exact: true }).click();
    await page.waitForURL(`**?range=24h&actor=${org.owner.id}&kind=team-projects`);
    await expectCount(page.getByRole("listitem").filter({ has: page.locator("time") }), 1);
    await page.reload();
    await page.getByRole("listitem").filter({ hasText: entry }).waitFor();
    expect(await page.getByRole("combobox", { name: "Actor" }).inputValue()).toBe(org.owner.username);
    await expectAccessible(page);

    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export CSV" }).click();
    const file = await saved;
    expect(file.suggestedFilename()).toBe(`audit-${org.name}.csv`);
    const rows = parseCsv(await readFile(await file.path(), "utf8"));
    expect(rows.map((row) => [row["action"], row["actor-name"], row["subject-id"]])).toEqual([
      ["team-projects.create", org.owner.username, record.id],
    ]);
    expect(JSON.parse(rows[0]?.["related"] ?? "").map(({ name }: Json) => name)).toEqual(["on-call", "Payments"]);

    await page.getByRole("button", { name: "Custom" }).click();
    await page.getByLabel("To", { exact: true }).fill("2020-01-01T00:00");
    await page.getByText("No events match these filters").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByText("created project").first().waitFor();
    expect(new URL(page.url()).search).toBe("");
    await page.getByRole("combobox", { name: "Action" }).fill("lapse");
    await page.getByRole("option", { name: "access-requests.lapse" }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("has a custom range that means the same in another time zone", async () => {
    const askedBy = async (timezoneId: string) => {
      const { page, go } = await console.visit(org.owner.token, { timezoneId });
      const sinceFilters: (string | null)[] = [];
      page.on("request", (request) => {
        const url = new URL(request.url());
        if (url.searchParams.has("filter[since]")) sinceFilters.push(url.searchParams.get("filter[since]"));
      });
      return { page, go, sinceFilters };
    };
    const mine = await askedBy("America/New_York");
    await mine.go(`/${org.name}/audit`);
    await mine.page.getByRole("button", { name: "Custom" }).click();
    await mine.page.getByLabel("From", { exact: true }).fill("2026-01-15T09:30");
    await expect.poll(() => mine.sinceFilters.at(-1)).toBe("2026-01-15T14:30:00.000Z");
    expect(await mine.page.getByLabel("From", { exact: true }).inputValue()).toBe("2026-01-15T09:30");
    const theirs = await askedBy("Asia/Tokyo");
    const { pathname, search } = new URL(mine.page.url());
    await theirs.go(`${pathname.replace(/^\/app/, "")}${search}`);
    await expect.poll(() => theirs.sinceFilters.at(-1)).toBe("2026-01-15T14:30:00.000Z");
    expect(await theirs.page.getByLabel("From", { exact: true }).inputValue()).toBe("2026-01-15T23:30");
  });

  test("names teams, people, projects and workspaces, also deleted ones", async () => {
    const end = new Date(Date.now() + 40 * 24 * hourMs);
    const member = await makeMember(console.api, org.name);
    const workspace = await makeWorkspace(console.api, org.name, { name: "ledger" });
    const record = await grant(end.toISOString());
    const seats = { data: [{ type: "users", id: member.username, meta: { "expires-at": end.toISOString() } }] };
    expect((await org.owner.post(`/teams/${team!.id}/relationships/users`, seats)).status).toBe(204);
    data(await org.owner.patch(`/team-projects/${record.id}`, resource("team-projects", { access: "read" })));
    data(await org.owner.post(`/workspaces/${workspace.id}/actions/lock`, { reason: "incident 42" }));
    data(await org.owner.post(`/workspaces/${workspace.id}/actions/force-unlock`));
    const variable = resource("vars", { key: "region", value: "eu", category: "terraform" });
    data(await org.owner.post(`/workspaces/${workspace.id}/vars`, variable));
    const move = { data: [{ type: "workspaces", id: workspace.id }] };
    expect((await org.owner.post(`/projects/${project!.id}/relationships/workspaces`, move)).status).toBe(204);
    data(
      await org.owner.post(
        `/teams/${team!.id}/authentication-tokens`,
        resource("authentication-tokens", { description: "ci" }),
      ),
    );
    for (const path of [`/workspaces/${workspace.id}`, `/team-projects/${record.id}`, `/teams/${team!.id}`])
      expect((await org.owner.delete(path)).status).toBe(204);

    const { page, go, complaints } = await console.visit(org.owner.token, { viewport: { width: 390, height: 844 } });
    await go(`/${org.name}/audit`);
    const later = end.getFullYear() === new Date().getFullYear() ? dayAndHour.format(end) : "";
    await page.getByText("deleted team").waitFor();
    const text = await page.getByRole("main").innerText();
    for (const entry of [
      `granted on-call write on Payments until ${later}`,
      "changed on-call from write to read on Payments",
      "revoked read on Payments from on-call",
      `added ${member.username} to on-call until ${later}`,
      "locked ledger: “incident 42”",
      `force-unlocked ledger, locked by ${org.owner.username}`,
      "created variable region in ledger",
      "moved ledger from Default Project to Payments",
      "created token ci of on-call, ",
      "deleted workspace ledger",
      "deleted team on-call",
    ])
      expect(text).toContain(`${org.owner.username} ${entry}`);
    expect(text.match(/\b(tprj|team|ws|prj|ou|user)-\w{16}/g) ?? []).toEqual([]);
    const filters = (await page.getByRole("search").boundingBox())!;
    const edge = filters.x + filters.width;
    for (const field of await page.getByRole("search").locator("input:visible, button:visible").all())
      expect((await field.boundingBox())!.x + (await field.boundingBox())!.width).toBeLessThanOrEqual(edge + 1);
    expect(edge).toBeLessThanOrEqual(390);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Details: moved ledger from Default Project to Payments" }).click();
    await page.getByRole("table", { name: "Changes" }).getByText("ledger").first().waitFor();
    expect(complaints).toEqual([]);
  });

  test("exports every matching event, not only those on the page", async () => {
    for (let number = 0; number < 60; number++)
      data(await org.owner.post(inOrganization("projects"), resource("projects", { name: `project ${number}` })));
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/audit?kind=projects`);
    await page.getByRole("button", { name: "Load older events" }).waitFor();
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export CSV" }).click();
    const rows = parseCsv(await readFile(await (await saved).path(), "utf8"));
    expect(rows.filter((row) => row["action"] === "projects.create").length).toBeGreaterThanOrEqual(61);
    expect(complaints).toEqual([]);
  });
});
