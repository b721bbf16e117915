/** The measured servers, each in a process that reports its resource usage. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { NextRequest, Target } from "./client.ts";

export interface Usage {
  /** CPU time in microseconds, of all its threads. */
  readonly cpu: number;
  readonly memoryMb: number;
  readonly statements?: number;
  readonly commits?: number;
}

export interface Child {
  readonly process: ChildProcess;
  readonly target: Target;
}

/** For both servers, such as `--cpu-prof`. */
const flags = (process.env["BENCH_FLAGS"] ?? "").split(" ").filter((flag) => flag !== "");

export async function startChild(file: string, ...args: string[]): Promise<Child> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    execArgv: ["--disable-warning=ExperimentalWarning", ...flags],
  });
  const gone = once(child, "exit").then(() => Promise.reject(new Error(`${file} ended before it listened`)));
  const [port] = (await Promise.race([once(child, "message"), gone])) as [number];
  gone.catch(() => {});
  return { process: child, target: { host: "127.0.0.1", port } };
}

export async function usageOf(child: Child): Promise<Usage> {
  const answered = once(child.process, "message");
  child.process.send({ ask: "usage" });
  return ((await answered) as [Usage])[0];
}

/** In a child: answers the parent's messages. */
export function reportUsage(more: () => object = () => ({})): void {
  // A clean exit, so that profiles are written.
  process.once("SIGTERM", () => process.exit(0));
  process.on("message", (message: { ask?: string }) => {
    if (message.ask !== "usage") return;
    const { user, system } = process.cpuUsage();
    const memoryMb = process.memoryUsage.rss() / 2 ** 20;
    process.send?.({ cpu: user + system, memoryMb, ...more() });
  });
}

/** Configures the bare server with the real response, so that both send the same bytes. */
export async function copyResponse(service: Child, bare: Child, next: NextRequest): Promise<void> {
  const [head = "", ...body] = next().toString().split("\r\n\r\n");
  const [first = "", ...lines] = head.split("\r\n");
  const [method = "GET", path = "/"] = first.split(" ");
  const headers = Object.fromEntries(
    lines
      .map((line) => line.split(": ") as [string, string])
      .filter(([name]) => name !== "Content-Length" && name !== "Host"),
  );
  const response = await fetch(`http://127.0.0.1:${service.target.port}${path}`, {
    method,
    headers,
    ...(method !== "GET" && { body: body.join("") }),
  });
  bare.process.send({ status: response.status, body: await response.text() });
  await once(bare.process, "message");
}
