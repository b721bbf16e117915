/** Entry point of the command line. */
import { run } from "./run.ts";

// `cadastre … | head` closes the pipe early; that is not a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

// The parent (the launcher, or a worker's server) can be killed without forwarding a signal.
if (process.channel !== undefined) {
  process.once("disconnect", () => process.exit(1));
  process.channel?.unref();
}

process.exitCode = await run(process.argv.slice(2), process.env, {
  out: (line) => void process.stdout.write(`${line}\n`),
  note: (line) => void process.stderr.write(`${line}\n`),
  isTerminal: process.stdout.isTTY,
});
