/** One command of the CLI, and what somebody at the keyboard would see and type. */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { type Child, startChild } from "./child.ts";
import type { Cli } from "./cli-build.ts";
import { scaled } from "../test/support/waiting.ts";

const commandMs = 120_000;

export interface Ended {
  /** Null where a signal ended it. */
  readonly code: number | null;
  /** Standard output alone, for what other programs read. */
  readonly stdout: string;
  /** Standard output and standard error as they came, without colours, and each run of white space as one space. */
  readonly text: string;
}

export interface Running extends Pick<Child, "signal"> {
  readonly ended: Promise<Ended>;
  /** What it has written so far, as in `Ended`. */
  text(): string;
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

export function startCli({ binary }: Cli, { folder, words, env, input, answers }: Invocation): Running {
  const child = startChild({ binary, words, folder, env, limitMs: scaled(commandMs) });
  const { stdin, stdout } = child.process;
  let printed = "";
  stdout.on("data", (bytes: Buffer) => (printed += bytes.toString()));
  // A CLI that asks for less than it is told closes its input early.
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
