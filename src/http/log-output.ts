/** Writes the log to standard output or a file, as JSON or as text for a terminal. */
import { openSync, writeSync } from "node:fs";
import type pino from "pino";

const batchLength = 64 * 1024;
const flushEveryMs = 200;

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
  process.once("exit", flushAll);
}

function toStandardOutput(): (text: string) => void {
  // A closed pipe must not end the process.
  if (process.stdout.listenerCount("error") === 0) process.stdout.on("error", () => {});
  return (text) => void process.stdout.write(text);
}

function toFile(path: string): (text: string) => void {
  const file = openSync(path, "a", 0o600);
  return (text) => void writeSync(file, text);
}

const levels: Readonly<Record<number, string>> = {
  10: "trace",
  20: "debug",
  30: "info",
  40: "warn",
  50: "error",
  60: "fatal",
};
const colours: Readonly<Record<number, string>> = { 40: "\u001b[33m", 50: "\u001b[31m", 60: "\u001b[31m" };
const plain = "\u001b[0m";

const omittedFields = new Set([
  "level",
  "time",
  "pid",
  "hostname",
  "msg",
  "err",
  "reqId",
  "remoteAddress",
  "actor",
  "token",
]);

interface LogRecord {
  readonly level?: number;
  readonly time?: number;
  readonly msg?: string;
  readonly err?: { readonly type?: string; readonly message?: string; readonly stack?: string };
  readonly [name: string]: unknown;
}

export function readableDestination(to: pino.DestinationStream, isColoured: boolean): pino.DestinationStream {
  return { write: (line) => to.write(`${readable(line, isColoured)}\n`) };
}

export function readable(line: string, isColoured = false): string {
  let record: LogRecord;
  try {
    record = JSON.parse(line) as LogRecord;
  } catch {
    return withoutControls(line.trimEnd());
  }
  const { level = 30, time = 0 } = record;
  const name = (levels[level] ?? String(level)).padEnd(5);
  const colour = isColoured ? colours[level] : undefined;
  const head = `${new Date(time).toTimeString().slice(0, 8)} ${colour === undefined ? name : `${colour}${name}${plain}`}`;
  return [`${head} ${withoutControls(messageOf(record))}`, ...errorLines(record)].join("\n");
}

function messageOf(record: LogRecord): string {
  if (record.msg === "request")
    return `${String(record["method"])} ${String(record["url"])} ${String(record["status"])}, ${String(record["ms"])} ms${record["cut"] === true ? ", cut off" : ""}`;
  const others = Object.entries(record)
    .filter(([name]) => !omittedFields.has(name))
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  return [record.msg ?? "", ...others].join("  ");
}

function errorLines({ msg, err }: LogRecord): string[] {
  if (err === undefined) return [];
  const { type = "Error", message = "", stack = "" } = err;
  const words = message === "" || message === msg ? type : `${type}: ${message}`;
  return [words, ...stack.split("\n")].filter((line) => line !== "").map((line) => `  ${withoutControls(line)}`);
}

/** Callers influence what is logged, and must not be able to control the terminal. */
// oxlint-disable-next-line no-control-regex
const withoutControls = (text: string): string => text.replace(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g, "�");
