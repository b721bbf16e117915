/**
 * Writes the small backup of a release that is kept in the repository, so that every later version is tested against it: starts the server
 * of a checkout, creates some of everything over HTTP, and runs `cadastre backup`.
 *
 *   node packaging/fixture.ts test/fixtures/backups/0.3.0.backup               of this checkout
 *   node packaging/fixture.ts FILE --checkout FOLDER                           of an older checkout, with its own node_modules
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { root } from "./paths.ts";

/** The same for every fixture; it isn't secret. */
export const fixtureKey = "c0ffee00".repeat(8);
export const fixtureToken = "fixture-admin-token-0123456789";
/** What a fixture contains, for the tests. */
export const fixtureContents = {
  organization: "acme",
  workspace: "network",
  sensitive: { key: "password", value: "correct horse battery staple" },
  plain: { key: "region", value: "eu-west-1" },
  output: { name: "address", value: "10.0.0.1" },
} as const;

interface Document {
  readonly data?: { readonly id: string; readonly attributes: Readonly<Record<string, unknown>> };
}

type FixtureCall = (method: string, path: string, body?: object) => Promise<Document | undefined>;

/** Undefined for a route that an older version doesn't have. Throws for any other error. */
const callerOn =
  (url: string): FixtureCall =>
  async (method, path, body) => {
    const response = await fetch(`${url}/api/v2${path}`, {
      method,
      headers: { authorization: `Bearer ${fixtureToken}`, "content-type": "application/vnd.api+json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.status === 404) return undefined;
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? {} : (JSON.parse(text) as Document);
  };

const resource = (type: string, attributes: object, relationships: object = {}) => ({
  data: { type, attributes, relationships },
});

const related = (type: string, id: string) => ({ data: { type, id } });

async function fill(call: FixtureCall): Promise<void> {
  const { organization: name } = fixtureContents;
  await call("POST", "/organizations", resource("organizations", { name, email: "ops@acme.example" }));
  const project = await call("POST", `/organizations/${name}/projects`, resource("projects", { name: "Platform" }));
  const workspace = await call(
    "POST",
    `/organizations/${name}/workspaces`,
    resource(
      "workspaces",
      { name: fixtureContents.workspace },
      { "tag-bindings": { data: [{ type: "tag-bindings", attributes: { key: "stage", value: "prod" } }] } },
    ),
  );
  const team = await call("POST", `/organizations/${name}/teams`, resource("teams", { name: "operators" }));
  if (project?.data === undefined || workspace?.data === undefined || team?.data === undefined)
    throw new Error("the service has no organizations, projects, workspaces or teams");
  const workspacePath = `/workspaces/${workspace.data.id}`;
  await addVariables(call, workspacePath, name);
  await call(
    "POST",
    "/team-workspaces",
    resource(
      "team-workspaces",
      { access: "write" },
      {
        team: related("teams", team.data.id),
        workspace: related("workspaces", workspace.data.id),
      },
    ),
  );
  await call(
    "POST",
    `/organizations/${name}/organization-memberships`,
    resource(
      "organization-memberships",
      { email: "new@acme.example" },
      {
        teams: { data: [{ type: "teams", id: team.data.id }] },
      },
    ),
  );
  await call("POST", `/organizations/${name}/ssh-keys`, resource("ssh-keys", { name: "deploy", value: "a key" }));
  await addState(call, workspacePath);
  await addNotification(call, workspacePath);
  await addRun(call, name);
}

async function addVariables(call: FixtureCall, workspacePath: string, name: string): Promise<void> {
  const { sensitive, plain } = fixtureContents;
  for (const { isSensitive, ...variable } of [
    { ...plain, isSensitive: false },
    { ...sensitive, isSensitive: true },
  ])
    await call(
      "POST",
      `${workspacePath}/vars`,
      resource("vars", { ...variable, category: "terraform", sensitive: isSensitive }),
    );
  const set = await call(
    "POST",
    `/organizations/${name}/varsets`,
    resource("varsets", { name: "Everywhere", global: true }),
  );
  if (set?.data !== undefined)
    await call(
      "POST",
      `/varsets/${set.data.id}/relationships/vars`,
      resource("vars", { key: "TOKEN", value: "abc123", category: "env", sensitive: true }),
    );
}

async function addState(call: FixtureCall, workspacePath: string): Promise<void> {
  const { name, value } = fixtureContents.output;
  const state = JSON.stringify({
    version: 4,
    terraform_version: "1.5.7",
    serial: 1,
    lineage: "11111111-2222-3333-4444-555555555555",
    outputs: { [name]: { value, type: "string", sensitive: true } },
    resources: [],
  });
  await call("POST", `${workspacePath}/actions/lock`, { reason: "a first state" });
  await call(
    "POST",
    `${workspacePath}/state-versions`,
    resource("state-versions", {
      serial: 1,
      md5: createHash("md5").update(state).digest("hex"),
      lineage: "11111111-2222-3333-4444-555555555555",
      state: Buffer.from(state).toString("base64"),
    }),
  );
  await call("POST", `${workspacePath}/actions/unlock`);
}

async function addNotification(call: FixtureCall, workspacePath: string): Promise<void> {
  const user = await call("GET", "/account/details");
  await call(
    "POST",
    `${workspacePath}/notification-configurations`,
    resource(
      "notification-configurations",
      { name: "Operators", "destination-type": "email", enabled: true, triggers: ["run:errored"] },
      { users: { data: [{ type: "users", id: user?.data?.id }] } },
    ),
  );
}

/** A run that waits for an agent forever. */
async function addRun(call: FixtureCall, organization: string): Promise<void> {
  const workspace = await call(
    "POST",
    `/organizations/${organization}/workspaces`,
    resource("workspaces", { name: "remote", "execution-mode": "remote" }),
  );
  if (workspace?.data === undefined) return;
  const configuration = await call(
    "POST",
    `/workspaces/${workspace.data.id}/configuration-versions`,
    resource("configuration-versions", { "auto-queue-runs": false }),
  );
  if (configuration?.data === undefined) return;
  await fetch(String(configuration.data.attributes["upload-url"]), { method: "PUT", body: emptyConfiguration() });
  await call(
    "POST",
    "/runs",
    resource(
      "runs",
      { message: "A first run" },
      {
        workspace: related("workspaces", workspace.data.id),
        "configuration-version": related("configuration-versions", configuration.data.id),
      },
    ),
  );
}

/** A gzip tar archive with one small file. */
function emptyConfiguration(): Uint8Array<ArrayBuffer> {
  const content = Buffer.from('output "hello" {\n  value = "world"\n}\n');
  const header = Buffer.alloc(512);
  header.write("main.tf", 0);
  header.write("0000644\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write("        ", 148);
  header.write("0", 156);
  header.write("ustar\u000000", 257, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const padding = Buffer.alloc(512 - (content.length % 512) + 1024);
  return new Uint8Array(gzipSync(Buffer.concat([header, content, padding])));
}

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise((done) => child.once("exit", done));
  if (child.exitCode !== null) return;
  child.kill("SIGTERM");
  await ended;
}

/** Throws if the server doesn't start. */
export async function writeFixture(file: string, checkout = root): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "cadastre-fixture-"));
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const url = `http://127.0.0.1:${port}`;
  const program = join(checkout, "bin", "cadastre.js");
  const env = {
    PATH: process.env["PATH"] ?? "",
    CADASTRE_DATABASE: `sqlite:${join(folder, "cadastre.db")}`,
    CADASTRE_ENCRYPTION_KEY: fixtureKey,
  };
  const child = spawn(process.execPath, [program, "serve"], {
    cwd: checkout,
    env: {
      ...env,
      CADASTRE_ADMIN_TOKEN: fixtureToken,
      CADASTRE_LISTEN: `127.0.0.1:${port}`,
      CADASTRE_LOG_LEVEL: "error",
      CADASTRE_CONSOLE: "off",
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  try {
    while (!(await isReady(url))) {
      if (child.exitCode !== null) throw new Error(`the service of ${checkout} did not start`);
      await sleep(100);
    }
    await fill(callerOn(url));
    await stop(child);
    execFileSync(process.execPath, [program, "backup", resolve(file)], { cwd: checkout, env, stdio: "inherit" });
  } finally {
    await stop(child);
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { checkout: { type: "string" } } });
  const [file] = positionals;
  if (file === undefined) throw new Error("Usage: node packaging/fixture.ts FILE [--checkout FOLDER]");
  await writeFixture(file, values.checkout === undefined ? root : resolve(values.checkout));
}
