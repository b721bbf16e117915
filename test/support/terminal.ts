/** A shell that runs blocks of the documents in order, as a reader would. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";

export class PastingTerminal {
  readonly #shell: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<unknown>;
  #output = "";
  #moreOutput = Promise.withResolvers<boolean>();
  #pastes = 0;

  constructor(directory: string, environment: Readonly<Record<string, string>>) {
    // A separate process group, so that everything that it started ends with it.
    this.#shell = spawn("sh", [], { cwd: directory, env: environment, detached: true });
    this.#ended = once(this.#shell, "close");
    for (const stream of [this.#shell.stdout, this.#shell.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.#output += text;
        this.#moreOutput.resolve(true);
        this.#moreOutput = Promise.withResolvers();
      });
    process.once("exit", this.#kill);
    this.#shell.stdin.on("error", () => {});
    // A reader stops at a failure.
    this.#shell.stdin.write("set -e\n");
  }

  /** Throws Error with the output if a command fails. */
  async paste(block: string): Promise<string> {
    const mark = `pasted ${(this.#pastes += 1)}`;
    const from = this.#output.length;
    this.#shell.stdin.write(`${block}\necho "${mark} with $?"\n`);
    const found = await this.#until(new RegExp(`${mark} with (\\d+)\\n`), from);
    if (found?.[1] !== "0") throw new Error(`This failed:\n${block}\n${this.#output.slice(from)}`);
    return this.#output.slice(from, found.index + from);
  }

  /** For a block that ends with a running program: returns the output until `pattern`. */
  async start(block: string, pattern: RegExp): Promise<string> {
    const from = this.#output.length;
    this.#shell.stdin.write(`${block}\n`);
    if ((await this.#until(pattern, from)) === undefined)
      throw new Error(`This ended instead of going on:\n${block}\n${this.#output.slice(from)}`);
    return this.#output.slice(from);
  }

  async close(): Promise<void> {
    if (this.#shell.exitCode === null && this.#shell.signalCode === null) {
      this.#shell.stdin.end();
      process.kill(-(this.#shell.pid ?? 0), "SIGTERM");
    }
    await this.#ended;
    process.off("exit", this.#kill);
  }

  readonly #kill = (): void => {
    try {
      process.kill(-(this.#shell.pid ?? 0), "SIGKILL");
    } catch {
      // It has already exited.
    }
  };

  /** Undefined if the shell exits first. */
  async #until(pattern: RegExp, from: number): Promise<RegExpExecArray | undefined> {
    for (;;) {
      const found = pattern.exec(this.#output.slice(from));
      if (found !== null) return found;
      const hasMore = await Promise.race([this.#moreOutput.promise, this.#ended.then(() => false)]);
      if (!hasMore) return pattern.exec(this.#output.slice(from)) ?? undefined;
    }
  }
}
