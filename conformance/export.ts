/**
 * Exports an organization, and has the official provider plan what was written: everything is imported, and nothing is to be added,
 * changed or destroyed.
 *
 *   npm run conformance:export                Terraform 1.5.7 and 1.13.3
 *   npm run conformance:export -- --quick     Terraform 1.5.7
 *
 * The exit code is 1 if a plan finds anything to do, or if there is no Go.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Api, apiOf, dataOf } from "./api.ts";
import { type Certificate, makeCertificate, servedWith } from "./certificate.ts";
import { builtCli } from "./cli-build.ts";
import { readOptions } from "./options.ts";
import { buildProvider, installation, type Provider } from "./provider-tests.ts";
import { say, script } from "./script.ts";
import { startServer } from "./server.ts";

const run = promisify(execFile);
const organization = "acme";

async function main(): Promise<number> {
  const asked = readOptions({
    cli: { all: ["terraform-1.5.7", "terraform-1.13.3"] as const, quick: ["terraform-1.5.7"] },
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
      await furnish(apiOf(server));
      const files = join(home, "exported");
      const publicUrl = `https://localhost:${new URL(server.url).port}`;
      const words = ["export", "--organization", organization, "--to", files, "--public-url", publicUrl];
      await run(process.execPath, ["bin/cadastre.js", ...words], { env: { ...process.env, ...settings } });
      const { binary, version } = await builtCli(cli);
      const changes = await plan({ binary, provider, certificate, home, files, token: server.token });
      failures += changes.length;
      say(`Terraform ${version}: ${changes.length === 0 ? "nothing changes" : changes.join("; ")}`);
    } finally {
      await server.stop();
    }
  }
  return failures > 0 ? 1 : 0;
}

interface Planning {
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

/** What a plan would do beside importing, and what it would not import. */
async function plan({ binary, provider, certificate, home, files, token }: Planning): Promise<string[]> {
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
  if (changes.length < 30) throw new Error(`The plan knows only ${changes.length} resources.`);
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

/** Something of everything that the provider knows. */
async function furnish(api: Api): Promise<void> {
  const make = async (path: string, type: string, attributes: object, relationships: object = {}): Promise<string> =>
    dataOf(await api(path, { data: { type, attributes, relationships } }))?.id;
  const change = async (path: string, type: string, attributes: object, relationships: object = {}): Promise<void> =>
    void dataOf(await api(path, { data: { type, attributes, relationships } }, "PATCH"));
  const one = (type: string, id: string) => ({ data: { type, id } });
  const many = (type: string, ...ids: string[]) => ({ data: ids.map((id) => ({ type, id })) });
  const tagged = (pairs: Record<string, string>) => ({
    data: Object.entries(pairs).map(([key, value]) => ({ type: "tag-bindings", attributes: { key, value } })),
  });
  const of = (rest: string) => `/organizations/${organization}${rest}`;
  await make("/organizations", "organizations", {
    name: organization,
    email: "ops@acme.example",
    "session-timeout": 60,
  });
  const pool = await make(of("/agent-pools"), "agent-pools", { name: "builders" });
  await make(of("/agent-pools"), "agent-pools", { name: "everybody" });
  const key = await make(of("/ssh-keys"), "ssh-keys", { name: "modules", value: "a key" });
  await make(of("/reserved-tag-keys"), "reserved-tag-keys", { key: "cost" });
  const ops = await make(of("/teams"), "teams", {
    name: "ops",
    visibility: "organization",
    "organization-access": { "read-workspaces": true, "read-projects": true },
  });
  const silent = await make(of("/teams"), "teams", { name: "silent/ones" });
  const teams = { teams: many("teams", ops, silent) };
  await make(of("/organization-memberships"), "organization-memberships", { email: "grace@acme.example" }, teams);
  const network = await make(
    of("/projects"),
    "projects",
    { name: "Network", description: 'With "quotes", ${braces} and %{signs}', "auto-destroy-activity-duration": "14d" },
    { "tag-bindings": tagged({ cost: "shared" }) },
  );
  const local = await make(of("/projects"), "projects", { name: "1 local", "default-execution-mode": "local" });
  const record = (access: object, team: string, place: object) =>
    [access, { team: one("teams", team), ...place }] as const;
  await make(
    "/team-projects",
    "team-projects",
    ...record({ access: "maintain" }, silent, { project: one("projects", local) }),
  );
  const custom = {
    access: "custom",
    "project-access": { settings: "update" },
    "workspace-access": { runs: "apply", move: true },
  };
  await make("/team-projects", "team-projects", ...record(custom, ops, { project: one("projects", network) }));
  const backbone = await make(
    of("/workspaces"),
    "workspaces",
    {
      name: "backbone",
      description: "All of it",
      "auto-apply": true,
      "execution-mode": "agent",
      "agent-pool-id": pool,
      "terraform-version": "~> 1.5.0",
      "working-directory": "live",
      "trigger-prefixes": ["modules/"],
      "queue-all-runs": true,
      "speculative-enabled": false,
      "auto-destroy-activity-duration": "3d",
      "source-name": "a generator",
    },
    {
      project: one("projects", network),
      "tag-bindings": tagged({ env: "prod" }),
      tags: { data: [{ type: "tags", attributes: { name: "core" } }] },
    },
  );
  const shop = await make(of("/workspaces"), "workspaces", { name: "shop" }, { project: one("projects", local) });
  await make(of("/workspaces"), "workspaces", {
    name: "open",
    "global-remote-state": true,
    "execution-mode": "remote",
  });
  await change(`/workspaces/${backbone}/relationships/ssh-key`, "workspaces", { id: key });
  dataOf(await api(`/workspaces/${backbone}/relationships/remote-state-consumers`, many("workspaces", shop)));
  await make(`/workspaces/${shop}/run-triggers`, "run-triggers", {}, { sourceable: one("workspaces", backbone) });
  const policy = { type: "data-retention-policy-delete-olders", attributes: { "delete-older-than-n-days": 90 } };
  dataOf(await api(`/workspaces/${shop}/relationships/data-retention-policy`, { data: policy }));
  await make(
    "/team-workspaces",
    "team-workspaces",
    ...record({ access: "plan" }, ops, { workspace: one("workspaces", shop) }),
  );
  const chosen = { access: "custom", runs: "plan", "state-versions": "read-outputs", "workspace-locking": true };
  await make(
    "/team-workspaces",
    "team-workspaces",
    ...record(chosen, silent, { workspace: one("workspaces", backbone) }),
  );
  const variable = (attributes: object) => ({ category: "terraform", ...attributes });
  await make(
    `/workspaces/${shop}/vars`,
    "vars",
    variable({ key: "sizes", value: '["s"]', hcl: true, description: "Which" }),
  );
  await make(`/workspaces/${shop}/vars`, "vars", variable({ key: "text", value: "two\nlines and ${a.b}" }));
  await make(
    `/workspaces/${shop}/vars`,
    "vars",
    variable({ key: "SECRET", value: "s3cr3t", category: "env", sensitive: true }),
  );
  const set = await make(
    of("/varsets"),
    "varsets",
    { name: "Cloud accounts", description: "Who pays", priority: true },
    { workspaces: many("workspaces", backbone), projects: many("projects", local) },
  );
  await make(`/varsets/${set}/relationships/vars`, "vars", variable({ key: "account", value: "1" }));
  await make(`/varsets/${set}/relationships/vars`, "vars", variable({ key: "token", value: "x", sensitive: true }));
  await make(of("/varsets"), "varsets", { name: "Everywhere", global: true });
  await make(of("/varsets"), "varsets", { name: "Of one project" }, { parent: one("projects", network) });
  await change(
    `/agent-pools/${pool}`,
    "agent-pools",
    { "organization-scoped": false },
    { "allowed-projects": many("projects", network) },
  );
}

await script(main);
