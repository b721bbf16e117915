/** The real Terraform CLI: found or built, and run in a folder of its own with a clean environment. */
import { type ChildProcess, type ChildProcessWithoutNullStreams, execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify, stripVTControlCharacters } from "node:util";
import { hasGo } from "./client.ts";

const wantedVersion = "1.5.7";
const moduleName = "github.com/hashicorp/terraform";
/** Beside the other tools' caches: kept until `npm ci` removes it. */
const cache = fileURLToPath(new URL(`../node_modules/.cache/cadastre/terraform-${wantedVersion}/`, import.meta.url));
const commandMs = 120_000;

export interface Terraform {
  readonly binary: string;
  readonly version: string;
}

/** The binary that is named, or else one that Go builds, once. Undefined where there is neither. */
export async function findTerraform(
  named: string | undefined,
  say: (line: string) => void,
): Promise<Terraform | undefined> {
  // It is started in other folders than this one.
  const binary = named?.includes("/") ? resolve(named) : (named ?? (await builtTerraform(say)));
  if (binary === undefined) return undefined;
  const { stdout } = await promisify(execFile)(binary, ["version", "-json"], { env: { CHECKPOINT_DISABLE: "1" } });
  return { binary, version: (JSON.parse(stdout) as { terraform_version: string }).terraform_version };
}

async function builtTerraform(say: (line: string) => void): Promise<string | undefined> {
  const binary = `${cache}terraform`;
  if (existsSync(binary)) return binary;
  if (!hasGo()) return undefined;
  say(`Building Terraform ${wantedVersion} with Go, once. This takes some minutes.`);
  mkdirSync(cache, { recursive: true });
  const words = ["install", `${moduleName}@v${wantedVersion}`];
  await promisify(execFile)("go", words, { env: { ...process.env, GOBIN: cache }, maxBuffer: 64 * 1024 * 1024 });
  return binary;
}

export interface Ended {
  /** Null where a signal ended it. */
  readonly code: number | null;
  /** Standard output alone, for what other programs read. */
  readonly stdout: string;
  /** Standard output and standard error as they came, without colours, and each run of white space as one space. */
  readonly text: string;
}

export interface Running {
  readonly ended: Promise<Ended>;
  /** What it has written so far, as in `Ended`. */
  text(): string;
  /** To the CLI alone, as when somebody presses Ctrl+C; or to it and to all that it started. */
  signal(signal: NodeJS.Signals, to: "cli" | "all"): void;
}

export interface Invocation {
  readonly folder: string;
  readonly words: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Standard input as a whole. */
  readonly input?: string | undefined;
  /** What is typed, one line for each time that the CLI asks. */
  readonly answers?: readonly string[] | undefined;
}

/** Its messages are boxed and wrapped to the terminal's width; what they say is not. */
const plain = (text: string) =>
  stripVTControlCharacters(text)
    .replaceAll(/[│╷╵]/g, " ")
    .replaceAll(/\s+/g, " ");

export function startTerraform({ binary }: Terraform, { folder, words, env, input, answers }: Invocation): Running {
  const child = spawn(binary, words, { cwd: folder, env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  const signal = (name: NodeJS.Signals, to: "cli" | "all") => sendSignal(child, name, to);
  const kill = () => signal("SIGKILL", "all");
  process.once("exit", kill);
  const timer = setTimeout(kill, commandMs);
  let text = "";
  let stdout = "";
  child.stdout.on("data", (bytes: Buffer) => (stdout += bytes.toString()));
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes: Buffer) => (text += bytes.toString()));
  // A CLI that asks for less than it is told closes its input early.
  child.stdin.on("error", () => {});
  if (answers === undefined) child.stdin.end(input ?? "");
  else answerIn(child, answers);
  const ended = new Promise<Ended>((resolve, reject) => {
    const tidy = () => {
      clearTimeout(timer);
      process.removeListener("exit", kill);
    };
    child.once("error", (error) => {
      tidy();
      reject(error);
    });
    child.once("close", (code) => {
      tidy();
      resolve({ code, stdout, text: plain(text) });
    });
  });
  return { ended, text: () => plain(text), signal };
}

/** The CLI throws away what is typed before it asks. */
function answerIn({ stdin, stdout }: ChildProcessWithoutNullStreams, answers: readonly string[]): void {
  let asked = "";
  let answered = 0;
  stdout.on("data", (bytes: Buffer) => {
    asked += bytes.toString();
    for (const questions = asked.split("Enter a value:").length - 1; answered < questions; answered += 1) {
      if (answered < answers.length) stdin.write(`${answers[answered]}\n`);
      else stdin.end();
    }
  });
}

function sendSignal({ pid }: ChildProcess, signal: NodeJS.Signals, to: "cli" | "all"): void {
  if (pid === undefined) return;
  try {
    process.kill(to === "all" ? -pid : pid, signal);
  } catch {
    // It has ended by itself.
  }
}
