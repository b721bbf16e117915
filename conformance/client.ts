/** The official Go client's own tests, built from the module cache and run one by one: a panic or a hang costs one test. */
import { execFile, execFileSync, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Edition, type Server, without } from "./server.ts";
import { readVerbose, type TestOutput } from "./verbose.ts";

export const clientModule = "github.com/hashicorp/go-tfe";

const folder = fileURLToPath(new URL(".", import.meta.url));
const testSeconds = 240;
/** Past its own timeout a test's process gets this long to say where it hung. */
const graceMs = 5_000;

export interface Client {
  readonly version: string;
  /** The names of all its tests, in their order. */
  readonly tests: readonly string[];
  /** Runs one test with its subtests, without those named (`TestA/b`), against the server. */
  run(test: string, skipped: readonly string[], server: Server, edition: Edition): Promise<TestOutput>;
}

export function hasGo(): boolean {
  try {
    execFileSync("go", ["version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Builds the tests into the file named; the module and what its tests need come from the module proxy. */
export async function buildClient(binary: string): Promise<Client> {
  await go(["test", "-c", "-o", binary, clientModule]);
  const [home = "", version = ""] = (await go(["list", "-m", "-f", "{{.Dir}}\n{{.Version}}", clientModule])).split(
    "\n",
  );
  const { stdout } = await promisify(execFile)(binary, ["-test.list", "."], { cwd: home });
  return {
    version,
    tests: stdout.split("\n").filter((line) => line.startsWith("Test")),
    run: (test, skipped, server, edition) =>
      runTest({ binary, home, test, skipped, env: environment(server, edition) }),
  };
}

async function go(words: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)("go", words, { cwd: folder });
  return stdout;
}

/**
 * The client has two modes, and the service two editions for the same reason: what HCP Terraform has and Terraform Enterprise
 * has not, and the other way round. The tests that need nothing but a name of a repository get one; none of them asks GitHub.
 */
function environment(server: Server, edition: Edition): NodeJS.ProcessEnv {
  return {
    ...without(process.env, /^(TFE|TFC|ENABLE|HYOK|GITHUB|OAUTH|CADASTRE)_/),
    TFE_ADDRESS: server.url,
    TFE_TOKEN: server.token,
    TFE_ADMIN_PROVISION_LICENSES_TOKEN: server.token,
    ENABLE_BETA: "1",
    ...(edition === "self-hosted" ? { ENABLE_TFE: "1" } : {}),
    OAUTH_CLIENT_GITHUB_TOKEN: "not-a-token",
    GITHUB_POLICY_SET_IDENTIFIER: "organization/repository",
    GITHUB_APP_INSTALLATION_ID: "ghain-conformance0",
  };
}

interface Invocation {
  readonly binary: string;
  readonly home: string;
  readonly test: string;
  readonly skipped: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

function runTest({ binary, home, test, skipped, env }: Invocation): Promise<TestOutput> {
  const words = [
    "-test.v=test2json",
    `-test.timeout=${testSeconds}s`,
    "-test.parallel=2",
    `-test.run=${exactly(test)}`,
  ];
  if (skipped.length > 0) words.push(`-test.skip=${skipped.map(exactly).join("|")}`);
  return new Promise((resolve, reject) => {
    const child = spawn(binary, words, { cwd: home, env, stdio: ["ignore", "pipe", "pipe"] });
    const kill = () => child.kill("SIGKILL");
    process.once("exit", kill);
    const timer = setTimeout(kill, testSeconds * 1000 + graceMs);
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes: Buffer) => (text += bytes.toString()));
    child.once("error", reject);
    child.once("close", () => {
      clearTimeout(timer);
      process.removeListener("exit", kill);
      resolve(readVerbose(text));
    });
  });
}

/** `TestA/b (c)` → `^TestA$/^b \(c\)$`, the pattern that matches nothing else. */
function exactly(test: string): string {
  return test
    .split("/")
    .map((part) => `^${part.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)}$`)
    .join("/");
}
