/** How a server does over a long time: its memory, how soon it answers, and how soon a bare server does on the same machine meanwhile. */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { startChild } from "../bench/children.ts";
import { familyOf } from "../deploy/cluster/parts.ts";
import { exchange } from "./client.ts";
import type { Event, History } from "./history.ts";
import type { Service } from "./service.ts";

/** What was seen of one stretch of time. */
export interface Look {
  /** Of the server and what it has started, in the middle of several times. */
  readonly memoryMb: number;
  readonly requests: number;
  readonly medianMs: number;
  readonly highMs: number;
  /** Half of the bare server's answers came within this time: what the machine does by itself. */
  readonly bareMs: number;
}

export const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;

/** Five minutes each in an hour; as many whatever the length. */
const looksCount = 12;
const samplesPerLook = 30;

export async function lookOn(
  { part }: Service,
  { events }: History,
  minutes: number,
  tell: (look: Look, count: number) => void,
): Promise<Look[]> {
  const bare = await startChild("bare.ts");
  const looks: Look[] = [];
  let seen = 0;
  try {
    for (let count = 1; count <= looksCount; count += 1) {
      const [memory, answers]: [number[], number[]] = [[], []];
      for (let sample = 0; sample < samplesPerLook; sample += 1) {
        await sleep((minutes * 60_000) / looksCount / samplesPerLook);
        memory.push(memoryOf(part.pid));
        const answeredMs = await bareAnswer(bare.target.port);
        if (answeredMs !== undefined) answers.push(answeredMs);
      }
      const own = events.slice(seen);
      seen = events.length;
      const look = {
        memoryMb: median(memory),
        requests: own.length,
        ...latenciesOf(own),
        bareMs: median(answers),
      };
      looks.push(look);
      tell(look, count);
    }
  } finally {
    bare.process.kill();
  }
  return looks;
}

/** By a connection of its own: one that is kept for so long may be closed by the time it is used. Undefined where the machine does not get to it. */
async function bareAnswer(port: number): Promise<number | undefined> {
  const from = performance.now();
  try {
    await exchange(`http://127.0.0.1:${port}/`, "GET", { connection: "close" });
    return performance.now() - from;
  } catch {
    return undefined;
  }
}

/** Without what waits to be claimed, which waits on purpose. */
function latenciesOf(events: readonly Event[]): Pick<Look, "medianMs" | "highMs"> {
  const sorted = events
    .filter(({ kind, outcome }) => kind !== "claim" && outcome !== "unknown")
    .map(({ calledMs, answeredMs }) => answeredMs - calledMs)
    .sort((one, other) => one - other);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { medianMs: at(0.5), highMs: at(0.99) };
}

function memoryOf(pid: number): number {
  return familyOf(pid).reduce((sum, each) => {
    try {
      return sum + Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${each}/status`, "utf8"))?.[1] ?? 0) / 1024;
    } catch {
      return sum;
    }
  }, 0);
}

/** The second quarter and the last: the first is for whatever is made once. */
export function quartersOf<K extends keyof Look>(looks: readonly Look[], what: K): readonly [number, number] {
  const quarter = looks.length >> 2;
  const of = (part: readonly Look[]) => median(part.map((one) => one[what]));
  return [of(looks.slice(quarter, 2 * quarter)), of(looks.slice(-quarter))];
}

/** Beyond what a busy machine does by itself. */
const growthMax = { memoryMb: 1.15, medianMs: 1.5 } as const;

/** A machine that has become slower slows the bare server too, and that much is forgiven. */
export function growthIn(engine: string, looks: readonly Look[]): string[] {
  const [bareEarly, bareLate] = quartersOf(looks, "bareMs");
  const slower = bareEarly > 0 ? Math.max(1, bareLate / bareEarly) : 1;
  return (["memoryMb", "medianMs"] as const).flatMap((what) => {
    const [early, late] = quartersOf(looks, what);
    const allowed = early * growthMax[what] * (what === "medianMs" ? slower : 1);
    return late > allowed ? [`${engine}: ${what} grew from ${early.toFixed(1)} to ${late.toFixed(1)}`] : [];
  });
}
