/**
 * Sends random requests, generated from the server's own OpenAPI document, to a real server on both databases: none may cause a server error
 * or hang, and nothing may leak.
 *
 *   npm run fuzz                                        100,000 requests on each database, with a new seed
 *   npm run fuzz -- --engine sqlite --requests 2000     one database, fewer
 *   npm run fuzz -- --minutes 10                        stops after that time, whatever the number
 *   npm run fuzz -- --seed 17                           the same drafts again; ids are new, so responses may differ
 *   npm run fuzz -- --quick                             what CI runs
 *   npm run fuzz -- --write                             also updates docs/reference/reliability-results.md
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { inconsistenciesIn, openTransactions, type ProcessUsage, usageOf, leaksIn } from "./aftermath.ts";
import { sendRequests, type Outcome } from "./load.ts";
import { writeBetween } from "../proof/report.ts";
import { closeConnections } from "./sending.ts";
import { type FuzzedSite, openSite } from "./site.ts";

const { values: flags } = parseArgs({
  options: {
    engine: { type: "string", default: "all" },
    requests: { type: "string" },
    seed: { type: "string" },
    minutes: { type: "string" },
    "at-once": { type: "string", default: "8" },
    quick: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});
const requests = Number(flags.requests ?? (flags.quick ? 1_500 : 100_000));
const minutesMax = Number(flags.minutes ?? Number.POSITIVE_INFINITY);
const seed = Number(flags.seed ?? Date.now() % 1_000_000_007);
const engines = flags.engine === "all" ? ["sqlite", "postgres"] : [flags.engine];

/** Returns whether everything passed. */
async function fuzz(engine: string): Promise<boolean> {
  console.log(`${engine}: ${requests} requests, seed ${seed}`);
  const site = await openSite(engine);
  try {
    const seen: ProcessUsage[] = [];
    const before = await usageOf(site);
    const started = performance.now();
    const onProgress = async ({ sent, faults }: Outcome) => {
      const holdings = await usageOf(site);
      seen.push(holdings);
      const memory = Math.round(holdings.memoryBytes / 2 ** 20);
      console.log(`  ${sent} sent, ${memory} MiB, ${holdings.openFiles} open files, ${faults.size} faults`);
    };
    const outcome = await sendRequests(site, {
      seed,
      requests,
      concurrency: Number(flags["at-once"]),
      minutesMax,
      onProgress,
    });
    const seconds = (performance.now() - started) / 1000;
    const problems = [...outcome.faults.values(), ...(await afterwards(site, seen, before))];
    for (const problem of problems) console.log(`\n✗ ${problem}`);
    summarize(engine, outcome, { seconds, problems: problems.length });
    return problems.length === 0;
  } finally {
    await site.remove();
  }
}

async function afterwards(site: FuzzedSite, seen: readonly ProcessUsage[], before: ProcessUsage): Promise<string[]> {
  closeConnections();
  if (site.ended() !== undefined) return site.errors();
  // Work for disconnected clients must end.
  await sleep(2_000);
  const ready = await fetch(`${site.url}/readyz`);
  const openTransactionFaults = await openTransactions(site);
  const leaks = leaksIn(seen, before, await usageOf(site));
  const ended = await site.stop();
  return [
    ...(ready.status === 200 ? [] : [`The server is not ready afterwards: ${ready.status}.`]),
    ...openTransactionFaults,
    ...leaks,
    ...(ended === "code 0" ? [] : [`The server did not stop cleanly: ${ended}.`]),
    ...new Set(site.errors().map((line) => `The log has an error: ${line}`)),
    ...(await inconsistenciesIn(site)),
  ];
}

function summarize(
  engine: string,
  { sent, statuses, reached, operations, unprepared }: Outcome,
  { seconds, problems }: { readonly seconds: number; readonly problems: number },
): void {
  const statusCounts = [...statuses]
    .toSorted(([one], [two]) => one - two)
    .map(([status, count]) => `${status}: ${count}`);
  console.log(
    `${engine}: ${sent} requests in ${seconds.toFixed(0)} s (seed ${seed}); ${reached.size} of ${operations.length} operations succeeded at least once`,
  );
  const never = operations.filter((id) => !reached.has(id));
  if (never.length > 0) console.log(`  never: ${never.join(", ")}`);
  if (unprepared > 0)
    console.log(`  ${unprepared} requests could not be prepared, because other requests removed what they needed`);
  console.log(`  ${statusCounts.join(", ")}`);
  if (flags.write) {
    const day = new Date().toISOString().slice(0, 10);
    const name = engine === "sqlite" ? "SQLite" : "PostgreSQL";
    const without = never.length === 0 ? "" : `; none of ${never.join(", ")}`;
    writeBetween(`fuzz-${engine}`, [
      `${name}, ${day}: ${sent} requests; ${reached.size} of ${operations.length} operations succeeded at least once${without}. **${problems} problems.** Responses by status: ${statusCounts.join(", ")}.`,
    ]);
  }
  console.log(`  ${problems === 0 ? "passed" : `${problems} problems`}\n`);
}

let hasPassed = true;
for (const engine of engines) hasPassed = (await fuzz(engine)) && hasPassed;
process.exitCode = hasPassed ? 0 : 1;
