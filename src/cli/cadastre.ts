/** The command line's entry: the process's arguments, environment and streams → `run`. */
import { run } from "./run.ts";

// A reader that has seen enough (`| head`) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

// The launcher, where it has to stay between, may be killed without passing that on, and so may the server whose worker this is:
// then this process must not stay behind.
if (process.channel !== undefined) {
  process.once("disconnect", () => process.exit(1));
  process.channel?.unref();
}

process.exitCode = await run(process.argv.slice(2), process.env, {
  out: (line) => void process.stdout.write(`${line}\n`),
  note: (line) => void process.stderr.write(`${line}\n`),
  isTerminal: process.stdout.isTTY,
});
