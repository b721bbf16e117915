/**
 * Sends random requests, generated from the server's own OpenAPI document, to a real server on both databases: none may cause a server error
 * or hang, and nothing may leak.
 *
 *   npm run fuzz                                        100,000 requests on each database, with a new seed
 *   npm run fuzz -- --engine sqlite --requests 2000     one database, fewer
 *   npm run fuzz -- --minutes 10                        no longer than that, however many they are by then
 *   npm run fuzz -- --seed 17                           the same drafts again; ids are new, so answers may differ
 *   npm run fuzz -- --quick                             what the gate runs
 *   npm run fuzz -- --write                             also writes its lines of docs/reference/reliability-results.md
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { damageIn, heldIn, type Holdings, holdingsOf, leaksIn } from "./aftermath.ts";
import { barrage, type Outcome } from "./barrage.ts";
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
    const seen: Holdings[] = [];
    const before = await holdingsOf(site);
    const started = performance.now();
    const onProgress = async ({ sent, faults }: Outcome) => {
      const holdings = await holdingsOf(site);
      seen.push(holdings);
      const memory = Math.round(holdings.memoryBytes / 2 ** 20);
      console.log(`  ${sent} sent, ${memory} MiB, ${holdings.openFiles} open files, ${faults.size} faults`);
    };
    const outcome = await barrage(site, { seed, requests, atOnce: Number(flags["at-once"]), minutesMax, onProgress });
    const seconds = (performance.now() - started) / 1000;
    const problems = [...outcome.faults.values(), ...(await afterwards(site, seen, before))];
    for (const problem of problems) console.log(`\n✗ ${problem}`);
    summarize(engine, outcome, { seconds, problems: problems.length });
    return problems.length === 0;
  } finally {
    await site.remove();
  }
}

async function afterwards(site: FuzzedSite, seen: readonly Holdings[], before: Holdings): Promise<string[]> {
  closeConnections();
  if (site.ended() !== undefined) return site.errors();
  // Work for disconnected clients must end.
  await sleep(2_000);
  const ready = await fetch(`${site.url}/readyz`);
  const held = await heldIn(site);
  const leaks = leaksIn(seen, before, await holdingsOf(site));
  const ended = await site.stop();
  return [
    ...(ready.status === 200 ? [] : [`The server is not ready afterwards: ${ready.status}.`]),
    ...held,
    ...leaks,
    ...(ended === "code 0" ? [] : [`The server does not stop as it should: ${ended}.`]),
    ...new Set(site.errors().map((line) => `Its log has an error: ${line}`)),
    ...(await damageIn(site)),
  ];
}

function summarize(
  engine: string,
  { sent, statuses, reached, operations, unprepared }: Outcome,
  { seconds, problems }: { readonly seconds: number; readonly problems: number },
): void {
  const told = [...statuses].toSorted(([one], [two]) => one - two).map(([status, count]) => `${status}: ${count}`);
  console.log(
    `${engine}: ${sent} requests in ${seconds.toFixed(0)} s (seed ${seed}); ${reached.size} of ${operations.length} operations succeeded at least once`,
  );
  const never = operations.filter((id) => !reached.has(id));
  if (never.length > 0) console.log(`  never: ${never.join(", ")}`);
  if (unprepared > 0)
    console.log(`  ${unprepared} requests could not be prepared, because other requests removed what they needed`);
  console.log(`  ${told.join(", ")}`);
  if (flags.write) {
    const day = new Date().toISOString().slice(0, 10);
    const name = engine === "sqlite" ? "SQLite" : "PostgreSQL";
    const without = never.length === 0 ? "" : `; none of ${never.join(", ")}`;
    writeBetween(`fuzz-${engine}`, [
      `${name}, ${day}: ${sent} requests; ${reached.size} of ${operations.length} operations succeeded at least once${without}. **${problems} problems.** Responses by status: ${told.join(", ")}.`,
    ]);
  }
  console.log(`  ${problems === 0 ? "passed" : `${problems} problems`}\n`);
}

let isWell = true;
for (const engine of engines) isWell = (await fuzz(engine)) && isWell;
process.exitCode = isWell ? 0 : 1;
