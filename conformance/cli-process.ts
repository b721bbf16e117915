/** Runs one command of the CLI, with its input and output. */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { type Child, startChild } from "./child.ts";
import type { Cli } from "./cli-build.ts";
import { scaled } from "../test/support/waiting.ts";

const commandMs = 120_000;

export interface Ended {
  /** Null if it was killed by a signal. */
  readonly code: number | null;
  /** Standard output only. */
  readonly stdout: string;
  /** Standard output and error in order, without colors and with collapsed white space. */
  readonly text: string;
}

export interface Running extends Pick<Child, "signal"> {
  readonly ended: Promise<Ended>;
  /** The output so far. */
  text(): string;
}

export interface Invocation {
  readonly folder: string;
  readonly words: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The complete standard input. */
  readonly input?: string | undefined;
  /** Answers to the CLI's prompts, one line each. */
  readonly answers?: readonly string[] | undefined;
}

/** Removes the box around messages and the line wrapping. */
const plain = (text: string) =>
  stripVTControlCharacters(text)
    .replaceAll(/[│╷╵]/g, " ")
    .replaceAll(/\s+/g, " ");

export function startCli({ binary }: Cli, { folder, words, env, input, answers }: Invocation): Running {
  const child = startChild({ binary, words, folder, env, limitMs: scaled(commandMs) });
  const { stdin, stdout } = child.process;
  let printed = "";
  stdout.on("data", (bytes: Buffer) => (printed += bytes.toString()));
  // The CLI can close its input early.
  stdin.on("error", () => {});
  if (answers === undefined) stdin.end(input ?? "");
  else answerIn(child.process, answers);
  const text = () => plain(child.text());
  return {
    ended: child.ended.then((code) => ({ code, stdout: printed, text: text() })),
    text,
    signal: child.signal,
  };
}

/** The CLI discards input before a prompt. */
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
