/** Invitation links, and authorizing `terraform login`. */
import { createHash, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { data, makeOrganization, resource } from "../support/builders.ts";
import { expectAccessible, useConsole } from "./support/browser.ts";

const console = useConsole();

test("a new person joins through an invitation link, and is signed in", async () => {
  const { name, owner } = await makeOrganization(console.api);
  const host = await console.visit(owner.token);
  await host.go(`/${name}/people`);
  await host.page.getByRole("button", { name: "Invite member" }).click();
  await host.page.getByLabel("Email").fill("grace@acme.example");
  await host.page.getByRole("button", { name: "Invite", exact: true }).click();
  const link = host.page.getByRole("group", { name: "Invitation link" });
  const { pathname } = new URL((await link.textContent())!.trim());
  await expectAccessible(host.page);
  await host.page.getByRole("button", { name: "I have copied it" }).click();
  await host.page.getByRole("button", { name: "New link for grace@acme.example" }).waitFor();
  expect(host.complaints).toEqual([]);

  const { page, go, complaints } = await console.visit();
  await go(pathname.replace(/^\/app/, ""));
  await page.getByText(`is invited to join ${name}`).waitFor();
  await expectAccessible(page);
  await page.getByLabel("Username").fill("grace");
  await page.getByRole("textbox", { name: "Password" }).fill("short");
  await page.getByRole("button", { name: "Create account" }).click();
  await page
    .getByText(/password/i)
    .nth(1)
    .waitFor();
  await page.getByRole("textbox", { name: "Password" }).fill("correct horse battery staple");
  await page.getByRole("button", { name: "Create account" }).click();
  await page.waitForURL(`**/app/${name}`);
  await page.getByRole("button", { name: "Account of grace" }).waitFor();
  expect(complaints).toEqual([]);

  const late = await console.visit();
  await late.go(pathname.replace(/^\/app/, ""));
  await late.page.getByRole("alert").waitFor();
});

test("terraform login gets a token if the person authorizes it, and an error otherwise", async () => {
  const { owner } = await makeOrganization(console.api);
  const password = "correct horse battery staple";
  data(await console.api.admin.patch(`/admin/users/${owner.id}`, resource("users", { password })));
  const { page, go } = await console.visit({ username: owner.username, password });
  const verifier = randomBytes(32).toString("base64url");
  const request = {
    client_id: "terraform-cli",
    redirect_uri: "http://localhost:10007/login",
    response_type: "code",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    state: "a-state-that-nobody-guesses",
  };
  // The CLI listens there; this test only checks the redirect.
  await page.route("http://localhost:10007/**", (route) => route.fulfill({ body: "back at the program" }));
  const question = `/~/authorize?${new URLSearchParams(request)}`;
  await go(question);
  await page.getByText("asks for a token for").waitFor();
  await page.getByLabel("Description").fill("my laptop");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Authorize" }).click();
  await page.waitForURL("http://localhost:10007/**");
  const answer = new URL(page.url()).searchParams;
  expect(answer.get("state")).toBe(request.state);
  const response = await fetch(`${console.api.url}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code: answer.get("code")!,
      client_id: request.client_id,
      redirect_uri: request.redirect_uri,
      code_verifier: verifier,
    }),
  });
  const { access_token: token } = (await response.json()) as { access_token: string };
  expect(data(await console.api.as(token).get("/account/details")).id).toBe(owner.id);

  await go(question);
  await page.getByRole("button", { name: "Deny" }).click();
  await page.waitForURL("http://localhost:10007/**");
  expect(new URL(page.url()).searchParams.get("error")).toBe("access_denied");
});
