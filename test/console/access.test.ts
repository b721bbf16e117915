/** Who has access, why, and what a grant would change: as access managers use it. */
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
  makeWorkspace,
  type Member,
  type Org,
} from "../support/builders.ts";
import { expectAccessible, expectCount, useConsole, type Visitor } from "./support/browser.ts";

const console = useConsole();
let org: Org;
let [network, billing]: Json[] = [];
let production: Json;
let [operators, contractors, readers]: Json[] = [];
let [ana, mia]: Member[] = [];

beforeAll(async () => {
  const { api } = console;
  org = await makeOrganization(api);
  network = await makeProject(api, org.name, { name: "Network" });
  billing = await makeProject(api, org.name, { name: "Billing" });
  production = await makeWorkspace(api, org.name, { name: "network-production" }, inProject(network!.id));
  await makeWorkspace(api, org.name, { name: "network-staging" }, inProject(network!.id));
  for (const name of ["billing-eu", "billing-us"]) await makeWorkspace(api, org.name, { name }, inProject(billing!.id));
  operators = await makeTeam(api, org.name, { name: "operators", visibility: "organization" });
  contractors = await makeTeam(api, org.name, { name: "contractors", visibility: "organization" });
  readers = await makeTeam(api, org.name, { name: "readers", "organization-access": { "read-projects": true } });
  await makeTeamProject(api, network!.id, operators!.id, { access: "write", reason: "runs the network" });
  await makeTeamWorkspace(api, production.id, contractors!.id, { access: "plan" });
  ana = await makeMember(api, org.name, [operators!.id, readers!.id]);
  mia = await makeMember(api, org.name, [contractors!.id]);
});

const signedIn = (token: string | undefined): Promise<Visitor> => console.visit(token);
const levelsOf = async (team: string, query: string): Promise<string[]> =>
  (await org.owner.get(query)).body.data
    .filter((record: Json) => record.relationships.team.data.id === team)
    .map((record: Json) => record.attributes.access);

describe("the access matrix of a workspace", () => {
  test("explains a value, previews what removing the grant changes, and removes it", async () => {
    const { page, go, complaints } = await signedIn(org.owner.token);
    await go(`/${org.name}/workspaces/network-production/access`);
    const apply = page.getByRole("button", { name: "operators, apply: yes" });
    await apply.focus();
    await page.keyboard.press("Enter");
    const why = page.getByRole("region", { name: "Why operators, apply" });
    await why.getByText(/granted by/).waitFor();
    expect(await why.innerText()).toMatch(/has write on the project Network, granted by .*: “runs the network”/);
    expect(new URL(page.url()).searchParams.get("why")).toBe(`${operators!.id}:apply`);
    await page.getByLabel("Only differences from the project").check();
    await expectCount(page.getByRole("button", { name: /, read: / }), 1);
    await page.getByRole("button", { name: "contractors, plan: yes" }).click();
    await page.getByRole("button", { name: "What if this grant were removed?" }).click();
    const change = page.getByRole("region", { name: "What would change" });
    await change.getByText("1 person and 1 team lose access to 1 workspace. Nobody gains access.").waitFor();
    expect(await change.innerText()).toContain("network-production");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Remove grant", exact: true }).click();
    await page.getByText("No matching teams").waitFor();
    expect(await levelsOf(contractors!.id, `/team-workspaces?filter[workspace][id]=${production.id}`)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test("lists people by permission, and removes them from the team that grants it", async () => {
    const { page, go, complaints } = await signedIn(org.owner.token);
    await go(`/${org.name}/workspaces/network-production/access?who=people&permission=apply`);
    await page.getByRole("button", { name: `${ana!.username}, apply: yes` }).click();
    await page.getByRole("button", { name: `What if ${ana!.username} left operators?` }).click();
    const change = page.getByRole("region", { name: "What would change" });
    await change.getByText("plan, apply, write variables, write states, lock").first().waitFor();
    // Another team still grants it, so it is not listed as lost.
    expect(await change.innerText()).not.toMatch(/Lose: read/);
    await expectCount(page.getByRole("link", { name: mia!.username }), 0);
    await page.getByRole("button", { name: "Cancel" }).click();
    expect(complaints).toEqual([]);
  });

  test("a project's matrix has project permissions and permissions on its workspaces", async () => {
    const { page, go, complaints } = await signedIn(org.owner.token);
    await go(`/${org.name}/projects/${network!.id}/access`);
    await page.getByRole("button", { name: "owners, move: yes" }).waitFor();
    await page.getByRole("button", { name: "operators, project: read" }).click();
    await page.getByRole("region", { name: "Why operators, project" }).getByText("on this project").waitFor();
    await page.getByRole("button", { name: "readers, apply: no" }).click();
    await page.getByText("readers can’t apply runs here.").waitFor();
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });

  test("a member without access management sees teams and their own access, and no actions", async () => {
    const { page, go, complaints } = await signedIn(ana!.token);
    await go(`/${org.name}/workspaces/network-production/access`);
    await page.getByRole("button", { name: "operators, apply: yes" }).click();
    await page.getByRole("region", { name: "Why operators, apply" }).getByText("has write").waitFor();
    await expectCount(page.getByRole("button", { name: /What if/ }), 0);
    await expectCount(page.getByRole("link", { name: "Grant access" }), 0);
    await page.getByRole("main").getByText("People", { exact: true }).click();
    await page.getByText("This is your own access.").waitFor();
    await expectCount(page.getByRole("button", { name: /, read: / }), 1);
    await go(`/${org.name}/who-can`);
    await page.getByText("You need permission to manage teams or members").waitFor();
    await go(`/${org.name}/grant?team=${contractors!.id}&project=${network!.id}`);
    await page.getByText("You can't do this").waitFor();
    await expectCount(page.getByRole("button", { name: "Grant access" }), 0);
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });
});

describe("granting access", () => {
  test("shows a preview, is refused if access changed meanwhile, and then applies as previewed", async () => {
    const { page, go, complaints } = await signedIn(org.owner.token);
    await go(`/${org.name}/grant?project=${billing!.id}`);
    await page.getByRole("combobox", { name: "Team" }).fill("contract");
    await page.getByRole("option", { name: "contractors" }).click();
    await page.getByText("Nobody loses access.").waitFor();
    await page.getByText("write", { exact: true }).click();
    const change = page.getByRole("region", { name: "What would change" });
    await change.getByText("read, plan, apply, write variables, write states, lock").first().waitFor();
    expect(await change.innerText()).toMatch(/1 person and 1 team gain access to 2 workspaces\./);
    await page.getByText("Custom", { exact: true }).click();
    await page.getByLabel("Expiry date and time").fill("2099-12-31T18:00");
    const previewed = page.waitForResponse(
      (response) => response.request().postData()?.includes("audit of invoices") ?? false,
    );
    await page.getByLabel("Reason").fill("audit of invoices");
    await previewed;
    await expectAccessible(page);
    // Someone else adds a member to the team meanwhile.
    data(
      await org.owner.patch(`/teams/${readers!.id}`, {
        data: { type: "teams", id: readers!.id, attributes: { "organization-access": { "read-workspaces": true } } },
      }),
    );
    await page.getByRole("button", { name: "Grant access" }).click();
    await page.getByText("Access has changed. Here is the new preview").waitFor();
    expect(await levelsOf(contractors!.id, `/team-projects?filter[project][id]=${billing!.id}`)).toEqual([]);
    await page.getByRole("button", { name: "Grant access" }).click();
    await page.waitForURL(`**/projects/${billing!.id}/access`);
    await page.getByRole("button", { name: "contractors, apply: yes" }).click();
    expect(await page.getByRole("region", { name: "Why contractors, apply" }).innerText()).toContain(
      "expires 31 Dec 2099: “audit of invoices”",
    );
    expect(complaints).toEqual([]);
  });

  test("changes an existing grant, permission by permission, and removes it", async () => {
    const { page, go, complaints } = await signedIn(org.owner.token);
    await go(`/${org.name}/grant?project=${network!.id}&team=${operators!.id}`);
    await page.getByText(/operators already has write on Network, never expires/).waitFor();
    await page.getByText("custom", { exact: true }).click();
    await page.getByRole("combobox", { name: "Runs" }).click();
    await page.getByRole("option", { name: "plan" }).click();
    await page.getByText(/lose permissions on 2 workspaces/).waitFor();
    await page.getByRole("button", { name: "Change grant" }).click();
    await page.waitForURL("**/access");
    expect(await levelsOf(operators!.id, `/team-projects?filter[project][id]=${network!.id}`)).toEqual(["custom"]);
    await go(`/${org.name}/grant?project=${network!.id}&team=${operators!.id}`);
    await page.getByRole("button", { name: "Remove grant…" }).click();
    await page.getByRole("button", { name: "Remove grant", exact: true }).click();
    await page.waitForURL("**/access");
    expect(await levelsOf(operators!.id, `/team-projects?filter[project][id]=${network!.id}`)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
