/** Runs a program in its own process group, which is killed with this process or after a timeout. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

export interface Program {
  readonly binary: string;
  readonly words: readonly string[];
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly limitMs: number;
}

export interface Child {
  readonly process: ChildProcessWithoutNullStreams;
  /** Standard output and error so far, in order. */
  text(): string;
  /** The exit code; null if it was killed by a signal. */
  readonly ended: Promise<number | null>;
  /** Signals only the program, or its whole group. */
  signal(signal: NodeJS.Signals, to: "program" | "all"): void;
}

export function startChild({ binary, words, folder, env, limitMs }: Program): Child {
  const child = spawn(binary, words, { cwd: folder, env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  const signal: Child["signal"] = (name, to) => {
    if (child.pid === undefined) return;
    try {
      process.kill(to === "all" ? -child.pid : child.pid, name);
    } catch {
      // It has already exited.
    }
  };
  const kill = () => signal("SIGKILL", "all");
  process.once("exit", kill);
  const timer = setTimeout(kill, limitMs);
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes: Buffer) => (text += bytes.toString()));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  }).finally(() => {
    clearTimeout(timer);
    process.removeListener("exit", kill);
  });
  return { process: child, text: () => text, ended, signal };
}
