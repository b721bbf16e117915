/**
 * The setup page's commands, pasted: the real CLI creates the first state with nothing but the texts of the page, over HTTP and HTTPS.
 * `npm run test:console:cli`; it needs openssl, and a Terraform that `npm run conformance:cli` has built or CADASTRE_TERRAFORM names.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { makeCertificate } from "../../conformance/certificate.ts";
import { useConsole } from "./support/browser.ts";

const built = "node_modules/.cache/cadastre/terraform-1.14.9/terraform";
const terraform = resolve(process.env["CADASTRE_TERRAFORM"] ?? built);
if (!existsSync(terraform))
  throw new Error(`There is no ${terraform}. Run npm run conformance:cli -- --quick, or set CADASTRE_TERRAFORM.`);

const folder = mkdtempSync(join(tmpdir(), "cadastre-pasted-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const certificate = makeCertificate(folder);
const tls = { cert: readFileSync(certificate.cert), key: readFileSync(certificate.key) };

describe.each([
  { transport: "HTTP", console: useConsole() },
  { transport: "HTTPS", console: useConsole({ tls }) },
])("by $transport", ({ transport, console }) => {
  test("init and apply create the first state, and the page updates", async () => {
    const { page, go, complaints } = await console.visit(console.api.admin.token, { ignoreHTTPSErrors: true });
    await go("/~/new-organization");
    await page.getByLabel("Name").fill("acme");
    await page.getByLabel("Email").fill("ops@acme.example");
    await page.getByRole("button", { name: "Create organization" }).click();
    await page.getByRole("heading", { name: "Create a project" }).waitFor();
    await page.getByLabel("Name").fill("Network");
    await page.getByRole("button", { name: "Create project" }).click();
    await page.getByRole("heading", { name: "New workspace" }).waitFor();
    await page.getByLabel("Name").fill("network-production");
    await page.getByRole("button", { name: "Create workspace" }).click();
    await page.getByRole("button", { name: "Create token" }).click();
    await page.getByText(/Token created.*expires in 90 days/).waitFor();

    const pasted = async (name: string) => (await page.getByRole("group", { name }).textContent())!;
    const place = mkdtempSync(join(folder, `${transport}-`));
    writeFileSync(join(place, "cadastre.tfrc"), await pasted("cadastre.tfrc"));
    writeFileSync(join(place, "main.tf"), `${await pasted("Cloud block")}\n\n${await pasted("Example resource")}\n`);
    expect(await pasted("Commands")).toMatch(
      /^export TF_CLI_CONFIG_FILE=\$PWD\/cadastre.tfrc\nterraform init\nterraform apply$/,
    );
    const env = {
      PATH: process.env["PATH"],
      HOME: place,
      TF_CLI_CONFIG_FILE: join(place, "cadastre.tfrc"),
      TF_IN_AUTOMATION: "1",
      CHECKPOINT_DISABLE: "1",
      ...(transport === "HTTPS" && { SSL_CERT_FILE: certificate.cert }),
    };
    const run = (...words: string[]) => promisify(execFile)(terraform, words, { cwd: place, env });
    await run("init", "-input=false", "-no-color");
    const { stdout } = await run("apply", "-input=false", "-auto-approve", "-no-color");
    expect(stdout).toContain("Apply complete! Resources: 1 added, 0 changed, 0 destroyed.");
    await page.getByText("First state received: 1 resource").waitFor();
    await page.getByRole("link", { name: "Open workspace" }).click();
    await page.getByText("terraform_data.first").waitFor();
    expect(complaints).toEqual([]);
  });
});
