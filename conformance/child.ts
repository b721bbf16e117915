/** A program that is run: in a process group of its own, which ends with this process, and when its time is over. */
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
  /** What it has written so far, to standard output and standard error, as it came. */
  text(): string;
  /** Its exit code; null where a signal ended it. */
  readonly ended: Promise<number | null>;
  /** To the program alone, as when somebody presses Ctrl+C; or to it and to all that it started. */
  signal(signal: NodeJS.Signals, to: "program" | "all"): void;
}

export function startChild({ binary, words, folder, env, limitMs }: Program): Child {
  const child = spawn(binary, words, { cwd: folder, env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  const signal: Child["signal"] = (name, to) => {
    if (child.pid === undefined) return;
    try {
      process.kill(to === "all" ? -child.pid : child.pid, name);
    } catch {
      // It has ended by itself.
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
