/**
 * Exports an organization and plans the result with the official provider: everything must be imported, and nothing added, changed or
 * destroyed.
 *
 *   npm run conformance:export                Terraform 1.5.7 and 1.14.9
 *   npm run conformance:export -- --quick     Terraform 1.5.7
 *
 * The exit code is 1 if a plan has changes, or if there is no Go.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { apiOf } from "./api.ts";
import { type Certificate, makeCertificate, servedWith } from "./certificate.ts";
import { builtCli } from "./cli-build.ts";
import { makeOrganization, organization } from "./export-organization.ts";
import { readOptions } from "./options.ts";
import { buildProvider, installation, type Provider } from "./provider-tests.ts";
import { say, script } from "./script.ts";
import { startServer } from "./server.ts";

const run = promisify(execFile);

async function main(): Promise<number> {
  const asked = readOptions({
    cli: { all: ["terraform-1.5.7", "terraform-1.14.9"] as const, quick: ["terraform-1.5.7"] },
  });
  const provider = await buildProvider();
  const folder = mkdtempSync(join(tmpdir(), "cadastre-export-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const certificate = makeCertificate(folder);
  let failures = 0;
  for (const { cli } of asked.combinations) {
    const home = mkdtempSync(join(folder, "home-"));
    const settings = {
      CADASTRE_DATABASE: `sqlite:${join(home, "cadastre.db")}`,
      CADASTRE_ENCRYPTION_KEY: randomBytes(32).toString("hex"),
    };
    const server = await startServer("sqlite", "self-hosted", { ...settings, ...servedWith(certificate) });
    try {
      await makeOrganization(apiOf(server));
      const files = join(home, "exported");
      const publicUrl = `https://localhost:${new URL(server.url).port}`;
      const words = ["export", "--organization", organization, "--to", files, "--public-url", publicUrl];
      await run(process.execPath, ["bin/cadastre.js", ...words], { env: { ...process.env, ...settings } });
      const { binary, version } = await builtCli(cli);
      const changes = await plan({ binary, provider, certificate, home, files, token: server.token });
      failures += changes.length;
      say(`Terraform ${version}: ${changes.length === 0 ? "no changes" : changes.join("; ")}`);
    } finally {
      await server.stop();
    }
  }
  return failures > 0 ? 1 : 0;
}

interface PlanInput {
  readonly binary: string;
  readonly provider: Provider;
  readonly certificate: Certificate;
  readonly home: string;
  readonly files: string;
  readonly token: string;
}

interface Change {
  readonly address: string;
  readonly change: {
    readonly actions: readonly string[];
    readonly importing?: object;
    before: unknown;
    after: unknown;
  };
}

/** The changes of a plan besides imports, and missing imports. */
async function plan({ binary, provider, certificate, home, files, token }: PlanInput): Promise<string[]> {
  const cwd = join(files, "terraform");
  const env = {
    PATH: process.env["PATH"],
    HOME: home,
    CHECKPOINT_DISABLE: "1",
    SSL_CERT_FILE: certificate.cert,
    TFE_TOKEN: token,
    TF_CLI_CONFIG_FILE: installation(provider, home),
  };
  const options = { cwd, env, maxBuffer: 64 * 1024 * 1024 };
  await run(binary, ["plan", "-input=false", "-no-color", "-out=plan"], options).catch(
    (error: { stdout?: string; stderr?: string }) => {
      throw new Error(`terraform plan failed:\n${error.stdout ?? ""}\n${error.stderr ?? ""}`);
    },
  );
  const { stdout } = await run(binary, ["show", "-json", "plan"], options);
  const { resource_changes: changes = [] } = JSON.parse(stdout) as { resource_changes?: Change[] };
  if (changes.length < 30) throw new Error(`The plan has only ${changes.length} resources.`);
  return changes.flatMap(({ address, change }) => {
    const isNothing = change.actions.join() === "no-op" && change.importing !== undefined;
    return isNothing ? [] : [`${address}: ${change.actions.join(", ")} ${differences(change)}`];
  });
}

function differences({ before, after }: Change["change"]): string {
  const [one, other] = [(before ?? {}) as Record<string, unknown>, (after ?? {}) as Record<string, unknown>];
  const names = Object.keys({ ...one, ...other }).filter(
    (name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]),
  );
  return names.map((name) => `${name} ${JSON.stringify(one[name])} → ${JSON.stringify(other[name])}`).join(", ");
}

await script(main);
