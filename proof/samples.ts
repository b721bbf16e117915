/** Samples a server's memory and latency over a long time, with a bare server on the same machine as the reference. */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { startChild } from "../bench/children.ts";
import { familyOf } from "../deploy/cluster/parts.ts";
import { exchange } from "./client.ts";
import type { Event, History } from "./history.ts";
import type { Service } from "./service.ts";

export interface Sample {
  /** Median, of the server and its children. */
  readonly memoryMb: number;
  readonly requests: number;
  readonly medianMs: number;
  readonly highMs: number;
  /** Median latency of the bare server. */
  readonly bareMs: number;
}

export const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;

const samplesCount = 12;
const readingsPerSample = 30;

export async function sampleService(
  { part }: Service,
  { events }: History,
  minutes: number,
  report: (sample: Sample, count: number) => void,
): Promise<Sample[]> {
  const bare = await startChild("bare.ts");
  const samples: Sample[] = [];
  let seen = 0;
  try {
    for (let count = 1; count <= samplesCount; count += 1) {
      const [memory, answers]: [number[], number[]] = [[], []];
      for (let sample = 0; sample < readingsPerSample; sample += 1) {
        await sleep((minutes * 60_000) / samplesCount / readingsPerSample);
        memory.push(memoryOf(part.pid));
        const answeredMs = await bareAnswer(bare.target.port);
        if (answeredMs !== undefined) answers.push(answeredMs);
      }
      const own = events.slice(seen);
      seen = events.length;
      const current = {
        memoryMb: median(memory),
        requests: own.length,
        ...latenciesOf(own),
        bareMs: median(answers),
      };
      samples.push(current);
      report(current, count);
    }
  } finally {
    bare.process.kill();
  }
  return samples;
}

/** Uses a new connection, because an idle one could have been closed. Undefined on failure. */
async function bareAnswer(port: number): Promise<number | undefined> {
  const from = performance.now();
  try {
    await exchange(`http://127.0.0.1:${port}/`, "GET", { connection: "close" });
    return performance.now() - from;
  } catch {
    return undefined;
  }
}

/** Without claims, which wait on purpose. */
function latenciesOf(events: readonly Event[]): Pick<Sample, "medianMs" | "highMs"> {
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

/** The second quarter and the last; the first is the warm-up. */
export function quartersOf<K extends keyof Sample>(samples: readonly Sample[], what: K): readonly [number, number] {
  const quarter = samples.length >> 2;
  const of = (part: readonly Sample[]) => median(part.map((one) => one[what]));
  return [of(samples.slice(quarter, 2 * quarter)), of(samples.slice(-quarter))];
}

const growthMax = { memoryMb: 1.15, medianMs: 1.5 } as const;

/** Latency is corrected by that of the bare server, in case the machine became slower. */
export function growthIn(engine: string, samples: readonly Sample[]): string[] {
  const [bareEarly, bareLate] = quartersOf(samples, "bareMs");
  const slower = bareEarly > 0 ? Math.max(1, bareLate / bareEarly) : 1;
  return (["memoryMb", "medianMs"] as const).flatMap((what) => {
    const [early, late] = quartersOf(samples, what);
    const allowed = early * growthMax[what] * (what === "medianMs" ? slower : 1);
    return late > allowed ? [`${engine}: ${what} grew from ${early.toFixed(1)} to ${late.toFixed(1)}`] : [];
  });
}
