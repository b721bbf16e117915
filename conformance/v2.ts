/** Tests the basic calls of the generated client with a small program (`v2/main.go`). */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { go } from "./go.ts";
import { say } from "./script.ts";
import type { Server } from "./server.ts";

export const generatedClient = "github.com/hashicorp/go-tfe/v2";
/** The directory whose go.mod has the version. */
const home = fileURLToPath(new URL("./v2/", import.meta.url));

/** The downloaded module: its directory and version. */
export async function fetchGeneratedClient(): Promise<{ folder: string; version: string }> {
  await go(["mod", "download", generatedClient], home);
  const listed = await go(["list", "-m", "-f", "{{.Dir}}\n{{.Version}}", generatedClient], home);
  const [folder = "", version = ""] = listed.split("\n");
  return { folder, version };
}

/** Builds the program and returns its path. */
export async function buildBasicCalls(folder: string): Promise<string> {
  const binary = join(folder, "basic-calls");
  await go(["build", "-o", binary, "."], home);
  return binary;
}

/** Returns whether every call succeeded. */
export async function tryBasicCalls(binary: string, { url, token }: Server): Promise<boolean> {
  const env = { ...process.env, TFE_ADDRESS: url, TFE_TOKEN: token };
  const failure = await promisify(execFile)(binary, { env }).then(
    () => undefined,
    (error: { stdout?: string; message: string }) => error.stdout?.trim() || error.message,
  );
  say(failure === undefined ? `✓ the basic calls of ${generatedClient}` : `✗ ${generatedClient}: ${failure}`);
  return failure === undefined;
}
