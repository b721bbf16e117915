/** Site administration: users, organizations, versions, single sign-on; and signing in and out with it. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import CertifiedProvider, { type Configuration } from "oidc-provider";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { data, makeOrganization, makeTeam, makeUser, resource, unique } from "../support/builders.ts";
import { advanceRun, makeRun, makeRunnable, showRun } from "../support/runs.ts";
import { expectAccessible, expectCount, useConsole } from "./support/browser.ts";

const console = useConsole();
const secret = "a secret that the provider knows, too";
const password = "correct horse battery staple";
let http: Server;
let issuer: string;

/** A certified third-party identity provider with its own pages. */
beforeAll(async () => {
  http = createServer();
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const { url } = console.api;
  const configuration: Configuration = {
    clients: [
      {
        client_id: "cadastre",
        client_secret: secret,
        redirect_uris: [`${url}/app/sign-in/sso/callback`],
        post_logout_redirect_uris: [`${url}/app/sign-in`],
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["preferred_username", "groups"] },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: async () => ({
        sub,
        email: `${sub}@acme.example`,
        email_verified: true,
        preferred_username: sub,
        groups: ["operators"],
      }),
    }),
    cookies: { keys: ["for a test"] },
    features: { devInteractions: { enabled: true } },
  };
  http.on("request", new CertifiedProvider(issuer, configuration).callback());
});
afterAll(() => {
  http.closeAllConnections();
  http.close();
});

describe("a site admin", () => {
  test("creates a password link, with which a user sets a password and is signed in", async () => {
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go("/~/site");
    await page.getByRole("button", { name: "New user" }).click();
    await page.getByLabel("Username").fill("grace");
    await page.getByLabel("Email").fill("grace@acme.example");
    await page.getByRole("button", { name: "Create user" }).click();
    await page.getByRole("button", { name: "Password link for grace" }).click();
    const link = page.getByRole("group", { name: "Password link" });
    const { pathname } = new URL((await link.textContent())!.trim());
    await expectAccessible(page);
    await page.getByRole("button", { name: "I have copied it" }).click();

    const grace = await console.visit();
    await grace.go(pathname.replace(/^\/app/, ""));
    await grace.page.getByText("Choose a password for").waitFor();
    await grace.page.getByRole("textbox", { name: "Password" }).fill(password);
    await grace.page.getByRole("button", { name: "Set password" }).click();
    await grace.page.getByRole("button", { name: "Account of grace" }).waitFor();
    expect(grace.complaints).toEqual([]);

    await page.getByRole("button", { name: "Password link for grace" }).click();
    await page.getByRole("button", { name: "I have copied it" }).click();
    await page.getByRole("button", { name: "Edit grace" }).click();
    await page.getByLabel("Site admin").check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved the user.").waitFor();
    await page.getByRole("row").filter({ hasText: "grace" }).getByText("site admin").waitFor();
    await page.getByRole("button", { name: "Delete grace" }).click();
    await page.getByLabel("Type grace to confirm").fill("grace");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("Deleted grace.").waitFor();
    expect(complaints).toEqual([]);
  });

  test("disables an organization, which nobody else can see then, and enables it", async () => {
    const { name, owner } = await makeOrganization(console.api);
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go("/~/site/organizations");
    await page.getByLabel("Search organizations").fill(name);
    await page.waitForURL(`**?q=${name}`);
    await page.getByRole("button", { name: `Disable ${name}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
    await page.getByText(`Disabled ${name}.`).waitFor();
    expect((await owner.get(`/organizations/${name}`)).status).toBe(404);
    await expectAccessible(page);
    await page.getByRole("button", { name: `Enable ${name}` }).click();
    await page.getByText(`Enabled ${name}.`).waitFor();
    expect((await owner.get(`/organizations/${name}`)).status).toBe(200);
    expect(complaints).toEqual([]);
  });

  test("adds a version, and disables it", async () => {
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go("/~/site/versions");
    await page.getByRole("button", { name: "Add version" }).click();
    await page.getByLabel("Version", { exact: true }).fill("not a version");
    await page.getByRole("dialog").getByRole("button", { name: "Add version" }).click();
    await page.locator("[aria-invalid=true]").waitFor();
    await page.getByLabel("Version", { exact: true }).fill("1.99.7");
    await page.getByRole("dialog").getByRole("button", { name: "Add version" }).click();
    await page.getByText("Added 1.99.7.").waitFor();
    await page.getByLabel("Search versions").fill("1.99.7");
    await page.getByLabel("Enable 1.99.7").click();
    await page.getByText("Disabled 1.99.7.").waitFor();
    const [version] = data(await console.api.admin.get("/admin/terraform-versions?filter[version]=1.99.7"));
    expect(version.attributes.enabled).toBe(false);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Remove 1.99.7" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("Removed 1.99.7.").waitFor();
    expect(data(await console.api.admin.get("/admin/terraform-versions?filter[version]=1.99.7"))).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test("creates a site agent pool with a token, renames it, and deletes it", async () => {
    const { admin } = console.api;
    const { page, go, complaints } = await console.visit(admin.token);
    await go("/~/site/agent-pools");
    await page.getByText("No site agent pools yet").waitFor();
    await page.getByRole("button", { name: "New agent pool" }).click();
    await page.getByRole("button", { name: "Create agent pool" }).click();
    await page.locator("[aria-invalid=true]").waitFor();
    await page.getByLabel("Name").fill("everybody");
    await page.getByRole("button", { name: "Create agent pool" }).click();
    await page.getByText("No agents yet").waitFor();
    const id = new URL(page.url()).pathname.split("/").at(-1)!;
    await page.getByRole("button", { name: "Create token" }).click();
    await page.getByLabel("Description").fill("the first agent");
    await page.getByRole("dialog").getByRole("button", { name: "Create token" }).click();
    const shown = page.getByRole("group", { name: "New token" });
    await shown.waitFor();
    const agent = console.api.as((await shown.innerText()).trim());
    await page.getByRole("button", { name: "I have copied it" }).click();
    await page.getByRole("row").filter({ hasText: "the first agent" }).waitFor();
    data(
      await agent.post(
        "/agents",
        resource("agents", { name: "blade-7", version: "1.0.0", engines: { terraform: ["1.13.3"], tofu: [] } }),
      ),
    );
    await page.getByRole("row").filter({ hasText: "blade-7" }).getByText("idle").waitFor();
    await expectAccessible(page);
    await page.getByRole("textbox", { name: "Name" }).fill("everyone");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved the agent pool.").waitFor();
    await page.getByRole("button", { name: "Delete agent pool" }).click();
    await page.getByLabel("Type everyone to confirm").fill("everyone");
    await page.getByRole("dialog").getByRole("button", { name: "Delete agent pool" }).click();
    await page.waitForURL("**/app/~/site/agent-pools");
    expect((await admin.get(`/admin/agent-pools/${id}`)).status).toBe(404);
    expect(complaints).toEqual([]);
  });

  test("sees the runs of every organization, and force-cancels one", async () => {
    const org = await makeOrganization(console.api);
    const workspace = await makeRunnable(console.api, org.name, { name: "runaway" });
    const run = await makeRun(org.owner, workspace.id, { message: "Goes on and on" });
    await advanceRun(console.api, run.id, "planning");
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go("/~/site/runs");
    await page.getByLabel("Search runs").fill("runaway");
    await page.waitForURL("**?q=runaway");
    const row = page.getByRole("row").filter({ hasText: "Goes on and on" });
    await row.getByRole("link", { name: org.name }).waitFor();
    await page.getByRole("button", { name: `Force cancel ${run.id}` }).click();
    await expectAccessible(page);
    await page.getByRole("dialog").getByRole("button", { name: "Force cancel" }).click();
    await page.getByText(`Force-canceled ${run.id}.`).waitFor();
    await row.getByText("canceled").waitFor();
    expect((await showRun(org.owner, run.id)).attributes.status).toBe("canceled");
    await expectCount(page.getByRole("button", { name: `Force cancel ${run.id}` }), 0);
    await row.getByRole("link", { name: /^Run run-/ }).click();
    await page.getByRole("heading", { name: "Goes on and on" }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("is the only one who can open these pages", async () => {
    const somebody = await makeUser(console.api);
    const { page, go } = await console.visit(somebody.token);
    for (const place of [
      "",
      "/organizations",
      "/runs",
      "/agent-pools",
      "/agent-pools/apool-1",
      "/versions",
      "/sign-on",
    ]) {
      await go(`/~/site${place}`);
      await page.getByText("Site admins only").waitFor();
      await expectCount(page.getByRole("main").getByRole("button"), 0);
    }
  });
});

describe("single sign-on", () => {
  test("is set up by a site admin; a user signs in with it, joins the team of their group, and signs out at the provider too", async () => {
    const org = await makeOrganization(console.api);
    const team = await makeTeam(console.api, org.name, { name: "operators", "sso-team-id": "operators" });
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    await go("/~/site/sign-on");
    await page.getByText("No SSO providers yet").waitFor();
    await page.getByRole("button", { name: "Add provider" }).click();
    await page.getByLabel("Name").fill("Acme");
    await page.getByLabel("Issuer").fill(issuer);
    await page.getByLabel("Client ID").fill("cadastre");
    await page.getByLabel("Client secret").fill(secret);
    await page.getByLabel("Groups claim").fill("groups");
    await page.getByLabel("Create users on first sign-in").check();
    await expectAccessible(page);
    await page.getByRole("dialog").getByRole("button", { name: "Add provider" }).click();
    await page.getByRole("row").filter({ hasText: issuer }).getByText("creates users").waitFor();
    expect(complaints).toEqual([]);

    const login = unique("ada");
    const ada = (await console.visit()).page;
    await ada.goto(`${console.api.url}/app/${org.name}/teams`);
    await ada.getByRole("link", { name: "Sign in with Acme" }).click();
    await ada.locator("input[name=login]").fill(login);
    await ada.locator("input[name=password]").fill("whatever");
    await ada.locator("button[type=submit]").click();
    await ada.locator("button[type=submit]").click();
    await ada.waitForURL(`${console.api.url}/app/${org.name}/teams`);
    await ada.getByRole("link", { name: "operators" }).waitFor();
    expect(data(await org.owner.get(`/teams/${team.id}`)).attributes["users-count"]).toBe(1);
    await expectAccessible(ada);

    await ada.getByRole("button", { name: `Account of ${login}` }).click();
    await ada.getByRole("menuitem", { name: "Sign out" }).click();
    await ada.waitForURL(`${issuer}/**`);
    await ada.locator("button[type=submit]").first().click();
    await ada.getByRole("heading", { name: "Sign in to Cadastre" }).waitFor();

    await page.getByRole("button", { name: "Edit Acme" }).click();
    await page.getByLabel("Name").fill("Acme accounts");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved the provider.").waitFor();
    await ada.reload();
    await ada.getByRole("link", { name: "Sign in with Acme accounts" }).waitFor();
    await page.getByRole("button", { name: "Delete Acme accounts" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("No SSO providers yet").waitFor();
    await ada.reload();
    await ada.getByLabel("Username").waitFor();
    await expectCount(ada.getByRole("link", { name: /^Sign in with/ }), 0);
  });
});

describe("a user with other sessions", () => {
  test("signs out everywhere, including here", async () => {
    const { admin, nobody } = console.api;
    const username = unique("mia");
    await admin.post("/admin/users", resource("users", { username, email: `${username}@acme.example`, password }));
    const elsewhere = await nobody.post("/sessions", resource("sessions", { username, password }));
    const cookie = elsewhere.headers.get("set-cookie")!.split(";")[0]!;
    const { page, go, complaints } = await console.visit();
    await go("/~/account");
    await page.getByLabel("Username").fill(username);
    await page.getByRole("textbox", { name: "Password" }).fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Account" }).waitFor();
    await page.getByRole("button", { name: "Sign out everywhere" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Sign out everywhere" }).click();
    await page.getByRole("heading", { name: "Sign in to Cadastre" }).waitFor();
    expect((await nobody.get("/account/details", { cookie })).status).toBe(401);
    await go("/~/account");
    await page.getByRole("heading", { name: "Sign in to Cadastre" }).waitFor();
    expect(complaints).toEqual([]);
  });
});

describe("an organization with the name of a page", () => {
  const names = ["sign-in", "authorize", "invitations", "assets"];

  test("has a home page, and the pages with these names still work", async () => {
    for (const name of names)
      data(await console.api.admin.post("/organizations", resource("organizations", { name, email: "a@b.example" })));
    const { page, go, complaints } = await console.visit(console.api.admin.token);
    for (const name of names) {
      await go(`/${name}`);
      await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
      await page.getByRole("link", { name: "Workspaces", exact: true }).click();
      await page.waitForURL(`**/app/${name}/workspaces`);
      await page.reload();
      await page.getByRole("heading", { name: "Workspaces" }).waitFor();
    }
    expect(complaints).toEqual([]);
    // Providers redirect here after a sign-out.
    const outside = await console.visit();
    await outside.go("/sign-in?return=/invitations");
    await outside.page.waitForURL("**/app/~/sign-in?return=**");
    await outside.page.getByText("Token", { exact: true }).click();
    await outside.page.getByLabel("Token").last().fill(console.api.admin.token!);
    await outside.page.getByRole("button", { name: "Sign in" }).click();
    await outside.page.getByRole("heading", { level: 1, name: "invitations" }).waitFor();
    const gone = await console.visit();
    await gone.go("/invitations/cadastre-there-is-no-such-link");
    await gone.page.getByRole("heading", { name: "Welcome to Cadastre" }).waitFor();
    await gone.page.getByRole("alert").waitFor();
  });
});
