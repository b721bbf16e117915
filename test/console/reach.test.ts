/** Reach, who has a permission, offboarding, and moves, with their previews. */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/api.ts";
import {
  data,
  inProject,
  makeMember,
  makeOrganization,
  makeProject,
  makeTeam,
  makeTeamProject,
  makeTeamWorkspace,
  makeVarset,
  makeWorkspace,
  type Member,
  type Org,
  resource,
} from "../support/builders.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";

const console = useConsole();
let org: Org;
let [network, billing]: Json[] = [];
let [operators, auditors]: Json[] = [];
let staging: Json;
let ana: Member;

beforeAll(async () => {
  const { api } = console;
  org = await makeOrganization(api);
  network = await makeProject(api, org.name, { name: "Network" });
  billing = await makeProject(api, org.name, { name: "Billing" });
  for (const name of ["network-eu", "network-production"])
    await makeWorkspace(api, org.name, { name }, inProject(network!.id));
  staging = await makeWorkspace(api, org.name, { name: "network-staging" }, inProject(network!.id));
  const aside = await makeWorkspace(api, org.name, { name: "billing-eu" }, inProject(billing!.id));
  operators = await makeTeam(api, org.name, { name: "operators", visibility: "organization" });
  auditors = await makeTeam(api, org.name, { name: "auditors", visibility: "organization" });
  await makeTeamProject(api, network!.id, operators!.id, { access: "write" });
  await makeTeamWorkspace(api, aside.id, auditors!.id, { access: "read" });
  ana = await makeMember(api, org.name, [operators!.id, auditors!.id]);
  for (const [project, key] of [
    [network, "tier"],
    [billing, "cost-centre"],
  ] as const)
    data(
      await org.owner.patch(`/projects/${project!.id}`, {
        data: {
          type: "projects",
          id: project!.id,
          relationships: { "tag-bindings": { data: [{ type: "tag-bindings", attributes: { key, value: "one" } }] } },
        },
      }),
    );
  const applied = (id: string) => ({ projects: { data: [{ type: "projects", id }] } });
  await makeVarset(api, org.name, { name: "network-keys" }, applied(network!.id));
  await makeVarset(api, org.name, { name: "payment-keys" }, applied(billing!.id));
});

describe("reach", () => {
  test("of a person: totals by level, a tree with sources, a permission filter, and an export", async () => {
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/people/${ana.id}/reach`);
    await page.getByText("Access to 4 workspaces and 1 project").waitFor();
    expect(await page.getByRole("group", { name: "Totals" }).innerText()).toMatch(/write 3\s+read 1/);
    const tree = page.getByRole("table", { name: "Reach" });
    expect(await tree.getByRole("row", { name: /billing-eu/ }).innerText()).toMatch(/read\s+auditors, workspace: read/);
    await tree.getByRole("button", { name: "Workspaces of Network" }).click();
    await expectCount(tree.getByRole("link", { name: "network-eu" }), 0);
    await expectAccessible(page);
    await go(`/${org.name}/people/${ana.id}/reach?permission=can-queue-apply`);
    await page.getByText("Access to 3 workspaces").waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export CSV" }).click(),
    ]);
    const table = readFileSync(await download.path(), "utf8");
    expect(table.split("\n")[0]).toContain("kind,id,name,project-id,project-name,level");
    expect(table).toContain("network-staging");
    expect(table).not.toContain("billing-eu");
    expect(complaints).toEqual([]);
  });

  test("of a team; and the list of who has a permission links to it", async () => {
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/who-can?permission=can-queue-apply`);
    const row = page.getByRole("row", { name: /operators team/ });
    expect(await row.innerText()).toMatch(/3[\s\S]*project: write/);
    await expectAccessible(page);
    await row.getByRole("link", { name: "operators" }).click();
    await page.getByText("Access to 3 workspaces").waitFor();
    expect(new URL(page.url()).pathname).toBe(`/app/${org.name}/teams/${operators!.id}/reach`);
    expect(complaints).toEqual([]);
  });

  test("of a token, linked from the list of tokens; hidden from others", async () => {
    const path = `/teams/${operators!.id}/authentication-tokens`;
    const token = data(
      await org.owner.post(path, resource("authentication-tokens", { description: "CI of the network" })),
    );
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/tokens`);
    await page.getByRole("row").filter({ hasText: "CI of the network" }).getByRole("link", { name: "Reach" }).click();
    await page.waitForURL(`**/app/${org.name}/tokens/${token.id}`);
    await page.getByRole("heading", { name: "CI of the network" }).waitFor();
    await page.getByText("Last used never").waitFor();
    await page.getByText("Access to 3 workspaces").waitFor();
    await page
      .getByRole("table", { name: "Reach" })
      .getByText(/project: write/)
      .first()
      .waitFor();
    await expectAccessible(page);
    const other = await console.visit((await makeMember(console.api, org.name)).token);
    await other.go(`/${org.name}/tokens`);
    await expectCount(other.page.getByText("CI of the network"), 0);
    await other.go(`/${org.name}/tokens/${token.id}`);
    await other.page.getByRole("alert").first().waitFor();
    await expectCount(other.page.getByText(/^Access to/), 0);
    expect([...complaints, ...other.complaints]).toEqual([]);
  });

  test("of others is hidden from a member who manages nobody", async () => {
    const { page, go } = await console.visit(ana.token);
    await go(`/${org.name}/people/${org.owner.id}/reach`);
    await page.getByText("not found").waitFor();
    await go(`/${org.name}/people/${ana.id}/reach`);
    await page.getByText("Access to 4 workspaces").waitFor();
  });
});

describe("the move page", () => {
  test("moves three workspaces, selected as a range, and shows what each loses and gains", async () => {
    const { page, go, complaints } = await console.visit(org.owner.token);
    await go(`/${org.name}/move?q=network&to=${billing!.id}`);
    await page.getByLabel("Select network-eu").check();
    await page.getByLabel("Select network-staging").click({ modifiers: ["Shift"] });
    await page.getByText("3 selected").waitFor();
    const change = page.getByRole("region", { name: "What would change" });
    await change.getByText(/1 person and 1 team lose access to 3 workspaces\./).waitFor();
    const brought = page
      .getByRole("table", { name: "Tags and variable sets" })
      .getByRole("row", { name: /network-eu/ });
    await brought.getByText("payment-keys").waitFor();
    expect(await brought.innerText()).toMatch(
      /− loses tier: one\s+\+ gains cost-centre: one\s+− loses network-keys\s+\+ gains payment-keys/,
    );
    await expectAccessible(page);
    await page.getByRole("button", { name: "Move 3 workspaces" }).click();
    await page.waitForURL(`**/workspaces?project=${billing!.id}`);
    await page.getByText("4 workspaces").waitFor();
    const moved = data(await org.owner.get(`/workspaces/${staging.id}`));
    expect(moved.relationships.project.data.id).toBe(billing!.id);
    expect(complaints).toEqual([]);
  });

  test("says why the caller can't move them", async () => {
    const { page, go } = await console.visit(ana.token);
    const found = data(await org.owner.get(`/organizations/${org.name}/workspaces?search[name]=billing-eu`));
    await go(`/${org.name}/move?workspaces=${found[0].id}&to=${billing!.id}`);
    await page
      .getByText(/Select a project|Not here|already in Billing/)
      .first()
      .waitFor();
    await expectCount(page.getByRole("button", { name: /^Move \d/ }), 0);
  });
});

describe("offboarding", () => {
  test("has actions for locks, tokens and teams, each with a preview", async () => {
    data(
      await org.owner.post(`/team-projects`, {
        data: {
          type: "team-projects",
          attributes: { access: "admin" },
          relationships: {
            project: { data: { type: "projects", id: billing!.id } },
            team: { data: { type: "teams", id: operators!.id } },
          },
        },
      }),
    );
    data(await ana.post(`/workspaces/${staging.id}/actions/lock`, { reason: "incident 42" }));
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go(`/${org.name}/people/${ana.id}/leaving`);
    await page.getByRole("row", { name: /network-staging incident 42/ }).waitFor();
    await page.getByRole("button", { name: "Force-unlock network-staging" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Force-unlock" }).click();
    await page.getByText("Force-unlocked network-staging.").waitFor();
    await page.getByText("No locks that you can see.").waitFor();
    expect(data(await org.owner.get(`/workspaces/${staging.id}`)).attributes.locked).toBe(false);
    await page.getByRole("button", { name: "Remove from all teams…" }).click();
    await page.getByText(/^1 person loses access to .* Nobody gains access\.$/).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Remove from all teams", exact: true }).click();
    await page.getByText("Not in any team", { exact: true }).waitFor();
    await page
      .getByRole("button", { name: /^Revoke/ })
      .first()
      .click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("Revoked the token.").waitFor();
    expect((await ana.get("/account/details")).status).toBe(401);
    await page.getByRole("button", { name: "Remove from organization…" }).click();
    await page.getByRole("button", { name: `Remove from ${org.name}` }).click();
    await page.waitForURL(`**/app/${org.name}/people`);
    expect(complaints).toEqual([]);
  });
});
