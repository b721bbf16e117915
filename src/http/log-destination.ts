/** Where the log goes: lines are written in batches, off the requests' path, and the rest when the process ends, however it ends. */
import { openSync, writeSync } from "node:fs";
import type pino from "pino";

const batchLength = 64 * 1024;
const flushEveryMs = 200;

/** To a file, or to the standard output. */
export function batchedDestination(file?: string): pino.DestinationStream {
  const put = file === undefined ? toStandardOutput() : toFile(file);
  let lines = "";
  const flush = () => {
    if (lines === "") return;
    const text = lines;
    lines = "";
    put(text);
  };
  flushRegularly(flush);
  return {
    write: (line) => {
      lines += line;
      if (lines.length >= batchLength) flush();
    },
  };
}

const flushes: (() => void)[] = [];

function flushRegularly(flush: () => void): void {
  if (flushes.push(flush) > 1) return;
  const flushAll = () => flushes.forEach((each) => each());
  setInterval(flushAll, flushEveryMs).unref();
  // It comes after an uncaught error too.
  process.once("exit", flushAll);
}

function toStandardOutput(): (text: string) => void {
  // Whoever read it has gone: that is no reason to go too.
  if (process.stdout.listenerCount("error") === 0) process.stdout.on("error", () => {});
  return (text) => void process.stdout.write(text);
}

function toFile(path: string): (text: string) => void {
  const file = openSync(path, "a", 0o600);
  return (text) => void writeSync(file, text);
}
